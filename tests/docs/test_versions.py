"""The documentation of several versions lies side by side."""

from __future__ import annotations

import json
import sys

import pytest

from helpers import ROOT
from helpers.browser import Browser, find_chromium

sys.path.insert(0, str(ROOT / "docs" / "tools"))
import versions


def built(folder, *pages):
    """Write a site as Sphinx does, as far as it matters here."""
    for page in pages:
        path = folder / f"{page}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{folder.name} {page}", "utf-8")
    (folder / "_static").mkdir()
    (folder / versions.LIST).write_text("window.documentationVersions = [];\n", "utf-8")
    return folder


def menu(folder):
    text = (folder / versions.LIST).read_text("utf-8")
    return json.loads(text.removeprefix("window.documentationVersions = ").rstrip(";\n"))


@pytest.mark.parametrize(
    ("version", "name"), [("0.1.0", "0.1"), ("0.10.3", "0.10"), ("0.2.0.dev0", "dev")]
)
def test_the_folder_of_a_version(version, name):
    assert versions.version_name(version) == name


def test_versions_lie_side_by_side(tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    versions.publish(built(tmp_path / "first", "index", "old"), site, "0.9.0")
    versions.publish(built(tmp_path / "second", "index", "howto/new"), site, "0.10.0")
    versions.publish(built(tmp_path / "next", "index"), site, "0.11.0.dev0")
    # A repair of an old version does not become the stable one.
    versions.publish(built(tmp_path / "repaired", "index"), site, "0.9.1")

    folders = {path.name for path in site.iterdir() if path.is_dir()}
    assert folders == {"0.9", "0.10", "stable", "dev"}
    assert (site / "stable" / "index.html").read_text("utf-8") == "second index"
    assert (site / "0.9" / "index.html").read_text("utf-8") == "repaired index"
    assert not (site / "0.9" / "old.html").exists()
    assert "stable/index.html" in (site / "index.html").read_text("utf-8")

    entries = menu(site / "0.9")
    assert [entry["title"] for entry in entries] == ["dev", "0.10 (stable)", "0.9"]
    assert [entry["folder"] for entry in entries] == ["dev", "stable", "0.9"]
    assert entries[1]["pages"] == ["howto/new", "index"]
    assert all(menu(site / folder) == entries for folder in folders)


PAGE = """<!doctype html><html lang="en" data-content_root="{root}"><title>{page}</title>
<script src="{root}_static/versions.js"></script>
<script src="{root}_static/version-menu.js"></script>
<div class="version-menu" data-version="{version}" data-page="{page}"> {version}.0 </div>"""
LINKS = (
    "JSON.stringify([...document.querySelectorAll('.version-menu a')]"
    ".map(a => [a.textContent, a.href.split('/site/')[1], a.getAttribute('aria-current')]))"
)


@pytest.mark.skipif(find_chromium() is None, reason="needs Chromium")
def test_the_menu_leads_to_this_page_in_other_versions(tmp_path):
    """Read from files, where a page cannot fetch a list."""
    script = (ROOT / "docs" / "_static" / "version-menu.js").read_text("utf-8")
    site = tmp_path / "site"
    site.mkdir()
    for version, pages in (("0.1", ["index", "howto/same"]), ("0.2", ["index", "howto/same"])):
        html = built(tmp_path / version, *pages, "howto/new" if version == "0.2" else "howto/old")
        for path in html.rglob("*.html"):
            page = path.relative_to(html).with_suffix("").as_posix()
            root = "../" * page.count("/")
            path.write_text(PAGE.format(root=root, page=page, version=version), "utf-8")
        (html / "_static" / "version-menu.js").write_text(script, "utf-8")
        versions.publish(html, site, f"{version}.0")
    with Browser(tmp_path / "profile") as browser:
        browser.open(site / "0.1" / "howto" / "same.html", 800)
        assert json.loads(browser.evaluate(LINKS)) == [
            ["0.2 (stable)", "stable/howto/same.html", None],
            ["0.1", "0.1/howto/same.html", "true"],
        ]
        browser.open(site / "0.1" / "howto" / "old.html", 800)
        assert json.loads(browser.evaluate(LINKS))[0][1] == "stable/index.html"
        # A site that was only built has no other versions to choose from.
        browser.open(tmp_path / "0.2" / "index.html", 800)
        assert browser.evaluate("document.querySelector('.version-menu').textContent") == " 0.2.0 "
