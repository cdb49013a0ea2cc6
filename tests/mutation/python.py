"""Mutants of Python: every chosen change is an expression or a statement behind a switch.

Only bodies of functions are changed: what runs at import is over before a mutant is on.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import Any

from .mutant import Change

OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
COMPARISONS: dict[type[ast.AST], list[type[ast.cmpop]]] = {
    ast.Lt: [ast.LtE, ast.GtE],
    ast.LtE: [ast.Lt, ast.Gt],
    ast.Gt: [ast.GtE, ast.LtE],
    ast.GtE: [ast.Gt, ast.Lt],
    ast.Eq: [ast.NotEq],
    ast.NotEq: [ast.Eq],
    ast.In: [ast.NotIn],
    ast.NotIn: [ast.In],
    ast.Is: [ast.IsNot],
    ast.IsNot: [ast.Is],
}
SWITCH = "from obliquebart_mutants import mutant as _mutant\n"
Replacement = tuple[str, Any]  # what changes, and the node that takes the place


def find(file: str, source: str) -> list[Change]:
    """Find the changes in a file."""
    tree = ast.parse(source)
    return [
        Change(file, node.lineno, *span(source, node), what, str(i), path=path)
        for path, node in places(tree)
        for i, (what, _) in enumerate(replacements(node))
    ]


def rewrite(source: str, chosen: list[tuple[int, Change]]) -> str:
    """Write numbered changes of one file behind their switches."""
    tree = ast.parse(source)
    wanted = {change.path: (number, change) for number, change in chosen}
    nodes = {id(node): wanted[path] for path, node in places(tree) if path in wanted}
    changed = ast.fix_missing_locations(Switcher(nodes).visit(tree))
    lines = ast.unparse(changed).splitlines(keepends=True)
    future = [i for i, line in enumerate(lines, 1) if line.startswith("from __future__")]
    after = max(future, default=0)
    return "".join([*lines[:after], SWITCH, *lines[after:]]) + "\n"


def span(source: str, node: ast.stmt | ast.expr) -> tuple[int, int]:
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    end_line, end_column = node.end_lineno or 0, node.end_col_offset or 0
    return starts[node.lineno - 1] + node.col_offset, starts[end_line - 1] + end_column


def places(tree: ast.Module) -> Iterator[tuple[str, ast.stmt | ast.expr]]:
    """Nodes in the bodies of functions, each with its path from the root."""

    def walk(node: ast.AST, path: str, inside: bool) -> Iterator[tuple[str, ast.stmt | ast.expr]]:
        if inside and isinstance(node, (ast.stmt, ast.expr)):
            yield path, node
        if isinstance(node, (ast.JoinedStr, ast.pattern)):
            return
        for field, value in ast.iter_fields(node):
            function = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            if field in ("annotation", "returns", "decorator_list", "args") and function:
                continue
            if isinstance(node, (ast.AnnAssign, ast.Raise)) and field in ("annotation", "exc"):
                continue
            below = inside or (function and field == "body")
            for i, child in enumerate(value if isinstance(value, list) else [value]):
                if isinstance(child, ast.AST):
                    yield from walk(child, f"{path}/{field}{i}", below)

    yield from walk(tree, "", False)


def replacements(node: ast.stmt | ast.expr) -> list[Replacement]:
    """List what may stand in a node's place."""
    if isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in OPERATORS:
        other = OPERATORS[type(node.op)]
        return [(f"{type(node.op).__name__} to {other.__name__}", with_field(node, op=other()))]
    if isinstance(node, ast.Compare):
        first, *rest = node.ops
        return [
            (
                f"{type(first).__name__} to {other.__name__}",
                ast.Compare(node.left, [other(), *rest], node.comparators),
            )
            for other in COMPARISONS[type(first)]
        ]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
        return [(f"{type(node.op).__name__} dropped", node.operand)]
    if isinstance(node, ast.Constant):
        return constants(node)
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        test = ast.UnaryOp(ast.Not(), node.test)
        return [("condition negated", with_field(node, test=test))]
    dropped = isinstance(node, (ast.Raise, ast.AugAssign, ast.Continue, ast.Break))
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    stored = isinstance(node, ast.Assign) and isinstance(
        node.targets[0], (ast.Subscript, ast.Attribute)
    )
    return [("statement dropped", ast.Pass())] if dropped or called or stored else []


def constants(node: ast.Constant) -> list[Replacement]:
    if isinstance(node.value, bool):
        return [(f"{node.value} to {not node.value}", ast.Constant(not node.value))]
    if isinstance(node.value, (int, float)):
        other = node.value + 1 if abs(node.value) < 1e9 else node.value * 2
        return [(f"{node.value} to {other}", ast.Constant(other))]
    return []


def with_field(node: Any, **fields: ast.AST) -> Any:
    """Return a copy of a node in which some fields are others."""
    new = copy.copy(node)
    for name, value in fields.items():
        setattr(new, name, value)
    return new


class Switcher(ast.NodeTransformer):
    """Puts the chosen replacements behind their numbers."""

    def __init__(self, chosen: dict[int, tuple[int, Change]]) -> None:
        self.chosen = chosen

    def visit(self, node: ast.AST) -> ast.AST:
        found = self.chosen.get(id(node))
        node = self.generic_visit(node)
        if found is None:
            return node
        number, change = found
        is_on = ast.Call(ast.Name("_mutant", ast.Load()), [ast.Constant(number)], [])
        assert isinstance(node, (ast.stmt, ast.expr))
        if isinstance(node, (ast.If, ast.While)):  # only its test changes, and it may be long
            opposite = ast.UnaryOp(ast.Not(), node.test)
            node.test = ast.IfExp(is_on, opposite, node.test)
            return node
        _, new = replacements(node)[int(change.new)]
        if isinstance(node, ast.stmt):
            return ast.If(is_on, [new], [node])
        return ast.IfExp(is_on, new, node)
