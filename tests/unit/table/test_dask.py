"""Dask: lazy predictions over partitions, and chains on a cluster."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="Dask is optional")
pytest.importorskip("distributed", reason="Dask is optional")

import dask.array as da
import dask.dataframe as dd
from dask.distributed import Client, LocalCluster

from obliquebart import ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.directions import Patch

OPTIONS = {"n_trees": 20, "n_burn": 30, "n_draws": 20, "n_chains": 2, "progress": False}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(200, 3)), columns=list("abc"))
    frame["d"] = rng.choice(["u", "v"], 200)
    return frame, frame["a"] + (frame["d"] == "u") + 0.1 * rng.standard_normal(200)


@pytest.fixture(scope="module")
def on_frames(table):
    return ObliqueBARTRegressor(**OPTIONS, random_state=0).fit(*table)


@pytest.fixture(scope="module")
def on_arrays(table):
    frame, y = table
    return ObliqueBARTRegressor(**OPTIONS, random_state=0).fit(frame[["a", "b", "c"]].to_numpy(), y)


CALLS = [
    ("predict", {}),
    ("predict_interval", {"kind": "mean"}),
    ("predict_quantile", {"q": 0.3}),
    ("predict_quantile", {"q": [0.3, 0.5, 0.9]}),
]


@pytest.mark.parametrize(("method", "options"), CALLS)
@pytest.mark.parametrize("chunks", [(50, 3), (70, 2), (200, 1)])
def test_arrays(table, on_arrays, method, options, chunks):
    x = table[0][["a", "b", "c"]].to_numpy()
    expected = getattr(on_arrays, method)(x, **options)
    lazy = getattr(on_arrays, method)(da.from_array(x, chunks=chunks), **options)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == expected.shape
    np.testing.assert_array_equal(lazy.compute(), expected)


@pytest.mark.parametrize(("method", "options"), CALLS)
def test_frames(table, on_frames, method, options):
    frame, _ = table
    expected = getattr(on_frames, method)(frame, **options)
    lazy = getattr(on_frames, method)(dd.from_pandas(frame, npartitions=3), **options)
    assert isinstance(lazy, da.Array)
    assert lazy.shape[1:] == expected.shape[1:]
    np.testing.assert_array_equal(lazy.compute(), expected)


def test_standard_deviations(table, on_frames):
    frame, _ = table
    lazy = on_frames.predict(dd.from_pandas(frame, npartitions=3), return_std=True)
    for ours, expected in zip(lazy, on_frames.predict(frame, return_std=True), strict=True):
        np.testing.assert_array_equal(ours.compute(), expected)


def test_classes(table):
    frame, y = table
    labels = np.array(["low", "middle", "high"])[pd.cut(y, 3, labels=False)]
    model = ObliqueBARTClassifier(**OPTIONS, random_state=0).fit(frame, labels)
    calls = [(method, {}) for method in ("predict", "predict_proba", "predict_interval")]
    calls += [("predict_quantile", {"q": q}) for q in (0.3, [0.3, 0.5, 0.9])]
    for method, options in calls:
        lazy = getattr(model, method)(dd.from_pandas(frame, npartitions=3), **options)
        np.testing.assert_array_equal(lazy.compute(), getattr(model, method)(frame, **options))


def test_flat_images():
    x = np.random.default_rng(0).normal(size=(60, 4, 5))
    model = ObliqueBARTRegressor(**OPTIONS, random_state=0, directions=Patch((4, 5)))
    model.fit(x, x[:, 1, 2])
    images = da.from_array(x, chunks=(25, 4, 5))
    lazy = model.predict(images.reshape(len(images), -1))
    np.testing.assert_array_equal(lazy.compute(), model.predict(x))
    with pytest.raises(ValueError, match=r"Dask array of shape \(60, 4, 5\) .* flatten"):
        model.predict(images)


def test_errors_come_at_once(table, on_arrays):
    x = table[0][["a", "b", "c"]].to_numpy()
    with pytest.raises(ValueError, match="Expected 2D array"):
        on_arrays.predict(da.from_array(x[:, 0]))
    with pytest.raises(ValueError, match=r"flatten .* with X.reshape\(len\(X\), -1\)"):
        on_arrays.predict(da.from_array(x[:, :, None]))
    with pytest.raises(ValueError, match="coverage=2"):
        on_arrays.predict_interval(da.from_array(x), coverage=2)


def test_fit_needs_a_cluster(table):
    frame, y = table
    model = ObliqueBARTRegressor(**OPTIONS)
    with pytest.raises(ValueError, match=r"connect to one with dask\.distributed\.Client"):
        model.fit(dd.from_pandas(frame, npartitions=2), y)


@pytest.mark.filterwarnings("default")
def test_a_cluster(table, on_frames):
    frame, y = table
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        lazy = on_frames.predict_interval(dd.from_pandas(frame, npartitions=4))
        np.testing.assert_array_equal(lazy.compute(), on_frames.predict_interval(frame))
        with joblib.parallel_config(backend="dask"):
            remote = ObliqueBARTRegressor(**OPTIONS, random_state=0).fit(frame, y)
        np.testing.assert_array_equal(remote.predict(frame), on_frames.predict(frame))
