"""Do rules about stretches of a curve pay in spectra and series?

Spectra of meat (fat, water and protein), tablets, corn and coffee, and series and outlines of the
UCR archive; all of them come with packages (`structured_data.py`). In the last setting, series of
noise have a bump at a random place or not. Patches on a line against partial least squares and
ridge (or logistic) regression, both tuned by cross-validation, forests, boosting, and sparse and
axis rules of our own. Two thirds of the rows are for the fit. Errors of numbers are in their units,
with R2 beside them; classes have accuracy and log loss.

    python benchmarks/curves.py [--settings S ...] [--methods M ...] [--seeds 5] [--jobs 1]
        [--limit-seconds T] [--cache FOLDER] [--report] [--save]
"""

from __future__ import annotations

from functools import partial

import numpy as np
import structured_data
import structured_study
from structured_study import Study, Task, ours, peer, split, synthetic

TRAIN_SHARE = 2 / 3
LENGTH = 100
SETS = [name for name in structured_data.SETS if name != "mnist"]


def task(seed: int, name: str) -> Task:
    return split(structured_data.load(name), seed, TRAIN_SHARE)


def bumps(seed: int, n_train: int) -> Task:
    """Series of noise: those of class 1 have a bump at a random point of the middle half."""
    points = np.arange(LENGTH)

    def series(label: int, rng: np.random.Generator) -> np.ndarray:
        centre = rng.uniform(LENGTH / 4, 3 * LENGTH / 4)
        return label * np.exp(-(((points - centre) / 5) ** 2) / 2)

    return synthetic(seed, n_train, series, (LENGTH,))


LENGTHS = {"n_trees": 200, "n_burn": 1000, "n_draws": 300, "n_chains": 2}
METHODS = {
    "smooth patches": ours(directions="line smooth", feature_scaling="joint", **LENGTHS),
    "differences": ours(directions="line difference", feature_scaling="joint", **LENGTHS),
    "sparse": ours(directions="sparse", **LENGTHS),
    "axis": ours(directions="axis", **LENGTHS),
    "PLS": peer("pls", "linear"),
    "ridge": peer("ridge", "linear"),
    "random forest": peer("random_forest", "tree"),
    "extra trees": peer("extra_trees", "tree"),
    "hist boosting": peer("hist_boosting", "tree"),
}
SETTINGS = {name: partial(task, name=name) for name in SETS}
STUDY = Study("curves", {**SETTINGS, "bumps": partial(bumps, n_train=500)}, METHODS)


if __name__ == "__main__":
    structured_study.main(STUDY, __doc__)
