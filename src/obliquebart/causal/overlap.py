"""Overlap: whether rows of each arm have counterparts in the others, by their propensities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from obliquebart.causal.treatment import label_text
from obliquebart.display.tables import ShowsTables, TextTable

FloatArray = NDArray[np.float64]
# A row has counterparts in another arm if so many of its rows have propensities this close, as
# differences and as factors. Without the factor, rows with a propensity of 0.001 would have
# counterparts among rows with 0.09. Of a small arm, one row in so many is enough.
COUNTERPARTS, DISTANCE, FACTOR = 3, 0.1, 3.0
ROWS_PER_COUNTERPART = 50
SMALLEST_PROPENSITY = 1e-6
# `fit` warns from this share of rows without counterparts on, if there are rows enough to judge.
# Propensities fitted to the same few hundred rows separate arms too well: with true propensities
# between 0.05 and 0.95, up to 0.19 of 250 rows had none, and of 80 rows half.
WARNED_SHARE, FEWEST_WARNED, FEWEST_FITTED = 0.2, 50, 200
SHOWN_ROWS = 10


@dataclass(frozen=True, eq=False, repr=False)
class Overlap(ShowsTables):
    """Propensities by arm, and rows without counterparts; prints as a table.

    A row has counterparts in another arm if at least three rows of that arm, or of a small arm
    one in fifty, have similar propensities: the probability of that arm, rather than of the row's
    own, differs by at most 0.1, and either probability by at most a factor of three. For rows
    without counterparts the data do not show what the other treatment does: their effects come
    from the model and its prior.

    A row that a weight repeats is one counterpart, but counts in `share` as often as it is there.

    Attributes
    ----------
    arms : list
        The labels, the control first.
    arm : ndarray of shape (n,)
        The position of each row's arm in `arms`.
    propensity : ndarray of shape (n, n_arms - 1)
        The probability of each arm besides the control.
    without : ndarray of bool of shape (n, n_arms)
        Whether a row has no counterparts in each arm; False for its own.
    row_numbers : ndarray of int of shape (n,), or None
        Where the rows are in the table of `fit`, if that has others: rows of weight zero. Rows with
        whole weights of labels are there as often as the weight says.
    """

    arms: list[Any]
    arm: NDArray[np.intp]
    propensity: FloatArray
    without: NDArray[np.bool_]
    row_numbers: NDArray[np.int64] | None = None

    @property
    def rows(self) -> NDArray[np.intp]:
        """Positions of the rows that have no counterparts in some arm, in the user's table."""
        found = np.flatnonzero(self.without.any(axis=1))
        return found if self.row_numbers is None else np.unique(self.row_numbers[found])

    @property
    def share(self) -> float:
        """The share of rows that have no counterparts in some arm."""
        return float(self.without.any(axis=1).mean())

    @property
    def n_different(self) -> int:
        """How many rows there are without their copies."""
        return len(self.arm if self.row_numbers is None else np.unique(self.row_numbers))

    def quantiles(self, k: int = 1) -> FloatArray:
        """Return the 1%, 50% and 99% quantiles of the propensity of arm k, by arm of the rows.

        Parameters
        ----------
        k : int, default=1
            Position of the arm in `arms`, not 0.

        Returns
        -------
        ndarray of shape (n_arms, 3)
            NaN for an arm without rows.
        """
        values = self.propensity[:, k - 1]
        by_arm = [values[self.arm == a] for a in range(len(self.arms))]
        nothing = np.full(3, np.nan)
        return np.stack([np.quantile(v, (0.01, 0.5, 0.99)) if len(v) else nothing for v in by_arm])

    def in_words(self) -> str:
        """Say how many rows have no counterparts, and which.

        Returns
        -------
        str
        """
        n_rows, n_without = len(self.arm), int(self.without.any(axis=1).sum())
        rows = self.rows
        if not n_without:
            return f"All {n_rows:,} rows have counterparts in the other arms."
        by_arm = [
            f"{int((self.without.any(axis=1) & (self.arm == a)).sum()):,} with {label_text(label)}"
            for a, label in enumerate(self.arms)
        ]
        shown = ", ".join(map(str, rows[:SHOWN_ROWS].tolist()))
        more = ", …" if len(rows) > SHOWN_ROWS else ""
        return (
            f"{n_without:,} of {n_rows:,} rows ({self.share:.1%}) have no counterparts in another "
            f"arm ({', '.join(by_arm)}): hardly any rows of that arm have similar propensities. "
            f"Rows {shown}{more}."
        )

    def _parts(self) -> list[TextTable | str]:
        tables: list[TextTable | str] = [
            TextTable(
                f"Propensity of {label_text(self.arms[k])} by arm",
                ["arm", "rows", "1%", "median", "99%", "without counterparts"],
                [
                    [
                        label_text(label),
                        f"{int((self.arm == a).sum()):,}",
                        *("–" if np.isnan(q) else f"{q:.3f}" for q in quantiles),
                        f"{int((self.without.any(axis=1) & (self.arm == a)).sum()):,}",
                    ]
                    for a, (label, quantiles) in enumerate(
                        zip(self.arms, self.quantiles(k), strict=True)
                    )
                ],
            )
            for k in range(1, len(self.arms))
        ]
        return [*tables, self.in_words()]

    def to_dict(self) -> dict[str, Any]:
        """Return counts and quantiles as JSON-serializable values.

        Returns
        -------
        dict
        """
        return {
            "arms": [str(label) for label in self.arms],
            "n_rows": len(self.arm),
            "rows_without_counterparts": self.rows.tolist(),
            "share_without_counterparts": self.share,
            "propensity_quantiles": {
                str(self.arms[k]): [
                    [None if np.isnan(q) else q for q in by_arm]
                    for by_arm in self.quantiles(k).tolist()
                ]
                for k in range(1, len(self.arms))
            },
        }


