"""Run Python for aarch64 on another processor: Debian's, unpacked into a folder, under qemu-user.

Nothing is installed on the machine. apt resolves and downloads in folders of its own, from the
mirror that the machine uses anyway; so this works on Debian and needs no rights.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from wheel_targets import MissingError

# Which release of Debian has which Python.
RELEASES = {"3.11": "bookworm", "3.13": "trixie"}
# That of Debian 12 (qemu 7.2) hangs when Python 3.13 starts.
QEMU_RELEASE = "trixie"


@dataclass(frozen=True)
class EmulatedPython:
    """An interpreter in `root`, with the packages of the folder `packages`."""

    version: str
    qemu: Path
    root: Path
    packages: Path

    def command(self) -> list[str]:
        """Give the command that runs it."""
        python = self.root / "usr" / "bin" / f"python{self.version}"
        return [str(self.qemu), "-L", str(self.root), str(python)]

    def environment(self) -> dict[str, str]:
        """Give the variables that it needs: where it lies, where packages are."""
        return {
            **os.environ,
            "PYTHONHOME": str(self.root / "usr"),
            "PYTHONPATH": str(self.packages),
            "PYTHONDONTWRITEBYTECODE": "1",
        }


def emulated_python(version: str, folder: Path, packages: Path) -> EmulatedPython:
    """Unpack Debian's Python and qemu into `folder`, unless they lie there already."""
    missing = [name for name in ("apt-get", "dpkg") if not shutil.which(name)]
    if missing:
        raise MissingError(f"{' and '.join(missing)} not found: this needs Debian")
    host = said("dpkg", "--print-architecture")
    qemu = unpacked(["qemu-user"], QEMU_RELEASE, host, folder / "qemu", alone=True)
    wanted = [f"python{version}", "libstdc++6"]
    root = unpacked(wanted, RELEASES[version], "arm64", folder / f"python{version}")
    if not (root / "lib").exists():  # Debian 13 has everything in /usr
        (root / "lib").symlink_to("usr/lib")
    return EmulatedPython(version, qemu / "usr" / "bin" / "qemu-aarch64", root, packages)


def said(*command: str) -> str:
    """Run a command and give what it printed."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def mirror() -> str:
    """Find the mirror of Debian that this machine uses."""
    wanted = ("Created-By: Packages", "Origin: Debian", "Component: main")
    found = said("apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted).split()
    if not found:
        raise MissingError("apt knows no mirror of Debian (run `apt-get update` as root)")
    return found[0]


def apt_options(folder: Path, architecture: str) -> list[str]:
    """Keep apt to a folder of its own, where nothing is installed yet."""
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Debug::NoLocking": "true",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
    }
    return [word for name, value in options.items() for word in ("-o", f"{name}={value}")]


def unpacked(
    packages: list[str], release: str, architecture: str, folder: Path, alone: bool = False
) -> Path:
    """Download and unpack packages with all they need (or `alone`); give the folder's root."""
    root = folder / "root"
    if root.exists():
        return root
    archives = folder / "cache" / "archives"
    for path in (archives / "partial", folder / "state" / "lists" / "partial"):
        path.mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text(f"deb {mirror()} {release} main\n")
    apt = ["apt-get", "-qq", *apt_options(folder, architecture)]
    fetch = ["download"] if alone else ["install", "--yes", "--download-only"]
    for words in (["update"], [*fetch, *packages]):
        subprocess.run([*apt, *words], check=True, stdout=subprocess.DEVNULL, cwd=archives)
    unfinished = folder / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    for package in sorted(archives.glob("*.deb")):
        subprocess.run(["dpkg", "-x", package, unfinished], check=True)
    shutil.rmtree(archives)
    unfinished.rename(root)
    return root
