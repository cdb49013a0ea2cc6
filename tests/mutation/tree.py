"""The mutated copy of the sources, with every mutant behind a switch, and its build."""

from __future__ import annotations

import hashlib
import importlib.util
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
COPIED = ("CMakeLists.txt", "cpp/**/*", "tests/cpp/*", "src/obliquebart/**/*")
ATTEMPTS = 6
# Undo what an editable install does to imports, in every process that sees the mutated package.
CUSTOMIZE = """import sys
sys.meta_path[:] = [f for f in sys.meta_path if "ScikitBuild" not in type(f).__name__]
"""

Chosen = dict[int, Change]  # by number, in random order


def read(file: str) -> str:
    return (ROOT / file).read_text()


def choose(part: Part, most: int, seed: int) -> Chosen:
    """Choose `most` random changes of a part."""
    files = part.files()
    changes = shuffled(find(files), {file: read(file) for file in files}, seed)
    return dict(enumerate(one_per_place(changes, most), 1))


def mutants(chosen: Chosen) -> list[Mutant]:
    return [
        Mutant(number, c.file, c.line, line_text(read(c.file), c.line), c.what)
        for number, c in chosen.items()
    ]


def find(files: list[str]) -> list[Change]:
    """Find every change of these files; kept on disk, as reading C++ takes minutes."""
    texts = "\0".join(read(file) for file in files) + "".join(files)
    tool = (HERE / ("python.py" if files[0].endswith(".py") else "cpp_find.py")).read_text()
    kept = WORK / f"changes-{hashlib.sha256((texts + tool).encode()).hexdigest()[:16]}.json"
    if kept.exists():
        return [Change(**change) for change in json.loads(kept.read_text())]
    if files[0].endswith(".py"):
        found = [change for file in files for change in python.find(file, read(file))]
    else:
        from . import cpp_find  # only then is libclang needed

        units = [ROOT / file for file in files if file.endswith(".cpp")]
        found = cpp_find.find(ROOT, units, set(files))
    WORK.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps([asdict(change) for change in found]))
    return found


@dataclass(frozen=True)
class Tree:
    """A folder with the mutated sources, and with their build if the core is mutated."""

    folder: Path

    @property
    def root(self) -> Path:
        return self.folder / "tree"

    @property
    def build_folder(self) -> Path:
        return self.folder / "core"

    @property
    def log(self) -> Path:
        return self.folder / "core.log"

    def make(self, chosen: Chosen, jobs: int) -> tuple[Chosen, Path]:
        """Write the tree and give it a core; return the mutants in it, and the driver."""
        if all(change.file.endswith(".py") for change in chosen.values()):
            self.write(chosen)
            return chosen, self.borrow_core()
        return self.build(chosen, jobs), self.build_folder / "obart_driver"

    def write(self, chosen: Chosen) -> None:
        """Write the tree; files that stay the same keep their time, so that little is compiled."""
        by_file: defaultdict[str, list[tuple[int, Change]]] = defaultdict(list)
        for number, change in chosen.items():
            by_file[change.file].append((number, change))
        for file in copied():
            put(self.root / file, rewritten(file, by_file.get(file, [])))
        put(self.root / "switch.h", (HERE / "switch.h").read_bytes())
        put(self.root / "src/obliquebart_mutants.py", (HERE / "page.py").read_bytes())
        put(self.root / "src/sitecustomize.py", CUSTOMIZE.encode())

    def build(self, chosen: Chosen, jobs: int) -> Chosen:
        """Write and compile; leave out what does not compile, and try again."""
        for _ in range(ATTEMPTS):
            self.write(chosen)
            errors = self.compile(jobs)
            if not errors:
                self.install(*self.build_folder.glob("_core*.so"))
                return chosen
            bad = {
                number
                for number, change in chosen.items()
                if any(touches(change, file, line) for file, line in errors)
            }
            if not bad:
                break
            print(f"{len(bad)} mutants do not compile and are left out", flush=True)
            chosen = {number: c for number, c in chosen.items() if number not in bad}
        raise SystemExit(f"The core does not compile: see {self.log}")

    def compile(self, jobs: int) -> set[tuple[str, int]]:
        """Compile the tree; return the places of the errors."""
        flags = f"-w -Wno-narrowing -include {self.root / 'switch.h'}"
        configure = [
            *("cmake", "-S", str(self.root), "-B", str(self.build_folder), "-G", "Ninja"),
            *("-DOBLIQUEBART_DRIVER=ON", "-DSKBUILD_PROJECT_NAME=obliquebart"),
            *("-DCMAKE_BUILD_TYPE=Release", f"-DCMAKE_CXX_FLAGS={flags}"),
            f"-DPython_EXECUTABLE={sys.executable}",
        ]
        build = ["ninja", "-C", str(self.build_folder), "-j", str(jobs), "-k", "0"]
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        with self.log.open("w") as log:
            subprocess.run(configure, check=True, stdout=log, stderr=log, env=environment)
            done = subprocess.run(build, check=False, stdout=log, stderr=log, env=environment)
        if done.returncode == 0:
            return set()
        error = rf"{re.escape(str(self.root))}/(\S+?):(\d+):\d+: error"
        places = re.findall(error, self.log.read_text())
        if not places:
            raise SystemExit(f"The build failed: see {self.log}")
        return {(file, int(line)) for file, line in places}

    def borrow_core(self) -> Path:
        """Take the core that this Python has; return the driver beside which it was built."""
        found = importlib.util.find_spec("obliquebart._core")
        if found is None or found.origin is None:
            raise SystemExit("There is no compiled core: run `make build`.")
        self.install(Path(found.origin))
        driver = os.environ.get("OBLIQUEBART_DRIVER", ROOT / "build" / "dev" / "obart_driver")
        return Path(driver)

    def install(self, *libraries: Path) -> None:
        for library in libraries:
            new = self.root / "src" / "obliquebart" / library.name
            shutil.copy2(library, new.with_suffix(".new"))
            new.with_suffix(".new").rename(new)


def copied() -> list[str]:
    paths = (path for glob in COPIED for path in ROOT.glob(glob) if path.is_file())
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


def touches(change: Change, file: str, line: int) -> bool:
    n_lines = (ROOT / file).read_bytes()[change.start : change.end].count(b"\n")
    return change.file == file and change.line <= line <= change.line + n_lines
