"""Do rules about patches pay in images?

MNIST-5k and scikit-learn's digits, from 200 training rows to 4,000, and synthetic images in the
manner of the paper on manifold oblique forests (Li et al., 2023), where what tells classes apart
may be anywhere: bars that are horizontal or vertical, discs and rings. Patches, hard, soft and with
16 votes for each label, against sparse and axis rules of our own, forests, boosting, treeple's
manifold oblique forest and logistic regression: accuracy, and log loss of probabilities that are
raised to at least 1e-6. MNIST is scored on 1,000 rows, digits on 500, synthetic images on 2,000.

The sizes of our patches, their values, the scaling, votes and the lengths of chains were chosen by
short fits on other splits of MNIST and digits than those reported here. Splits share rows.

    python benchmarks/images.py [--settings S ...] [--methods M ...] [--seeds 5] [--jobs 1]
        [--limit-seconds T] [--cache FOLDER] [--report] [--save]
"""

from __future__ import annotations

from functools import partial

import numpy as np
import structured_data
import structured_study
from sklearn.datasets import load_digits
from structured_data import Rows
from structured_study import Method, Study, Task, ours, peer, split, synthetic

SIDE = 28
N_BARS = 5


def mnist(seed: int, n_train: int) -> Task:
    return split(structured_data.load("mnist"), seed, n_train, 1000)


def digits(seed: int, n_train: int) -> Task:
    x, y = load_digits(return_X_y=True)
    return split(Rows(x, y, (8, 8)), seed, n_train, 500)


def bars(seed: int, n_train: int) -> Task:
    """Bars at random places: horizontal ones are class 1."""

    def image(label: int, rng: np.random.Generator) -> np.ndarray:
        lines = np.zeros((SIDE, SIDE))
        lines[rng.choice(SIDE, N_BARS, replace=False)] = 1.0
        return lines if label else lines.T

    return synthetic(seed, n_train, image, (SIDE, SIDE))


def circles(seed: int, n_train: int) -> Task:
    """A circle of random size and place: a disc is class 1, a ring class 0."""
    rows, columns = np.mgrid[:SIDE, :SIDE]

    def image(label: int, rng: np.random.Generator) -> np.ndarray:
        radius = rng.uniform(4, 8)
        centre = rng.uniform(radius, SIDE - 1 - radius, size=2)
        distance = np.hypot(rows - centre[0], columns - centre[1])
        return (distance < radius) & (bool(label) | (distance > radius - 2))

    return synthetic(seed, n_train, image, (SIDE, SIDE))


SIZES = (1000, 500, 200)
SETTINGS = {
    "mnist 4000": partial(mnist, n_train=4000),
    "digits 1200": partial(digits, n_train=1200),
    **{f"mnist {n}": partial(mnist, n_train=n) for n in SIZES},
    **{f"digits {n}": partial(digits, n_train=n) for n in SIZES},
    "bars 200": partial(bars, n_train=200),
    "circles 500": partial(circles, n_train=500),
}
LENGTHS = {"n_trees": 300, "n_burn": 450, "n_draws": 150, "n_chains": 4}
PATCHES = "patches"
METHODS = {
    PATCHES: ours(directions="image difference", feature_scaling="range", **LENGTHS),
    "patches, 16 votes": ours(
        directions="image difference", feature_scaling="range", votes=16, **LENGTHS
    ),
    "soft patches": ours(
        directions="image difference", feature_scaling="range", soft=True, **LENGTHS
    ),
    "sparse": ours(directions="sparse", feature_scaling="range", **LENGTHS),
    "axis": ours(directions="axis", feature_scaling="range", **LENGTHS),
    "MORF": Method("structured_treeple", "morf", (("n_trees", 300),), "tree"),
    "hist boosting": peer("hist_boosting", "tree"),
    "boosting": peer("boosting", "tree"),
    "random forest": peer("random_forest", "tree"),
    "extra trees": peer("extra_trees", "tree"),
    "logistic": peer("logistic", "linear", penalty=100.0),
}
STUDY = Study("images", SETTINGS, METHODS)


if __name__ == "__main__":
    structured_study.main(STUDY, __doc__)
