"""Model files and pickles: the round trip, and files of every schema."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
import scipy
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError

import obliquebart
from helpers import ROOT, small_files
from helpers.processes import run_python
from helpers.saved_models import (
    MODELS,
    SMALL,
    assert_same_model,
    fit_anew,
    fitted,
    inputs,
    outcome,
    predictions,
    table,
)
from obliquebart import ModelFileError, ObliqueBARTClassifier, ObliqueBARTRegressor, load
from obliquebart.files import model_file
from obliquebart.files.container import Contents

FIXTURES = Path(__file__).parent / "fixtures"
# ---- round trip ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("options", [{}, {"include_data": True}, {"include_state": False}])
def test_round_trip(name, options, tmp_path):
    model = fitted(name) if "include_data" not in options else fit_anew(name)
    path = tmp_path / "model.obart"
    model.save(path, **options)
    again = load(path)
    assert_same_model(model, again)
    assert again.get_params() == model.get_params()
    assert again.n_features_in_ == model.n_features_in_
    if hasattr(model, "feature_names_in_"):
        assert list(again.feature_names_in_) == list(model.feature_names_in_)
    if isinstance(model, ObliqueBARTClassifier):
        assert again.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(again.classes_, model.classes_)
    again.save(tmp_path / "again.obart", **options)
    assert (tmp_path / "again.obart").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "classes",
    [
        np.array([1.5, 2.5], np.float32),
        np.array([1, 200], np.uint8),
        np.array([2**63, 2**64 - 1], np.uint64),
        np.array(["2020-01-01", "2021-05-05"], "datetime64[D]"),
        np.array([5, 7], "timedelta64[s]"),
        np.array(["a", "bc"]).astype(">U2"),
    ],
    ids=lambda classes: classes.dtype.str,
)
def test_labels_keep_their_type(classes, tmp_path):
    model = fitted("text labels")
    model._set_fitted(model._fitted._replace(classes=classes))
    model.save(tmp_path / "m")
    again = load(tmp_path / "m").classes_
    assert again.dtype == classes.dtype.newbyteorder("=")
    np.testing.assert_array_equal(again, classes)


def test_labels_that_cannot_be_saved(tmp_path):
    model = fitted("text labels")
    classes = np.empty(2, object)
    classes[:] = [(1,), (2,)]
    model._set_fitted(model._fitted._replace(classes=classes))
    with pytest.raises(TypeError, match="labels of dtype object cannot be saved"):
        model.save(tmp_path / "m")
    assert not os.listdir(tmp_path)


def test_parameters_of_all_sorts(tmp_path):
    X, y = table(), outcome()
    model = ObliqueBARTRegressor(
        **{**SMALL, "random_state": np.random.RandomState(3), "n_trees": np.int64(4)},
        categorical_features=np.array(["city", "code"]),
        theta_prior=[1.0, 2.0],
    ).fit(X, y)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.random_state is None
    assert again.theta_prior == (1.0, 2.0)
    assert again.categorical_features == ["city", "code"]
    assert type(again.n_trees) is int
    again.set_params(random_state=3).fit(X, y)
    with pytest.raises(ValueError, match="alpha=7"):
        again.set_params(alpha=7).save(tmp_path / "m")
    again.set_params(alpha=0.5, categorical_features={"city": 1})
    with pytest.raises(TypeError, match=r"categorical_features=.* cannot be saved"):
        again.save(tmp_path / "m")


def test_infinite_degrees_of_freedom(tmp_path):
    """JSON has no infinity."""
    X, y = small_files.small_table()
    model = ObliqueBARTRegressor(**small_files.SMALL, noise_df=math.inf).fit(X, y)
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").noise_df == math.inf
    model.fit(X, y, checkpoint=tmp_path / "c")
    model.fit(X, y, checkpoint=tmp_path / "c")


def test_an_unfitted_model_has_nothing_to_save(tmp_path):
    with pytest.raises(NotFittedError):
        ObliqueBARTRegressor().save(tmp_path / "m")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m")


READ_ELSEWHERE = """
import sys
from pathlib import Path
import numpy, scipy
from helpers.saved_models import inputs, predictions
from obliquebart import load
print(numpy.__version__, scipy.__version__)
for path in sys.argv[1:]:
    model = load(path)
    name = "plain" if model.n_features_in_ == 3 else ""
    Path(path + ".predictions").write_bytes(predictions(model, inputs(name)))
    model.save(path + ".again")
