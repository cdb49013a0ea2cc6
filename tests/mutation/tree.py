"""The mutated copy of the sources, with every mutant behind a switch, and its build."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path

from . import cpp_write, python
from .mutant import Change, Mutant, line_text, one_per_place, shuffled
from .parts import ROOT, Part

HERE = Path(__file__).parent
WORK = ROOT / "build" / "mutants"
TREE = WORK / "tree"
BUILD = WORK / "core"
ATTEMPTS = 6
# Undo what an editable install does to imports, in every process that sees the mutated package.
CUSTOMIZE = """import sys
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
"""


@dataclass(frozen=True)
class Choice:
    """Numbered changes by part, in random order."""

    parts: dict[str, dict[int, Change]]

    def all(self) -> dict[int, Change]:
        return {number: c for chosen in self.parts.values() for number, c in chosen.items()}

    def without(self, bad: set[int]) -> Choice:
        return Choice(
            {
                name: {number: c for number, c in chosen.items() if number not in bad}
                for name, chosen in self.parts.items()
            }
        )

    def mutants(self, part: str) -> list[Mutant]:
        return [
            Mutant(number, c.file, c.line, line_text(read(c.file), c.line), c.what)
            for number, c in self.parts[part].items()
        ]


def read(file: str) -> str:
    return (ROOT / file).read_text()


def choose(parts: list[Part], most: int, seed: int) -> Choice:
    """Choose `most` random changes of each part."""
    chosen: dict[str, dict[int, Change]] = {}
    number = 1
    for part in parts:
        files = part.files()
        changes = shuffled(find(files), {file: read(file) for file in files}, seed)
        taken = one_per_place(changes, most)
        chosen[part.name] = dict(enumerate(taken, number))
        number += len(taken)
    return Choice(chosen)


def find(files: list[str]) -> list[Change]:
    """Find every change of these files; kept on disk, as reading C++ takes minutes."""
    texts = "\0".join(read(file) for file in files) + "".join(files)
    tool = (HERE / ("python.py" if files[0].endswith(".py") else "cpp_find.py")).read_text()
    kept = WORK / f"changes-{hashlib.sha256((texts + tool).encode()).hexdigest()[:16]}.json"
    if kept.exists():
        return [Change(**change) for change in json.loads(kept.read_text())]
    found = [c for file in files if file.endswith(".py") for c in python.find(file, read(file))]
    compiled = {file for file in files if not file.endswith(".py")}
    if compiled:
        from . import cpp_find  # only then is libclang needed

        units = [ROOT / file for file in sorted(compiled) if file.endswith(".cpp")]
        found += cpp_find.find(ROOT, units, compiled)
    WORK.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps([asdict(change) for change in found]))
    return found


def write(choice: Choice) -> None:
    """Write the tree; files that stay the same keep their time, so that little is compiled."""
    by_file: defaultdict[str, list[tuple[int, Change]]] = defaultdict(list)
    for number, change in choice.all().items():
        by_file[change.file].append((number, change))
    for file in copied():
        put(TREE / file, rewritten(file, by_file.get(file, [])))
    put(TREE / "switch.h", (HERE / "switch.h").read_bytes())
    put(TREE / "src/obliquebart_mutants.py", (HERE / "page.py").read_bytes())
    put(TREE / "src/sitecustomize.py", CUSTOMIZE.encode())


def copied() -> list[str]:
    globs = ("CMakeLists.txt", "cpp/**/*", "tests/cpp/*", "src/obliquebart/**/*")
    paths = (path for glob in globs for path in ROOT.glob(glob) if path.is_file())
    names = [str(path.relative_to(ROOT)) for path in paths]
    return [name for name in names if not name.endswith((".so", ".pyc"))]


def rewritten(file: str, chosen: list[tuple[int, Change]]) -> bytes:
    source = (ROOT / file).read_bytes()
    if not chosen:
        return source
    if file.endswith(".py"):
        return python.rewrite(source.decode(), chosen).encode()
    return cpp_write.rewrite(source, chosen)


def put(path: Path, content: bytes) -> None:
    if not path.exists() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def build(choice: Choice, jobs: int) -> Choice:
    """Write and compile; leave out what does not compile, and try again."""
    for _ in range(ATTEMPTS):
        write(choice)
        errors = compile_core(jobs)
        if not errors:
            install()
            return choice
        bad = {
            number
            for number, change in choice.all().items()
            if any(touches(change, file, line) for file, line in errors)
        }
        if not bad:
            raise SystemExit(f"The core does not compile: see {BUILD}.log")
        print(f"{len(bad)} mutants do not compile and are left out", flush=True)
        choice = choice.without(bad)
    raise SystemExit(f"The core still does not compile: see {BUILD}.log")


def touches(change: Change, file: str, line: int) -> bool:
    n_lines = (ROOT / file).read_bytes()[change.start : change.end].count(b"\n")
    return change.file == file and change.line <= line <= change.line + n_lines


def compile_core(jobs: int) -> set[tuple[str, int]]:
    """Compile the tree; return the places of the errors."""
    flags = f"-w -Wno-narrowing -include {TREE / 'switch.h'}"
    configure = [
        *("cmake", "-S", str(TREE), "-B", str(BUILD), "-G", "Ninja", "-DOBLIQUEBART_DRIVER=ON"),
        *("-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS={flags}"),
        f"-DPython_EXECUTABLE={sys.executable}",
        "-DSKBUILD_PROJECT_NAME=obliquebart",
    ]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with open(f"{BUILD}.log", "w") as log:
        told = {"stdout": log, "stderr": subprocess.STDOUT, "env": environment}
        subprocess.run(configure, check=True, **told)
        done = subprocess.run(["ninja", "-C", str(BUILD), "-j", str(jobs), "-k", "0"], **told)
    if done.returncode == 0:
        return set()
    text = Path(f"{BUILD}.log").read_text()
    places = re.findall(rf"{re.escape(str(TREE))}/(\S+?):(\d+):\d+: error", text)
    if not places:
        raise SystemExit(f"The build failed: see {BUILD}.log")
    return {(file, int(line)) for file, line in places}


def install() -> None:
    for library in BUILD.glob("_core*.so"):
        shutil.copy2(library, TREE / "src" / "obliquebart" / library.name)
