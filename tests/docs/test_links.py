"""Links between pages lead to files and headings that exist, before Sphinx sees them."""

from __future__ import annotations

import re

import pytest

from helpers import ROOT

OF_SPHINX = ("gallery", "_build")
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *(p for p in sorted((ROOT / "docs").rglob("*.md")) if not set(p.parts) & set(OF_SPHINX)),
]
FENCE = re.compile(r"^( *)```.*?^\1```", re.M | re.S)
HEADING = re.compile(r"^#{1,3} +(.+?) *$", re.M)
TARGET = re.compile(r"^\(([\w-]+)\)=$", re.M)
LINK = re.compile(r"\]\(([^)\s#:]*\.md)?(?:#([^)\s]+))?\)")


def anchors(page):
    """Return what can follow # in a link to a page: its headings as Sphinx writes them."""
    text = FENCE.sub("", page.read_text("utf-8"))
    plain = (
        re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).lower() for title in HEADING.findall(text)
    )
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in plain} | {
        *TARGET.findall(text)
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for path, anchor in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        target = page.parent / path if path else page
        if set(target.resolve().relative_to(ROOT).parts) & set(OF_SPHINX):
            continue
        assert target.exists(), f"there is no {path}"
        assert not anchor or anchor in anchors(target), f"{path or 'the page'} has no #{anchor}"
