"""Effects with structured directions: images, mixtures, and the propensity beside them."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from helpers.causal import causal_model
from obliquebart import load
from obliquebart.directions import Axis, Groups, Patch, Signs, Sparse
from obliquebart.explain.rules import Rules, variable_inclusion

pytestmark = pytest.mark.filterwarnings(
    "ignore::obliquebart.ConvergenceWarning", "ignore::obliquebart.OverlapWarning"
)
GRID = (5, 6)
PATCH = Patch(GRID)
PIXELS = 30


@cache
def treated_images(n=150, seed=0):
    """Return images, treatments, outcomes and effects.

    One corner affects both the treatment and the outcome; the effect is 1 + what another part says.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, *GRID))
    corner, part = 2 * x[:, :2, :2].mean(axis=(1, 2)), 2 * x[:, 2:4, 3:5].mean(axis=(1, 2))
    treated = (rng.uniform(size=n) < 1 / (1 + np.exp(-corner))).astype(int)
    y = corner + treated * (1 + part) + 0.3 * rng.normal(size=n)
    return x, treated, y, 1 + part


@cache
def fitted():
    x, treated, y, _ = treated_images()
    return causal_model(directions=PATCH).fit(x, y, treated)


def kinds(settings):
    return [component["kind"] for component in settings["directions"]]


def columns_of(posterior):
    return set(posterior.draws.to_arrays()["phi_column"].tolist())


def settings_of_parts(model):
    """Return the settings of the outcome, of the effect, and of the propensity."""
    outcome = model.posterior_.settings
    (propensity,) = model._design.propensity.posteriors
    return outcome, outcome["ensembles"][-1], propensity.settings


def test_a_patch_alone_leaves_the_propensity_to_the_outcome():
    outcome, effect, propensity = settings_of_parts(fitted())
    assert kinds(outcome) == kinds(propensity) == ["patch", "sparse"]
    assert outcome["directions"][1]["columns"] == []
    assert kinds(effect) == ["patch"]
    assert effect["directions"][0]["columns"] == list(range(PIXELS))
    assert PIXELS in columns_of(fitted().posterior_)
    used = columns_of(fitted().effects_[1])
    assert used
    assert used <= set(range(PIXELS))
    assert "direction.1" in fitted().posterior_.trace
    assert "direction.0" not in fitted().effects_[1].trace


@pytest.mark.parametrize(
    ("directions", "expected"),
    [
        ([PATCH, Sparse()], ["patch", "sparse"]),
        (Signs(), ["signs"]),
        (Groups([range(15), range(15, 30)]), ["groups", "sparse"]),
        ([PATCH, Groups([range(15)])], ["patch", "groups", "sparse"]),
        ([Patch((3, 6), columns=range(18)), Sparse("rest")], ["patch", "sparse"]),
        ([PATCH, Axis(["x0"])], ["patch", "axis"]),
    ],
    ids=str,
)
def test_the_outcome_has_the_propensity_and_effects_have_not(directions, expected):
    x, treated, y, _ = treated_images()
    table = pd.DataFrame(x.reshape(len(x), -1), columns=[f"x{j}" for j in range(PIXELS)])
    model = causal_model(directions=directions, n_burn=20, n_draws=10).fit(table, y, treated)
    outcome, effect, propensity = settings_of_parts(model)
    assert kinds(outcome) == expected
    assert kinds(propensity) == expected
    given = directions if isinstance(directions, list) else [directions]
    assert kinds(effect) == [each.kind for each in given]
    for settings in (effect, propensity):
        assert all(max(each.get("columns") or [0]) < PIXELS for each in settings["directions"])
    assert any(
        each.get("columns") == [] or PIXELS in each.get("columns", [])
        for each in outcome["directions"]
    )
    assert columns_of(model.effects_[1]) <= set(range(PIXELS))
    shares = variable_inclusion(Rules(model.posterior_))
    assert {each.column for each in shares} >= {"propensity"}


