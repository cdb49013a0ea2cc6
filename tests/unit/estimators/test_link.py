"""Links of a classifier."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from obliquebart import ObliqueBARTClassifier, load

SHORT = {"n_trees": 20, "n_burn": 100, "n_draws": 100, "n_chains": 2, "random_state": 0}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (200, 2))
    return x, expit(3 * x[:, 0]), (rng.random(200) < expit(3 * x[:, 0])).astype(int)


def test_links_nearly_agree(table):
    x, truth, y = table
    found = {
        link: ObliqueBARTClassifier(link=link, **SHORT).fit(x, y).predict_proba(x)[:, 1]
        for link in ("probit", "logit")
    }
    assert abs(found["probit"] - found["logit"]).mean() < 0.04
    assert abs(found["logit"] - truth).mean() < 0.1


def test_f_is_in_log_odds(table):
    x, _, y = table
    model = ObliqueBARTClassifier(link="logit", **SHORT).fit(x, y)
    draws = model.predict_proba(x[:5], return_draws=True)[..., 1]
    np.testing.assert_allclose(draws, expit(model.posterior_.predict(x[:5])), rtol=1e-4)


def test_weights_files_and_more_draws(table, tmp_path):
    x, _, y = table
    weights = np.linspace(0.1, 2.0, len(y))
    model = ObliqueBARTClassifier(link="logit", **SHORT).fit(x, y, weights)
    model.save(tmp_path / "model.obart")
    again = load(tmp_path / "model.obart")
    assert again.link == "logit"
    np.testing.assert_array_equal(again.predict_proba(x), model.predict_proba(x))
    np.testing.assert_array_equal(
        again.sample_more(5, x, y, weights).predict_proba(x),
        model.sample_more(5).predict_proba(x),
    )


def test_one_against_the_rest(table):
    x, _, y = table
    labels = np.where(x[:, 1] > 0.5, "c", np.where(y == 1, "a", "b"))
    model = ObliqueBARTClassifier(link="logit", **SHORT).fit(x, labels)
    assert model.score(x, labels) > 0.7
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)


def test_other_links_are_refused(table):
    x, _, y = table
    with pytest.raises(ValueError, match="link"):
        ObliqueBARTClassifier(link="cauchit", **SHORT).fit(x, y)
