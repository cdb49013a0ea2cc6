"""Write changes of C++ behind their switches."""

from __future__ import annotations

from .mutant import Change, holds


def rewrite(source: bytes, chosen: list[tuple[int, Change]]) -> bytes:
    """Write numbered changes of one file behind their switches; lines stay where they are."""
    ordered = sorted(chosen, key=lambda item: (item[1].start, -item[1].end))
    return render(source, 0, len(source), ordered)


def render(source: bytes, start: int, end: int, chosen: list[tuple[int, Change]]) -> bytes:
    out, position = b"", start
    rest = [item for item in chosen if start <= item[1].start and item[1].end <= end]
    while rest:
        number, change = rest[0]
        inside = [item for item in rest[1:] if holds(change, item[1])]
        rest = [item for item in rest[1:] if not holds(change, item[1])]
        out += source[position : change.start] + switched(source, number, change, inside)
        position = change.end
    return out + source[position:end]


def switched(source: bytes, number: int, change: Change, inside: list[tuple[int, Change]]) -> bytes:
    old = render(source, change.start, change.end, inside)
    if change.statement:
        return b"{if(!obart_mutant(%d)) %s}" % (number, old)
    parts = [render(source, *part, inside).decode().replace("\n", " ") for part in change.parts]
    new = change.new.format(*parts).encode()
    return b"(obart_mutant(%d)?(%s):(%s))" % (number, new, old)
