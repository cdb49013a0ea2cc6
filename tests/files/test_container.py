"""Writing files: whole or not at all."""

from __future__ import annotations

import fcntl
import os
import sys

import pytest

from helpers.processes import run_python
from obliquebart.files import container


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m"
    container.write_file(path, b"old")
    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(container.os, function, _fail)
            with pytest.raises(OSError, match="No space") as caught:
                container.write_file(path, b"new" * 1000)
            assert caught.value.filename == str(path)
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["m"]
    container.write_file(path, b"new")
    assert path.read_bytes() == b"new"


def _fail(*_):
    raise OSError(28, "No space left on device")


def test_leftovers_of_killed_processes_are_removed(tmp_path):
    (tmp_path / ".m.0123abcd.tmp").write_bytes(b"half")
    (tmp_path / ".m.99999999.tmp").write_bytes(b"still being written")
    (tmp_path / ".other.0123abcd.tmp").write_bytes(b"of another file")
    with open(tmp_path / ".m.99999999.tmp", "wb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        container.write_file(tmp_path / "m", b"new")
    assert sorted(os.listdir(tmp_path)) == [".m.99999999.tmp", ".other.0123abcd.tmp", "m"]


def test_links_are_followed_and_devices_refused(tmp_path):
    container.write_file(tmp_path / "m", b"old")
    os.symlink("m", tmp_path / "link")
    container.write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "m").read_bytes() == b"new"
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(OSError, match="not a regular file"):
            container.write_file(path, b"x")
    with pytest.raises(FileNotFoundError, match="no/folder'"):
        container.write_file(tmp_path / "no" / "folder", b"x")


def test_files_are_readable_as_other_files_are(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    container.write_file(tmp_path / "m", b"new")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    calls = []
    for name in ("fsync", "replace"):
        original = getattr(os, name)
        monkeypatch.setattr(
            container.os,
            name,
            lambda *args, name=name, original=original: calls.append(name) or original(*args),
        )
    container.write_file(tmp_path / "m", b"x")
    assert calls == ["fsync", "replace", "fsync"]


LITTLE_MEMORY = """
import resource
import numpy as np
from obliquebart.files import container

header = {"format": "numbers", "schema": 1}
contents = container.Contents(header, {"x": np.ones(2_000_000)})
data = container.pack(contents)
calls = {
    "pack": lambda: container.pack(contents),
    "unpack": lambda: container.unpack(data, "numbers", (1,)),
}
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
for name, call in calls.items():
    for megabytes in range(0, 70, 2):
        limit = in_use + megabytes * 2**20
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            call()
        except MemoryError:
            print(name, "refused")
        else:
            print(name, "done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_little_memory():
    """Where the reader of the format has none, it ends the process."""
    words = " ".join(run_python(LITTLE_MEMORY))
    for name in ("pack", "unpack"):
        assert f"{name} refused" in words
        assert f"{name} done" in words
