"""Each check of the reader, alone: one wrong value, its own message, and the last value allowed."""

from __future__ import annotations

import copy
import functools
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import small_files
from obliquebart import (
    ModelFileError,
    ObliqueBARTCausal,
    ObliqueBARTClassifier,
    ObliqueBARTRegressor,
    load,
)
from obliquebart.directions import Axis, Sparse
from obliquebart.files import container, model_file, model_reader
from obliquebart.files.arrays import ArrayReader, field
from obliquebart.files.container import Contents
from obliquebart.files.design import read_design
from obliquebart.files.model_reader import read_model


def weighted_regressor():
    X, y = small_files.small_table()
    return ObliqueBARTRegressor(**small_files.SMALL).fit(X, y, np.arange(1.0, len(y) + 1))


def logit_classifier():
    return small_files.small_classifier(link="logit")


@functools.cache
def contents_of(make) -> Contents:
    return small_files.opened(small_files.small_file(make, include_data=True))


def changed(make, path, value) -> bytes:
    """Put a value into a place of the header; a callable gets the old one, or None."""
    contents = contents_of(make)
    header = copy.deepcopy(contents.header)
    parent, key = small_files._parent(header, path)
    old = parent[key] if isinstance(parent, list) else parent.get(key)
    parent[key] = value(old) if callable(value) else value
    return small_files.closed(Contents(header, contents.arrays))


def with_array(make, name, change) -> bytes:
    contents = contents_of(make)
    array = change(contents.arrays[name].copy())
    return small_files.closed(Contents(contents.header, {**contents.arrays, name: array}))


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


