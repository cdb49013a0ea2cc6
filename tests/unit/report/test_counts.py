"""The page of a model of counts."""

from __future__ import annotations

import numpy as np

from helpers.estimators import OPTIONS
from obliquebart import ObliqueBARTCountRegressor
from obliquebart.explain.evaluation import evaluate
from obliquebart.report import report_html


def test_exposures_that_are_no_column():
    rng = np.random.default_rng(0)
    x, years = rng.uniform(size=(120, 2)), rng.uniform(0.5, 20.0, 120)
    y = rng.poisson(years * np.exp(x[:, 0]))
    model = ObliqueBARTCountRegressor(**OPTIONS, random_state=0).fit(x, y, exposure=years)
    page = report_html(model, x, y, exposure=years)
    inside = evaluate(model, x, y, exposure=years).scores()["in 90% interval"]
    assert f"{inside:.0%}" in page
    assert f"{inside:.0%}" not in report_html(model, x, y)
