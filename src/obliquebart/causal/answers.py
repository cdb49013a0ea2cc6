"""Summaries of effects: on average, and by group of rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.effects import RowEffects
from obliquebart.display.numbers import plain
from obliquebart.display.tables import ShowsTables, TextTable

FloatArray = NDArray[np.float64]


class Comparison(NamedTuple):
    """What an effect is of, in words."""

    treatment: str
    """What is compared, such as "drug against placebo"."""
    outcome: str
    """The name of the outcome, or of the probability of a class."""

    def __str__(self) -> str:
        return f"effect of {self.treatment} on {self.outcome}"


@dataclass(frozen=True, eq=False, repr=False)
class AverageEffect(ShowsTables):
    """An effect averaged over rows, by its posterior.

    Attributes
    ----------
    mean, sd : float
        Of the posterior, in the units of y or as a difference of probabilities.
    low, high : float
        The central posterior interval.
    coverage : float
        Of this interval.
    probability_positive : float
        Posterior probability that the average effect is above zero.
    n_rows : int
        How many rows were averaged.
    name : str
        What is compared.
    draws : ndarray of shape (n_draws,)
        Draws of the average.
    rows : str
        Which rows were averaged.
    outcome : str
        What the effect is on.
    """

    mean: float
    sd: float
    low: float
    high: float
    coverage: float
    probability_positive: float
    n_rows: int
    name: str
    draws: FloatArray
    rows: str = "rows"
    outcome: str = "y"

    @classmethod
    def of_draws(
        cls,
        draws: FloatArray,
        coverage: float,
        n_rows: int,
        name: str = "",
        rows: str = "rows",
        outcome: str = "y",
    ) -> AverageEffect:
        """Summarise draws of an average."""
        tail = (1.0 - coverage) / 2.0
        low, high = np.quantile(draws, [tail, 1.0 - tail])
        return cls(
            mean=float(draws.mean()),
            sd=float(draws.std(ddof=1)) if len(draws) > 1 else 0.0,
            low=float(low),
            high=float(high),
            coverage=coverage,
            probability_positive=float((draws > 0).mean()),
            n_rows=n_rows,
            name=name,
            draws=draws,
            rows=rows,
            outcome=outcome,
        )

    def _parts(self) -> list[TextTable | str]:
        return [
            f"Average effect of {self.name} on {self.outcome}: {plain(self.mean)} "
            f"({self.coverage:.0%} interval {interval_text(self.low, self.high)}), over "
            f"{self.n_rows:,} {self.rows}. It is positive with probability "
            f"{probability_text(self.probability_positive)}."
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-serializable values, without the draws.

        Returns
        -------
        dict
        """
        return {name: value for name, value in self.__dict__.items() if name != "draws"}


def average_effect(
    effects: RowEffects,
    weights: FloatArray,
    coverage: float,
    comparison: Comparison,
    rows: str,
    chosen: NDArray[np.bool_] | None = None,
) -> AverageEffect:
    """Average an effect over the chosen rows, all by default, by the weights of the rows."""
    if chosen is not None:
        weights = weights * chosen
        if not weights.any():
            raise ValueError(f"There are no {rows} to average over.")
    n_rows = effects.n_rows if chosen is None else int(chosen.sum())
    draws = effects.averages(weights[None] / weights.sum())[:, 0]
    name, outcome = comparison
    return AverageEffect.of_draws(draws, coverage, n_rows, name, rows, outcome)


class GroupEffect(NamedTuple):
    """The average effect within a group of rows, and how it differs from others."""

    group: str
    """A level, or a range of values."""
    n_rows: int
    mean: float
    low: float
    high: float
    difference: float
    """Posterior mean of the difference to the average effect of all other rows."""
    difference_low: float
    difference_high: float
    probability_above_rest: float
    """Posterior probability that this difference is positive."""
    difference_to_first: float
    """Posterior mean of the difference to the first group."""