REGRESSOR, CLASSIFIER = small_files.small_regressor, small_files.small_classifier
SOFT, SCALES = small_files.small_soft, small_files.small_scales
WIDTH = "posterior.0.draws.width"
TREE_SCALES = "posterior.0.state.1.tree_scales"
FIRST = ("posteriors", 0)
PRIOR = (*FIRST, "prior")
HEADERS = {
    "estimator": (REGRESSOR, ("estimator",), "Ridge", "unknown estimator 'Ridge'"),
    "likelihood": (REGRESSOR, ("likelihood",), "x", "likelihood 'x' is none of"),
    "likelihood of another": (REGRESSOR, ("likelihood",), "probit", "'probit' is none of"),
    "no draws": (REGRESSOR, ("n_draws",), 0, "n_draws=0 is out of range"),
    "too many draws": (REGRESSOR, ("n_draws",), 2**31, "n_draws=2147483648 is out of range"),
    "most draws": (REGRESSOR, ("n_draws",), 2**31 - 1, "chains cannot have 2147483647 draws"),
    "draws": (REGRESSOR, ("n_draws",), 10, "draws has 8 draws, not 10"),
    "chains": (REGRESSOR, (*FIRST, "n_chains"), 3, "3 chains cannot have 8 draws"),
    "posteriors": (REGRESSOR, ("posteriors",), [], "it has 0 posteriors, not 1"),
    "posteriors of classes": (
        CLASSIFIER,
        ("posteriors",),
        lambda old: old * 2,
        "it has 2 posteriors, not 1",
    ),
    "states": (REGRESSOR, (*FIRST, "states"), lambda old: old[:1], "1 states for 2 chains"),
    "state": (REGRESSOR, (*FIRST, "states", 1), None, "numbers of posterior.0.state.1"),
    "state is an array": (
        REGRESSOR,
        (*FIRST, "states", 1, "rng"),
        lambda _: 1,
        "numbers of posterior.0.state.1",
    ),
    "thinning": (REGRESSOR, (*FIRST, "n_thin"), 0, "n_thin=0 is out of range"),
    "burn-in": (REGRESSOR, (*FIRST, "n_burn"), 6, "sigma in 5 sweeps of burn-in, not in 6"),
    "scale": (REGRESSOR, (*FIRST, "outcome", "scale"), -1e-300, "scale of its outcome is negative"),
    "unit": (REGRESSOR, (*FIRST, "outcome", "sigma_unit"), -1.0, "its outcome is negative"),
    "prior": (REGRESSOR, (*PRIOR, "likelihood"), "probit", "'probit', which is none of"),
    "constant": (
        REGRESSOR,
        PRIOR,
        {"likelihood": "x", "n_trees": 3},
        "likelihood is 'x', which is none of",
    ),
    "field": (REGRESSOR, (*PRIOR, "x"), lambda _: 1, "its prior has an unknown field 'x'"),
    "type": (REGRESSOR, (*PRIOR, "alpha"), 1, "'alpha' in its header is not of type float"),
    "alpha": (REGRESSOR, (*PRIOR, "alpha"), 2.0, "its prior is not allowed"),
    "trees": (REGRESSOR, (*PRIOR, "n_trees"), 4, "posterior.0.draws"),
    "type of soft": (SOFT, (*PRIOR, "soft"), 1, "'soft' in its header is not of type bool"),
    "hard after all": (SOFT, (*PRIOR, "soft"), False, "width must have 0 entries"),
    "soft after all": (REGRESSOR, (*PRIOR, "soft"), lambda _: True, "its prior is not allowed"),
    "scale of widths": (SOFT, (*PRIOR, "width_scale"), 0.0, "its prior is not allowed"),
    "soft parameter": (SOFT, ("parameters", "soft"), "yes", "a parameter that is not allowed"),
    "type of tree_df": (SCALES, (*PRIOR, "tree_df"), 2, "'tree_df' in its header is not of type"),
    "tree_df": (SCALES, (*PRIOR, "tree_df"), -2.0, "its prior is not allowed"),
    "alike after all": (SCALES, (*PRIOR, "tree_df"), 0.0, "tree_scales"),
    "scales after all": (REGRESSOR, (*PRIOR, "tree_df"), lambda _: 2.0, "tree_scales"),
    "tree_df parameter": (SCALES, ("parameters", "tree_df"), "2", "parameter that is not allowed"),
    "ensembles": (REGRESSOR, (*PRIOR, "ensembles"), lambda _: [1], "ensembles cannot be read"),
    "ensemble": (
        small_files.small_causal,
        (*PRIOR, "ensembles", 0, "sigma"),
        lambda _: 1.0,
        "unknown field 'sigma'",
    ),
    "many ensembles": (
        REGRESSOR,
        (*PRIOR, "ensembles"),
        lambda _: [{}] * model_reader.MAX_ENSEMBLES,
        "ensembles cannot be read",
    ),
    "target": (REGRESSOR, ("target",), lambda _: " ", "the name of its outcome is empty"),
    "names": (REGRESSOR, ("encoding", "names", 0), 7, "the name of a column is not text"),
    "named": (REGRESSOR, ("encoding", "is_named"), 1, "'is_named' in its header"),
    "dtypes": (REGRESSOR, ("encoding", "dtypes", 0), "text", "the dtypes in its header"),
    "knots": (REGRESSOR, ("encoding", "columns", 0, "knots"), 11, "as many knots as its arrays"),
    "no knots": (REGRESSOR, ("encoding", "columns", 1, "knots"), -9, "as many knots"),
    "column": (REGRESSOR, ("encoding", "columns", 2), None, "columns cannot be read"),
    "parameter": (REGRESSOR, ("parameters", "k"), [[[1.0]]], "parameter 'k' is not a plain value"),
    "unknown": (REGRESSOR, ("parameters", "x"), lambda _: 1, "a parameter 'x' that"),
    "jobs": (REGRESSOR, ("parameters", "n_jobs"), 4097, "n_jobs=4097"),
    "negative jobs": (REGRESSOR, ("parameters", "n_jobs"), -4097, "n_jobs=-4097"),
    "forbidden": (REGRESSOR, ("parameters", "alpha"), 7.0, "parameter that is not allowed"),
    "directions": (REGRESSOR, ("parameters", "directions"), [7], "directions are not allowed"),
    "fingerprint": (
        REGRESSOR,
        ("training", "fingerprint", "X"),
        lambda old: old[::-1],
        "do not match the fingerprint",
    ),
    "fingerprints": (
        REGRESSOR,
        ("training", "fingerprint", "X"),
        None,
        "fingerprint of its training data cannot be read",
    ),
    "another fingerprint": (
        REGRESSOR,
        ("training", "fingerprint", "z"),
        lambda _: "x",
        "fingerprint of its training data cannot be read",
    ),
    "labels": (CLASSIFIER, ("classes", "dtype"), "O", "unknown dtype 'O'"),
    "kind of labels": (CLASSIFIER, ("classes", "values"), [1, 2], "labels are not all str"),
    "long labels": (CLASSIFIER, ("classes", "dtype"), "U2", "longer than its dtype allows"),
    "equal labels": (CLASSIFIER, ("classes", "values"), ["a", "a"], "labels are not distinct"),
    "no labels": (CLASSIFIER, ("classes", "values"), [], "labels are not distinct"),
    "weights": (CLASSIFIER, ("class_weights",), [1.0, 1e301], "class_weights are not 2 positive"),
}


