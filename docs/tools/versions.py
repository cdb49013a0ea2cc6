"""Put a built site beside those of other versions, and tell all of them about each other.

Usage: versions.py HTML_FOLDER SITE_FOLDER

The site has a folder for each release (`0.1`, `0.2`), `stable`, a copy of the newest release, and
`dev`. A version of the package with "dev" in it goes to `dev`, any other to its release, whose
older pages it replaces. Pages of other versions stay as they are, except for `_static/versions.js`,
the list behind the menu. It is a script because pages that are read from files cannot fetch data.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

LIST = Path("_static") / "versions.js"
START = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>obliquebart</title>'
    '<meta http-equiv="refresh" content="0; url={0}/index.html">'
    '<a href="{0}/index.html">Documentation of obliquebart</a></html>\n'
)


class Entry(NamedTuple):
    """A line of the menu."""

    version: str
    folder: str
    title: str
    pages: list[str]


def version_name(version: str) -> str:
    """Return the name of a version's folder."""
    return "dev" if "dev" in version else ".".join(version.split(".")[:2])


def publish(html: Path, site: Path, version: str) -> None:
    """Add the pages of a version, or replace them."""
    name = version_name(version)
    _replace(html, site / name)
    if name != "dev" and name == _releases(site)[0]:
        _replace(html, site / "stable")
    _write_lists(site)


def _replace(html: Path, folder: Path) -> None:
    if folder.exists():
        shutil.rmtree(folder)
    shutil.copytree(html, folder, ignore=shutil.ignore_patterns(".buildinfo", ".doctrees"))


def _releases(site: Path) -> list[str]:
    """Return the releases of a site, the newest first."""
    names = [path.name for path in site.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)]
    return sorted(names, key=lambda name: [int(part) for part in name.split(".")], reverse=True)


def _entries(site: Path) -> list[Entry]:
    releases = _releases(site)
    entries = [Entry("dev", "dev", "dev", _pages(site / "dev"))] if (site / "dev").exists() else []
    for name in releases:
        newest = name == releases[0]
        folder, title = ("stable", f"{name} (stable)") if newest else (name, name)
        entries.append(Entry(name, folder, title, _pages(site / folder)))
    return entries


def _pages(folder: Path) -> list[str]:
    pages = (path.relative_to(folder) for path in folder.rglob("*.html"))
    return sorted(page.with_suffix("").as_posix() for page in pages if page.parts[0] != "_static")


def _write_lists(site: Path) -> None:
    entries = _entries(site)
    text = json.dumps([entry._asdict() for entry in entries])
    for folder in {*(entry.version for entry in entries), *(entry.folder for entry in entries)}:
        (site / folder / LIST).write_text(f"window.documentationVersions = {text};\n", "utf-8")
    start = "stable" if _releases(site) else "dev"
    (site / "index.html").write_text(START.format(start), "utf-8")
    (site / ".nojekyll").touch()  # the forge then serves folders like _static


if __name__ == "__main__":
    import obliquebart

    html, site = map(Path, sys.argv[1:])
    site.mkdir(parents=True, exist_ok=True)
    publish(html, site, obliquebart.__version__)
    print(f"{site}: {', '.join(entry.title for entry in _entries(site))}")
