"""The page of a causal model."""

from __future__ import annotations

import re

import numpy as np
import pytest

from helpers import small_models
from helpers.causal import causal_model, treated_table
from obliquebart.report import report_html, write_report

X, Z, Y = treated_table(200)


def words_of(page):
    return " ".join(re.sub("<[^>]*>", " ", page).split())


def test_the_page_of_a_causal_model(tmp_path):
    model = causal_model().fit(X.assign(z=Z), Y, treatment="z")
    path = tmp_path / "page.html"
    write_report(model, X.assign(z=Z), None, path, source="data.csv")
    page = path.read_text("utf-8")
    text = words_of(page)
    average = model.ate(X)
    for expected in (
        "What does z change?",
        "This model estimates what a treatment changes in score",
        "averaged over 200 rows of data.csv",
        f"Average effect {average.mean:.3g}",
        "the treatment (1 against 0) raises score by about",
        "This is an effect only if",
        "Nothing that affects both the treatment and the outcome is missing",
        "Who benefits?",
        "by b, with 95% intervals",
        "Are there rows to compare with?",
        "How far can it be trusted?",
        "percentage points more common among the treated",
        "Have the chains converged?",
        "The probability that a row gets the treatment, given its columns.",
    ):
        assert expected in text, expected
    # Ranking, a group, policy; overlap; prior, sensitivity; two traces; inclusion, tree.
    assert page.count("<figure") >= 10
    # Effects are those of the treatment, also in the glossary.
    assert "not proof of a cause" not in page
    assert page.count('<details class="part">') == 1
    assert page.index('<details class="part">') < page.index("Have the chains converged?")


def test_the_page_without_propensities_and_with_a_title():
    labels = np.where(Y > 0.5, "well", "ill")
    model = causal_model(propensity=None).fit(X, labels, Z)
    page = report_html(model, X, treatment=Z, title="Trial")
    text = words_of(page)
    assert "<title>Trial</title>" in page
    assert "fitted without propensities" in text
    assert "raises the probability of well by about" in text


def test_the_page_of_a_model_with_given_propensities():
    propensity = np.linspace(0.2, 0.8, len(Z))
    for outcome in (Y, np.where(Y > 0.5, "well", "ill")):
        model = causal_model().fit(X, outcome, Z, propensity=propensity)
        text = words_of(report_html(model, X, treatment=Z, propensity=propensity))
        assert "Who benefits?" in text


def test_several_arms_have_folded_parts():
    arm = np.array(["none", "low", "high"])[np.arange(len(Z)) % 3]
    model = causal_model(propensity=None, control="none").fit(X, Y, arm)
    text = words_of(report_html(model, X, treatment=arm))
    assert "Average effect (low against none)" in text
    assert "Average effect (high against none)" in text


def test_the_page_of_a_dose():
    model = causal_model().fit(X, Y, Z + X["c"].to_numpy())
    text = words_of(report_html(model, None))
    assert "The treatment is a dose" in text
    assert "the treatment (one unit more)" in text


def test_what_a_page_needs():
    model = causal_model(propensity=None).fit(X, Y, Z)
    with pytest.raises(ValueError, match="with treatment="):
        report_html(model, X)
    table, _ = small_models.mixed_table()
    with pytest.raises(ValueError, match="needs outcomes: pass y"):
        report_html(small_models.regressor(), table)
