"""Model files: the round trip, what they refuse, how they are written, and sampling on."""

from __future__ import annotations

import contextlib
import copy
import fcntl
import hashlib
import json
import os
import pickle
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import joblib
import numpy as np
import pytest
import safetensors
import safetensors.numpy
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError

import obliquebart
from fuzz import crafting
from obliquebart import ModelFileError, ObliqueBARTClassifier, ObliqueBARTRegressor, load
from obliquebart.files import container, model_file, model_reader
from obliquebart.files.container import Contents

FIXTURES = Path(__file__).parent / "fixtures"
SMALL = {"n_trees": 8, "n_burn": 15, "n_draws": 12, "n_chains": 2, "progress": False}
SMALL["random_state"] = 5


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "age": rng.uniform(18, 90, n).round(1),
        "income": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(10, 1, n)),
        "größe \ud800 \"'\n": rng.integers(0, 3, n),
        "city": [["Łódź", "", "東京", 'q"\\'][i] for i in rng.integers(0, 4, n)],
        "code": rng.choice([3, 2**60 + 1, -7], n),
    }


def outcome(n=60, seed=0):
    X = table(n, seed)
    return X["age"] / 30 + np.random.default_rng(seed + 1).normal(size=n)


CATEGORIES = {"categorical_features": ["city", "code"]}