"""


def assert_same_elsewhere(python, tmp_path):
    """Predictions have the same bits; with another NumPy, whose exp differs, nearly the same."""
    names = ["plain", "rank", "text labels", "whole labels"]
    for name in names:
        fitted(name).save(tmp_path / name)
    versions = run_python(READ_ELSEWHERE, *(tmp_path / name for name in names), python=python)
    for name in names:
        expected = np.frombuffer(predictions(fitted(name), inputs(name)))
        found = np.fromfile(tmp_path / f"{name}.predictions")
        if versions == [np.__version__, scipy.__version__]:
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert (tmp_path / f"{name}.again").read_bytes() == (tmp_path / name).read_bytes()


PRELOAD = "LD_PRELOAD" in os.environ


def test_same_predictions_in_another_process(tmp_path):
    assert_same_elsewhere(sys.executable, tmp_path)


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
@pytest.mark.skipif(PRELOAD, reason="the sanitizer's runtime is of one Python only")
def test_same_predictions_and_bytes_in_another_python(version, tmp_path):
    environment = ROOT / ".venvs" / version
    built = environment / ".built"
    sources = [*ROOT.glob("src/obliquebart/**/*.py"), *ROOT.glob("cpp/**/*")]
    if not built.exists():
        pytest.skip(f"no environment of `make test-all` for Python {version}")
    # Another state of the sources may predict otherwise in the last bits.
    newest = max(source.stat().st_mtime for source in sources)
    if built.stat().st_mtime < newest:
        pytest.skip(f"the environment of `make test-all` for Python {version} is out of date")
    assert_same_elsewhere(str(environment / "bin" / "python"), tmp_path)


def test_a_thousand_draws_of_two_hundred_trees_in_12_mb(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = ObliqueBARTRegressor(n_chains=1, n_draws=1000, random_state=0, progress=False).fit(X, y)
    model.save(tmp_path / "m")
    assert (model.posterior_.draws.n_draws, model.posterior_.n_trees) == (1000, 200)
    assert (tmp_path / "m").stat().st_size < 12e6
    begin = time.process_time()
    load(tmp_path / "m")
    assert time.process_time() - begin < 1.0


# ---- files of released schemas -------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.obart")), ids=lambda path: path.stem)
def test_files_of_every_schema_stay_loadable(path, tmp_path, monkeypatch):
    model = load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    X = expected["X"]
    X["v"] = [np.nan if value is None else value for value in X["v"]]
    for method, values in expected["predictions"].items():
        # Intervals of the first schemas were those of f.
        options = {"kind": "mean"} if method == "predict_interval" else {}
        found = np.ravel(getattr(model, method)(X, **options))
        # Another version of the package may round otherwise.
        np.testing.assert_allclose(found, [float.fromhex(v) for v in values], rtol=1e-6)
    # The bytes are the same, whatever Python, NumPy and safetensors wrote them.
    header = small_files.opened(path.read_bytes()).header
    if header["schema"] >= model_file.HARD_SCHEMA:
        monkeypatch.setattr(obliquebart, "__version__", header["version"])
        model.save(tmp_path / "m", include_data=header["training"]["included"])
        saved = small_files.opened((tmp_path / "m").read_bytes())
        # A parameter that is newer than the file has its default.
        newer = set(saved.header["parameters"]) - set(header["parameters"])
        defaults = type(model)().get_params()
        for name in newer:
            assert saved.header["parameters"].pop(name) == defaults[name]
        assert small_files.closed(saved) == path.read_bytes()
    n_draws = model._fitted.n_draws
    y = np.array(expected["y"])
    assert model.sample_more(3, X, y)._fitted.n_draws == n_draws + 3 * model.n_chains


def test_there_is_a_file_of_every_schema():
    schemas = {
        small_files.opened(path.read_bytes()).header["schema"] for path in FIXTURES.glob("*.obart")
    }
    assert schemas == set(range(1, model_file.SCHEMA + 1))


def test_a_newer_schema_is_refused_with_its_version(tmp_path):
    contents = small_files.opened(small_files.small_file())
    header = {**contents.header, "schema": model_file.SCHEMA + 1, "version": "9.8.7"}
    newer = Contents(header, contents.arrays)
    (tmp_path / "m").write_bytes(small_files.closed(newer))
    words = rf"schema {model_file.SCHEMA + 1} .* obliquebart 9\.8\.7.* Use a newer version"
    with pytest.raises(ModelFileError, match=words):
        load(tmp_path / "m")


@pytest.mark.parametrize("schema", [-1, None, "8"])
def test_a_newer_version_helps_with_newer_schemas_only(tmp_path, schema):
    contents = small_files.opened(small_files.small_file())
    header = {**contents.header, "schema": schema}
    (tmp_path / "m").write_bytes(small_files.closed(Contents(header, contents.arrays)))
    with pytest.raises(ModelFileError, match=f"schema {schema} ") as caught:
        load(tmp_path / "m")
    assert "Use a newer" not in str(caught.value)


def test_other_tools_can_list_the_arrays(tmp_path):
    fitted("categories").save(tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m", framework="np") as file:
        assert "posterior.0.draws.cut" in file.keys()  # noqa: SIM118
        header = json.loads(file.metadata()["obliquebart"])
    assert header["schema"] == model_file.ALIKE_SCHEMA
    assert header["version"] == obliquebart.__version__
    assert header["posteriors"][0]["prior"]["n_trees"] == 8
    assert header["encoding"]["names"] == list(table())
    assert header["encoding"]["columns"][3]["values"] == sorted(["Łódź", "", "東京", 'q"\\'])
    assert header["encoding"]["dtypes"] == ["number", "number", "number", "text", "number"]


def test_no_training_data_without_asking():
    data = small_files.small_file()
    names = list(small_files.opened(data).arrays)
    assert not [name for name in names if name.startswith("training")]
    without_state = list(small_files.opened(small_files.small_file(include_state=False)).arrays)
    assert not [name for name in without_state if "residual" in name or "state" in name]
    assert "row_keys" in names
    assert "row_keys" not in without_state


# ---- pickle --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_a_pickle_holds_the_same_bytes(name):
    model = fitted(name)
    model.remark = "kept"
    dump = pickle.dumps(model)
    assert model_file.to_bytes(model._fitted, {}) in dump
    again = pickle.loads(dump)
    assert again.remark == "kept"
    assert_same_model(model, again)
    assert_same_model(model, copy.deepcopy(model))
    assert not hasattr(clone(again), "_fitted")


class Renamed(ObliqueBARTRegressor):
    """A user's own class."""


def test_a_users_subclass_pickles_and_is_saved_as_its_base(tmp_path):
    X = np.linspace(0, 1, 30).reshape(-1, 1)
    model = Renamed(n_trees=5, n_burn=5, n_draws=5, n_chains=1, random_state=0).fit(X, X[:, 0])
    again = pickle.loads(pickle.dumps(model))
    assert type(again) is Renamed
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    model.save(tmp_path / "model.obart")
    assert type(load(tmp_path / "model.obart")) is ObliqueBARTRegressor


def test_an_unfitted_model_pickles():
    model = pickle.loads(pickle.dumps(ObliqueBARTRegressor(n_trees=7)))
    assert model.n_trees == 7
    with pytest.raises(NotFittedError):
        model.predict([[1.0]])


def test_a_damaged_pickle_is_noticed():
    model = fitted("plain")
    data = model_file.to_bytes(model._fitted, {})
    damaged = bytearray(data)
    damaged[-5] ^= 1
    dump = pickle.dumps(model).replace(data, bytes(damaged))
    with pytest.raises(ModelFileError, match="checksum"):
        pickle.loads(dump)