def refuse(data: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        model_file._new_estimator(read_model(data))


@pytest.mark.parametrize("name", HEADERS)
def test_a_wrong_value_of_the_header_is_refused(name):
    make, path, value, message = HEADERS[name]
    refuse(changed(make, path, value), message)


ARRAYS = {
    "level": (REGRESSOR, "training.x_cat", put((0, 0), 3), "training data are out of range"),
    "number": (REGRESSOR, "training.x_cont", put((1, 2), -np.inf), "data are out of range"),
    "outcome": (REGRESSOR, "training.target", put(3, np.nan), "outcomes are out of range"),
    "weight": (weighted_regressor, "training.weights", put(0, 0.0), "not in .1e-300, 1e.300"),
    "rows": (REGRESSOR, "posterior.0.state.0.residual", lambda a: a[:-1], "numbers of rows"),
    "keys": (REGRESSOR, "row_keys", lambda a: a[::-1], "are not sorted"),
    "late keys": (REGRESSOR, "row_keys", lambda a: a[[*range(10), 11, 10]], "are not sorted"),
    "no keys": (REGRESSOR, "row_keys", lambda a: a[:0], "are not sorted"),
    "sigma": (REGRESSOR, "posterior.0.trace.sigma", put((1, 3), 0.0), "sigma is zero somewhere"),
    "share": (REGRESSOR, "posterior.0.trace.theta", put((0, 0), 1.001), r"not in \[0, 1\]"),
    "size": (REGRESSOR, "posterior.0.trace.leaf_sd", put((0, 0), np.nan), r"not in \[0, inf\]"),
    "infinite": (REGRESSOR, "posterior.0.trace.depth", put((0, 0), np.inf), r"not in \[0, inf\]"),
    "shape": (
        REGRESSOR,
        "posterior.0.trace.sigma",
        lambda a: a.T,
        r"not float64 of shape \(2, 4\)",
    ),
    "type": (
        REGRESSOR,
        "row_keys",
        lambda a: a.astype(np.int64),
        r"not uint64 of shape \('any',\)",
    ),
    "width of zero": (SOFT, WIDTH, put(1, 0.0), "width"),
    "negative width": (SOFT, WIDTH, put(0, -0.5), "width"),
    "infinite width": (SOFT, WIDTH, put(-1, np.inf), "width"),
    "width that is no number": (SOFT, WIDTH, put(0, np.nan), "width"),
    "too few widths": (SOFT, WIDTH, lambda a: a[:-1], "width"),
    "no widths": (SOFT, WIDTH, lambda a: a[:0], "width must have"),
    "double widths": (SOFT, WIDTH, lambda a: a.astype(np.float64), "width"),
    "scale of zero": (SCALES, TREE_SCALES, put(1, 0.0), "tree_scales is out of range"),
    "scale that is no number": (SCALES, TREE_SCALES, put(0, np.nan), "tree_scales is not finite"),
    "too few scales": (SCALES, TREE_SCALES, lambda a: a[:-1], "tree_scales has the wrong length"),
    "too many scales": (SCALES, TREE_SCALES, lambda a: np.tile(a, 2), "tree_scales has the wrong"),
    "trees": (
        REGRESSOR,
        "posterior.0.draws.is_new",
        lambda a: np.concatenate([a, a], axis=1),
        "posterior.0.draws",
    ),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_a_wrong_value_of_an_array_is_refused(name):
    make, array, change, message = ARRAYS[name]
    refuse(with_array(make, array, change), message)


def test_states_have_the_rows_of_the_training_data():
    header, arrays = contents_of(REGRESSOR)
    shorter = {name: a[:-1] if name.endswith("residual") else a for name, a in arrays.items()}
    refuse(small_files.closed(Contents(header, shorter)), "different numbers of rows")
    empty = {name: a[:0] if name.endswith("residual") else a for name, a in arrays.items()}
    training = {**header["training"], "included": False}
    without = {name: a for name, a in empty.items() if not name.startswith("training.")}
    data = small_files.closed(Contents({**header, "training": training}, without))
    refuse(data, "different numbers of rows")


def test_a_mixture_of_directions_keeps_its_weights():
    X, y = small_files.small_table()
    del X["group"]
    model = ObliqueBARTRegressor(**small_files.SMALL, directions=[Sparse(), Axis()]).fit(X, y)
    data = model_file.to_bytes(model._fitted, {})
    again = model_file._new_estimator(read_model(data))
    assert [n for n in again.posterior_.trace if "direction" in n] == ["direction.0", "direction.1"]
    assert model_file.to_bytes(again._fitted, {}) == data


@pytest.mark.parametrize("directions", [[Sparse(), Axis()], [Axis()]])
def test_directions_are_saved_as_a_list_or_alone(directions, tmp_path):
    X, y = small_files.small_table()
    del X["group"]
    given = directions if len(directions) > 1 else directions[0]
    model = ObliqueBARTRegressor(**small_files.SMALL, directions=given).fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.directions == given
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_file_of_schema_6_names_its_likelihood():
    contents = small_files.opened(small_files.small_file(logit_classifier))
    data = small_files.closed(Contents({**contents.header, "schema": 6}, contents.arrays))
    assert read_model(data).fitted.likelihood.name == "logit"


def test_classes_one_by_one_have_no_likelihood_of_all():
    X, _ = small_files.small_table()
    options = {**small_files.SMALL, "multiclass": "one_vs_rest"}
    model = ObliqueBARTClassifier(**options).fit(X, np.arange(12) % 3)
    contents = small_files.opened(model_file.to_bytes(model._fitted, {}))
    more = {"n_classes": 3.0, "concentration": 1.0}
    for posterior in contents.header["posteriors"]:
        posterior["prior"] |= {"likelihood": "ordinal", "more": more}
    refuse(small_files.closed(contents), "its likelihood is not that of its classes")


def test_propensities_are_the_last_columns():
    arms = {"dtype": "U1", "values": ["a", "b", "c"]}
    header = {"arms": arms, "location": 0.0, "scale": 1.0, "n_propensities": 2}

    def design_of(*kinds):
        wide = SimpleNamespace(columns=kinds, kinds=kinds)
        return read_design(header, wide, None, model_reader._read_labels)

    assert design_of("categorical", "continuous", "continuous").n_propensities == 2
    for wrong in (("continuous",) * 2, ("continuous", "categorical", "continuous")):
        with pytest.raises(ModelFileError, match="not the last of its columns"):
            design_of(*wrong)


def test_fits_of_propensities_have_no_states():
    (entry,) = contents_of(small_files.small_causal).header["design"]["propensity"]["posteriors"]
    assert entry["states"] == []


def test_numbers_of_rows_begin_with_zero():
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(30, 2)), rng.normal(size=30), np.arange(30) != 5.0
    options = {**small_files.SMALL, "n_effect_trees": 2, "propensity": None}
    model = ObliqueBARTCausal(**options).fit(X, y, np.arange(30) % 2, sample_weight=weight)
    data = model_file.to_bytes(model._fitted, {}, include_data=True)
    assert read_model(data).fitted.row_numbers.tolist() == np.flatnonzero(weight).tolist()


def test_arrays_that_are_missing_or_too_many_are_named():
    header, arrays = contents_of(REGRESSOR)
    without = {name: array for name, array in arrays.items() if name != "training.x_cat"}
    refuse(small_files.closed(Contents(header, without)), "it has no array 'training.x_cat'")
    more = {**arrays, "zebra": np.zeros(1), "surprise": np.zeros(1)}
    refuse(small_files.closed(Contents(header, more)), "an array 'surprise' that does not belong")
    draws = {**arrays, "posterior.0.draws.x": np.zeros(1)}
    refuse(small_files.closed(Contents(header, draws)), "posterior.0.draws: ")


@pytest.mark.parametrize("make", [REGRESSOR, CLASSIFIER])
def test_only_latent_outcomes_are_in_a_state(make):
    header, arrays = contents_of(make)
    name = "posterior.0.state.0.target"
    arrays = {**arrays, name: np.zeros(12)} if make is REGRESSOR else dict(arrays)
    if make is CLASSIFIER:
        del arrays[name]
    wanted = "should not have a target" if make is REGRESSOR else "should have a target"
    refuse(small_files.closed(Contents(header, arrays)), wanted)


def test_what_is_just_allowed_is_read():
    for name in ("theta", "axis_share", "accept_grow"):
        for value in (0.0, 1.0, np.nan):
            read_model(with_array(REGRESSOR, f"posterior.0.trace.{name}", put((0, 0), value)))
    read_model(with_array(REGRESSOR, "posterior.0.trace.leaf_sd", put((0, 0), 0.0)))
    read_model(with_array(REGRESSOR, "row_keys", lambda keys: np.sort(np.repeat(keys[:6], 2))))
    read_model(changed(REGRESSOR, (*FIRST, "outcome", "scale"), 0.0))
    read_model(changed(CLASSIFIER, ("classes", "values"), ["a", "abc"]))
    weights = [model_reader.SMALLEST_WEIGHT, model_reader.LARGEST_WEIGHT]
    found = read_model(changed(CLASSIFIER, ("class_weights",), weights)).fitted.class_weights
    assert found.tolist() == weights
    for n_jobs in (-4096, 4096):
        data = changed(REGRESSOR, ("parameters", "n_jobs"), n_jobs)
        assert model_file._new_estimator(read_model(data)).n_jobs == n_jobs


def test_sigma_of_the_burn_in_may_be_there_once():
    sigma = np.array([[0.5], [2.0]])
    whole = model_reader._whole_burn_in(sigma, 3)
    assert whole.tolist() == [[0.5] * 3, [2.0] * 3]
    most = model_reader.MAX_REPEATED // 2
    assert model_reader._whole_burn_in(sigma, most).shape == (2, most)
    for n_burn in (0, -1, most + 1):
        with pytest.raises(ModelFileError, match="sweeps of burn-in"):
            model_reader._whole_burn_in(sigma, n_burn)
    assert model_reader._whole_burn_in(sigma, 1) is sigma


def test_a_long_burn_in_is_written_once_if_sigma_stays():
    fixed, drawn = np.full((2, 5), 0.5), np.arange(10.0).reshape(2, 5)
    assert model_file._short_burn_in(fixed).shape == (2, 1)
    assert model_file._short_burn_in(drawn) is drawn
    assert model_file._short_burn_in(fixed[:, :0]).shape == (2, 0)
    assert model_file._short_burn_in(fixed[:1, :2]).shape == (1, 1)
    one_changes = fixed.copy()
    one_changes[1, 4] = 0.6
    assert model_file._short_burn_in(one_changes) is one_changes


def test_fields_have_their_type():
    with pytest.raises(ModelFileError, match="has list where 'x' should be"):
        field([], "x", int)
    with pytest.raises(ModelFileError, match="has no 'x'"):
        field({}, "x", int)
    with pytest.raises(ModelFileError, match="'x' in its header is not of type int"):
        field({"x": True}, "x", int)
    for value in (np.inf, -np.inf, np.nan):
        with pytest.raises(ModelFileError, match="'x' in its header is not finite"):
            field({"x": value}, "x", float)
    assert field({"x": 0.5}, "x", float) == 0.5


@pytest.mark.parametrize("text", ['{"a":NaN}', '{"a":-Infinity}', '{"a":1,"a":1}'])
def test_json_that_only_some_parsers_take_is_refused(text):
    with pytest.raises(ValueError, match=r"is not allowed|occurs twice"):
        container._parse_json(text)


def test_labels_are_finite_numbers():
    assert model_reader._read_labels({"dtype": "f8", "values": [0.5, 1.5]}).tolist() == [0.5, 1.5]
    for wrong in (np.inf, np.nan):
        with pytest.raises(ModelFileError, match="labels are not distinct"):
            model_reader._read_labels({"dtype": "f8", "values": [0.5, wrong]})


def test_an_array_is_handed_out_once():
    reader = ArrayReader({"a.x": np.zeros((2, 3)), "a.y": np.zeros(1), "b": np.zeros(0)})
    assert reader.has("b")
    assert set(reader.group("a.")) == {"x", "y"}
    with pytest.raises(ModelFileError, match=r"it has no array 'a\.x'"):
        reader.array("a.x", np.float64, 2, 3)
    with pytest.raises(ModelFileError, match="an array 'b' that does not belong"):
        reader.finish()
    assert reader.numbers("b", (None,), 0, 1).size == 0
    assert not reader.has("b")
    reader.finish()


def test_limits_of_a_container(monkeypatch):
    contents = Contents({"format": "x", "schema": 1, "a": [{"b": i} for i in range(4)]}, {})
    # The text has 6 commas and 5 braces, and lies within two more.
    for name, limit in (("MAX_COMMAS", 6), ("MAX_BRACES", 7)):
        with monkeypatch.context() as patch:
            patch.setattr(container, name, limit)
            data = container.pack(contents)
            assert container.unpack(data, "x", (1,)).header == contents.header
            patch.setattr(container, name, limit - 1)
            with pytest.raises(ValueError, match="too much for a file"):
                container.pack(contents)
            with pytest.raises(ModelFileError, match="too many entries"):
                container.unpack(data, "x", (1,))
    length = int.from_bytes(data[:8], "little")
    monkeypatch.setattr(container, "MAX_HEADER", length)
    assert container.pack(contents) == data
    container.unpack(data, "x", (1,))
    monkeypatch.setattr(container, "MAX_HEADER", length - 1)
    with pytest.raises(ValueError, match="too much for a file"):
        container.pack(contents)
    with pytest.raises(ModelFileError, match=f"{length} bytes, more than the allowed {length - 1}"):
        container.unpack(data, "x", (1,))


def test_the_length_of_a_header_fits_into_its_file():
    assert container._header_length((2).to_bytes(8, "little"), 10) == 2
    for length, size in ((1, 10), (3, 10), (2, 9)):
        with pytest.raises(ModelFileError, match="truncated"):
            container._header_length(length.to_bytes(8, "little"), size)
    with pytest.raises(ModelFileError, match="truncated"):
        container._header_length(b"\2" + bytes(6), 100)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("n_propensities",), 1, "it has 1 propensities"),
        (("location",), 0.5, "its arms cannot be read"),
        (("scale",), 2.0, "its arms cannot be read"),
        (("propensity", "shares"), [0.5], "fits of its propensities cannot be read"),
        (("propensity", "shares"), [0.5, 1], "fits of its propensities cannot be read"),
        (("propensity", "posteriors"), [], "fits of its propensities cannot be read"),
    ],
)
def test_a_wrong_design_is_refused(path, value, message):
    refuse(changed(small_files.small_causal, ("design", *path), value), message)


@functools.cache
def causal_of(kind) -> Contents:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    treatment = rng.normal(size=30) if kind == "dose" else np.arange(30) % 2
    options = {**small_files.SMALL, "n_effect_trees": 2, "treatment_type": kind}
    model = ObliqueBARTCausal(**options).fit(X, y, treatment)
    return small_files.opened(model_file.to_bytes(model._fitted, {}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["dose", "arms"])
def test_propensities_of_a_dose_are_normal_and_those_of_two_arms_probit(kind):
    contents = causal_of(kind)
    design = read_model(small_files.closed(contents)).fitted.design
    (posterior,) = design.propensity.posteriors
    assert posterior.likelihood.name == ("gaussian" if kind == "dose" else "probit")
    if kind == "dose":
        header = copy.deepcopy(contents.header)
        for scale in (0.0, -1.0):
            header["design"]["scale"] = scale
            refuse(
                small_files.closed(Contents(header, contents.arrays)),
                "scale of its dose is not positive",
            )
    header = copy.deepcopy(contents.header)
    header["posteriors"][0]["prior"]["more"]["codes_arms"] = float(kind == "dose")
    refuse(small_files.closed(Contents(header, contents.arrays)), "treatments are not those of")
