"""The value of a policy: what the outcome gains if some rows are treated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from obliquebart.causal.answers import Comparison, interval_text, probability_text
from obliquebart.causal.effects import RowEffects
from obliquebart.display.numbers import plain
from obliquebart.display.tables import ShowsTables, TextTable

FloatArray = NDArray[np.float64]
Policy = ArrayLike | Callable[[Any], ArrayLike] | None
# Points of the curve of gains, besides that of no rows.
N_POINTS = 40


class Gain(NamedTuple):
    """The posterior of a mean gain per row."""

    mean: float
    low: float
    high: float
    probability_positive: float

    @classmethod
    def of_draws(cls, draws: FloatArray, coverage: float) -> Gain:
        """Summarise draws."""
        tail = (1.0 - coverage) / 2.0
        low, high = np.quantile(draws, (tail, 1.0 - tail))
        return cls(float(draws.mean()), float(low), float(high), float((draws > 0).mean()))


@dataclass(frozen=True, eq=False, repr=False)
class PolicyValue(ShowsTables):
    """What a policy gains per row on average, after the cost of each treatment.

    Attributes
    ----------
    gain : Gain
        Against treating no row: mean, low, high, probability_positive.
    against_all : Gain
        Against treating all rows.
    treat_all : Gain
        Of treating all rows, against treating none.
    share_treated : float
        The share of rows, by weight, that the policy treats.
    treated : ndarray of bool of shape (n,)
        The rows it treats.
    cost : float
        Of one treatment.
    coverage : float
        Of the intervals.
    curve : ndarray of shape (n_points, 4)
        The share of rows treated, those with the largest mean effects first, and the mean and
        interval of the gain.
    comparison : Comparison
        What the effect is of.
    """

    gain: Gain
    against_all: Gain
    treat_all: Gain
    share_treated: float
    treated: NDArray[np.bool_]
    cost: float
    coverage: float
    curve: FloatArray
    comparison: Comparison

    def _parts(self) -> list[TextTable | str]:
        rows = [
            ["the policy against none", *_cells(self.gain)],
            ["the policy against all", *_cells(self.against_all)],
            ["all against none", *_cells(self.treat_all)],
        ]
        cost = f", at a cost of {plain(self.cost)} each" if self.cost else ""
        title = (
            f"Gain in {self.comparison.outcome} per row if {self.share_treated:.0%} of the rows "
            f"are treated ({self.comparison.treatment}{cost})"
        )
        headings = ["comparison", "gain", f"{self.coverage:.0%} interval", "P(positive)"]
        return [TextTable(title, headings, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-serializable values.

        Returns
        -------
        dict
        """
        return {
            "gain": self.gain._asdict(),
            "against_all": self.against_all._asdict(),
            "treat_all": self.treat_all._asdict(),
            "share_treated": self.share_treated,
            "cost": self.cost,
            "coverage": self.coverage,
            "curve": self.curve.tolist(),
        }


def policy_value(
    effects: RowEffects,
    treated: NDArray[np.bool_] | None,
    weights: FloatArray,
    cost: float,
    coverage: float,
    comparison: Comparison,
) -> PolicyValue:
    """Return the gain of treating some rows; None treats those whose mean effect is above cost.

    Weights of the rows sum to one.
    """
    mean = effects.summarise().mean
    chosen = mean > cost if treated is None else treated
    order = np.argsort(-mean, kind="stable")
    reached = np.cumsum(weights[order])
    shares = np.linspace(0.0, 1.0, N_POINTS + 1)
    # A row counts in a share that reaches to its middle.
    rank = np.empty(len(order))
    rank[order] = reached - weights[order] / 2.0
    masks = np.concatenate([chosen[None], np.ones((1, len(chosen)), bool), rank < shares[:, None]])
    parts = masks * weights
    gains = effects.averages(parts) - cost * parts.sum(axis=1)
    tail = (1.0 - coverage) / 2.0
    curve = gains[:, 2:]
    ends = np.quantile(curve, (tail, 1.0 - tail), axis=0)
    return PolicyValue(
        gain=Gain.of_draws(gains[:, 0], coverage),
        against_all=Gain.of_draws(gains[:, 0] - gains[:, 1], coverage),
        treat_all=Gain.of_draws(gains[:, 1], coverage),
        share_treated=float(parts[0].sum()),
        treated=chosen,
        cost=cost,
        coverage=coverage,
        curve=np.stack([parts[2:].sum(axis=1), curve.mean(axis=0), *ends], axis=1),
        comparison=comparison,
    )


def check_policy(policy: Policy, X: Any, n_rows: int) -> NDArray[np.bool_] | None:
    """Return which rows a policy treats; None if that follows from the effects."""
    if policy is None:
        return None
    if callable(policy):
        if X is None:
            raise ValueError("A policy that is a function needs the table: pass X.")
        policy = policy(X)
    treated = np.asarray(policy)
    is_binary = treated.dtype.kind == "b" or (
        treated.dtype.kind in "iuf" and bool(np.isin(treated, (0, 1)).all())
    )
    if treated.shape != (n_rows,) or not is_binary:
        raise ValueError(
            f"policy must say for each of the {n_rows} rows whether it is treated: booleans of "
            f"shape ({n_rows},), or a function of X that returns them."
        )
    return treated.astype(bool)


def _cells(gain: Gain) -> list[str]:
    return [
        plain(gain.mean),
        interval_text(gain.low, gain.high),
        probability_text(gain.probability_positive),
    ]
