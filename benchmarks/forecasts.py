"""What the contestants say about the test rows, one type for each kind of outcome."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

COVERAGE = 0.9


@dataclass(frozen=True)
class Outcomes:
    """Of regression."""

    mean: np.ndarray
    log_density: float  # mean over the test rows
    interval: np.ndarray  # (n, 2), of `COVERAGE`
    samples: np.ndarray  # of the outcome, (n_samples, n)
    noise: np.ndarray | None  # standard deviation of the noise, where it varies
    fit_s: float  # processor seconds, like all below


@dataclass(frozen=True)
class Probabilities:
    """Of classes."""

    classes: np.ndarray
    values: np.ndarray  # (n, n_classes)
    fit_s: float
    predict_s: float


@dataclass(frozen=True)
class Counts:
    """Of counts."""

    mean: np.ndarray
    log_probability: float  # mean over the test rows
    interval: np.ndarray | None  # (n, 2), of `COVERAGE`
    fit_s: float


@dataclass(frozen=True)
class Survival:
    """Of times to an event."""

    risk: np.ndarray  # higher means earlier
    survival: np.ndarray  # (n, n_times)
    fit_s: float
