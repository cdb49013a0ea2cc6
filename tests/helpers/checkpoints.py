"""What tests of checkpoints share: fits that are stopped, and what their files hold."""

from __future__ import annotations

import contextlib

import numpy as np

from obliquebart.files import checkpoint, container
from obliquebart.sampling import run
from obliquebart.sampling.progress import FitProgress

# Without an estimate of the noise, so that all sweeps are those of the chains.
PLAIN_NOISE = {"nu": 3.0, "sigma_quantile": 0.99}
# Takes two rounds of its own accord.
AUTO = {"n_trees": 20, "n_burn": 50, "n_chains": 2, "progress": False, "random_state": 5}


def table():
    """Return two numbers and a category, and an outcome that is one of the numbers and noise."""
    rng = np.random.default_rng(0)
    X = {"a": rng.normal(size=80), "b": rng.normal(size=80), "c": rng.choice(["p", "q", "r"], 80)}
    return X, X["a"] + 0.3 * rng.normal(size=80)


def sweeps_in(path):
    """Give the sweeps of each chain in a checkpoint, None where it has not begun."""
    header = container.unpack(path.read_bytes(), checkpoint.FORMAT, (checkpoint.SCHEMA,)).header
    return [chain and chain["n_sweeps"] for task in header["chains"] for chain in task]


@contextlib.contextmanager
def stopped_after(n_sweeps, monkeypatch):
    """Act as Ctrl-C when the first chain has done so many sweeps."""

    def update(_, snapshots):
        if snapshots[0]["sweep"] >= n_sweeps:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FitProgress, "update", update)
        patch.setattr(run, "POLL_SECONDS", 0.001)
        with contextlib.suppress(KeyboardInterrupt):
            yield
