"""Print pip constraints that hold every requirement of pyproject.toml at its lower bound."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # scikit-build-core brings it

# What the oldest versions bring in turn is the newest that they accept. Where that makes them warn,
# and warnings are errors, an older one is taken.
BROUGHT = ["click<8.5", "pyparsing<3.3"]  # of typer and matplotlib


def requirements(pyproject: dict, extra: str) -> Iterator[Requirement]:
    """Those of the package, of its extra, with the extras it names, and of the build."""
    project = pyproject["project"]
    waiting = [*project["dependencies"], *project["optional-dependencies"][extra]]
    waiting += pyproject["dependency-groups"]["build"]
    while waiting:
        requirement = Requirement(waiting.pop(0))
        if requirement.name == project["name"]:
            for name in sorted(requirement.extras):
                waiting += project["optional-dependencies"][name]
        else:
            yield requirement


def lowest(requirement: Requirement) -> str:
    """The constraint `name==bound`; a requirement without a lower bound is an error."""
    bounds = [s.version for s in requirement.specifier if s.operator in (">=", "==", "~=")]
    if len(bounds) != 1:
        raise SystemExit(f"{requirement} needs one lower bound")
    marker = f"; {requirement.marker}" if requirement.marker else ""
    return f"{requirement.name}=={bounds[0]}{marker}"


if __name__ == "__main__":
    pyproject = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    lines = {lowest(requirement) for requirement in requirements(pyproject, "test")}
    print("\n".join([*sorted(lines), *BROUGHT]))
