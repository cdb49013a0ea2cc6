"""The HTML page: complete, self-contained, accessible, and the same in a real browser."""

from __future__ import annotations

import html
import re
import warnings
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes

from helpers import estimators, small_models
from helpers.browser import Browser, find_chromium
from obliquebart import ConvergenceWarning, ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.report import report_html, write_report
from obliquebart.report.sections import SMALLEST_SHARE
from obliquebart.report.words import GLOSSARY, explained

OPTIONS = {"n_trees": 25, "n_burn": 100, "n_draws": 60, "n_chains": 2, "random_state": 0}
VOID = {"meta", "br", "hr", "img", "link", "input"}
# Four checks of numbers or three of classes; importance, six effects, surface; trace, inclusion,
# tree.
N_PICTURES = {"diabetes": 15, "breast cancer": 14}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages of two real data sets, the rows split in halves."""
    folder = tmp_path_factory.mktemp("pages")
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = ObliqueBARTRegressor(**OPTIONS).fit(X[::2], y[::2].rename("progression"))
    write_report(model, X[1::2], y[1::2], folder / "diabetes.html", source="UCI")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = np.where(y == 1, "benign", "malignant")
    model = ObliqueBARTClassifier(**OPTIONS).fit(X[::2], labels[::2])
    write_report(model, X[1::2], labels[1::2], folder / "breast cancer.html", title="Cancer")
    return {name: folder / f"{name}.html" for name in N_PICTURES}


class Page(HTMLParser):
    """Collects what the tests ask for, and checks that every element is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.elements, self.text = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if "id" in attributes:
            self.ids.append(attributes["id"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if "id" in dict(attributes):
            self.ids.append(dict(attributes)["id"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.mark.parametrize("name", N_PICTURES)
def test_the_page_is_complete_and_self_contained(pages, name):
    text = pages[name].read_text(encoding="utf-8")
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("main")) == len(page.all("h1")) == 1
    assert page.all("script") == page.all("link") == page.all("iframe") == []
    # Nothing from elsewhere: names of XML namespaces are no addresses, references are local.
    addresses = re.findall(r'(?:\b(?:src|href)="|url\()([^")]*)', text)
    assert len(addresses) > 20
    assert all(a.startswith(("#", "data:")) for a in addresses), addresses
    assert len(page.all("figure")) == len(page.all("figcaption")) == N_PICTURES[name]
    for link in page.all("a"):
        assert link["href"][1:] in page.ids


@pytest.mark.parametrize("name", N_PICTURES)
def test_the_page_can_be_heard(pages, name):
    page = Page(pages[name].read_text(encoding="utf-8"))
    pictures = [attributes for attributes in page.all("svg") if attributes.get("role") == "img"]
    assert len(pictures) == N_PICTURES[name]
    assert all(attributes["aria-labelledby"] in page.ids for attributes in pictures)
    assert all(attributes.get("scope") in ("col", "row") for attributes in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table")) > 5
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert (np.diff(levels) <= 1).all()


def test_what_the_page_says(pages):
    text = " ".join(" ".join(Page(pages["diabetes"].read_text(encoding="utf-8")).text).split())
    for words in (
        *("What predicts progression?", "evaluated on 221 rows of UCI", "trained on 221 rows"),
        *("R-hat", "bulk ESS", "RMSE", "Accepted moves", "Columns by importance"),
        *("rows not in training", "Columns by use", "Pairs that share oblique rules"),
        *("One tree of the last draw", "├─ yes", "n_trees", "What matters most: "),
        *("Predictions of progression are off by", "average predicted progression."),
    ):
        assert words in text
    assert "These are the training rows" not in text


def test_training_rows_are_named_and_the_page_is_reproducible():
    X, y = small_models.mixed_table()
    model = small_models.regressor()
    text = report_html(model, X, y)
    assert "These are the training rows" in text
    assert "categorical" in text
    verdict = model.summary(X)._for("page").verdict
    assert f"<strong>{verdict.headline}</strong><" in text.replace("</p>", "")
    assert all(html.escape(sentence) in text for sentence in verdict.sentences)
    assert report_html(model, X, y) == text


def test_some_training_rows_are_counted():
    X, y = small_models.mixed_table()
    text = report_html(small_models.regressor(), X[:40], np.r_[y[:30], y[30:40] + 1.0])
    assert "30 of these 40 rows were in the training data." in text
    assert "30 of 40 rows were in training, so too good" in text
    assert "These are the rows of the fit" not in text


def test_more_classes():
    model, X, y = small_models.three_classes()
    page = Page(report_html(model, X, y))
    text = " ".join(page.text)
    assert "versicolor" in text
    # Three checks and a calibration of each class; importance, surface and two to four effects;
    # trace, inclusion and tree of each class.
    n_effects = sum(row.share >= SMALLEST_SHARE for row in model.importance(X))
    assert len(page.all("figure")) == 3 + 3 + 2 + n_effects + 3 * 3
    assert len(page.all("details")) == 6 + 1
    assert "one of 3 classes" in text
    regions = [a["aria-label"] for _, a in page.elements if a.get("role") == "region"]
    assert len(set(regions)) == len(regions)


@pytest.mark.filterwarnings("ignore:All 30 outcomes")
@pytest.mark.filterwarnings("ignore:y contains only one class")
def test_models_without_variation():
    X = np.linspace(0, 1, 30).reshape(-1, 1)
    y = np.full(30, 2.0)
    model = ObliqueBARTRegressor(**OPTIONS).fit(X, y)
    text = " ".join(" ".join(Page(report_html(model, X, y)).text).split())
    assert "The trees have no rules" in text
    labels = np.full(30, "only")
    one = ObliqueBARTClassifier(**OPTIONS).fit(X, labels)
    page = report_html(one, X, labels)
    assert "<strong>100%</strong> of the rows" in page
    assert "accuracy 100.0%" in page


@pytest.mark.parametrize("name", N_PICTURES)
def test_the_page_begins_with_what_a_reader_wants(pages, name):
    text = pages[name].read_text(encoding="utf-8")
    titles = re.findall(r"<h2[^>]*>(.*?)</h2>", text)
    assert titles == [
        *("Summary", "How good are the predictions?", "Which columns matter?"),
        *("How do predictions depend on them?", "Have the chains converged?"),
        *("Details for analysts", "Glossary"),
    ]
    folded = text[text.index('<details class="part"') : text.index('id="words"')]
    assert re.findall(r"<h3[^>]*>(.*?)</h3>", text) == re.findall(r"<h3[^>]*>(.*?)</h3>", folded)
    assert re.findall(r"<h3[^>]*>(.*?)</h3>", folded) == [
        *("More checks", "What do the trees look like?", "How was the model fitted?"),
    ]
    # Before the first picture: three numbers, and nothing that needs statistics.
    first = text[text.index("<main") : text.index("<figure")]
    assert first.count("<dt>") == 3
    assert "What matters most: " in first
    assert not re.search(
        "R-hat|θ|leaf_sd|draws|σ", re.sub("<div class=.verdict.*?</div>", "", first)
    )


@pytest.mark.parametrize("name", N_PICTURES)
def test_every_word_is_explained(pages, name):
    page = Page(pages[name].read_text(encoding="utf-8"))
    links = [a for a in page.all("a") if a.get("class") == "word"]
    assert all(link["title"] for link in links)
    keys = {link["href"].removeprefix("#word-") for link in links}
    assert keys >= {"r-hat", "ess", "mcse", "draw", "chain", "importance", "effect", "interval"}
    assert keys >= {"theta", "leaf-sd", "rule", "prior", "phi", "kind", "moves", "parameter", "f"}
    assert keys >= ({"sigma", "r2", "rmse"} if name == "diabetes" else {"auc", "log-loss", "brier"})
    # Only words that occur are in the glossary.
    assert {i.removeprefix("word-") for i in page.ids if i.startswith("word-")} == keys


def test_words_of_the_glossary():
    spellings = [spelling.lower() for word in GLOSSARY for spelling in word.spellings]
    assert len(spellings) == len(set(spellings))
    assert len({word.key for word in GLOSSARY}) == len(GLOSSARY)
    html = explained("Draws & draws of f, not F; redraws")
    assert html.count("<a ") == 2
    assert 'href="#word-draw"' in html
    assert ">Draws</a> &amp; draws of <a " in html
    assert html.endswith(", not F; redraws")


def test_numbers_are_in_the_units_of_the_user():
    X, y = small_models.mixed_table()
    prices = pd.Series(10_000.0 * y, name="price")
    model = ObliqueBARTRegressor(**OPTIONS).fit(X[:100], prices[:100])
    page = report_html(model, X[100:], prices[100:])
    text = " ".join(Page(page[page.index("<header") : page.index("</body")]).text)
    assert not re.search(r"\d[eE]\+?\d", text)
    assert re.search(r"1,\d\d\d,\d\d\d", text)


def test_missing_values_are_no_level():
    X, y = small_models.mixed_table()
    X = X.assign(sex=np.where(np.arange(len(X)) % 5 == 0, None, np.where(y > 105, "f", "m")))
    page = report_html(ObliqueBARTRegressor(**OPTIONS).fit(X, y), X, y)
    assert f"2 levels; {X['sex'].isna().sum()} missing" in page


def test_a_short_run_is_compared_with_the_error():
    X, y = small_models.mixed_table()
    prices = pd.Series(1_000.0 * y, name="price")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ObliqueBARTRegressor(**{**OPTIONS, "n_burn": 5, "n_draws": 8}).fit(X, prices)
    assert model.summary().verdict.tier != "fine"
    page = report_html(model, X, prices)
    first = re.sub("<.*?>", "", page[page.index("<main") : page.index("<figure")])
    assert re.search(
        r"Another run could move a prediction by about ±[\d,.]+, compared with an average error of "
        r"[\d,.]+\.",
        first,
    )
    assert not re.search(r"\d{4}", first)


def test_columns_are_described_as_fit_does():
    X, y = small_models.mixed_table()
    X = X.assign(
        since=pd.date_range("2020-01-01", periods=len(X)),
        member=np.arange(len(X)) % 3 == 0,
        lot=np.linspace(1477, 159_000, len(X)),
    )
    X.loc[:73, "colour"] = None
    X.loc[:4, "age"] = np.nan
    model = ObliqueBARTRegressor(**OPTIONS, dates="auto").fit(X, y)
    text = " ".join(" ".join(Page(report_html(model, X, y)).text).split())
    assert (
        "from 4 columns of numbers, 1 column of dates, 1 column of yes or no and 1 column of "
        "categories."
    ) in text
    for words in (
        "colour categorical 6 levels; 74 missing",
        "since date 2020-01-01 to 2020-05-29",
        "lot continuous 1,477 to 159,000",
    ):
        assert words in text
    assert re.search(r"age continuous [\d.]+ to [\d.]+; 5 missing", text)
    assert "since continuous" not in text


def test_a_category_of_many_levels_and_several_classes_have_pictures_of_their_size():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"town": rng.integers(0, 27, 300).astype(str), "size": rng.uniform(size=300)})
    labels = np.array([f"class {i % 6}" for i in X["town"].astype(int)])
    model = estimators.classifier(n_burn=10, n_draws=10).fit(X, labels)
    page = report_html(model, X, labels)
    assert "town: average probability. The 15 most common levels." in re.sub("<.*?>", "", page)
    boxes = re.findall(r'aria-labelledby="effect\d-title" viewBox="0 0 ([\d.]+) ([\d.]+)"', page)
    assert boxes
    assert all(float(height) < 3 * float(width) for width, height in boxes)
    sizes = page[page.index("Columns of a <") :]
    assert '<td class="number">0.0%</td><td' not in sizes[: sizes.index("</table>")]


def test_names_cannot_become_elements():
    X, y = small_models.mixed_table()
    evil = "<script>alert(1)</script>"
    renamed = X.rename(columns={"age": evil, "bmi": '"&amp;'})
    renamed["colour"] = renamed["colour"].replace("red", "<b>red")
    model = ObliqueBARTRegressor(**OPTIONS).fit(renamed, y, target_name=evil)
    page = Page(report_html(model, renamed, y, source=evil))
    assert page.all("script") == page.all("b") == []
    assert evil in "".join(page.text)


def contrast(first, second):
    """The ratio of WCAG 2, 1 to 21."""

    def light(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
        parts = np.array([int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)])
        linear = np.where(parts <= 0.03928, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return float(linear @ [0.2126, 0.7152, 0.0722])

    low, high = sorted([light(first), light(second)])
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_told_from_its_paper():
    template = resources.files("obliquebart.report").joinpath("template.html").read_text("utf-8")
    schemes = re.findall(r":root \{(.*?)\}", template, flags=re.DOTALL)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]+)", scheme))
        for name in ("ink", "soft", "accent"):
            # 4.5 is level AA for small text.
            assert contrast(colours[name], colours["paper"]) >= 4.5, name
            assert contrast(colours[name], colours["shade"]) >= 4.5, name
        for name in ("warn", "good"):
            assert contrast(colours["ink"], colours[f"{name}-shade"]) >= 4.5, name


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if find_chromium() is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    with Browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


BOXES = """[...document.querySelectorAll('figure svg')].map(svg => {
  const box = svg.getBoundingClientRect();
  return [box.width, box.height, svg.querySelectorAll('path, use, image').length];
})"""
IMAGES = """[...document.querySelectorAll('svg image')].map(image => {
  const box = image.getBBox(); return box.width * box.height; })"""


@pytest.mark.parametrize("name", N_PICTURES)
@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1280, "light"), (1280, "dark")])
def test_the_page_in_a_browser(pages, browser, tmp_path, name, width, scheme):
    browser.open(pages[name], width, scheme=scheme)
    assert browser.problems == []
    assert {url.partition(":")[0] for url in browser.requests} <= {"file", "data"}
    # No scrolling to the side but inside a table.
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    boxes = browser.evaluate(BOXES)
    assert len(boxes) == N_PICTURES[name]
    for box_width, box_height, n_shapes in boxes:
        assert box_width > 250
        assert box_height > 80
        assert n_shapes > 10
    assert all(area > 0 for area in browser.evaluate(IMAGES))
    background = browser.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 50_000


def test_a_screen_reader_finds_the_pictures(pages, browser):
    browser.open(pages["diabetes"], 1280)
    browser.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    browser.call("Accessibility.enable")
    nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
    names = [
        node.get("name", {}).get("value", "")
        for node in nodes
        if node.get("role", {}).get("value") == "image" and not node.get("ignored")
    ]
    assert sum(len(name) > 20 for name in names) >= N_PICTURES["diabetes"]


def test_the_page_prints(pages, browser, tmp_path):
    browser.open(pages["diabetes"], 1280, scheme="dark")
    browser.pdf(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
