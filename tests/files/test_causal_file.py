"""Causal models in files, pickles and checkpoints: the same effects, and chains that go on."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from helpers import small_files
from obliquebart import ModelFileError, ObliqueBARTCausal, load
from obliquebart.files.container import Contents

SMALL = {"n_trees": 8, "n_effect_trees": 5, "n_burn": 20, "n_draws": 10, "n_chains": 2}
SMALL |= {"random_state": 4, "progress": False}
RNG = np.random.default_rng(0)
N = 80
X = RNG.normal(size=(N, 3))
TREATED = X[:, 0] + RNG.normal(size=N) > 0
Y = X[:, 0] + TREATED * (1 + X[:, 1]) + RNG.normal(size=N)
ARMS = RNG.choice(["b", "a", "c"], N)
DOSE = RNG.gamma(2.0, 1.0, N)
SHARE = RNG.uniform(0.2, 0.8, N)

CASES = {
    "two arms": (Y, TREATED, {}, {}),
    "labels": (Y > 0, TREATED, {}, {}),
    "three arms": (Y, ARMS, {"noise": "varying", "control": "b"}, {}),
    "dose": (Y, DOSE, {"noise": "student_t"}, {}),
    "cross-fitted": (Y, TREATED, {"propensity": "cross_fitted"}, {}),
    "no propensity": (Y, TREATED, {"propensity": None}, {}),
    "given propensity": (Y, TREATED, {}, {"propensity": SHARE}),
    "weights": (Y, TREATED, {}, {"sample_weight": 0.5 + SHARE}),
}


def fit(case: str, **more):
    y, treatment, options, arguments = CASES[case]
    model = ObliqueBARTCausal(**{**SMALL, **options, **more})
    return model.fit(X, y, treatment, **arguments)


def effect(model, case):
    arguments = CASES[case][3]
    given = {"propensity": SHARE} if "propensity" in arguments else {}
    return model.effect_draws(X, arm="c" if case == "three arms" else None, **given)


@pytest.mark.parametrize("case", CASES)
def test_a_loaded_model_has_the_same_effects_and_goes_on(case, tmp_path):
    y, treatment, _, arguments = CASES[case]
    model, longer = fit(case), fit(case, n_draws=15)
    path = tmp_path / "model.obart"
    for include_data in (False, True):
        model.save(path, include_data=include_data)
        loaded = load(path)
        np.testing.assert_array_equal(effect(loaded, case), effect(model, case))
        data = () if include_data else (X, y, treatment)
        loaded.sample_more(5, *data, **({} if include_data else arguments))
        np.testing.assert_array_equal(effect(loaded, case), effect(longer, case))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(effect(again, case), effect(model, case))


@pytest.mark.parametrize("case", ["two arms", "labels", "three arms"])
def test_a_checkpoint_gives_the_same_draws(case, tmp_path):
    y, treatment, options, _ = CASES[case]
    path = tmp_path / "fit.checkpoint"
    for _ in range(2):
        model = ObliqueBARTCausal(**{**SMALL, **options}).fit(X, y, treatment, checkpoint=path)
        np.testing.assert_array_equal(effect(model, case), effect(fit(case), case))


def test_training_rows_keep_their_propensities():
    """A row of training has the fit that has not seen it, also when it comes again alone."""
    model = fit("labels", propensity="cross_fitted")
    np.testing.assert_array_equal(model.effect_draws(X), model.effect_draws())
    np.testing.assert_array_equal(model.effect_draws(X[10:20]), model.effect_draws()[:, 10:20])


BROKEN = {
    "arms that are equal": (("arms", "values"), ["a", "a", "a"], "not distinct"),
    "one arm": (("arms", "values"), ["a"], "arms cannot be read"),
    "two arms of three": (("arms", "values"), ["a", "b"], "2 propensities"),
    "a dose": (("arms",), None, "2 propensities"),
    "no propensities": (("n_propensities",), 0, "does not use"),
    "a category for a propensity": (("n_propensities",), 5, "5 propensities"),
    "a fold without a fit": (("propensity", "posteriors", 0), None, "propensity.0"),
    "a fold too many": (("propensity", "posteriors"), [None] * 6, "cannot be read"),
    "shares that are text": (("propensity", "shares"), ["x", "y"], "cannot be read"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_design_is_refused(name, tmp_path):
    path, value, message = BROKEN[name]
    contents = small_files.opened(small_files.small_file(small_files.small_causal))
    place = contents.header["design"]
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    file = tmp_path / "model.obart"
    file.write_bytes(small_files.closed(contents))
    with pytest.raises(ModelFileError, match=message):
        load(file)


@pytest.mark.filterwarnings("ignore")
def test_crafted_designs_are_refused_or_harmless():
    """Something else in one place of the design's header each, or in one of its arrays."""
    contents = small_files.opened(small_files.small_file(small_files.small_causal))
    paths = [("design", *path) for path in small_files._paths(contents.header["design"])]
    rng = np.random.default_rng(0)
    outcomes = []
    for i in rng.choice(len(paths), 40, replace=False):
        header = copy.deepcopy(contents.header)
        parent, key = small_files._parent(header, paths[i])
        parent[key] = small_files.JUNK[rng.integers(len(small_files.JUNK))]
        data = small_files.closed(Contents(header, contents.arrays))
        outcomes.append(small_files.attempt(data, small_files.use))
    for name in ("trace.level.0", "trace.high.1", "ensemble.1.draws.outputs"):
        array = contents.arrays[f"posterior.0.{name}"].copy()
        array.flat[0] = np.finfo(array.dtype).max
        data = small_files.closed(
            Contents(contents.header, {**contents.arrays, f"posterior.0.{name}": array})
        )
        outcomes.append(small_files.attempt(data, small_files.use))
    assert outcomes.count("refused") > len(outcomes) // 2


def test_broken_numbers_of_rows_are_refused(tmp_path):
    model = fit("two arms").fit(X, Y, TREATED, sample_weight=np.arange(N) % 4 > 0)
    file = tmp_path / "model.obart"
    model.save(file, include_data=True)
    contents = small_files.opened(file.read_bytes())
    name = "training.row_numbers"
    assert contents.arrays[name].tolist() == np.flatnonzero(np.arange(N) % 4).tolist()
    for broken, message in ((-contents.arrays[name], "negative"), (np.arange(3), name)):
        arrays = {**contents.arrays, name: broken}
        file.write_bytes(small_files.closed(Contents(contents.header, arrays)))
        with pytest.raises(ModelFileError, match=message):
            load(file)
