"""How workers add up their sums: all send theirs to the first worker, which sends back the total.

The messages are those of `multiprocessing.connection`, over TCP; docs/decisions/0016-distributed.md
compares this with other collectives.
"""

from __future__ import annotations

import contextlib
import secrets
import socket
import struct
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import NamedTuple
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

# Adds up an array over all workers, in place.
AddUp = Callable[[NDArray[np.float64]], None]

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
            others = [
                stack.enter_context(_welcome(door.accept()[0], meeting.key))
                for _ in range(meeting.n_workers - 1)
            ]
            yield _sum_here(others)
        else:
            address = (meeting.host, meeting.port)
            caller = socket.create_connection(address, timeout=SILENT_SECONDS)
            yield _sum_there(stack.enter_context(_introduce(caller, meeting.key)))


def _welcome(caller: socket.socket, key: bytes) -> Connection:
    connection = _connection(caller)
    deliver_challenge(connection, key)
    answer_challenge(connection, key)
    return connection


def _introduce(caller: socket.socket, key: bytes) -> Connection:
    connection = _connection(caller)
    answer_challenge(connection, key)
    deliver_challenge(connection, key)
    return connection


def _connection(caller: socket.socket) -> Connection:
    """Return a connection that sends at once, and on which nobody waits for ever."""
    caller.setblocking(True)
    caller.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    limit = struct.pack("ll", SILENT_SECONDS, 0)
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    return Connection(caller.detach())


def _alone(values: NDArray[np.float64]) -> None:
    """Leave the values of the only worker as they are."""


def _sum_here(others: list[Connection]) -> AddUp:
    def add_up(values: NDArray[np.float64]) -> None:
        theirs = np.empty_like(values)
        for other in others:
            _receive(other, theirs)
            values += theirs
        for other in others:
            other.send_bytes(values.data)

    return add_up


def _sum_there(first: Connection) -> AddUp:
    def add_up(values: NDArray[np.float64]) -> None:
        first.send_bytes(values.data)
        _receive(first, values)

    return add_up


def _receive(other: Connection, values: NDArray[np.float64]) -> None:
    try:
        n_bytes = other.recv_bytes_into(values.data.cast("B"))
    except (EOFError, OSError) as error:
        raise ConnectionError("another worker is gone") from error
    if n_bytes != values.nbytes:
        raise ConnectionError("the workers are not at the same place of a chain")
