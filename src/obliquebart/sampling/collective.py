"""How workers add up their sums: all send theirs to the first worker, which sends back the total.

They meet by the handshake of `multiprocessing.connection`. docs/decisions/0016-distributed.md
compares this with other collectives.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import struct
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

# Adds up an array over all workers, in place.
AddUp = Callable[[NDArray[np.float64]], None]

GONE = "another worker is gone"
# How long to look for an answer before the thread sleeps.
LOOK_SECONDS = 2e-4
# A worker that is silent for so long is lost. Between two sums there is the work on one tree.
SILENT_SECONDS = 120


class Meeting(NamedTuple):
    """Where the first worker waits for the others."""

    host: str
    port: int
    key: bytes
    """Known to the workers of one chain only."""
    n_workers: int


# Where a worker of this process waits, by port.
_DOORS: dict[int, socket.socket] = {}


def start_meeting(address: str, n_workers: int) -> Meeting:
    """Let other workers find this process, which has the first of them at this address of Dask."""
    # Workers that are threads of one process have addresses without a host.
    has_host = address.startswith(("tcp", "tls"))
    host = (urlsplit(address).hostname if has_host else None) or "127.0.0.1"
    family = socket.getaddrinfo(host, None)[0][0]
    door = socket.create_server((host, 0), family=family, backlog=n_workers)
    door.settimeout(SILENT_SECONDS)
    port = int(door.getsockname()[1])
    _DOORS[port] = door
    return Meeting(host, port, secrets.token_bytes(32), n_workers)


@contextlib.contextmanager
def connected(meeting: Meeting | None, worker: int) -> Iterator[AddUp]:
    """Meet the other workers, and yield the sum over all; without a meeting there are no others."""
    if meeting is None:
        yield _alone
        return
    with contextlib.ExitStack() as stack:
        if worker == 0:
            door = stack.enter_context(_DOORS.pop(meeting.port))
            others = [stack.enter_context(door.accept()[0]) for _ in range(meeting.n_workers - 1)]
            for other in others:
                _welcome(other, meeting.key)
            yield _sum_here(others)
        else:
            address = (meeting.host, meeting.port)
            first = stack.enter_context(socket.create_connection(address, SILENT_SECONDS))
            _introduce(first, meeting.key)
            yield _sum_there(first)


def _welcome(caller: socket.socket, key: bytes) -> None:
    with _connection(caller) as connection:
        deliver_challenge(connection, key)
        answer_challenge(connection, key)


def _introduce(caller: socket.socket, key: bytes) -> None:
    with _connection(caller) as connection:
        answer_challenge(connection, key)
        deliver_challenge(connection, key)


def _connection(caller: socket.socket) -> Connection:
    """Let a socket send at once, and wait for ever for nothing; return it for the handshake."""
    caller.setblocking(True)
    caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    limit = struct.pack("ll", SILENT_SECONDS, 0)
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    return Connection(os.dup(caller.fileno()))


def _alone(values: NDArray[np.float64]) -> None:
    """Leave the values of the only worker as they are."""


def _sum_here(others: list[socket.socket]) -> AddUp:
    def add_up(values: NDArray[np.float64]) -> None:
        theirs = np.empty_like(values)
        for other in others:
            _receive(other, theirs)
            values += theirs
        for other in others:
            _send(other, values)

    return add_up


def _sum_there(first: socket.socket) -> AddUp:
    def add_up(values: NDArray[np.float64]) -> None:
        _send(first, values)
        _receive(first, values)

    return add_up


def _send(other: socket.socket, values: NDArray[np.float64]) -> None:
    try:
        other.sendall(values.data)
    except OSError as error:
        raise ConnectionError(GONE) from error


def _receive(other: socket.socket, values: NDArray[np.float64]) -> None:
    """Read an array. To fall asleep and wake up takes longer than most waits, so look first."""
    left = values.data.cast("B")
    end = time.perf_counter() + LOOK_SECONDS
    while len(left) > 0:
        flags = socket.MSG_DONTWAIT if time.perf_counter() < end else 0
        try:
            n_bytes = other.recv_into(left, 0, flags)
        except BlockingIOError as error:
            if flags:
                continue
            raise ConnectionError(GONE) from error  # it was silent for too long
        except OSError as error:
            raise ConnectionError(GONE) from error
        if n_bytes == 0:
            raise ConnectionError(GONE)
        left = left[n_bytes:]
