"""What docs/architecture.md says of the core's rooms is true."""

from __future__ import annotations

import re

from helpers import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
ROOMS = re.findall(r"^\| `(\w+)/` \|", PAGE.split("## The rooms of the core")[1], re.M)
# The names of the moves, which include nothing.
ALLOWED = {("model/settings.h", "moves/list.h")}
INCLUDE = re.compile(r'^#include "(\w+/.+?)"', re.M)


def test_every_room_is_on_the_page():
    assert sorted(ROOMS) == sorted(p.name for p in (ROOT / "cpp").iterdir() if p.is_dir())


def test_rooms_include_rooms_above_them():
    rank = {room: i for i, room in enumerate(ROOMS)}
    wrong = []
    for path in (ROOT / "cpp").rglob("*.[hc]*"):
        file = path.relative_to(ROOT / "cpp").as_posix()
        for other in INCLUDE.findall(path.read_text("utf-8")):
            goes_down = rank[other.split("/")[0]] > rank[file.split("/")[0]]
            if goes_down and (file, other) not in ALLOWED:
                wrong.append(f"{file} includes {other}")
    assert not wrong, "\n".join(wrong)


def test_types_are_where_the_page_says():
    section = PAGE.split("## The types")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `([\w/]+\.h)` \|", section, re.M)
    assert len(rows) > 5
    for name, file in rows:
        text = (ROOT / "cpp" / file).read_text("utf-8")
        assert re.search(rf"\b(struct|class|using) {name}\b", text), f"{name} is not in {file}"


def test_no_python_module_decodes_draws_but_one():
    arrays = re.compile(r"\"(phi_count|phi_value|level_words|node_begin|cat_column)\"")
    package = ROOT / "src" / "obliquebart"
    found = {
        p.relative_to(package).as_posix()
        for p in package.rglob("*.py")
        if arrays.search(p.read_text("utf-8"))
    }
    assert found == {"posterior/draws.py"}
