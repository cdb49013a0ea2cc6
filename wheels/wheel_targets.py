"""What is built and what it runs on: names of wheels, interpreters, processors."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
WORK = ROOT / "build" / "wheels"

# From this version on, one wheel serves all (`wheel.py-api` in pyproject.toml).
STABLE_ABI = "3.12"
BUILT = ("3.10", "3.11", STABLE_ABI)
TESTED = ("3.10", "3.11", "3.12", "3.13")
ARCHITECTURES = ("x86_64", "aarch64")
# The oldest that is promised: that of NumPy's and SciPy's wheels. auditwheel may find an older one.
GLIBC = "2.28"


class MissingError(Exception):
    """Something that must be installed first; the message says what."""


@dataclass(frozen=True)
class Target:
    """A wheel: for a version of Python (and later ones, if it is `STABLE_ABI`) and a processor."""

    python: str
    arch: str

    @property
    def tags(self) -> str:
        """Python and ABI, as in the name of the file."""
        short = "cp" + self.python.replace(".", "")
        return f"{short}-abi3" if self.python == STABLE_ABI else f"{short}-{short}"

    @property
    def pattern(self) -> str:
        return f"obliquebart-*-{self.tags}-manylinux*_{self.arch}.whl"

    @property
    def extension_suffix(self) -> str:
        """How the file of an extension ends that is not of the stable ABI."""
        return f".cpython-{self.python.replace('.', '')}-{self.arch}-linux-gnu.so"

    def wheel(self, folder: Path = DIST) -> Path:
        """Find the file."""
        found = sorted(folder.glob(self.pattern))
        if len(found) != 1:
            raise MissingError(f"{folder} has {len(found)} files {self.pattern}: run `make wheels`")
        return found[0]


def target_for(python: str, arch: str) -> Target:
    """Which wheel does this interpreter install?"""
    later = tuple(map(int, python.split("."))) >= tuple(map(int, STABLE_ABI.split(".")))
    return Target(STABLE_ABI if later else python, arch)


def glibc_of(name: str) -> tuple[int, int]:
    """Read the oldest glibc that a wheel promises to run with from its name."""
    found = re.findall(r"manylinux_(\d+)_(\d+)_", name)
    return min((int(major), int(minor)) for major, minor in found)


def architectures() -> tuple[str, ...]:
    """This machine's first: it imports what it compiled, for the stub."""
    if platform.machine() not in ARCHITECTURES:
        raise MissingError(f"wheels are built on {' or '.join(ARCHITECTURES)}")
    return tuple(sorted(ARCHITECTURES, key=lambda arch: arch != platform.machine()))


def find_python(version: str) -> Path | None:
    """Find an interpreter on the path or installed by pyenv; it must really start."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    candidates = [Path(on_path)] if on_path else []
    for path in [*candidates, *sorted(pyenv.glob(f"{version}.*/bin/python{version}"))]:
        if subprocess.run([path, "-c", "import venv"], capture_output=True).returncode == 0:
            return path
    return None


def find_pythons(versions: tuple[str, ...]) -> dict[str, Path]:
    """Find all, or say all that are missing."""
    found = {version: find_python(version) for version in versions}
    missing = [version for version, path in found.items() if path is None]
    if missing:
        raise MissingError(f"Python {', '.join(missing)} is neither on the path nor in pyenv")
    return {version: path for version, path in found.items() if path is not None}


@contextmanager
def timed(what: str) -> Iterator[None]:
    """Print the seconds that something took, and those of processor time, children included."""
    start, before = time.perf_counter(), os.times()
    yield
    seconds, after = time.perf_counter() - start, os.times()
    busy = sum(after[:4]) - sum(before[:4])
    print(f"{what}: {seconds:.1f} s, {busy:.1f} s of processor time", flush=True)
