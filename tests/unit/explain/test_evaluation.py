"""Errors, intervals and calibration, against plain formulas and simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, norm

from helpers import small_models
from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.explain.evaluation import RegressionEvaluation, evaluate


def test_regression_agrees_with_the_draws():
    X, y = small_models.mixed_table()
    model = small_models.regressor()
    result = evaluate(model, X, y, coverage=0.8)
    f = model.posterior_.predict(X)
    sigma = model.posterior_.trace["sigma"].ravel()[:, None]
    np.testing.assert_allclose(result.mean, model.predict(X))
    np.testing.assert_allclose(result.pit, norm.cdf(y, f, sigma).mean(axis=0))
    interval = model.predict_interval(X, 0.8, kind="outcome")
    np.testing.assert_allclose(np.column_stack([result.low, result.high]), interval)
    # An outcome is in its central interval exactly if its predictive probability is central.
    assert result.coverage_at(0.8) == pytest.approx(result.covered.mean(), abs=1 / len(y))
    scores = result.scores()
    assert scores["RMSE"] == pytest.approx(np.sqrt(np.mean((y - model.predict(X)) ** 2)))
    assert scores["R²"] == pytest.approx(model.score(X, y))
    assert scores["in 80% interval"] == result.covered.mean()


def test_pit_is_uniform_for_the_truth():
    # Rows simulated from the posterior predictive distribution, each from another draw: the
    # false-alarm rate is 1e-4.
    X, _ = small_models.mixed_table()
    model = small_models.regressor()
    y = np.diag(model.sample_y(X, len(X), random_state=3))
    assert kstest(evaluate(model, X, y).pit, "uniform").pvalue > 1e-4


def test_two_classes_agree_with_the_model():
    X, y = small_models.mixed_table()
    labels = np.where(y > 105, "high", "low")
    model = small_models.classifier()
    result = evaluate(model, X, labels)
    np.testing.assert_allclose(result.probability, model.predict_proba(X))
    interval = model.predict_interval(X, 0.9)
    np.testing.assert_allclose(np.stack([result.low, result.high], axis=-1), interval)
    scores = result.scores()
    assert scores["accuracy"] == model.score(X, labels)
    assert 0.9 < scores["AUC"] <= 1
    probability, true = result.pairs()
    np.testing.assert_array_equal(true, labels == "low")
    np.testing.assert_allclose(probability, result.probability[:, 1])


def test_weights_of_classes_count():
    X, y = small_models.mixed_table()
    labels = np.where(y > 105, "high", "low")
    model = ObliqueBARTClassifier(**small_models.OPTIONS, class_weight={"low": 5.0})
    model.fit(X, labels)
    result = evaluate(model, X, labels)
    np.testing.assert_allclose(result.probability, model.predict_proba(X))
    without = model.posterior_.mean(X)
    # Probabilities may round to 1, whatever the weights.
    assert (result.probability[:, 1] > without)[without < 1 - 1e-6].all()


def test_three_classes():
    model, X, y = small_models.three_classes()
    result = evaluate(model, X, y)
    assert result.probability.shape == (150, 3)
    assert set(result.scores()) == {"accuracy", "log loss", "Brier score"}
    assert len(result.pairs()[0]) == 450


@pytest.mark.filterwarnings("ignore:All 30 outcomes")
@pytest.mark.filterwarnings("ignore:y contains only one class")
def test_without_variation():
    X = np.linspace(0, 1, 30).reshape(-1, 1)
    model = ObliqueBARTRegressor(**small_models.OPTIONS).fit(X, np.full(30, 2.0))
    result = evaluate(model, X, np.full(30, 2.0))
    assert result.scores()["RMSE"] == 0
    np.testing.assert_allclose(result.pit, 0.5)
    assert np.isnan(result.scores()["R²"])


def test_large_tables_are_thinned():
    X, y = small_models.mixed_table()
    result = evaluate(small_models.regressor(), X, y, max_rows=20)
    assert isinstance(result, RegressionEvaluation)
    assert len(result.y) == 20
    assert result.n_table == 150
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=f"max_rows={wrong} is out of range"):
            evaluate(small_models.regressor(), X, y, max_rows=wrong)


def test_unknown_labels_are_named():
    X, y = small_models.mixed_table()
    with pytest.raises(ValueError, match="'other', which is not a class of the model"):
        evaluate(small_models.classifier(), X, np.where(y > 105, "high", "other"))
