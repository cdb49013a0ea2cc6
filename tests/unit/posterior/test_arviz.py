"""The export to ArviZ: with the version installed here, and, in the long form, with both."""

from __future__ import annotations

import itertools
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from helpers import ROOT, small_models
from obliquebart import ObliqueBARTClassifier

SCRIPT = ROOT / "tests" / "helpers" / "arviz_script.py"


@pytest.mark.filterwarnings("ignore")
def test_arviz_works_on_the_export():
    pytest.importorskip("arviz")
    from helpers import arviz_script

    arviz_script.main()


@pytest.mark.filterwarnings("ignore")
def test_without_a_table_there_are_the_parameters():
    pytest.importorskip("arviz")
    data = small_models.regressor().posterior_.to_arviz()
    assert set(data["posterior"].data_vars) == {"sigma", "theta", "leaf_sd"}
    assert "accept_grow" in data["sample_stats"].data_vars
    assert not hasattr(data, "log_likelihood")


@pytest.mark.filterwarnings("ignore")
def test_weights_scale_the_noise():
    pytest.importorskip("arviz")
    X, y = small_models.mixed_table()
    posterior = small_models.regressor().posterior_
    plain = posterior.to_arviz(X, y)["log_likelihood"]["y"].values
    f = posterior.predict(X).reshape(2, 100, len(y))
    sd = posterior.trace["sigma"][..., None] / 2
    heavy = posterior.to_arviz(X, y, sample_weight=np.full(len(y), 4.0))["log_likelihood"]["y"]
    np.testing.assert_allclose(
        heavy.values - plain, -0.5 * ((y - f) / sd) ** 2 * 0.75 + np.log(2), atol=1e-9
    )


@pytest.mark.filterwarnings("ignore")
def test_mistakes_are_named():
    pytest.importorskip("arviz")
    X, y = small_models.mixed_table()
    posterior = small_models.regressor().posterior_
    with pytest.raises(ValueError, match="require X"):
        posterior.to_arviz(y=y)
    with pytest.raises(ValueError, match="drop these rows"):
        posterior.to_arviz(X, y, sample_weight=np.arange(len(y)))
    with pytest.raises(ValueError, match=r"y == model\.classes_"):
        small_models.classifier().posterior_.to_arviz(X, np.where(y > 105, "high", "low"))


@pytest.mark.filterwarnings("ignore")
def test_an_estimator_exports_its_posterior():
    pytest.importorskip("arviz")
    X, y = small_models.mixed_table()
    model = small_models.regressor()
    mine, its = model.to_arviz(X, y), model.posterior_.to_arviz(X, y)
    np.testing.assert_array_equal(mine["log_likelihood"]["y"], its["log_likelihood"]["y"])
    model = small_models.classifier()
    labels = np.where(y > 105, "high", "low")
    mine, its = model.to_arviz(X, labels), model.posterior_.to_arviz(X, labels == "low")
    np.testing.assert_array_equal(mine["log_likelihood"]["y"], its["log_likelihood"]["y"])
    np.testing.assert_array_equal(mine["observed_data"]["y"], labels == "low")
    with pytest.raises(ValueError, match="'medium', which is not a class of the model"):
        model.to_arviz(X, np.where(y > 105, "high", "medium"))
    with pytest.raises(ValueError, match="require X"):
        model.to_arviz(y=labels)


@pytest.mark.filterwarnings("ignore")
def test_many_classes_have_a_dimension():
    pytest.importorskip("arviz")
    model, X, labels = small_models.three_classes()
    data = model.to_arviz(X, labels, rows=[3, 77], random_state=0)
    posterior = data["posterior"]
    assert posterior["class"].values.tolist() == model.classes_.tolist()
    assert posterior["theta"].dims == ("chain", "draw", "class")
    for label, its in model.posteriors_.items():
        mine = posterior.sel({"class": label})
        np.testing.assert_array_equal(mine["leaf_sd"], its.trace["leaf_sd"])
        np.testing.assert_array_equal(mine["f"].values.reshape(-1, 2), its.predict(X)[:, [3, 77]])
    p = model.predict_proba(X, return_draws=True)
    np.testing.assert_allclose(posterior["p"].values.reshape(-1, 2, 3), p[:, [3, 77]])
    codes = np.searchsorted(model.classes_, labels)
    log_p = data["log_likelihood"]["y"].values.reshape(-1, 150)
    np.testing.assert_allclose(np.exp(log_p), p[:, np.arange(150), codes])
    np.testing.assert_array_equal(data["observed_data"]["y"], codes)
    # Classes are drawn as often as they are probable, within five standard errors.
    new = data["posterior_predictive"]["y"].values.reshape(-1, 150)
    for code, rows in itertools.product(range(3), (labels == label for label in model.classes_)):
        q = p[:, rows, code]
        sd = np.sqrt((q * (1 - q)).sum())
        assert abs((new[:, rows] == code).sum() - q.sum()) < 5 * sd
    heavy = model.to_arviz(X, labels, sample_weight=np.full(150, 2))["log_likelihood"]["y"]
    np.testing.assert_allclose(heavy.values.reshape(-1, 150), 2 * log_p)
    bare = model.to_arviz()
    assert set(bare["posterior"].data_vars) == {"theta", "leaf_sd"}
    assert "accept_grow" in bare["sample_stats"].data_vars


@pytest.mark.filterwarnings("ignore")
def test_one_class_has_nothing_to_export():
    pytest.importorskip("arviz")
    model = ObliqueBARTClassifier(n_trees=2, n_burn=1, n_draws=4, n_chains=1)
    model.fit(np.zeros((5, 2)), ["a"] * 5)
    with pytest.raises(ValueError, match="a single class"):
        model.to_arviz()


def test_a_missing_arviz_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"obliquebart\[arviz\]"):
        small_models.regressor().posterior_.to_arviz()


def interpreters():
    """Candidates for ArviZ 1.x, which needs Python 3.12."""
    if sys.version_info >= (3, 12):
        yield sys.executable
    for minor in (13, 12):
        yield f"python3.{minor}"
        yield from map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))


def interpreter_for(major):
    if major == 0:
        return sys.executable
    for python in interpreters():
        try:
            subprocess.run([python, "-c", "import venv"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return python
    pytest.skip("no Python 3.12 or later, which ArviZ 1.x needs")
    return None


@pytest.mark.long
@pytest.mark.parametrize("major", [0, 1])
def test_both_major_versions(tmp_path, major):
    """Build the package and install one ArviZ in an environment of its own; takes minutes."""
    python = interpreter_for(major)
    if python == sys.executable:
        venv.create(tmp_path / "env", with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", str(tmp_path / "env")], check=True)
    installed = str(tmp_path / "env" / "bin" / "python")
    version = "arviz>=1,<2" if major else "arviz>=0.20,<1"
    subprocess.run([installed, "-m", "pip", "install", "--quiet", str(ROOT), version], check=True)
    done = subprocess.run(
        [installed, str(SCRIPT)], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert f"ArviZ {major}." in done.stdout