def test_a_known_effect_of_a_patch_is_found():
    x, treated, y, truth = treated_images(600, seed=1)
    long = {"n_trees": 50, "n_effect_trees": 30, "n_burn": 300, "n_draws": 100}
    model = causal_model(directions=PATCH, **long).fit(x, y, treated)
    assert np.corrcoef(model.effect(x), truth)[0, 1] > 0.9
    average = model.ate()
    plain = y[treated == 1].mean() - y[treated == 0].mean()
    assert plain - truth.mean() > 0.7
    # From patches alone, propensities made it 0.27 too small.
    assert average.mean == pytest.approx(truth.mean(), abs=0.2)
    inside = {f"pixel[{i},{j}]" for i in (2, 3) for j in (3, 4)}
    assert {row.column for row in model.importance(x)[:3]} <= inside


def test_arrays_of_images_and_flat_columns_are_the_same():
    x, treated, y, _ = treated_images()
    flat = x.reshape(len(x), -1)
    model = fitted()
    assert model.n_features_in_ == PIXELS
    assert model.posterior_.encoding.names[-2:] == ["pixel[4,5]", "propensity"]
    expected = model.effect(x)
    np.testing.assert_array_equal(model.effect(flat), expected)
    other = causal_model(directions=PATCH).fit(flat, y, treated)
    np.testing.assert_array_equal(other.effect(x), expected)
    np.testing.assert_allclose(model.predict(x, 1) - model.predict(x, 0), expected, atol=1e-12)


def test_all_answers():
    x, treated, y, _ = treated_images()
    model = fitted()
    assert model.att(x, treated).n_rows == treated.sum()
    assert len(model.sensitivity(x, treated).observed) == PIXELS
    assert model.prior_ate(x, n_draws=50).std() > 0
    assert np.isfinite(model.log_score(x, y, treatment=treated))
    assert "pixel[2,3]" in str(model.effect_by(x, "pixel[2,3]"))
    assert " f[" in str(model.summary(x))


@pytest.mark.parametrize(
    "directions",
    [PATCH, [PATCH, Sparse()], Groups([range(15), range(15, 30)]), Signs()],
    ids=str,
)
def test_files_and_checkpoints_go_on_bit_for_bit(directions, tmp_path):
    x, treated, y, _ = treated_images()
    x = x.reshape(len(x), -1)
    short = {"n_trees": 8, "n_effect_trees": 5, "n_burn": 20}
    whole = causal_model(directions=directions, **short, n_draws=16).fit(x, y, treated)
    part = causal_model(directions=directions, **short, n_draws=10).fit(x, y, treated)
    part.save(tmp_path / "model.obart", include_data=True)
    again = load(tmp_path / "model.obart")
    assert repr(again) == repr(part)
    np.testing.assert_array_equal(again.effect_draws(x), part.effect_draws(x))
    np.testing.assert_array_equal(again.predict(x, 1), part.predict(x, 1))
    np.testing.assert_array_equal(again.sample_more(6).effect_draws(x), whole.effect_draws(x))
    copy = pickle.loads(pickle.dumps(part)).sample_more(6, x, y, treated)
    np.testing.assert_array_equal(copy.effect_draws(x), whole.effect_draws(x))
    options = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 15}
    for _ in range(2):
        model = clone(whole).fit(x, y, treated, **options)
        np.testing.assert_array_equal(model.effect_draws(x), whole.effect_draws(x))
    other = clone(whole).set_params(directions=Axis())
    with pytest.raises(ValueError, match="directions"):
        other.fit(x, y, treated, **options)


@pytest.mark.parametrize(
    "more",
    [
        {"noise": "varying", "n_noise_trees": 5},
        {"noise": "student_t"},
        {"propensity": None},
        {"propensity": "cross_fitted"},
        {"outcome": "binary"},
        {"treatment_type": "arms"},
        {"treatment_type": "dose"},
        {"soft": True},
        {"prior": "paper"},
    ],
    ids=str,
)
def test_every_kind_of_model(more):
    x, treated, y, _ = treated_images()
    if "treatment_type" in more:
        dose = treated + x[:, 0, 0]
        treated = dose if more["treatment_type"] == "dose" else np.arange(len(y)) % 3
    y = y > 0.5 if "outcome" in more else y
    model = causal_model(directions=PATCH, n_burn=20, n_draws=10, **more).fit(x, y, treated)
    n_effects = len(model.effects_)
    hidden = more.get("propensity", "fitted") is not None
    outcome = model.posterior_.settings
    assert kinds(outcome) == ["patch", *(["sparse"] if hidden else [])]
    assert all(kinds(each) == ["patch"] for each in outcome["ensembles"][-n_effects:])
    assert np.isfinite(model.predict(x, 1)).all()


