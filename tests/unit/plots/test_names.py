"""Names of the user are drawn as they are: dollar signs do not enclose formulas."""

from __future__ import annotations

from functools import cache

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.text import Text

from helpers import estimators, small_models
from helpers.causal import causal_model
from helpers.survival import right_censored, survival_model
from obliquebart import plots
from obliquebart.report import report_html

# Three that matplotlib cannot read as formulas, and one that it would draw without its dollars.
WRONG, JOINED, LEVEL, FORMULA = "$x^$", "a$_$b", "$c^$", "$y$"


@cache
def table(n=90):
    rng = np.random.default_rng(0)
    numbers = {name: rng.uniform(size=n) for name in (WRONG, JOINED)}
    return pd.DataFrame({**numbers, FORMULA: np.where(np.arange(n) % 2, LEVEL, "other")})


def outcome():
    X = table()
    return (X[WRONG] + X[JOINED] + (X[FORMULA] == LEVEL)).rename(FORMULA)


@cache
def regressor():
    return estimators.regressor().fit(table(), outcome())


@cache
def classifier(n_classes=3):
    labels = pd.qcut(outcome(), n_classes, [f"{WRONG}{k}" for k in range(n_classes)])
    return estimators.classifier(n_draws=10).fit(table(), labels.astype(str))


@cache
def causal():
    X = table()
    arms = np.where(np.arange(len(X)) % 3, WRONG, JOINED)
    return causal_model().fit(X, outcome(), arms, propensity=np.full(len(X), 1 / 3))


@cache
def survivor():
    X, y = right_censored(90)
    return survival_model().fit(X, y, target_name=WRONG), X


def labels(n_classes=3):
    return classifier(n_classes).predict(table())


PICTURES = {
    "importance": lambda **ax: plots.importance(regressor(), **ax),
    "effects of a number": lambda **ax: plots.effects(regressor(), table(), WRONG, **ax),
    "effects of a category": lambda **ax: plots.effects(regressor(), table(), FORMULA, **ax),
    "effects on classes": lambda **ax: plots.effects(classifier(), table(), JOINED, **ax),
    "inclusion": lambda **ax: plots.inclusion(regressor(), **ax),
    "tree": lambda **ax: plots.tree(large_tree(), **ax),
    "tree of a class": lambda **ax: plots.tree(classifier(), **ax),
    "surface": lambda **ax: plots.surface(regressor(), table(), **ax),
    "surface of classes": lambda **ax: plots.surface(classifier(), table(), **ax),
    "fit": lambda **ax: plots.fit(regressor(), table(), outcome(), **ax),
    "fit of two classes": lambda **ax: plots.fit(classifier(2), table(), labels(2), **ax),
    "fit of classes": lambda **ax: plots.fit(classifier(), table(), labels(), **ax),
    "residuals": lambda **ax: plots.residuals(regressor(), table(), outcome(), **ax),
    "calibration": lambda **ax: plots.calibration(classifier(), table(), labels(), **ax),
    "survival": lambda **ax: plots.survival(*survivor(), **ax),
    "ranking": lambda **ax: plots.effect_ranking(causal(), **ax),
    "subgroups": lambda **ax: plots.subgroups(causal(), table(), FORMULA, **ax),
    "overlap": lambda **ax: plots.overlap(causal(), **ax),
    "policy": lambda **ax: plots.policy(causal(), **ax),
    "sensitivity": lambda **ax: plots.sensitivity(causal(), **ax),
    "evidence": lambda **ax: plots.evidence(of_curves(), np.arange(4.0), shape=(4,), **ax),
    "trace": lambda ax=None: plots.trace(regressor(), ["sigma"], ax and [ax])[0],
    "trace of a class": lambda ax=None: plots.trace(
        classifier(), ["depth"], ax and [ax], class_=f"{WRONG}1"
    )[0],
}


def large_tree():
    trees = [regressor().posterior_.tree(-1, m) for m in range(20)]
    return max(trees, key=lambda tree: len(tree.leaves))


@cache
def of_curves():
    X = np.random.default_rng(0).normal(size=(60, 4))
    return estimators.regressor().fit(X, pd.Series(X[:, 1], name=FORMULA))


def texts_with_dollars(figure):
    """Draw a figure, and return what was drawn with dollar signs."""
    figure.canvas.draw()
    return [text for text in figure.findobj(Text) if "$" in text.get_text()]


@pytest.mark.parametrize("name", PICTURES)
def test_names_are_drawn_as_they_are(name):
    before = dict(mpl.rcParams)
    given = plt.subplots()[1]
    given.set_title(r"$\alpha$", loc="right")
    for ax in (PICTURES[name](), PICTURES[name](ax=given)):
        shown = [text for text in texts_with_dollars(ax.figure) if text.get_text() != r"$\alpha$"]
        assert shown
        assert not any(text.get_parse_math() for text in shown)
        assert any(each in text.get_text() for text in shown for each in (WRONG, JOINED, FORMULA))
    # Formulas of others remain such.
    assert given._right_title.get_parse_math()
    assert dict(mpl.rcParams) == before


def test_names_beside_each_other():
    # Axes that share an axis have ticks of their own, and a moved spine makes new ones.
    figure, panels = plt.subplots(2, sharey=True)
    ax = plots.importance(regressor(), ax=panels[0])
    ax.spines["left"].set_position(("outward", 10))
    shown = [text.get_text() for text in texts_with_dollars(figure) if text.get_visible()]
    assert all(shown.count(name) == 2 for name in (WRONG, JOINED, FORMULA))
    ax.set_yticks([1])
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [
        regressor().importance()[1].column
    ]


def test_formulas_can_replace_other_names():
    X, _ = small_models.mixed_table()
    ax = plots.effects(small_models.regressor(), X, "age")
    assert ax.set_xlabel(r"$\alpha$").get_parse_math()


@pytest.mark.parametrize("n_classes", [0, 5])
def test_pages_have_names_as_they_are(n_classes):
    # Five classes have panels, whose titles are written by the page itself.
    model = classifier(n_classes) if n_classes else regressor()
    text = report_html(model, table(), labels(n_classes) if n_classes else outcome())
    assert text.count("<svg") > 5
    assert all(name in text for name in (WRONG, JOINED))
