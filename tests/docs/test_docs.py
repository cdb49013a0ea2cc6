"""What the documentation shows works: doctests, code blocks, commands, gallery, figures.

Sampling is cut short here; `make docs` runs the gallery at full length. `test_extend.py` has the
tutorials' changes of the core.
"""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
import runpy
import shlex
import textwrap
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from typer.testing import CliRunner

import obliquebart
from helpers import ROOT
from obliquebart import plots
from obliquebart.cli import app
from obliquebart.estimators import base
from obliquebart.model.parameters import RunLength

DOCS = ROOT / "docs"
OF_OTHERS = ("_generated", "decisions", "study", "gallery")
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(p for p in DOCS.rglob("*.md") if p.relative_to(DOCS).parts[0] not in OF_OTHERS),
]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem != "demo")
MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(obliquebart.__path__, "obliquebart.")
    if not name.startswith(("obliquebart._core", "obliquebart.__main__", "obliquebart.study"))
)


def name_of(path):
    return str(path.relative_to(ROOT))


def blocks(path, language):
    return [match[2] for match in FENCE.finditer(path.read_text("utf-8")) if match[1] == language]


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Cut every fit short, in an empty folder with the tables that the pages read."""
    monkeypatch.setattr(
        base,
        "RunLength",
        lambda chains, burn, draws, thin: RunLength(
            min(chains, 2), min(burn, 15), 15 if draws == "auto" else min(draws, 15), thin
        ),
    )
    monkeypatch.setattr(plt, "show", lambda: None)
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
    plt.close("all")


def write_tables(folder):
    rng = np.random.default_rng(0)
    flats = pd.DataFrame(
        {
            "area": rng.uniform(20, 200, 60),
            "age": rng.integers(0, 90, 60),
            "street": rng.choice(["north", "south"], 60),
        }
    )
    flats.to_csv(folder / "new_flats.csv", index=False)
    flats.rename(columns={"area": "a"}).to_csv(folder / "new.csv", index=False)
    rent = 200 + 9 * flats["area"]
    flats.assign(rent=rent).to_csv(folder / "flats.csv", index=False)
    flats.rename(columns={"area": "a"}).assign(y=rent).to_csv(folder / "train.csv", index=False)


@pytest.mark.parametrize("module", ["obliquebart", *MODULES])
def test_doctests(module):
    found = importlib.import_module(module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert doctest.testmod(found, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0
    plt.close("all")


def public_objects():
    yield from ((name, getattr(obliquebart, name)) for name in obliquebart.__all__)
    yield from ((f"plots.{name}", getattr(plots, name)) for name in plots.__all__)


@pytest.mark.parametrize(
    ("name", "thing"),
    [
        (name, thing)
        for name, thing in public_objects()
        if callable(thing) and not (inspect.isclass(thing) and issubclass(thing, Exception))
    ],
)
def test_docstrings_have_an_example(name, thing):
    assert ">>>" in (inspect.getdoc(thing) or ""), f"{name} has no example"


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=name_of)
@pytest.mark.usefixtures("quick")
def test_python_blocks(page):
    namespace = {"__name__": "__main__"}
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)


@pytest.mark.usefixtures("quick")
def test_shap_block():
    """Where shap is installed; it is no dependency, and large."""
    pytest.importorskip("shap")
    page = DOCS / "howto" / "columns.md"
    setup, (snippet,) = blocks(page, "python")[0], blocks(page, "py")
    namespace = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own
        exec(setup, namespace)
        exec(snippet, namespace)
    explanation, predict = namespace["explanation"], namespace["predict"]
    total = explanation.values.sum(axis=1) + explanation.base_values
    expected = predict(namespace["numbers"][:5].to_numpy())
    np.testing.assert_allclose(total, expected, rtol=1e-6)


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "sh")], ids=name_of)
@pytest.mark.usefixtures("quick")
def test_commands(page):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for line in "\n".join(blocks(page, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["make"]:
            wanted = {word for word in words[1:] if not word.startswith("-") and "=" not in word}
            assert wanted <= targets, line
        if words[:2] == ["obliquebart", "study"]:
            # Needs data and minutes: here only whether there are such a command and such options.
            result = CliRunner().invoke(app, [*words[1:3], "--help"], env={"COLUMNS": "200"})
            assert all(word in result.output for word in words if word.startswith("--")), line
        elif words[:1] == ["obliquebart"]:
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"


@pytest.mark.parametrize("script", EXAMPLES, ids=name_of)
@pytest.mark.usefixtures("quick")
def test_gallery(script):
    if "causaldata" in script.read_text("utf-8"):
        # Of the gallery's environment; it needs statsmodels.
        pytest.importorskip("causaldata")
    # Dask warns of its own threads where a test ends quickly.
    warnings.filterwarnings("ignore", category=ResourceWarning)
    runpy.run_path(str(script), run_name="__main__")
    assert plt.get_fignums()


@pytest.mark.usefixtures("quick")
def test_recipe_of_llms_txt():
    text = (DOCS / "llms.txt").read_text("utf-8")
    recipe = re.search(r"^((?:    .*\n|\n)+)", text[text.index("Recipe") :], re.M)
    exec(textwrap.dedent(recipe[0]), {})


def test_readme_is_short():
    text = (ROOT / "README.md").read_text("utf-8")
    # Two minutes at 220 words a minute.
    assert len(re.sub(r"<!--.*?-->", "", text).split()) < 440


def load_tool(name: str):
    spec = importlib.util.spec_from_file_location(name, DOCS / "tools" / f"{name}.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


def test_evidence_for_oblique_rules_is_that_of_the_study():
    when = load_tool("when")
    assert when.PAGE.read_text("utf-8") == when.text(), "Run .venv/bin/python docs/tools/when.py"


def test_readme_figures_are_those_of_the_benchmark():
    readme = load_tool("readme")
    if not readme.RESULTS.exists():
        pytest.skip("a source distribution has no results")
    text = (ROOT / "README.md").read_text("utf-8")
    assert readme.filled(text) == text, "Run .venv/bin/python docs/tools/readme.py"


def test_names_in_the_documentation():
    """The forbidden synonyms are for the table of names, and for other packages' words, only."""
    for page in PAGES:
        if page.name in ("architecture.md", "comparison.md", "performance.md", "reproduction.md"):
            continue
        prose = re.sub(r"^```.*?^```|`[^`]*`", "", page.read_text("utf-8"), flags=re.M | re.S)
        for word in ("forest", "iteration", "hyper-parameter"):
            pattern = rf"(?<!random )(?<!causal )\b{word}s?\b"
            assert not re.search(pattern, prose), f"{page.name} says {word!r}"