def overlap_of(
    arms: list[Any],
    doses: FloatArray,
    propensities: FloatArray,
    row_numbers: NDArray[np.int64] | None = None,
) -> Overlap:
    """Compare the propensities of arms, both given with a row per arm besides the control."""
    arm = (doses * np.arange(1, len(doses) + 1)[:, None]).sum(axis=0).astype(np.intp)
    control = 1.0 - propensities.sum(axis=0, keepdims=True)
    p = np.clip(np.concatenate([control, propensities]), SMALLEST_PROPENSITY, 1.0)
    without = np.zeros((len(arm), len(arms)), dtype=bool)
    is_first = np.ones(len(arm), dtype=bool) if row_numbers is None else _is_first(row_numbers)
    for own in range(len(arms)):
        for other in range(len(arms)):
            if own != other:
                points = _coordinates(p[other] / (p[own] + p[other]))
                rows = arm == own
                members = points[(arm == other) & is_first]
                without[rows, other] = _too_few(members, points[rows])
    return Overlap(arms, arm, propensities.T, without, row_numbers)


def _coordinates(p: FloatArray) -> FloatArray:
    """Return points whose largest coordinate differs by `DISTANCE` at most if rows are similar."""
    p = np.clip(p, SMALLEST_PROPENSITY, 1.0 - SMALLEST_PROPENSITY)
    factors = DISTANCE / np.log(FACTOR) * np.log([p, 1.0 - p])
    return np.column_stack([p, *factors])


def _is_first(row_numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which rows are not copies of earlier ones: only these are counterparts."""
    is_first = np.zeros(len(row_numbers), dtype=bool)
    is_first[np.unique(row_numbers, return_index=True)[1]] = True
    return is_first


def _too_few(members: FloatArray, points: FloatArray) -> NDArray[np.bool_]:
    """Say which points have fewer counterparts than needed among the members of an arm."""
    if not len(members):
        return np.ones(len(points), dtype=bool)
    needed = min(max(len(members) // ROWS_PER_COUNTERPART, 1), COUNTERPARTS)
    distance, _ = cKDTree(members).query(points, k=[needed], p=np.inf)
    return np.asarray(distance[:, 0] > DISTANCE * (1.0 + 1e-6))