def test_short_fits_for_the_noise_see_the_treatment():
    """Otherwise the effect would pass for noise."""
    x, treated, _, _ = treated_images()
    y = 5.0 * treated + 0.3 * np.random.default_rng(0).normal(size=len(treated))
    model = causal_model(directions=PATCH, propensity=None).fit(x, y, treated)
    assert model.posterior_.trace["sigma"].mean() < 0.6
    assert model.ate().mean == pytest.approx(5.0, abs=0.3)


def test_plain_directions_change_nothing():
    x, treated, y, _ = treated_images()
    x = x.reshape(len(x), -1)
    for directions, plain in ((Sparse(), {}), ([Axis()], {"rules": "axis"})):
        ours, other = causal_model(directions=directions), causal_model(**plain)
        short = {"n_burn": 10, "n_draws": 5}
        ours.set_params(**short).fit(x, y, treated)
        other.set_params(**short).fit(x, y, treated)
        np.testing.assert_array_equal(ours.effect_draws(x), other.effect_draws(x))


def test_a_treatment_that_is_a_column_is_in_no_patch():
    x, treated, y, _ = treated_images()
    names = [f"p{j}" for j in range(PIXELS)]
    table = pd.DataFrame(x.reshape(len(x), -1), columns=names)
    table.insert(0, "drug", treated)
    short = {"n_burn": 10, "n_draws": 5}
    model = causal_model(directions=PATCH, **short).fit(table, y, "drug")
    assert model.effect(table).shape == (150,)
    beside = [Patch(GRID, columns=names), Sparse("rest")]
    with pytest.raises(ValueError, match="no continuous column is left for Sparse"):
        causal_model(directions=beside).fit(table, y, "drug")


def test_what_cannot_be_is_refused():
    x, treated, y, _ = treated_images()
    flat = x.reshape(len(x), -1)
    names = [f"p{j}" for j in range(PIXELS)]
    table = pd.DataFrame(flat, columns=names)
    with pytest.raises(ValueError, match="needs 31 continuous columns, but X has 30"):
        causal_model(directions=Patch(31)).fit(flat, y, treated)
    with pytest.raises(ValueError, match="X has no column 'propensity'"):
        causal_model(directions=Sparse(["propensity"])).fit(table, y, treated)
    with pytest.raises(ValueError, match="there is no column 30"):
        causal_model(directions=Patch(31, columns=range(31))).fit(flat, y, treated)
    with pytest.raises(ValueError, match=r"a row of X has the shape \(5, 6\)"):
        fitted().effect(x.reshape(-1, 6, 5))
    with pytest.raises(ValueError, match="X has no names: pass the values"):
        causal_model(directions=PATCH).fit(x, y, "treated")
    with pytest.raises(ValueError, match="sparse rules beside them for the propensities"):
        causal_model(directions=[Groups([[j]]) for j in range(16)]).fit(flat, y, treated)
    with pytest.raises(ValueError, match="exclude each other"):
        causal_model(directions=PATCH, rules="axis").fit(x, y, treated)
    warning = "No component of directions has the columns 'p2', so no rule of an effect uses them"
    with pytest.warns(UserWarning, match=warning):
        causal_model(directions=Groups([["p0", "p1"]]), n_burn=5, n_draws=5).fit(
            table[["p0", "p1", "p2"]], y, treated
        )
    many = [Axis([j]) for j in range(16)]
    causal_model(directions=many, n_burn=5, n_draws=5).fit(flat[:, :16], y, treated)
