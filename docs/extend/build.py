"""Make the tutorials' changes in a copy of the sources: new files, and a line for each.

python docs/extend/build.py FOLDER
"""

import shutil
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

# New files, by the folder that they go to.
NEW = {
    "cpp/likelihood": ("likelihood/laplace.cpp",),
    "cpp/moves": ("moves/recut.cpp",),
    "src/obliquebart/likelihood": ("likelihood/laplace.py",),
}
# A line of the sources -> what stands there with the change. A likelihood and a move are an entry
# of a list.
LINES = {
    "cpp/likelihood/likelihood.h": {
        "  X(none)": "  X(none)                    \\\n  X(laplace)",
    },
    "cpp/moves/list.h": {"  X(perturb)": "  X(perturb)           \\\n  X(recut)"},
    "src/obliquebart/likelihood/__init__.py": {
        "from obliquebart.likelihood.gaussian import Gaussian\n": (
            "from obliquebart.likelihood.gaussian import Gaussian\n"
            "from obliquebart.likelihood.laplace import Laplace\n"
        ),
        "    WeightedProbit.name: WeightedProbit(),\n": (
            "    WeightedProbit.name: WeightedProbit(),\n    Laplace.name: Laplace(),\n"
        ),
    },
}
# Another prior of a rule's direction: entries of phi that are equal.
SUM_RULES = {
    # A kind of directions, its name, and that theta decides about its columns.
    "cpp/model/directions.h": {
        "groups, patch };": "groups, patch, sums };",
        '"groups", "patch"};': '"groups", "patch", "sums"};',
        "kind == DirectionKind::sparse ||": (
            "kind == DirectionKind::sparse || kind == DirectionKind::sums ||"
        ),
    },
    "cpp/model/rule_prior.cpp": {
        "    case DirectionKind::groups: {\n": (
            "    case DirectionKind::sums:\n"
            "      component.supports[0].draw(given_nonzero, rng, phi_);\n"
            "      for (PhiEntry& entry : phi_)\n"
            "        entry.value = 1.0F / std::sqrt(static_cast<float>(phi_.size()));\n"
            "      return true;\n"
            "    case DirectionKind::groups: {\n"
        ),
        # Sums have no neighbours: only the cut moves.
        "if (phi.size() == 1) return 0.0;": (
            "if (phi.size() == 1 || kind == DirectionKind::sums) return 0.0;"
        ),
    },
}


def change(text: str, lines: dict[str, str]) -> str:
    """Return a source with the lines changed; each must be there once."""
    for old, new in lines.items():
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times")
        text = text.replace(old, new)
    return text


def build(copy: Path) -> None:
    """Write the changed copy."""
    for folder in ("cpp", "src", "tests/cpp"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("*.so"))
    for file in ("CMakeLists.txt", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / file, copy)
    for folder, files in NEW.items():
        for file in files:
            shutil.copy(HERE / file, copy / folder)
    for name, lines in (LINES | SUM_RULES).items():
        path = copy / name
        path.write_text(change(path.read_text(), lines))


if __name__ == "__main__":
    build(Path(sys.argv[1]))