@dataclass(frozen=True, eq=False, repr=False)
class SubgroupEffects(ShowsTables, Sequence[GroupEffect]):
    """Average effects by group of rows; a sequence of `GroupEffect` that prints as a table.

    Attributes
    ----------
    groups : list of GroupEffect
    column : str
        The column that makes the groups.
    overall : float
        Posterior mean of the average effect over all rows.
    draws : ndarray of shape (n_draws, n_groups)
        Draws of the averages.
    coverage : float
        Of the intervals.
    comparison : Comparison
        What the effect is of.
    """

    groups: list[GroupEffect]
    column: str
    overall: float
    draws: FloatArray
    coverage: float
    comparison: Comparison

    @overload
    def __getitem__(self, key: int | str) -> GroupEffect: ...
    @overload
    def __getitem__(self, key: slice) -> list[GroupEffect]: ...
    def __getitem__(self, key: int | str | slice) -> GroupEffect | list[GroupEffect]:
        if not isinstance(key, str):
            return self.groups[key]
        for group in self.groups:
            if group.group == key:
                return group
        raise KeyError(key)

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[GroupEffect]:
        return iter(self.groups)

    def _parts(self) -> list[TextTable | str]:
        interval = f"{self.coverage:.0%} interval"
        headings = [self.column, "rows", "effect", interval]
        headings += ["against the rest", interval, "P(above the rest)"]
        rows = [
            [
                group.group,
                f"{group.n_rows:,}",
                plain(group.mean),
                interval_text(group.low, group.high),
                plain(group.difference),
                interval_text(group.difference_low, group.difference_high),
                probability_text(group.probability_above_rest),
            ]
            for group in self.groups
        ]
        title = f"Average {self.comparison}, by {self.column} (all rows: {plain(self.overall)})"
        return [TextTable(title, headings, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return the groups as JSON-serializable values, without the draws.

        Returns
        -------
        dict
        """
        return {
            "column": self.column,
            "overall": self.overall,
            "coverage": self.coverage,
            "groups": [
                {name: None if value != value else value for name, value in group._asdict().items()}
                for group in self.groups
            ],
        }


class Groups(NamedTuple):
    """A name per group, and the group of each row; -1 for rows in none."""

    column: str
    names: list[str]
    codes: NDArray[np.intp]


def effects_by_group(
    effects: RowEffects,
    groups: Groups,
    weights: FloatArray,
    coverage: float,
    comparison: Comparison,
) -> SubgroupEffects:
    """Average an effect within groups of rows, by the weights of the rows."""
    tail = (1.0 - coverage) / 2.0
    member = np.stack([groups.codes == g for g in range(len(groups.names))])
    totals = member @ weights
    kept = np.flatnonzero(totals > 0)
    member, totals = member[kept], totals[kept]
    sums = effects.averages(np.concatenate([member * weights, weights[None]]))
    draws, overall = sums[:, :-1] / totals, sums[:, -1:]
    # Of a group that has all rows there is no rest; its difference is NaN.
    others = weights.sum() - totals
    others[others <= 1e-12 * weights.sum()] = np.nan
    difference = draws - (overall - sums[:, :-1]) / others
    low, high = np.quantile(draws, (tail, 1.0 - tail), axis=0)
    ends = np.quantile(difference, (tail, 1.0 - tail), axis=0)
    found = [
        GroupEffect(
            group=groups.names[int(g)],
            n_rows=int(member[i].sum()),
            mean=float(draws[:, i].mean()),
            low=float(low[i]),
            high=float(high[i]),
            difference=float(difference[:, i].mean()),
            difference_low=float(ends[0, i]),
            difference_high=float(ends[1, i]),
            probability_above_rest=_share_above(difference[:, i]),
            difference_to_first=float((draws[:, i] - draws[:, 0]).mean()),
        )
        for i, g in enumerate(kept)
    ]
    mean = float(overall.mean() / weights.sum())
    return SubgroupEffects(found, groups.column, mean, draws, coverage, comparison)


def interval_text(low: float, high: float) -> str:
    """Return an interval in words."""
    return f"{plain(low)} to {plain(high)}"


def probability_text(probability: float) -> str:
    """Return a probability in percent; draws cannot tell whether one is exactly 0 or 1."""
    if np.isnan(probability):
        return "–"
    if probability > 0.999:
        return "over 99.9%"
    return "under 0.1%" if probability < 0.001 else f"{probability:.1%}"


def _share_above(difference: FloatArray) -> float:
    return float("nan") if np.isnan(difference[0]) else float((difference > 0).mean())
