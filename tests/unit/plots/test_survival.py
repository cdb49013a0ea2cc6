"""Pictures of survival models: curves with bands, and checks against censored times."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from helpers import small_models
from helpers.survival import intervals, right_censored, survival_model
from obliquebart import plots
from obliquebart.explain.evaluation import evaluate

X, Y = right_censored(150)


@pytest.fixture(scope="module")
def model():
    return survival_model(distribution="log_logistic").fit(X, Y, target_name="days")


def test_curves_are_those_of_the_model(model):
    ax = plots.survival(model, X, rows=[3, -1], times=[1.0, 5.0, 9.0])
    ax.figure.canvas.draw()
    expected = model.predict_survival_function(X[[3, 149]], [1.0, 5.0, 9.0], return_array=True)
    for line, curve in zip(ax.lines, expected, strict=True):
        np.testing.assert_allclose(line.get_ydata(), [1.0, *curve])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["row 3", "row 149"]
    assert ax.get_legend().get_title().get_text() == "90% intervals"
    assert ax.get_xlabel() == "days"
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() < expected[0].min()
    assert band.max() > expected[0].max()


def test_rows_are_chosen_by_risk(model):
    given = plt.subplots()[1]
    ax = plots.survival(model, X, ax=given)
    assert ax is given
    last = [line.get_ydata()[-1] for line in ax.lines]
    assert len(last) == 4
    assert (np.diff(last) > 0).all()
    title = ax.get_legend().get_title().get_text()
    assert title == "from the highest to the lowest risk, 90% intervals"


def test_survival_plots_that_cannot_be_drawn(model):
    for rows in ([], [150], [0.5], list(range(9)), [[1]]):
        with pytest.raises(ValueError, match="1 to 8 positions"):
            plots.survival(model, X, rows=rows)
    with pytest.raises(ValueError, match="has no survival curves"):
        plots.survival(small_models.regressor(), small_models.mixed_table()[0])


def test_checks(model):
    evaluation = evaluate(model, X, Y)
    fit = plots.fit(evaluation)
    np.testing.assert_allclose(fit.lines[0].get_ydata()[1:], evaluation.curves[0].predicted)
    np.testing.assert_allclose(fit.lines[1].get_ydata()[1:], evaluation.curves[0].observed)
    patches = plots.calibration(model, X, Y).patches
    bars = [patch for patch in patches if isinstance(patch, Rectangle)]
    heights = [bar.get_height() for bar in bars if bar.get_width() == pytest.approx(0.1)]
    assert len(heights) == 10
    assert sum(heights) == pytest.approx(10.0)
    covered = plots.coverage(evaluation).lines[-1].get_ydata()
    assert covered[0] == pytest.approx(0.0)
    assert covered[-1] == pytest.approx(1.0)
    n_figures = len(plt.get_fignums())
    with pytest.raises(ValueError, match=r"no residuals: use plots\.calibration"):
        plots.residuals(evaluation)
    assert len(plt.get_fignums()) == n_figures
    plt.figure(fit.figure).canvas.draw()


def test_other_pictures_take_survival_models(model):
    assert plots.effects(model.effects(X, "x0")).get_ylabel() == "average predicted log days"
    ax = plots.surface(model, X)
    assert ax.figure.axes[-1].get_ylabel() == "predicted log days"
    plots.trace(model)
    plots.importance(model.importance())


def test_few_rows_are_one_group():
    x, y = intervals(20)
    ax = plots.fit(survival_model().fit(x, y), x, y)
    assert "all rows (20 rows)" in [text.get_text() for text in ax.get_legend().get_texts()]
