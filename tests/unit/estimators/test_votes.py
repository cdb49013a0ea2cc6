"""Labels that count several times."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from helpers import small_files
from obliquebart import ObliqueBARTClassifier, load
from obliquebart.exceptions import ModelFileError
from obliquebart.files import model_file
from obliquebart.model.parameters import RUN_LENGTHS, SweepCost

SHORT = {"n_trees": 20, "n_burn": 100, "n_draws": 100, "n_chains": 2, "random_state": 0}
MODELS = [{}, {"multiclass": "one_vs_rest"}, {"multiclass": "one_vs_rest", "link": "logit"}]


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


def classifier(**parameters):
    return ObliqueBARTClassifier(**SHORT | parameters)


@pytest.mark.parametrize("parameters", MODELS, ids=str)
def test_labels_that_are_certain_give_less_cautious_probabilities(flowers, parameters):
    X, y, X_new, y_new = flowers
    once, often = (classifier(votes=votes, **parameters).fit(X, y) for votes in (1, 16))
    largest = [model.predict_proba(X_new).max(axis=1).mean() for model in (once, often)]
    assert largest[1] > largest[0]
    scores = [model.log_score(X_new, y_new) for model in (once, often)]
    assert scores[1] > scores[0]


@pytest.mark.parametrize("parameters", MODELS, ids=str)
def test_votes_multiply_weights(flowers, parameters):
    X, y, *_ = flowers
    weights = np.linspace(0.3, 1.1, len(y))
    one = classifier(votes=2, leaf_sd=0.5, **parameters).fit(X, y, weights)
    other = classifier(leaf_sd=0.5, **parameters).fit(X, y, 2.0 * weights)
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


def test_the_scale_of_outputs_is_fixed(flowers):
    X, y, *_ = flowers
    y = y > 0
    for votes, is_fixed in ((1, False), (2, True)):
        settings = classifier(votes=votes).fit(X, y).posterior_.settings
        assert settings["leaf_sd_fixed"] is is_fixed
        assert settings["leaf_sd"] == pytest.approx(3.0 / (2.0 * 20**0.5))
    assert classifier(votes=2, leaf_sd=0.7).fit(X, y).posterior_.settings["leaf_sd"] == 0.7


@pytest.mark.parametrize("parameters", MODELS, ids=str)
def test_files_and_checkpoints_go_on_bit_for_bit(flowers, parameters, tmp_path):
    X, y, *_ = flowers
    parameters = {**parameters, "votes": 5, "n_burn": 20, "n_draws": 20}
    whole = classifier(**parameters).fit(X, y)
    part = classifier(**parameters | {"n_draws": 12}).fit(X, y)
    part.save(tmp_path / "model.obart", include_data=True)
    again = load(tmp_path / "model.obart")
    assert again.votes == 5
    expected = whole.predict_proba(X)
    np.testing.assert_array_equal(again.sample_more(8).predict_proba(X), expected)
    copy = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(copy.sample_more(8, X, y).predict_proba(X), expected)
    for _ in range(2):
        model = clone(whole).fit(X, y, checkpoint=tmp_path / "c", checkpoint_every=15)
        np.testing.assert_array_equal(model.predict_proba(X), expected)
    with pytest.raises(ModelFileError, match="made with votes=5, not 6"):
        classifier(**parameters | {"votes": 6}).fit(X, y, checkpoint=tmp_path / "c")


def test_chains_cannot_continue_with_other_votes(flowers):
    X, y, *_ = flowers
    model = classifier(votes=4, n_burn=2, n_draws=2).fit(X, y)
    for votes in (1, 8):
        with pytest.raises(ValueError, match="but sample_weight times votes differs"):
            model.set_params(votes=votes).sample_more(2, X, y)


def test_the_time_of_an_automatic_run_counts_votes():
    length, n_classes = RUN_LENGTHS["classification"], 3
    one, many = (
        length.max_sweeps(SweepCost(1000, 600, 1, False, (votes - 1) * n_classes))
        for votes in (1, 512)
    )
    assert one / 60 < many < one / 10


def test_files_without_votes_are_as_before_there_were_any(flowers):
    X, y, *_ = flowers
    model = classifier(n_burn=2, n_draws=2).fit(X, y)
    header, _ = small_files.opened(model_file.to_bytes(model._fitted, model.get_params()))
    assert "votes" not in header["parameters"]
    assert header["schema"] == model_file.HARD_SCHEMA
    state = model.__getstate__()
    del state["votes"]
    old = ObliqueBARTClassifier.__new__(ObliqueBARTClassifier)
    old.__setstate__(state)
    assert old.votes == 1


@pytest.mark.parametrize(
    ("votes", "error", "message"),
    [
        (0, ValueError, "votes=0 is out of range: it must be an integer from 1 to 512"),
        (513, ValueError, "votes=513 is out of range: it must be an integer from 1 to 512"),
        (2.5, TypeError, "votes=2.5 must be an integer >= 1, not float"),
        ("auto", TypeError, "votes='auto' must be an integer >= 1, not str"),
    ],
)
def test_other_votes_are_refused(flowers, votes, error, message):
    X, y, *_ = flowers
    with pytest.raises(error, match=message):
        classifier(votes=votes).fit(X, y)


def test_weights_whose_votes_are_too_many(flowers):
    X, y, *_ = flowers
    weights = np.full(len(y), 2500.5)
    with pytest.raises(ValueError, match=r"2500.5: times votes=500, .* at most 1048576"):
        classifier(votes=500).fit(X, y, weights)


def test_ordered_classes_have_one_vote(flowers):
    X, y, *_ = flowers
    with pytest.raises(ValueError, match=r"votes=3: labels of ordered classes count once"):
        classifier(votes=3, ordered=True).fit(X, y)
    two = [classifier(votes=3, ordered=each).fit(X, y > 0) for each in (True, False)]
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in two))
