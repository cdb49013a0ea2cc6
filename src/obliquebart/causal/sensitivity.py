"""Sensitivity of an average effect to a confounder that was not measured.

Suppose a yes-or-no variable U shifts the outcome by `shift`, given the treatment and the columns,
and that the share of rows with U is larger by `difference` among the treated than among the others,
given the columns. If both are the same at all values of the columns, the estimate is too large by
shift times difference. So a table of adjusted estimates is the estimate minus the product, and what
matters is how large the product would have to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.answers import AverageEffect, interval_text
from obliquebart.display.numbers import plain
from obliquebart.display.tables import ShowsTables, TextTable
from obliquebart.explain.replaced import engine_order
from obliquebart.posterior.diagnostics import choose_rows
from obliquebart.posterior.posterior import Posterior
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.levels import LevelTable

FloatArray = NDArray[np.float64]
# Differences of the shares with U that the table shows.
DIFFERENCES = (0.1, 0.2, 0.3, 0.5)
# Rows, draws and columns for the strengths of observed columns.
MAX_ROWS, MAX_DRAWS, MAX_COLUMNS = 300, 100, 50
SHOWN = 5
N_POINTS = 41


class Strength(NamedTuple):
    """How strong an observed column is as a confounder, cut in two."""

    column: str
    shift: float
    """How much more the outcome is expected to be in the upper part, without treatment."""
    difference: float
    """How much larger the share of rows in the upper part is among the treated."""

    @property
    def bias(self) -> float:
        """By how much the estimate would be off without this column, roughly."""
        return self.shift * self.difference


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(ShowsTables):
    """How strong an unmeasured confounder would have to be; prints as a table.

    Attributes
    ----------
    effect : AverageEffect
        The estimate.
    bias_to_include_zero : float
        The smallest bias, shift times difference, after which the interval includes zero; 0 if it
        does so already. It has the sign of the effect.
    bias_to_reach_zero : float
        The bias that explains the whole estimate.
    shifts, differences : ndarray
        A grid of confounders.
    adjusted : ndarray of shape (n_shifts, n_differences)
        The mean effect that is left on this grid.
    observed : list of Strength
        The strengths of observed columns for comparison, largest bias first.
    largest_shift : float
        That is possible: 1 for probabilities.
    """

    effect: AverageEffect
    bias_to_include_zero: float
    bias_to_reach_zero: float
    shifts: FloatArray
    differences: FloatArray
    adjusted: FloatArray
    observed: list[Strength]
    largest_shift: float = np.inf

    def adjusted_interval(self, shift: float, difference: float) -> tuple[float, float]:
        """Return the interval of the average effect if there were such a confounder.

        Parameters
        ----------
        shift : float
            How much the confounder adds to the outcome.
        difference : float
            How much larger the share of rows that have it is among the treated.

        Returns
        -------
        low, high : float
        """
        bias = shift * difference
        return self.effect.low - bias, self.effect.high - bias

    def _parts(self) -> list[TextTable | str]:
        effect = self.effect
        rows = [
            [
                f"{difference:.0%}",
                self._shift_text(self.bias_to_include_zero / difference),
                self._shift_text(self.bias_to_reach_zero / difference),
            ]
            for difference in DIFFERENCES
        ]
        title = f"How much an unmeasured U would have to add to {effect.outcome}"
        zero = f"for the {effect.coverage:.0%} interval to include 0"
        headings = ["more often among the treated by", zero, "to explain all of the effect"]
        parts: list[TextTable | str] = [str(effect)]
        if self.bias_to_include_zero == 0.0:
            parts.append("The interval includes zero without any confounder.")
        parts.append(TextTable(title, headings, rows))
        if self.observed:
            parts.append(self._observed_table())
        return parts

    def _shift_text(self, shift: float) -> str:
        return "more than possible" if abs(shift) > self.largest_shift else plain(shift)

    def _observed_table(self) -> TextTable:
        rows = [
            [each.column, f"{each.difference:+.0%}", plain(each.shift), plain(each.bias)]
            for each in self.observed[:SHOWN]
        ]
        headings = ["column", "more often among the treated by", "adds", "bias without it"]
        return TextTable("For comparison: observed columns, cut in two", headings, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-serializable values.

        Returns
        -------
        dict
        """
        return {
            "effect": self.effect.to_dict(),
            "bias_to_include_zero": self.bias_to_include_zero,
            "bias_to_reach_zero": self.bias_to_reach_zero,
            "shifts": self.shifts.tolist(),
            "differences": self.differences.tolist(),
            "adjusted": self.adjusted.tolist(),
            "observed": [{**each._asdict(), "bias": each.bias} for each in self.observed],
        }

    def in_words(self) -> str:
        """Say in a sentence how strong a confounder would have to be.

        Returns
        -------
        str
        """
        interval = interval_text(self.effect.low, self.effect.high)
        if self.bias_to_include_zero == 0.0:
            return f"The interval, {interval}, includes zero without any unmeasured confounder."
        shift = self.bias_to_include_zero / 0.2
        if abs(shift) > self.largest_shift:
            return (
                f"The interval, {interval}, would not include zero even if something unmeasured "
                "were 20 percentage points more common among the treated and decided the outcome."
            )
        return (
            f"The interval, {interval}, would include zero if something unmeasured were 20 "
            "percentage points more common among the treated and changed the outcome by "
            f"{plain(shift)}."
        )


