"""Check every local link of a built site: the file must exist, and the anchor in it.

Links to other hosts are counted, not fetched.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links and anchors of one page, and pictures without a text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors: set[str] = {""}
        self.mute: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag refers to."""
        values = dict(attrs)
        self.anchors.update(value for key in ("id", "name") if (value := values.get(key)))
        if tag in ("a", "link", "img", "script"):
            self.links += [value for key in ("href", "src") if (value := values.get(key))]
        if tag == "img" and "alt" not in values:
            self.mute.append(values.get("src") or "?")


def main(folder: Path) -> int:
    """Print what is broken and return how much of it there is."""
    found = (path for path in folder.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): Page(path) for path in found}
    broken, n_local, n_other = [], 0, 0
    for path, page in pages.items():
        name = path.relative_to(folder.resolve())
        broken += [f"{name}: picture without alt: {source}" for source in page.mute]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                n_other += parts.scheme in ("http", "https")
                continue
            n_local += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                broken.append(f"{name}: no such file: {link}")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                broken.append(f"{name}: no such anchor: {link}")
    print("\n".join(broken[:50]))
    print(
        f"{len(pages)} pages, {n_local} local links, {len(broken)} broken; {n_other} to elsewhere"
    )
    return len(broken)


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1])) else 0)
