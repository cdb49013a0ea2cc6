"""A file of named arrays with a JSON header and a checksum, always written as a whole.

The bytes are a safetensors file. Its only metadata entry is our header as JSON text, whose first
entry is the SHA-256 of the whole file with the digest's own digits set to zero. So other tools can
list the arrays, every damaged byte is detected, and the same contents give the same bytes on every
machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

import obliquebart
from obliquebart.exceptions import ModelFileError

METADATA_KEY = "obliquebart"
# JSON within these limits is parsed in less than a second; a million levels fit into it.
MAX_HEADER = 32_000_000
MAX_COMMAS = 2_000_000
MAX_BRACES = 200_000
# What reading or writing a file takes besides the arrays and a few copies of the header.
SPARE_BYTES = 4_000_000

_NO_DIGEST = b"0" * 64
# In the file the header is JSON text inside JSON, so its quotes are escaped.
_DIGEST = re.compile(rb'\\"checksum\\":\\"([0-9a-f]{64})\\"')


class Contents(NamedTuple):
    """The header and the arrays of a file."""

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]


def new_header(kind: str, schema: int) -> dict[str, Any]:
    """Return what the header of every file begins with."""
    return {"format": kind, "schema": schema, "version": obliquebart.__version__}


def pack(contents: Contents) -> bytes:
    """Return the bytes of a file, which depend on nothing but its contents."""
    header = {"checksum": _NO_DIGEST.decode(), **contents.header}
    text = json.dumps(header, separators=(",", ":"), allow_nan=False)
    arrays = {name: np.ascontiguousarray(array) for name, array in contents.arrays.items()}
    _require_room(3 * sum(array.nbytes for array in arrays.values()), len(text))
    data = bytearray(safetensors.numpy.save(arrays, {METADATA_KEY: text}))
    length = int.from_bytes(data[:8], "little")
    # What `unpack` would refuse: the text within other JSON that lists the arrays.
    if length > MAX_HEADER or _is_too_large(data[8 : 8 + length].decode()):
        raise ValueError(
            f"The names and levels of the columns take {len(text) / 1e6:.0f} MB as text, which is "
            "too much for a file: give the categories shorter or fewer levels."
        )
    begin, end = _find_digest(data)
    data[begin:end] = _digest(data, begin, end)
    return bytes(data)


def unpack(data: bytes, kind: str, schemas: tuple[int, ...]) -> Contents:
    """Return what `pack` was given; the caller has to check the values in it.

    The bytes may be damaged or malicious. ModelFileError is raised if they are damaged, or
    do not have this format (`kind`) and one of these schemas.
    """
    begin, end = _find_digest(data)
    if bytes(data[begin:end]) != _digest(data, begin, end):
        raise ModelFileError("the checksum does not match: the file is damaged")
    length = _header_length(data[:8], len(data))
    header = _parse_header(data[8 : 8 + length])
    _check_format(header, kind, schemas)
    _require_room(len(data), length)
    try:
        arrays = safetensors.numpy.load(data)
    except (SafetensorError, KeyError, ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"its arrays cannot be read: {error}") from error
    del header["checksum"]
    return Contents(header, arrays)


def _require_room(array_bytes: int, header_bytes: int) -> None:
    """Raise MemoryError where safetensors would have too little memory: it ends the process."""
    np.empty(array_bytes + 4 * header_bytes + SPARE_BYTES, np.uint8)


def _check_format(header: dict[str, Any], kind: str, schemas: tuple[int, ...]) -> None:
    if header.get("format") != kind:
        raise ModelFileError(
            f"it is not an {kind}: its format is {str(header.get('format'))[:80]!r}"
        )
    schema = header.get("schema")
    if type(schema) is not int or schema not in schemas:
        is_newer = type(schema) is int and schema > max(schemas)
        advice = ". Use a newer version" if is_newer else ""
        raise ModelFileError(
            f"it has schema {str(schema)[:80]} and was written by obliquebart "
            f"{str(header.get('version'))[:80]}; this version reads schema "
            f"{' and '.join(map(str, schemas))}{advice}"
        )


def _header_length(first: bytes, size: int) -> int:
    length = int.from_bytes(first, "little")
    if len(first) < 8 or not 2 <= length <= size - 8:
        raise ModelFileError("it is truncated, or not an obliquebart file")
    if length > MAX_HEADER:
        raise ModelFileError(f"its header has {length} bytes, more than the allowed {MAX_HEADER}")
    return length


def _find_digest(data: bytes | bytearray) -> tuple[int, int]:
    length = _header_length(bytes(data[:8]), len(data))
    found = _DIGEST.search(data, 8, 8 + length)
    if found is None:
        raise ModelFileError("it has no checksum: it is damaged, or not an obliquebart file")
    return found.span(1)


def _digest(data: bytes | bytearray, begin: int, end: int) -> bytes:
    view = memoryview(data)
    digest = hashlib.sha256(view[:begin])
    digest.update(_NO_DIGEST)
    digest.update(view[end:])
    view.release()
    return digest.hexdigest().encode()


def _parse_header(data: bytes) -> dict[str, Any]:
    try:
        outer = _parse_json(data.decode())
        header = _parse_json(outer["__metadata__"][METADATA_KEY])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"its header cannot be read: {error!r:.200}") from error
    if not isinstance(header, dict):
        raise ModelFileError("its header is not a dictionary")
    return header


def _parse_json(text: str) -> Any:
    """Parse JSON that has no NaN, no repeated names and not too many entries."""
    if _is_too_large(text):
        raise ValueError("it has too many entries")
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_repeats)


def _is_too_large(text: str) -> bool:
    return text.count(",") > MAX_COMMAS or text.count("{") > MAX_BRACES


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not allowed")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a name occurs twice")
    return values


# ---- files ---------------------------------------------------------------------------------------


def read_file(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file; if its header is wrong, only that is read."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ModelFileError("it is not a regular file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        length = _header_length(file.read(8), size)
        if _DIGEST.search(file.read(length)) is None:
            raise ModelFileError("it has no checksum: it is damaged, or not an obliquebart file")
        file.seek(0)
        return file.read(size)


def write_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the contents of a file; after any failure the old file is still there, unchanged.

    The bytes are written to a temporary file beside it, forced to the disk, and then renamed.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError(f"Cannot write {os.fspath(path)!r}: it exists and is not a regular file.")
    with _errors_about(path):
        _remove_leftovers(target)
        with _temporary_file(target) as (temporary, descriptor):
            with open(descriptor, "wb", closefd=False) as file:
                file.write(data)
            _sync(descriptor)
            os.replace(temporary, target)
    _sync_folder(target.parent)


@contextlib.contextmanager
def _errors_about(path: str | os.PathLike[str]) -> Iterator[None]:
    """Let errors of the system name the file that the user named, not the temporary one."""
    try:
        yield
    except OSError as error:
        # Of the class that belongs to the number.
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error


@contextlib.contextmanager
def _temporary_file(target: Path) -> Iterator[tuple[Path, int]]:
    """Create a locked file beside the target; it is removed at the end unless it was renamed."""
    while True:
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        # Before it was locked, another process may have removed it as a leftover.
        if os.fstat(descriptor).st_nlink == 1:
            break
        os.close(descriptor)
    try:
        yield temporary, descriptor
    finally:
        temporary.unlink(missing_ok=True)
        os.close(descriptor)


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of killed processes; those of running ones are locked."""
    prefix = f".{target.name}."
    for leftover in target.parent.iterdir():
        if not re.fullmatch(re.escape(prefix) + r"[0-9a-f]{8}\.tmp", leftover.name):
            continue
        with contextlib.suppress(OSError):
            descriptor = os.open(leftover, os.O_WRONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                leftover.unlink()
            finally:
                os.close(descriptor)


def _sync(descriptor: int) -> None:
    """Force a file to disk; outside Linux that may need more than fsync."""
    full_sync = getattr(fcntl, "F_FULLFSYNC", None)
    if full_sync is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, full_sync)
    os.fsync(descriptor)


def _sync_folder(folder: Path) -> None:
    """Force the new name to disk too, if the file system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