def sensitivity_of(
    effect: AverageEffect, observed: list[Strength], largest_shift: float = np.inf
) -> Sensitivity:
    """Return how an estimate depends on an unmeasured confounder."""
    nearest = effect.low if effect.low > 0 else effect.high if effect.high < 0 else 0.0
    # So that the corner of the grid is twice what explains the whole estimate.
    furthest = max(abs(effect.mean), abs(effect.low), abs(effect.high))
    reach = max([2.0 * furthest / 0.5, *(1.1 * abs(each.shift) for each in observed)])
    shifts = np.linspace(0.0, min(reach, largest_shift), N_POINTS) * (
        1.0 if effect.mean >= 0 else -1.0
    )
    differences = np.linspace(0.0, 0.5, N_POINTS)
    adjusted = effect.mean - shifts[:, None] * differences
    by_bias = sorted(observed, key=lambda each: -abs(each.bias))
    return Sensitivity(
        effect, nearest, effect.mean, shifts, differences, adjusted, by_bias, largest_shift
    )


def observed_strengths(
    posterior: Posterior,
    encoding: Encoding,
    n_columns: int,
    wide: EncodedTable,
    dose: FloatArray,
    renew: Callable[[EncodedTable], EncodedTable],
    n_jobs: int | None = None,
) -> list[Strength]:
    """Return the strength of the first columns, cut in two: at the median, or by the main level.

    `dose` is 1 in the arm and 0 in the control. `renew` gives rows whose columns were changed the
    propensities that go with them.
    """
    rows = choose_rows(MAX_ROWS, wide.n_rows)
    few = wide.take(rows)
    n_draws = posterior.n_chains * posterior.n_draws
    thinned = posterior._take(choose_rows(MAX_DRAWS, n_draws))
    centred = dose - dose.mean()
    if not centred.any():
        raise ValueError("All rows have the same treatment: sensitivity needs rows of both arms.")
    strengths = []
    for j, number in enumerate(engine_order(encoding)[: min(n_columns, MAX_COLUMNS)]):
        cut = _cut(encoding, wide, j, int(number))
        if cut is None:
            continue
        upper, low, high = cut
        means = [
            thinned.summarise(renew(few.with_value(int(number), value)), n_jobs=n_jobs).mean.mean()
            for value in (low, high)
        ]
        difference = float(centred @ upper / (centred @ centred))
        strengths.append(Strength(encoding.names[j], float(means[1] - means[0]), difference))
    return strengths


def _cut(
    encoding: Encoding, table: EncodedTable, j: int, number: int
) -> tuple[NDArray[np.bool_], float, float] | None:
    """Return the rows in the upper part, and an encoded value for each part."""
    known = encoding.columns[j]
    if isinstance(known, LevelTable):
        codes = table.x_cat[number - table.p_cont]
        counts = np.bincount(codes[codes < known.n_levels], minlength=known.n_levels)
        main, *others = np.argsort(-counts, kind="stable")
        if not others or counts[others[0]] == 0:
            return None
        return codes == main, float(others[0]), float(main)
    values = table.x_cont[number].astype(np.float64)
    present = values[~np.isnan(values)]
    if len(present) == 0 or present.min() == present.max():
        return None
    upper = values > np.median(present)
    if not upper.any():
        upper = values >= np.median(present)
    lower = ~upper & ~np.isnan(values)
    return upper, float(np.median(values[lower])), float(np.median(values[upper]))