def labels(names):
    return np.array(names)[np.argsort(np.argsort(outcome())) * len(names) // 60]


MODELS = {
    "plain": lambda: ObliqueBARTRegressor(**SMALL).fit(
        np.random.default_rng(0).normal(size=(40, 3)), np.arange(40.0)
    ),
    "categories": lambda: ObliqueBARTRegressor(**SMALL, **CATEGORIES).fit(table(), outcome()),
    "rank": lambda: ObliqueBARTRegressor(**SMALL, **CATEGORIES, feature_scaling="rank").fit(
        table(), outcome(), np.arange(60.0)
    ),
    "axis": lambda: ObliqueBARTRegressor(
        **SMALL, **CATEGORIES, rules="axis", theta_prior=(2, 3), p_change=0.2, n_thin=3
    ).fit(table(), outcome()),
    "constant": lambda: ObliqueBARTRegressor(**SMALL, **CATEGORIES).fit(table(), np.full(60, 2.5)),
    "text labels": lambda: ObliqueBARTClassifier(**SMALL, **CATEGORIES).fit(
        table(), labels(["ja", "nein"])
    ),
    "whole labels": lambda: ObliqueBARTClassifier(**SMALL, **CATEGORIES).fit(
        table(), labels([-3, 5, 10**15])
    ),
    "boolean labels": lambda: ObliqueBARTClassifier(**SMALL, **CATEGORIES).fit(
        table(), labels([False, True])
    ),
    "one label": lambda: ObliqueBARTClassifier(**SMALL, **CATEGORIES).fit(table(), labels(["a"])),
}


def fitted(name):
    with contextlib.suppress(KeyError):
        return copy.deepcopy(_cache[name])
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _cache[name] = MODELS[name]()
    return copy.deepcopy(_cache[name])


_cache: dict[str, object] = {}


def inputs(name):
    return np.random.default_rng(9).normal(size=(30, 3)) if name == "plain" else table(30, 7)


def predictions(model, X):
    """Give everything a model predicts, as bytes."""
    if isinstance(model, ObliqueBARTClassifier):
        parts = [model.predict_proba(X), model.predict_proba(X, return_draws=True)]
        parts += [model.predict_interval(X)]
    else:
        parts = [*model.predict(X, return_std=True), model.predict_interval(X, kind="outcome")]
        parts += [model.posterior_.predict(X), model.sample_y(X, 5, random_state=0)]
    return b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


def assert_same_model(one, other):
    assert type(one) is type(other)
    X = inputs("plain" if one.n_features_in_ == 3 else "")
    assert predictions(one, X) == predictions(other, X)
    for posterior, again in zip(one._fitted.posteriors, other._fitted.posteriors, strict=True):
        assert posterior.settings == again.settings
        assert posterior.scale == again.scale
        np.testing.assert_array_equal(posterior.burn_sigma, again.burn_sigma)
        assert set(posterior.trace) == set(again.trace)
        for name in posterior.trace:
            np.testing.assert_array_equal(posterior.trace[name], again.trace[name], err_msg=name)


# ---- round trip ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("options", [{}, {"include_data": True}, {"include_state": False}])
def test_round_trip(name, options, tmp_path):
    model = fitted(name) if "include_data" not in options else MODELS_WITH_DATA(name)
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


def MODELS_WITH_DATA(name):  # noqa: N802
    """A copy goes through bytes and leaves the data behind, so fit anew."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return MODELS[name]()


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
    model._set_fitted(model._fitted._replace(classes=np.array([(1,), (2,)], object)))
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


def test_an_unfitted_model_has_nothing_to_save(tmp_path):
    with pytest.raises(NotFittedError):
        ObliqueBARTRegressor().save(tmp_path / "m")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "m")


READ_ELSEWHERE = """
import sys, hashlib
sys.path.insert(0, sys.argv[1])
import test_storage
from obliquebart import load
for path in sys.argv[2:]:
    model = load(path)
    name = "plain" if model.n_features_in_ == 3 else ""
    X = test_storage.inputs(name)
    print(hashlib.sha256(test_storage.predictions(model, X)).hexdigest())
    model.save(path + ".again")
"""


def assert_same_elsewhere(python, tmp_path):
    names = ["plain", "rank", "text labels", "whole labels"]
    digests = []
    for name in names:
        fitted(name).save(tmp_path / name)
        digests.append(hashlib.sha256(predictions(fitted(name), inputs(name))).hexdigest())
    paths = [str(tmp_path / name) for name in names]
    here = str(Path(__file__).parent)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_PRELOAD")}
    result = subprocess.run(
        [python, "-c", READ_ELSEWHERE, here, *paths],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment | ({"LD_PRELOAD": os.environ["LD_PRELOAD"]} if PRELOAD else {}),
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == digests
    for path in paths:
        assert Path(path + ".again").read_bytes() == Path(path).read_bytes()


PRELOAD = "LD_PRELOAD" in os.environ


def test_same_predictions_in_another_process(tmp_path):
    assert_same_elsewhere(sys.executable, tmp_path)


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
@pytest.mark.skipif(PRELOAD, reason="the sanitizer's runtime is of one Python only")
def test_same_predictions_and_bytes_in_another_python(version, tmp_path):
    root = Path(__file__).parent.parent
    environment = root / ".venvs" / version
    built = environment / ".built"
    sources = [*root.glob("src/obliquebart/**/*.py"), *root.glob("cpp/*")]
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
        found = np.ravel(getattr(model, method)(X))
        # Another version of the package may round otherwise.
        np.testing.assert_allclose(found, [float.fromhex(v) for v in values], rtol=1e-6)
    # The bytes are the same, whatever Python, NumPy and safetensors wrote them.
    header = crafting.opened(path.read_bytes()).header
    if header["schema"] == model_file.SCHEMA:
        monkeypatch.setattr(obliquebart, "__version__", header["version"])
        model.save(tmp_path / "m", include_data=header["training"]["included"])
        assert (tmp_path / "m").read_bytes() == path.read_bytes()
    n_draws = model._fitted.n_draws
    y = np.array(expected["y"])
    assert model.sample_more(3, X, y)._fitted.n_draws == n_draws + 3 * model.n_chains


def test_there_is_a_file_of_every_schema():
    schemas = {
        crafting.opened(path.read_bytes()).header["schema"] for path in FIXTURES.glob("*.obart")
    }
    assert schemas == set(range(1, model_file.SCHEMA + 1))


def test_a_newer_schema_is_refused_with_its_version(tmp_path):
    contents = crafting.opened(small_file())
    header = {**contents.header, "schema": model_file.SCHEMA + 1, "version": "9.8.7"}
    newer = Contents(header, contents.arrays)
    (tmp_path / "m").write_bytes(crafting.closed(newer))
    with pytest.raises(ModelFileError, match=r"schema 3 .* obliquebart 9\.8\.7"):
        load(tmp_path / "m")


# ---- hostile files -------------------------------------------------------------------------------


def small_file(make=crafting.small_regressor, **options):
    model = make()
    return model_file.to_bytes(model._fitted, _plain_parameters(model), **options)


def _plain_parameters(model):
    return {k: model_file._plain(k, v) for k, v in model.get_params(deep=False).items()}


def test_every_flipped_byte_is_noticed():
    data = bytearray(small_file(include_data=True))
    # Small enough to be thorough: every single bit, and every byte inverted.
    assert len(data) < 20_000
    for place in range(len(data)):
        for mask in (1, 2, 4, 8, 16, 32, 64, 128, 255):
            data[place] ^= mask
            assert crafting.attempt(bytes(data)) == "refused", (place, mask)
            data[place] ^= mask


def test_every_truncation_is_noticed():
    data = small_file()
    for length in range(len(data)):
        assert crafting.attempt(data[:length]) == "refused", length
    for more in (b"\0", b" ", data):
        assert crafting.attempt(data + more) == "refused"


CRAFTED = {
    "container": crafting.container_cases,
    "arrays": crafting.array_cases,
    "header": crafting.header_cases,
}


@pytest.mark.parametrize("make", [crafting.small_regressor, crafting.small_classifier])
@pytest.mark.parametrize("kind", CRAFTED)
@pytest.mark.filterwarnings("ignore")
def test_crafted_files_are_refused_or_harmless(kind, make):
    """Load every one; use every tenth of those that are accepted (the fuzz target: all)."""
    outcomes = []
    for name, data in CRAFTED[kind](small_file(make, include_data=True)):
        begin = time.process_time()
        outcomes.append(crafting.attempt(data))
        assert time.process_time() - begin < 1.0, name
        if outcomes[-1] == "harmless" and outcomes.count("harmless") % 10 == 0:
            crafting.attempt(data, crafting.use)
    n_refused = outcomes.count("refused")
    assert len(outcomes) >= (50 if kind == "container" else 1000)
    assert n_refused == len(outcomes) if kind == "container" else n_refused > len(outcomes) // 2


HARMFUL = {
    "posterior.0.draws.phi_column": (np.uint32(2), "phi_column is out of range"),
    "posterior.0.draws.cat_column": (np.uint32(1), "cat_column is out of range"),
    "posterior.0.draws.cut": (np.float32(np.nan), "cut is not finite"),
    "posterior.0.draws.phi_value": (np.float32(np.inf), "phi_value is not finite"),
    "posterior.0.draws.outputs": (np.float32(np.nan), "output is not finite"),
    "posterior.0.draws.structure_of": (np.uint32(10**6), "structure_of is out of range"),
    "posterior.0.draws.node_begin": (np.uint64(2**63), "node_begin must start at 0"),
    "posterior.0.draws.node_kind": (np.uint8(3), "node_kind"),
    "posterior.0.draws.phi_count": (np.uint32(2**31), "phi_count is too large"),
    "posterior.0.draws.level_words": (np.uint32(2**31), "beyond the last level"),
    "posterior.0.trace.sigma": (-1.0, "trace.sigma"),
    "posterior.0.state.0.residual": (np.float32(np.nan), "not finite"),
    "posterior.0.state.0.proposed": (np.int64(-1), "out of range"),
}


@pytest.mark.parametrize("name", HARMFUL)
def test_the_message_says_what_is_wrong(name, tmp_path):
    value, message = HARMFUL[name]
    contents = crafting.opened(small_file())
    array = contents.arrays[name].copy()
    array.flat[0] = value
    path = tmp_path / "model.obart"
    path.write_bytes(crafting.closed(Contents(contents.header, {**contents.arrays, name: array})))
    with pytest.raises(ModelFileError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def with_state(rule, levels, *, changed):
    """Put an ensemble into the first chain's state: a tree of one rule, and two without."""
    contents = crafting.opened(small_file(include_data=True))
    is_continuous = int(rule == 1)
    state = {
        "structure_of": np.array([[0, 1, 1]], np.uint32),
        "node_begin": np.array([0, 3, 4], np.uint64),
        "node_kind": np.array([rule, 0, 0, 0], np.uint8),
        "cut": np.zeros(is_continuous, np.float32),
        "phi_count": np.ones(is_continuous, np.uint32),
        "phi_column": np.zeros(is_continuous, np.uint32),
        "phi_value": np.ones(is_continuous, np.float32),
        "cat_column": np.zeros(1 - is_continuous, np.uint32),
        "level_words": np.array(levels, np.uint32),
        "outputs": np.zeros(4, np.float32),
        "leaf_code": np.array([0, 1, 0, 0], np.uint8),
        "changed": np.full(3, changed, np.uint8),
    }
    arrays = {f"posterior.0.state.0.{name}": array for name, array in state.items()}
    return crafting.closed(Contents(contents.header, {**contents.arrays, **arrays}))


def test_a_state_must_suit_the_sampler():
    assert crafting.attempt(with_state(1, [], changed=1), crafting.use) == "harmless"
    for levels in range(1, 7):
        assert crafting.attempt(with_state(2, [levels], changed=1), crafting.use) == "harmless"
    for levels in (0, 7):
        with pytest.raises(ModelFileError, match="does not split its node's levels"):
            model_reader.read_model(with_state(2, [levels], changed=1))
    # The last draw of the chain has other trees than this.
    with pytest.raises(ModelFileError, match="does not follow its chain's last draw"):
        model_reader.read_model(with_state(1, [], changed=0))


def test_files_of_other_kinds(tmp_path):
    def refused(content, message):
        path = tmp_path / "file"
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match=message):
            load(path)

    refused(b"", "cut short, or not an obliquebart file")
    refused(b"a,b\n1,2\n" * 100, "cut short, or not an obliquebart file")
    refused(pickle.dumps(np.arange(100)), "not an obliquebart file")
    refused(safetensors.numpy.save({"a": np.zeros(3)}), "no checksum")
    refused(
        container.pack(Contents({"format": "x", "schema": 1}, {})), "is not an obliquebart model"
    )
    with pytest.raises(ModelFileError, match="not a regular file"):
        load(tmp_path)
    with pytest.raises(ModelFileError, match="not a regular file"):
        load("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        load(tmp_path / "pipe")


def test_a_huge_file_is_refused_unread(tmp_path):
    path = tmp_path / "huge"
    with open(path, "wb") as file:
        file.write((10**6).to_bytes(8, "little") + b"{")
        file.truncate(50 * 10**9)
    tracemalloc.start()
    begin = time.process_time()
    with pytest.raises(ModelFileError):
        load(path)
    assert time.process_time() - begin < 1.0
    assert tracemalloc.get_traced_memory()[1] < 1e7
    tracemalloc.stop()


JUNK = {
    "deep": "[" * 10**7,
    "objects": "[" + "{}," * 190_000,
    "more objects": "[" + "{}," * 5 * 10**6,
    "numbers": "[" + "1e9," * 1_900_000,
    "more numbers": "[" + "1," * 10**7,
    "text": '"' + "x" * 3 * 10**7,
}


@pytest.mark.parametrize("junk", JUNK)
def test_large_headers_take_little_time_and_memory(junk):
    def crafted(text):
        text = '{"checksum":"' + "0" * 64 + '","format":"obliquebart model","x":' + text
        return crafting.signed(safetensors.numpy.save({"a": np.zeros(3)}, {"obliquebart": text}))

    data = crafted(JUNK[junk])
    begin = time.process_time()
    assert crafting.attempt(data) == "refused"
    assert time.process_time() - begin < 1.0
    # Tracing is slow.
    data = crafted(JUNK[junk][: len(JUNK[junk]) // 20])
    tracemalloc.start()
    assert crafting.attempt(data) == "refused"
    assert tracemalloc.get_traced_memory()[1] < 30 * len(data)
    tracemalloc.stop()


# ---- writing -------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "m"
    container.write_file(path, b"old")
    for function in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(container.os, function, _fail)
            with pytest.raises(OSError, match="No space"):
                container.write_file(path, b"new" * 1000)
        assert path.read_bytes() == b"old"
        assert os.listdir(tmp_path) == ["m"]
    container.write_file(path, b"new")
    assert path.read_bytes() == b"new"


def _fail(*_):
    raise OSError(28, "No space left on device")


def test_leftovers_of_killed_processes_are_removed(tmp_path):
    (tmp_path / ".m.0123abcd.tmp").write_bytes(b"half")
    (tmp_path / ".m.99999999.tmp").write_bytes(b"still being written")
    (tmp_path / ".other.0123abcd.tmp").write_bytes(b"of another file")
    with open(tmp_path / ".m.99999999.tmp", "wb") as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        container.write_file(tmp_path / "m", b"new")
    assert sorted(os.listdir(tmp_path)) == [".m.99999999.tmp", ".other.0123abcd.tmp", "m"]


def test_links_are_followed_and_devices_refused(tmp_path):
    container.write_file(tmp_path / "m", b"old")
    os.symlink("m", tmp_path / "link")
    container.write_file(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "m").read_bytes() == b"new"
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(OSError, match="not a regular file"):
            container.write_file(path, b"x")
    with pytest.raises(FileNotFoundError):
        container.write_file(tmp_path / "no" / "folder", b"x")


def test_files_are_readable_as_other_files_are(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    container.write_file(tmp_path / "m", b"new")
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_other_tools_can_list_the_arrays(tmp_path):
    fitted("categories").save(tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m", framework="np") as file:
        assert "posterior.0.draws.cut" in file.keys()  # noqa: SIM118
        header = json.loads(file.metadata()["obliquebart"])
    assert header["schema"] == model_file.SCHEMA
    assert header["version"] == obliquebart.__version__
    assert header["posteriors"][0]["prior"]["n_trees"] == 8
    assert header["encoding"]["names"] == list(table())
    assert header["encoding"]["columns"][3]["values"] == sorted(["Łódź", "", "東京", 'q"\\'])
    assert header["encoding"]["dtypes"] == ["number", "number", "number", "text", "number"]


def test_no_training_data_without_asking():
    data = small_file()
    names = list(crafting.opened(data).arrays)
    assert not [name for name in names if name.startswith("training")]
    without_state = list(crafting.opened(small_file(include_state=False)).arrays)
    assert not [name for name in without_state if "residual" in name or "state" in name]


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


# ---- going on ------------------------------------------------------------------------------------


def draws_of(model):
    return [
        {**p.draws.to_arrays(), **p.trace, "burn_sigma": p.burn_sigma}
        for p in model._fitted.posteriors
    ]


def assert_same_draws(one, other):
    for first, second in zip(draws_of(one), draws_of(other), strict=True):
        for name in first:
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)


GOING_ON = {
    "regressor": (ObliqueBARTRegressor, outcome(), {"p_change": 0.1, "p_perturb": 0.1}),
    "thinned": (ObliqueBARTRegressor, outcome(), {"n_thin": 3}),
    "two classes": (ObliqueBARTClassifier, labels(["a", "b"]), {}),
    "three classes": (ObliqueBARTClassifier, labels([1, 2, 3]), {}),
}


@pytest.mark.parametrize("case", GOING_ON)
@pytest.mark.parametrize("way", ["at once", "saved", "with data", "pickled", "in steps"])
def test_sample_more_is_a_longer_fit(case, way, tmp_path):
    kind, y, options = GOING_ON[case]
    parameters = {**SMALL, **CATEGORIES, **options}
    X = table()
    longer = kind(**{**parameters, "n_draws": 30}).fit(X, y)
    model = kind(**parameters).fit(X, y)
    if way == "at once":
        model.sample_more(18)
    elif way == "saved":
        model.save(tmp_path / "m")
        model = load(tmp_path / "m").sample_more(18, X, y)
    elif way == "with data":
        model.save(tmp_path / "m", include_data=True)
        model = load(tmp_path / "m").sample_more(18)
    elif way == "pickled":
        model = pickle.loads(pickle.dumps(model)).sample_more(18, X, y)
    else:
        model.sample_more(1).save(tmp_path / "m", include_data=True)
        model = load(tmp_path / "m").sample_more(10).sample_more(7)
    assert_same_draws(model, longer)
    assert model._fitted.n_draws == longer._fitted.n_draws
    if way != "pickled":
        options = {"include_data": True}
        assert model_file.to_bytes(model._fitted, {}) == model_file.to_bytes(longer._fitted, {})
        assert predictions(model, table(30, 7)) == predictions(longer, table(30, 7))


@pytest.mark.parametrize("name", ["constant", "one label"])
def test_sample_more_where_there_is_nothing_to_learn(name):
    model = MODELS_WITH_DATA(name).sample_more(5)
    assert model._fitted.n_draws == 2 * 17
    predictions(model, table(30, 7))


def test_sample_more_needs_the_same_data(tmp_path):
    X, y = table(), outcome()
    weights = np.arange(60.0)
    model = ObliqueBARTRegressor(**SMALL, **CATEGORIES).fit(X, y, weights)
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    with pytest.raises(ValueError, match="loaded without its training data: pass the X and y"):
        again.sample_more(3)
    with pytest.raises(ValueError, match="but y is not the same"):
        again.sample_more(3, X, y * np.linspace(1, 1.001, 60), weights)
    with pytest.raises(ValueError, match="but sample_weight is not the same"):
        again.sample_more(3, X, y, weights**1.5)
    with pytest.raises(ValueError, match="but sample_weight is not the same"):
        again.sample_more(3, X, y)
    with pytest.raises(ValueError, match="but X is not the same"):
        again.sample_more(3, {**X, "age": X["age"] ** 2}, y, weights)
    with pytest.raises(ValueError, match="include_data=True, but"):
        again.save(tmp_path / "n", include_data=True)
    with pytest.raises(ValueError, match="n_draws=0"):
        again.sample_more(0, X, y, weights)
    assert_same_model(again, model)
    # Another unit of y is another scale, not other chains.
    again.sample_more(3, X, y, weights).save(tmp_path / "n", include_data=True)
    model.save(tmp_path / "o", include_state=False)
    with pytest.raises(ValueError, match=r"include_state=False.*fit it again"):
        load(tmp_path / "o").sample_more(3, X, y, weights)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_sample_more_on_another_backend():
    X, y = table(), outcome()
    longer = ObliqueBARTRegressor(**{**SMALL, "n_draws": 20}, **CATEGORIES).fit(X, y)
    model = ObliqueBARTRegressor(**SMALL, **CATEGORIES).fit(X, y)
    with joblib.parallel_config(backend="multiprocessing", n_jobs=2):
        model.sample_more(8)
    assert_same_draws(model, longer)
