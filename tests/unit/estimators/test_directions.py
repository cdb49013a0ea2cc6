"""Fits with structured directions: images and curves in, the same model back from files."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from obliquebart import (
    ObliqueBARTClassifier,
    ObliqueBARTCountRegressor,
    ObliqueBARTRegressor,
    ObliqueBARTSurvival,
    load,
)
from obliquebart.directions import Axis, Groups, Patch, Signs, Sparse
from obliquebart.explain.rules import Rules, variable_inclusion

SHORT = {"n_trees": 15, "n_burn": 60, "n_draws": 25, "n_chains": 2, "random_state": 0}
PLAIN_NOISE = {"nu": 3.0, "sigma_quantile": 0.9}
pytestmark = pytest.mark.filterwarnings("ignore::obliquebart.ConvergenceWarning")


@cache
def images(n: int = 120) -> tuple[np.ndarray, np.ndarray]:
    """Return images of 5 x 6 pixels, and what their centre says."""
    x = np.random.default_rng(0).normal(size=(n, 5, 6))
    return x, x[:, 1:3, 2:5].mean(axis=(1, 2))


def regressor(directions, **parameters) -> ObliqueBARTRegressor:
    return ObliqueBARTRegressor(**SHORT | PLAIN_NOISE | parameters, directions=directions)


@cache
def fitted() -> ObliqueBARTRegressor:
    return regressor(Patch((5, 6))).fit(*images())


def beside() -> tuple[pd.DataFrame, np.ndarray]:
    """Return pixels in a data frame, with a number and a category beside them."""
    x, y = images()
    frame = pd.DataFrame(x.reshape(len(x), -1), columns=[f"p{j}" for j in range(30)])
    frame.insert(0, "town", np.where(np.arange(len(x)) % 3 == 0, "a", "b"))
    frame["age"] = np.linspace(0, 1, len(x))
    return frame, y + frame["age"].to_numpy()


MIXTURE = [Patch((5, 6), columns=[f"p{j}" for j in range(30)]), Sparse("rest"), Axis()]


def test_arrays_of_images_and_flat_columns_are_the_same():
    x, y = images()
    model = fitted()
    flat = x.reshape(len(x), -1)
    assert model.n_features_in_ == 30
    np.testing.assert_array_equal(model.predict(x), model.predict(flat))
    other = regressor(Patch((5, 6))).fit(flat, y)
    np.testing.assert_array_equal(other.predict(x), model.predict(x))
    np.testing.assert_array_equal(model.predict(x[:3].tolist()), model.predict(x[:3]))
    assert model.posterior_.encoding.names[7] == "pixel[1,1]"


def test_every_rule_is_a_patch():
    rules = Rules(fitted().posterior_)
    assert len(rules.structure) > 50
    for row in rules.uses:
        at = np.unravel_index(row.indices, (5, 6))
        sizes = [len(set(axis.tolist())) for axis in at]
        assert all(2 <= size <= 5 for size in sizes)
        assert np.prod(sizes) == len(row.indices)


def test_pixels_that_matter_are_used_most():
    table = {each.column: each for each in variable_inclusion(Rules(fitted().posterior_))}
    assert table["pixel[1,3]"].share > 2 * table["pixel[4,0]"].share


def test_prior_shares_are_those_of_the_prior():
    """Against a chain of the core without a likelihood."""
    from obliquebart import _core

    model = fitted()
    settings = _core.Settings()
    settings.likelihood, settings.n_trees, settings.max_depth = "none", 4000, 1
    settings.min_samples_leaf = 0
    settings.directions = model.posterior_.settings["directions"]
    x = np.ascontiguousarray(images()[0].reshape(120, 30).T, dtype=np.float32)
    data = _core.Data(x, np.empty((0, 120), np.uint32), [])
    chain = _core.Sampler(data, np.zeros(120), None, settings, 1, 0)
    chain.sweep(5)
    arrays = chain.ensemble().to_arrays()
    share = np.bincount(arrays["phi_column"], minlength=30) / len(arrays["phi_count"])
    np.testing.assert_allclose(Rules(model.posterior_).prior, share, atol=0.04)


def test_missing_pixels():
    x, y = images()
    holes = np.where(np.random.default_rng(1).random(x.shape) < 0.05, np.nan, x)
    model = regressor(Patch((5, 6), values="difference")).fit(holes, y)
    assert np.isfinite(model.predict(holes)).all()
    assert np.corrcoef(model.predict(x), y)[0, 1] > 0.3


def test_a_missing_pixel_is_filled_from_its_neighbours():
    x, _ = images()
    holes, filled = x[:5].copy(), x[:5].copy()
    holes[:, 0, 0] = np.nan
    around = [1, 6, 7]
    table = fitted().posterior_.encode(filled)
    same = fitted().posterior_.encode(holes)
    np.testing.assert_allclose(same.x_cont[0], table.x_cont[around].mean(axis=0), rtol=1e-5)
    np.testing.assert_array_equal(same.x_cont[1:], table.x_cont[1:])


def test_lists_of_images_and_single_images():
    x, y = images()
    model = regressor(Patch((5, 6))).fit(x[:60].tolist(), y[:60])
    np.testing.assert_array_equal(
        model.predict(list(x[60:70])),
        regressor(Patch((5, 6))).fit(x[:60], y[:60]).predict(x[60:70]),
    )
    with pytest.raises(ValueError, match="a single image"):
        model.predict(x[0])
    with pytest.raises(ValueError, match="needs 30 continuous columns, but X has 29, and 1 categ"):
        regressor(Patch((5, 6))).set_params(categorical_features=[3]).fit(np.round(x), y)


def test_columns_beside_the_image():
    frame, y = beside()
    model = regressor(MIXTURE).fit(frame, y)
    weights = [model.posterior_.trace[f"direction.{c}"] for c in range(3)]
    np.testing.assert_allclose(sum(weights), 1.0)
    patch, sparse, axis = model.posterior_.settings["directions"]
    assert patch["columns"] == list(range(30))
    assert (sparse["columns"], axis["columns"]) == ([30], [])
    assert "direction.1" in str(model.summary(frame))
    assert len(variable_inclusion(Rules(model.posterior_))) == 32


@pytest.mark.parametrize(
    "directions",
    [
        Patch((5, 6), values="smooth", length_scale=1.0),
        Patch((5, 6), values="difference"),
        Signs(),
        Groups([range(15), range(15, 30)]),
        [Patch((5, 6)), Sparse(), Groups([[0, 1, 2]], inclusion=1.0)],
    ],
    ids=str,
)
def test_files_and_checkpoints_go_on_bit_for_bit(directions, tmp_path):
    x, y = images()
    x = x.reshape(len(x), -1)
    whole = regressor(directions, n_draws=20).fit(x, y)
    part = regressor(directions, n_draws=12).fit(x, y)
    part.save(tmp_path / "model.obart", include_data=True)
    again = load(tmp_path / "model.obart")
    np.testing.assert_array_equal(again.predict(x), part.predict(x))
    assert repr(again) == repr(part)
    np.testing.assert_array_equal(again.sample_more(8).predict(x), whole.predict(x))
    copy = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(copy.sample_more(8, x, y).predict(x), whole.predict(x))
    options = {"checkpoint": tmp_path / "checkpoint", "checkpoint_every": 15}
    for _ in range(2):
        model = clone(whole).fit(x, y, **options)
        np.testing.assert_array_equal(model.predict(x), whole.predict(x))


def test_sparse_and_axis_change_nothing():
    x, y = images()
    x = x.reshape(len(x), -1)
    for directions, plain in ((Sparse(), {}), ([Axis()], {"rules": "axis"})):
        ours, other = regressor(directions).fit(x, y), regressor(None, **plain).fit(x, y)
        np.testing.assert_array_equal(ours.predict(x), other.predict(x))


def test_threads_make_no_difference():
    x, y = images()
    ours = regressor(Patch((5, 6), values="smooth"), n_jobs=4).fit(x, y)
    other = regressor(Patch((5, 6), values="smooth"), n_jobs=1).fit(x, y)
    np.testing.assert_array_equal(ours.predict(x), other.predict(x))


def test_every_estimator_has_directions():
    x, y = images()
    patch = {"directions": Patch((5, 6))}
    classes = ObliqueBARTClassifier(**SHORT, **patch).fit(x, np.digitize(y, [-0.2, 0.2]))
    assert classes.predict_proba(x).shape == (120, 3)
    counts = ObliqueBARTCountRegressor(**SHORT, **patch).fit(x, np.floor(np.exp(y + 1)))
    assert (counts.predict(x) > 0).all()
    times = np.column_stack([np.ones(120), np.exp(y)])
    survival = ObliqueBARTSurvival(**SHORT, **patch, distribution="log_normal").fit(x, times)
    assert np.isfinite(survival.predict(x)).all()
    noise = regressor(Patch((5, 6)), noise="varying", n_noise_trees=5).fit(x, y)
    assert noise.posterior_.settings["ensembles"][0]["directions"][0]["kind"] == "patch"


def test_images_of_another_shape_are_refused():
    x, y = images()
    with pytest.raises(ValueError, match=r"a row of X has the shape \(5, 6\)"):
        fitted().predict(x.reshape(-1, 6, 5))
    with pytest.raises(ValueError, match="needs 36 continuous columns, but X has 30"):
        regressor(Patch((6, 6))).fit(x.reshape(len(x), -1), y)
    with pytest.raises(ValueError, match=r"dim 3.* or set directions=Patch\(shape\)"):
        regressor(None).fit(x, y)
    colours = np.stack([x, x, x], axis=-1)
    with pytest.raises(ValueError, match=r"or set channels=3 in Patch"):
        regressor(Patch((5, 6))).fit(colours, y)


def test_curves():
    """A bump somewhere on noisy curves; smooth patches average over the noise."""
    rng = np.random.default_rng(2)
    curves = rng.normal(size=(150, 40))
    height = rng.normal(size=150)
    curves[:, 10:18] += height[:, None]
    model = regressor(Patch(40, 4, 8, values="smooth", length_scale=4.0)).fit(curves, height)
    assert model.posterior_.encoding.names[3] == "point[3]"
    assert np.corrcoef(model.predict(curves), height)[0, 1] > 0.8


def test_columns_that_no_component_has_are_named():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 3)), columns=list("abc"))
    with pytest.warns(UserWarning, match="No component of directions has the columns 'c'"):
        ObliqueBARTRegressor(**SHORT, directions=Groups([["a", "b"]])).fit(table, table["c"])
