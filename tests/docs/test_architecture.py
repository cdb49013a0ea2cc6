"""What docs/architecture.md says of folders, types and files is true."""

from __future__ import annotations

import re

from helpers import ROOT

PACKAGE = ROOT / "src" / "obliquebart"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
# The names of the moves, which include nothing.
ALLOWED = {("model/settings.h", "moves/list.h")}
INCLUDE = re.compile(r'^#include "(\w+/.+?)"', re.M)
# At the beginning of a line: not inside functions, nor for type checkers only.
IMPORT = re.compile(r"^(?:from|import) obliquebart(?:\.(\w+)\S*)?(?: import (\([^)]*\)|.*))?", re.M)


def section(title):
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def rows(title):
    """Return the names in the first column of a section's table, row by row."""
    cells = re.findall(r"^\| (`[^|]*) \|", section(title), re.M)
    return [re.findall(r"`([\w.]+?)/?`", cell) for cell in cells]


FOLDERS = [folder for (folder,) in rows("The folders of the core")]


def test_every_folder_of_the_core_is_on_the_page():
    assert sorted(FOLDERS) == sorted(p.name for p in (ROOT / "cpp").iterdir() if p.is_dir())


def test_folders_of_the_core_include_folders_above_them():
    rank = {folder: i for i, folder in enumerate(FOLDERS)}
    wrong = []
    for path in (ROOT / "cpp").rglob("*.[hc]*"):
        file = path.relative_to(ROOT / "cpp").as_posix()
        for other in INCLUDE.findall(path.read_text("utf-8")):
            goes_down = rank[other.split("/")[0]] > rank[file.split("/")[0]]
            if goes_down and (file, other) not in ALLOWED:
                wrong.append(f"{file} includes {other}")
    assert not wrong, "\n".join(wrong)


def package_rank():
    return {
        name.removesuffix(".py"): i
        for i, row in enumerate(rows("The folders of the package"))
        for name in row
    }


def test_every_folder_of_the_package_is_on_the_page():
    folders = {p.parent.name for p in PACKAGE.glob("*/__init__.py")}
    modules = {p.stem for p in PACKAGE.glob("*.py") if not p.stem.startswith("_")}
    assert set(package_rank()) == folders | modules


def test_folders_of_the_package_import_from_rows_above_them():
    rank = package_rank()
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        file = path.relative_to(PACKAGE)
        here = file.parts[0].removesuffix(".py")
        if here.startswith("_"):
            continue
        for folder, names in IMPORT.findall(path.read_text("utf-8")):
            others = [folder] if folder else re.findall(r"\w+", names)
            below = [other for other in others if rank.get(other, -1) > rank[here]]
            wrong += [f"{file} imports {other}" for other in below]
    assert not wrong, "\n".join(wrong)


def test_types_are_where_the_page_says():
    types = re.findall(r"^\| `(\w+)` \| `([\w/]+\.h)` \|", section("The types"), re.M)
    assert len(types) > 5
    for name, file in types:
        text = (ROOT / "cpp" / file).read_text("utf-8")
        assert re.search(rf"\b(struct|class|using) {name}\b", text), f"{name} is not in {file}"


def test_files_on_the_page_exist():
    """Those with a folder; the examples of what a change adds do not exist yet."""
    new = re.compile(r"(poisson|softmax|varying_noise|variance_leaf)\.\w+$|^backend/gpu")
    named = re.findall(r"`((?:\w+/)+\w+\.(?:h|cpp|py|md))`", PAGE)
    assert len(named) > 50
    for name in named:
        places = (ROOT / name, ROOT / "cpp" / name, PACKAGE / name)
        assert new.search(name) or any(place.is_file() for place in places), name


def test_no_python_module_decodes_draws_but_two():
    arrays = re.compile(r"\"(phi_count|phi_value|level_words|node_begin|cat_column)\"")
    found = {
        p.relative_to(PACKAGE).as_posix()
        for p in PACKAGE.rglob("*.py")
        if arrays.search(p.read_text("utf-8"))
    }
    assert found == {"posterior/draws.py", "posterior/packing.py"}
