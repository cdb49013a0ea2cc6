"""The data that every contestant gets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Problem:
    """A regression table; `binary` has the same rows with a 0/1 target."""

    x: NDArray[np.float64]  # (n, p), uniform on [0, 1]
    truth: NDArray[np.float64]
    y: NDArray[np.float64]
    n_trees: int = 200
    seed: int = 0

    @property
    def binary(self) -> NDArray[np.float64]:
        return (self.y > np.median(self.y)).astype(np.float64)


def friedman(n: int, p: int = 10, *, n_trees: int = 200, seed: int = 0) -> Problem:
    """Friedman's first function with unit noise; columns 6 to p carry no signal."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=(n, p))
    mean = (
        10 * np.sin(np.pi * x[:, 0] * x[:, 1])
        + 20 * (x[:, 2] - 0.5) ** 2
        + 10 * x[:, 3]
        + 5 * x[:, 4]
    )
    return Problem(x, mean, mean + rng.normal(size=n), n_trees, seed)
