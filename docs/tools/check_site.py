"""Look at a built site in headless Chromium: screenshots, axe-core, keyboard.

Usage: check_site.py HTML_FOLDER NPM_FOLDER SHOTS_FOLDER [PAGE ...]

For each page, at 390 and 1280 pixels, light and dark: no serious or critical finding of axe-core,
no error in the console, no request to another host, no sideways scrolling, no navigation without
a link in it; at 1280 pixels every line of code is visible as a whole. With the keyboard alone: the
first Tab reaches a skip link, every focused element is visible, the search opens.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
from helpers.browser import Browser

WIDTHS, SCHEMES = (390, 1280), ("light", "dark")
FULL_CODE = 1280  # from this width on a block of code does not scroll
SHOWN = ("index", "quickstart", "performance", "math", "architecture", "gallery/index")
SHOWN += ("api/estimators",)
# Colours half way from light to dark are nobody's colours.
STILL = (
    "document.head.insertAdjacentHTML('beforeend',"
    " '<style>*, ::before, ::after { transition: none !important }</style>')"
)
SERIOUS = ("serious", "critical")
EMPTY_SIDEBAR = (
    "(() => { const bar = document.querySelector('.bd-sidebar-primary');"
    " return bar !== null && bar.getBoundingClientRect().width > 0"
    " && getComputedStyle(bar).visibility === 'visible' && ![...bar.querySelectorAll('a')]"
    ".some(link => link.getBoundingClientRect().width > 0); })()"
)
# The longest line of each block of code that is wider than its box.
CUT_CODE = (
    "JSON.stringify([...document.querySelectorAll('pre')]"
    ".filter(block => block.scrollWidth > block.clientWidth + 1)"
    ".map(block => block.textContent.split('\\n').sort((a, b) => b.length - a.length)[0]))"
)


def findings(browser: Browser, axe: str) -> list[str]:
    """Run axe-core in the page and return what it takes seriously."""
    # Without preload: axe would fetch the style sheets again, which a page from a file may not.
    browser.evaluate(STILL)
    run = "axe.run({preload: false}).then(result => window.axeDone = result)"
    browser.evaluate(f"{axe}; window.axeDone = null; {run}; 0")
    for _ in range(300):
        text = browser.evaluate(
            "window.axeDone && JSON.stringify(window.axeDone.violations.map("
            "v => [v.impact, v.id, v.nodes.map(n => n.target.join(' ')).slice(0, 3)]))"
        )
        if text:
            break
    else:
        return ["axe-core does not end"]
    return [f"{i} {rule}: {nodes}" for i, rule, nodes in json.loads(text) if i in SERIOUS]


def layout(browser: Browser, width: int) -> list[str]:
    """Return what is cut off, too wide or empty at this width."""
    wrong = []
    across = browser.evaluate("document.documentElement.scrollWidth")
    if across > width:
        wrong.append(f"scrolls sideways: {across} px")
    if browser.evaluate(EMPTY_SIDEBAR):
        wrong.append("the navigation at the side is empty")
    if width >= FULL_CODE:
        wrong += [f"code is cut off: {line}" for line in json.loads(browser.evaluate(CUT_CODE))]
    return wrong


def press(browser: Browser, key: str, code: int, modifiers: int = 0) -> None:
    """Press and release a key."""
    for kind in ("rawKeyDown", "keyUp"):
        browser.call(
            "Input.dispatchKeyEvent",
            type=kind,
            key=key,
            windowsVirtualKeyCode=code,
            modifiers=modifiers,
        )


def keyboard(browser: Browser, width: int) -> list[str]:
    """Walk through a page with Tab and open the search; return what is wrong."""
    wrong, seen = [], []
    for _ in range(25):
        press(browser, "Tab", 9)
        here = browser.evaluate(
            "(() => { const e = document.activeElement, r = e.getBoundingClientRect(),"
            " s = getComputedStyle(e); return JSON.stringify([e.tagName, e.textContent.trim()"
            ".slice(0, 30), r.width * r.height, s.visibility, s.outlineStyle, s.boxShadow]); })()"
        )
        tag, text, area, visibility, outline, shadow = json.loads(here)
        seen.append(text)
        if tag != "BODY" and (area < 1 or visibility != "visible"):
            wrong.append(f"focus on something that cannot be seen: {tag} {text!r}")
        if tag == "A" and outline == "none" and shadow == "none":
            wrong.append(f"focus is not marked: {tag} {text!r}")
    if not any("skip" in text.lower() for text in seen[:3]):
        wrong.append(f"no skip link among the first stops: {seen[:3]}")
    if len(set(seen)) < 8:
        wrong.append(f"Tab does not get on: {seen}")
    press(browser, "k", 75, modifiers=2)
    opened = browser.evaluate("document.querySelector('dialog[open], .search-dialog') !== null")
    press(browser, "Escape", 27)
    if not opened:
        wrong.append("Ctrl-K does not open the search")
    return [f"{sentence} ({width} px)" for sentence in wrong]


def main(site: Path, npm: Path, shots: Path, chosen: list[str]) -> int:
    """Check all pages, print what is wrong and return how much of it there is."""
    axe = (npm / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    pages = sorted(path.relative_to(site).with_suffix("") for path in site.rglob("*.html"))
    pages = [page for page in pages if page.parts[0] != "_static"]
    pages = [page for page in pages if not chosen or str(page) in chosen]
    shots.mkdir(parents=True, exist_ok=True)
    wrong = []
    with tempfile.TemporaryDirectory() as folder, Browser(folder) as browser:
        for page in pages:
            for width in WIDTHS:
                for scheme in SCHEMES:
                    browser.open(site / f"{page}.html", width, scheme=scheme)
                    where = f"{page}, {width} px, {scheme}: "
                    found = findings(browser, axe)
                    found += [text for text in browser.problems if text != "console.log"]
                    found += [url for url in browser.requests if url.startswith("http")]
                    found += layout(browser, width)
                    wrong += [where + sentence for sentence in found]
                    if str(page) in SHOWN:
                        name = f"{str(page).replace('/', '-')}-{width}-{scheme}.png"
                        browser.screenshot(shots / name)
        for width in WIDTHS:
            browser.open(site / "index.html", width)
            wrong += keyboard(browser, width)
    print("\n".join(wrong))
    print(f"{len(pages)} pages, {len(wrong)} findings; screenshots in {shots}")
    return len(wrong)


if __name__ == "__main__":
    site, npm, shots = map(Path, sys.argv[1:4])
    sys.exit(1 if main(site, npm, shots, sys.argv[4:]) else 0)
