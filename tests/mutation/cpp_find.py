"""Find the places in C++ where a mutant can be, with libclang."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from clang import cindex
from clang.cindex import Cursor, CursorKind, TypeKind

from .mutant import Change

SWAPS = {
    "+": ["-"],
    "-": ["+"],
    "*": ["/"],
    "/": ["*"],
    "%": ["*"],
    "<": ["<=", ">="],
    "<=": ["<", ">"],
    ">": [">=", "<="],
    ">=": [">", "<"],
    "==": ["!="],
    "!=": ["=="],
    "&&": ["||"],
    "||": ["&&"],
    "&": ["|"],
    "|": ["&"],
    "^": ["&"],
    "<<": [">>"],
    ">>": ["<<"],
    "+=": ["-="],
    "-=": ["+="],
    "*=": ["/="],
    "/=": ["*="],
    "|=": ["&="],
    "&=": ["|="],
    "^=": ["|="],
    "<<=": [">>="],
    ">>=": ["<<="],
    "++": ["--"],
    "--": ["++"],
}
DROPPED = {
    CursorKind.CALL_EXPR,
    CursorKind.BINARY_OPERATOR,
    CursorKind.COMPOUND_ASSIGNMENT_OPERATOR,
    CursorKind.CXX_THROW_EXPR,
    CursorKind.BREAK_STMT,
    CursorKind.CONTINUE_STMT,
    CursorKind.UNEXPOSED_EXPR,
}
# Comments and macros cannot be copied, a planted bug is one already, fetching ahead saves time.
LEFT_OUT = (b"//", b"#", b"OBART_BUG", b"prefetch")
LITERALS = {CursorKind.INTEGER_LITERAL, CursorKind.FLOATING_LITERAL}
BLOCKS = {CursorKind.COMPOUND_STMT, CursorKind.IF_STMT, CursorKind.FOR_STMT}


def find(root: Path, units: list[Path], files: set[str]) -> list[Change]:
    """Find the changes in `files` (paths below root) that the compiled `units` show."""
    finder, flags = Finder(root, files), arguments(root)
    index = cindex.Index.create()
    for unit in units:
        for cursor in index.parse(str(unit), args=flags).cursor.get_children():
            finder.start(cursor)
    return list(finder.found.values())


def arguments(root: Path) -> list[str]:
    """libclang comes without the compiler's own headers; GCC's will do."""
    gcc = subprocess.run(
        ["g++", "-print-file-name=include"], capture_output=True, text=True, check=True
    )
    flags = ["-x", "c++", "-std=c++20", f"-I{root / 'cpp'}", "-DOBART_X86_SIMD"]
    return [*flags, "-isystem", gcc.stdout.strip()]


class Finder:
    """Walks over syntax trees and keeps each change once, as headers are in many of them."""

    def __init__(self, root: Path, files: set[str]) -> None:
        self.root = root
        self.files = files
        self.sources: dict[str, bytes] = {}
        self.visited: set[tuple[str, int]] = set()
        self.found: dict[tuple[str, int, int, str], Change] = {}

    def start(self, cursor: Cursor) -> None:
        file = self.file_of(cursor)
        if file is None or (file, span(cursor)[0]) in self.visited:
            return
        self.visited.add((file, span(cursor)[0]))
        self.visit(cursor, None)

    def visit(self, cursor: Cursor, parent: Cursor | None) -> None:
        if cursor.kind == CursorKind.FIELD_DECL:
            return  # constructors overwrite the default of a member
        file = self.file_of(cursor)
        if file is not None:
            self.look_at(cursor, parent, file)
        for child in cursor.get_children():
            counts_up = cursor.kind == CursorKind.FOR_STMT and child.kind in (
                *(CursorKind.UNARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR),
            )
            if not counts_up:  # a loop that never ends is no question to a test
                self.visit(child, cursor)

    def file_of(self, cursor: Cursor) -> str | None:
        location = cursor.extent.start.file
        if location is None:
            return None
        path = Path(location.name)
        if not path.is_relative_to(self.root):
            return None
        name = str(path.relative_to(self.root))
        return name if name in self.files else None

    def look_at(self, cursor: Cursor, parent: Cursor | None, file: str) -> None:
        if file not in self.sources:
            self.sources[file] = (self.root / file).read_bytes()
        source = self.sources[file]
        text = source[slice(*span(cursor))]
        if not text or any(word in text for word in LEFT_OUT):
            return
        for change in [*expressions(cursor, file, source), *dropped(cursor, parent, file, source)]:
            self.found.setdefault((file, change.start, change.end, change.what), change)


def span(cursor: Cursor) -> tuple[int, int]:
    return cursor.extent.start.offset, cursor.extent.end.offset


def expressions(cursor: Cursor, file: str, source: bytes) -> Iterator[Change]:
    kind = cursor.kind
    if kind in (CursorKind.BINARY_OPERATOR, CursorKind.COMPOUND_ASSIGNMENT_OPERATOR):
        yield from operators(cursor, file, source)
    elif kind == CursorKind.UNARY_OPERATOR:
        yield from signs(cursor, file, source)
    elif kind in (CursorKind.IF_STMT, CursorKind.CONDITIONAL_OPERATOR):
        yield from conditions(cursor, file, source)
    elif kind in LITERALS:
        text = source[slice(*span(cursor))].decode()
        if re.fullmatch(r"[0-9.][0-9a-fA-FxXeEpPuUlLzZ.'+-]*", text):
            yield change_of(cursor, file, f"{text} to {text} + 1", "{0} + 1", [span(cursor)])
    elif kind == CursorKind.CXX_BOOL_LITERAL_EXPR:
        text = source[slice(*span(cursor))].decode()
        other = {"true": "false", "false": "true"}.get(text)
        if other:
            yield change_of(cursor, file, f"{text} to {other}", other)
    elif kind == CursorKind.CALL_EXPR:
        yield from extremes(cursor, file, source)


def change_of(
    cursor: Cursor, file: str, what: str, new: str, parts: list[tuple[int, int]] | None = None
) -> Change:
    start, end = span(cursor)
    return Change(file, cursor.extent.start.line, start, end, what, new, tuple(parts or ()))


def operators(cursor: Cursor, file: str, source: bytes) -> Iterator[Change]:
    children = list(cursor.get_children())
    if len(children) != 2:
        return
    (start, left_end), (right, end) = map(span, children)
    operator = source[left_end:right].decode().strip()
    pointers = any(child.type.kind == TypeKind.POINTER for child in children)
    if operator not in SWAPS or (pointers and operator in "+-") or (start, end) != span(cursor):
        return
    for other in SWAPS[operator]:
        new = f"({{0}}) {other} ({{1}})"
        parts = [(start, left_end), (right, end)]
        yield change_of(cursor, file, f"{operator} to {other}", new, parts)


def signs(cursor: Cursor, file: str, source: bytes) -> Iterator[Change]:
    start, end = span(cursor)
    inner = span(next(iter(cursor.get_children())))
    sign = (source[start : inner[0]] or source[inner[1] : end]).decode().strip()
    if sign in ("!", "-"):
        new = "static_cast<bool>({0})" if sign == "!" else "({0})"
        yield change_of(cursor, file, f"{sign} dropped", new, [inner])
    elif sign in ("++", "--"):
        other = SWAPS[sign][0]
        new = f"{other}({{0}})" if inner[0] > start else f"({{0}}){other}"
        yield change_of(cursor, file, f"{sign} to {other}", new, [inner])


def conditions(cursor: Cursor, file: str, source: bytes) -> Iterator[Change]:
    start, _ = span(cursor)
    condition = next(iter(cursor.get_children()))
    first, last = span(condition)
    is_if = cursor.kind == CursorKind.IF_STMT
    if is_if and source[start:first].decode().replace(" ", "") != "if(":
        return
    if is_if and source[last : last + 1] != b")":
        return
    if condition.kind.is_expression():
        yield change_of(condition, file, "condition negated", "!({0})", [(first, last)])


def extremes(cursor: Cursor, file: str, source: bytes) -> Iterator[Change]:
    start, end = span(cursor)
    text = source[start:end]
    for name, other in ((b"std::min", "std::max"), (b"std::max", "std::min")):
        if text.startswith((name + b"(", name + b"<")):
            what = f"{name.decode()} to {other}"
            rest = (start + len(name), end)
            yield change_of(cursor, file, what, f"{other}{{0}}", [rest])


def dropped(cursor: Cursor, parent: Cursor | None, file: str, source: bytes) -> Iterator[Change]:
    """A statement that is left out."""
    start, end = span(cursor)
    in_block = parent is not None and parent.kind in BLOCKS and source[end : end + 1] == b";"
    if not in_block or cursor.kind not in DROPPED or source[start:end].startswith(b"("):
        return
    if parent is not None and parent.kind != CursorKind.COMPOUND_STMT:
        before = source[span(parent)[0] : start].rstrip()
        if not before.endswith((b")", b"else")):
            return  # part of a head, not of a body
    yield Change(file, cursor.extent.start.line, start, end + 1, "statement dropped", "", (), True)
