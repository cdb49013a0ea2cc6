"""Install every wheel of dist/ where there is no compiler, and test it.

    python wheels/check_wheels.py                     all
    python wheels/check_wheels.py 3.12 aarch64-3.11   some

Each gets an empty environment: `pip install`, the README's lines and `obliquebart demo`, timed;
then tests, the recorded digests of draws among them. Other processors are emulated by qemu-user.
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from emulated import RELEASES, emulated_python
from wheel_targets import DIST, ROOT, TESTED, WORK, MissingError, find_pythons, target_for, timed

# The whole suite runs on every Python with `make test-all`; this is about the wheel.
TESTS = [
    "tests/exact/test_same_draws.py",
    *("tests/unit/estimators/test_regressor.py", "tests/unit/estimators/test_classifier.py"),
    *("tests/unit/cli/test_commands.py", "tests/files/test_model_file.py"),
]
FIRST_MINUTES = [str(ROOT / "wheels" / "first_minutes.py"), str(ROOT / "README.md")]
# Emulated, a fit takes some 15 times as long: a short demo, and one fit of every scenario.
EMULATED_MINUTES = ["-m", "obliquebart", "demo", "--n-burn=20", "--n-draws=20", "--quiet"]
EMULATED_TESTS = ["tests/exact/test_same_draws.py", "-k", "test_draws_are_those_recorded"]
TOOLS = ["pytest>=8.3", "pytest-timeout>=2.3.1"]
MORE_TOOLS = ["polars>=1.0", "pyarrow>=16"]
# No wheel of a dependency may need a compiler either.
INSTALL = ["-m", "pip", "install", "--quiet", "--only-binary=:all:"]


@dataclass(frozen=True)
class Place:
    """Where a wheel is tried: a command that runs Python there, and its environment."""

    name: str
    python: list[str]
    env: dict[str, str]
    first: list[str]
    tests: list[str]

    def run(self, *arguments: str, folder: Path) -> None:
        """Run Python in a folder; an error ends the check."""
        done = subprocess.run([*self.python, *arguments], cwd=folder, env=self.env)
        if done.returncode != 0:
            sys.exit(f"{self.name}: failed")


def install_here(version: str) -> Place:
    """Install into an empty environment, with nothing but itself on the path."""
    folder = WORK / "test" / version
    python = folder / "bin" / "python"
    wheel = target_for(version, os.uname().machine).wheel()
    base = find_pythons((version,))[version]
    subprocess.run([base, "-m", "venv", "--clear", folder], check=True)
    env = {**os.environ, "PATH": str(folder / "bin")}
    with timed(f"{version}: pip install {wheel.name} pandas"):
        subprocess.run([python, *INSTALL, wheel, "pandas>=2.2"], check=True, env=env)
    subprocess.run([python, *INSTALL, *TOOLS, *MORE_TOOLS], check=True, env=env)
    return Place(version, [str(python)], env, FIRST_MINUTES, TESTS)


def install_emulated(version: str) -> Place:
    """Install wheels for aarch64 into a folder, beside Debian's Python for aarch64."""
    name = f"aarch64-{version}"
    target = target_for(version, "aarch64")
    packages = WORK / "test" / name
    emulated = emulated_python(version, WORK.parent / "aarch64", packages)
    platforms = [f"manylinux_2_{minor}_aarch64" for minor in (17, 26, 27, 28)]
    subprocess.run(
        [
            *(sys.executable, *INSTALL),
            *("--upgrade", "--target", str(packages), "--python-version", version),
            *(f"--platform={platform}" for platform in (*platforms, "manylinux2014_aarch64")),
            *(str(target.wheel()), "pandas>=2.2", *TOOLS),
        ],
        check=True,
    )
    command, env = emulated.command(), emulated.environment()
    return Place(name, command, env, EMULATED_MINUTES, EMULATED_TESTS)


def check(place: Place) -> None:
    """Do what a new user does, then test."""
    folder = WORK / "test" / f"{place.name}-folder"
    folder.mkdir(parents=True, exist_ok=True)
    with timed(f"{place.name}: first minutes"):
        place.run(*place.first, folder=folder)
    with timed(f"{place.name}: tests"):
        place.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *place.tests, folder=ROOT)


def main() -> None:
    """Check those that were asked for, or all."""
    emulated = {f"aarch64-{version}": version for version in RELEASES}
    for name in sys.argv[1:] or [*TESTED, *emulated]:
        try:
            place = install_emulated(emulated[name]) if name in emulated else install_here(name)
        except MissingError as reason:
            sys.exit(f"{name}: {reason}.")
        check(place)
    print(f"The wheels in {DIST} work.")


if __name__ == "__main__":
    main()
