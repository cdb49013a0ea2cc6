"""What short fits said about the noise, in a checkpoint."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from helpers import small_files
from obliquebart import ModelFileError, ObliqueBARTRegressor
from obliquebart.estimators import running
from obliquebart.files import checkpoint, container
from obliquebart.files.container import Contents
from obliquebart.files.model_file import to_bytes
from obliquebart.model.outcome import NoiseEstimate

SMALL = {"n_trees": 8, "n_burn": 20, "n_draws": 30, "n_chains": 2, "progress": False}
SMALL["random_state"] = 5


def table(n=80):
    x = np.random.default_rng(0).normal(size=(n, 2))
    return x, x[:, 0]


@pytest.mark.parametrize("estimate", [None, NoiseEstimate(0.2, math.inf, "gaussian", True)])
def test_short_fits_are_not_repeated(tmp_path, monkeypatch, estimate):
    """With another time limit they might say something else: what they said is in the file."""
    said = iter([estimate])
    monkeypatch.setattr(running, "estimate_noise", lambda *_: next(said))
    options = {"checkpoint": tmp_path / "run.ckpt"}
    model = ObliqueBARTRegressor(**SMALL).fit(*table(), **options)
    again = ObliqueBARTRegressor(**SMALL).fit(*table(), **options)
    assert again.soft_ == (estimate is not None)
    assert to_bytes(again._fitted, {}) == to_bytes(model._fitted, {})
    for soft in (True, False):
        with pytest.raises(ModelFileError, match=f"made with soft='auto', not {soft}"):
            ObliqueBARTRegressor(**SMALL, soft=soft).fit(*table(), **options)


def test_a_missing_folder_is_an_error_before_anything_takes_time(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "estimate_noise", lambda *_: pytest.fail("it took its time"))
    model = ObliqueBARTRegressor(**SMALL)
    for path in (tmp_path / "no" / "folder", ""):
        with pytest.raises(FileNotFoundError):
            model.fit(*table(), checkpoint=path)
    assert not hasattr(model, "posterior_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoint_every": 5}, "checkpoint_every requires checkpoint"),
        ({"checkpoint": "run.ckpt", "checkpoint_every": 0}, "checkpoint_every=0"),
    ],
)
def test_a_bad_option_is_an_error_before_anything_takes_time(
    tmp_path, monkeypatch, options, message
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(running, "estimate_noise", lambda *_: pytest.fail("it took its time"))
    with pytest.raises(ValueError, match=message):
        ObliqueBARTRegressor(**SMALL).fit(*table(), **options)
    assert not list(tmp_path.iterdir())


ESTIMATE = {"sigma": 0.5, "df": None, "likelihood": "gaussian", "is_soft": False}


@pytest.mark.parametrize(
    "wrong",
    [
        *({"sigma": sigma} for sigma in (0.0, -1.0, "1", None, True)),
        *({"df": -6.0}, {"df": 6}, {"df": "6"}),
        *({"likelihood": "no such"}, {"likelihood": ["gaussian"]}, {"is_soft": 1}),
    ],
    ids=str,
)
def test_a_wrong_estimate_of_the_noise_is_refused(tmp_path, wrong):
    path = tmp_path / "run.ckpt"
    X, y = small_files.small_table()
    model = ObliqueBARTRegressor(**small_files.SMALL).fit(X, y, checkpoint=path)
    contents = container.unpack(path.read_bytes(), checkpoint.FORMAT, (checkpoint.SCHEMA,))
    for estimate, message in ((ESTIMATE, "different settings"), (wrong, "that cannot be one")):
        header = copy.deepcopy(contents.header)
        header["identity"]["estimates"] = [{**ESTIMATE, **estimate}]
        path.write_bytes(small_files.closed(Contents(header, contents.arrays)))
        with pytest.raises(ModelFileError, match=message):
            model.fit(X, y, checkpoint=path)
