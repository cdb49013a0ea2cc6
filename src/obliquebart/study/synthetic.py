"""The two functions of the paper's figures 1 and 4: constant on both sides of a boundary.

A name such as ``rotated_axes-n1000-d4-t3`` says the function, the training rows, the jump
Δ and the step of θ: θ = 3π/36 for the rotated axes, θ = 0.3 for the sinusoid.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import numpy as np

from obliquebart.study.train_test import FloatArray, StudyTable, TrainTest

FUNCTIONS = {"rotated_axes": 10, "sinusoid": 11}  # steps of θ
ROWS = (100, 1000, 10000)
JUMPS = (0.5, 1.0, 2.0, 4.0)
N_REPLICATES = 20
N_TEST = 1000

_NAME = re.compile(r"(rotated_axes|sinusoid)-n(\d+)-d([\d.]+)-t(\d+)")


@dataclass(frozen=True)
class Synthetic:
    """One cell of the grid of synthetic problems."""

    function: str
    n: int
    jump: float
    step: int

    @property
    def name(self) -> str:
        """The name that `parse` reads."""
        return f"{self.function}-n{self.n}-d{self.jump:g}-t{self.step}"

    @property
    def theta(self) -> float:
        """Angle in radians, or amplitude."""
        return self.step * (np.pi / 36 if self.function == "rotated_axes" else 0.1)

    def f(self, x: FloatArray) -> FloatArray:
        """Evaluate the function at rows of x."""
        if self.function == "rotated_axes":
            cos, sin = np.cos(self.theta), np.sin(self.theta)
            above = (x[:, 0] * cos - x[:, 1] * sin) * (x[:, 0] * sin + x[:, 1] * cos) > 0
        else:
            above = x[:, 1] > self.theta * np.sin(10.0 * x[:, 0])
        return np.where(above, self.jump, -self.jump)

    def problem(self, replicate: int) -> TrainTest:
        """Draw training and test rows; every method sees the same."""
        digest = hashlib.sha256(f"{self.name}/{replicate}".encode()).digest()
        rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
        # The paper's text says [0, 1]², its code and its pictures [-1, 1]².
        x = rng.uniform(-1.0, 1.0, size=(self.n + N_TEST, 2))
        f = self.f(x)
        y = f + rng.standard_normal(len(x))
        none = np.empty((len(x), 0), np.int64)
        columns, train = StudyTable(x, none, ()), np.arange(len(x)) < self.n
        return TrainTest(
            task="regression",
            train=columns.take(train),
            test=columns.take(~train),
            y_train=y[train],
            y_test=y[~train],
            f_test=f[~train],
        )


def parse(name: str) -> Synthetic | None:
    """Return the cell of a name, or None if it is not one of a synthetic problem."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    function, n, jump, step = match.groups()
    if int(step) >= FUNCTIONS[function]:
        raise ValueError(f"{name!r}: the last step of {function} is t{FUNCTIONS[function] - 1}.")
    return Synthetic(function, int(n), float(jump), int(step))
