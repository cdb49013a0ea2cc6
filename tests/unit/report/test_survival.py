"""The page of a survival model."""

from __future__ import annotations

import re

from helpers.survival import intervals, right_censored, survival_model
from obliquebart.report import report_html


def words_of(page):
    return " ".join(re.sub("<[^>]*>", " ", page).split())


def test_the_page_of_a_survival_model():
    x, y = right_censored(200)
    model = survival_model(n_trees=10).fit(x[:100], y[:100], target_name="days")
    page = report_html(model, x[100:], y[100:])
    text = words_of(page)
    for expected in (
        "This model predicts days, the time until an event, from",
        "survival analysis by oblique",
        "Ranked correctly",
        "Survival curves of four rows",
        "Predicted and observed survival of rows with low, middle and high risk",
        "average predicted log days",
        "rows not in training",
        "log score",
        "known to have the earlier event: how often the model gives it the higher risk",
    ):
        assert expected in text, expected
    assert "Residuals" not in text
    # Two checks, curves; importance, effects of the columns that matter, surface; trace, one more
    # check, inclusion, tree.
    assert page.count("<figure") >= 9


def test_intervals_and_training_rows():
    x, y = intervals(80)
    page = report_html(survival_model(n_trees=10).fit(x, y), x, y)
    assert "These are the training rows." in page
