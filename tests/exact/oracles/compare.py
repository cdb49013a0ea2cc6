"""Comparisons: distributions over partitions, and two samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

from .partitions import Partition, key


@dataclass(frozen=True)
class Distance:
    """Total variation to the exact posterior and the size of its Monte Carlo noise."""

    total_variation: float
    noise: float  # expected total variation of a correct sampler, by batch means

    def __str__(self) -> str:
        return f"total variation {self.total_variation:.4f}, noise {self.noise:.4f}"


def total_variation(a: dict[Partition, float], b: dict[Partition, float]) -> float:
    return 0.5 * sum(abs(a.get(k, 0.0) - b.get(k, 0.0)) for k in set(a) | set(b))


def frequencies(keys: np.ndarray) -> dict[int, float]:
    values, counts = np.unique(keys, return_counts=True)
    return dict(zip(values.tolist(), (counts / len(keys)).tolist(), strict=True))


def distance(batches: list[dict[int, float]], exact: dict[Partition, float], n: int) -> Distance:
    """Frequencies of keys in equal batches of one chain against exact probabilities; n rows."""
    targets = {key(blocks, n): mass for blocks, mass in exact.items()}
    names = sorted(set(targets).union(*batches))
    found = np.array([[batch.get(k, 0.0) for k in names] for batch in batches])
    truth = np.array([targets.get(k, 0.0) for k in names])
    sd = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    return Distance(
        float(0.5 * np.abs(found.mean(axis=0) - truth).sum()),
        float(0.5 * np.sqrt(2 / np.pi) * sd.sum()),
    )


def p_value(a: np.ndarray, b: np.ndarray, discrete: bool) -> float:
    """Two independent samples, NaN left out: chi-square on counts, or Kolmogorov-Smirnov."""
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    if len(a) < 100 or len(b) < 100:
        return 1.0
    return _chi_square(a, b) if discrete else float(stats.ks_2samp(a, b, method="asymp").pvalue)


def _chi_square(a: np.ndarray, b: np.ndarray, least: float = 20.0) -> float:
    values = np.unique(np.concatenate([a, b]))
    edges = np.append(values, np.inf)
    table = np.array([np.histogram(a, edges)[0], np.histogram(b, edges)[0]], dtype=float)
    share = min(len(a), len(b)) / (len(a) + len(b))
    merged: list[np.ndarray] = []
    pool = np.zeros(2)
    for column in table.T:  # neighbouring values are pooled until the smaller expectation is >= 20
        pool = pool + column
        if pool.sum() * share >= least:
            merged.append(pool)
            pool = np.zeros(2)
    if pool.sum() > 0 and merged:
        merged[-1] = merged[-1] + pool
    if len(merged) < 2:
        return 1.0
    return float(stats.chi2_contingency(np.array(merged).T, correction=False).pvalue)


def detectable_gap(n: int, m: int, level: float = 1e-6, power: float = 0.99) -> float:
    """A gap between two CDFs that Kolmogorov-Smirnov at this level finds with this power.

    The statistic exceeds the gap minus a normal deviate of the difference at the worst point.
    """
    scale = np.sqrt(1 / n + 1 / m)
    critical = np.sqrt(-0.5 * np.log(level / 2)) * scale
    return float(critical + stats.norm.ppf(power) * 0.5 * scale)
