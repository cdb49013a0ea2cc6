"""The export to ArviZ: with the version installed here, and, in the long form, with both."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from helpers import ROOT, small_models

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
    with pytest.raises(ValueError, match="need the table X"):
        posterior.to_arviz(y=y)
    with pytest.raises(ValueError, match="leave these rows out"):
        posterior.to_arviz(X, y, sample_weight=np.arange(len(y)))
    with pytest.raises(ValueError, match=r"y == model\.classes_"):
        small_models.classifier().posterior_.to_arviz(X, np.where(y > 105, "high", "low"))


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
