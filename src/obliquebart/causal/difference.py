"""The g-formula: the average difference of predictions if a column had one of two values."""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.causal.answers import interval_text, probability_text
from obliquebart.display.numbers import plain
from obliquebart.display.tables import ShowsTables, TextTable
from obliquebart.display.words import probability_of
from obliquebart.explain.effects import column_position
from obliquebart.explain.replaced import engine_order
from obliquebart.posterior.class_probabilities import ClassProbabilities
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.levels import LevelTable
from obliquebart.table.words import days_of_text
from obliquebart.validation import check_number, check_weights

FloatArray = NDArray[np.float64]


class Difference(NamedTuple):
    """The average difference of one prediction."""

    predicted: str
    """The mean outcome, or the probability of a class."""
    mean: float
    low: float
    high: float
    probability_positive: float


@dataclass(frozen=True, eq=False, repr=False)
class AverageDifference(ShowsTables):
    """The average difference of predictions between two values of a column.

    Attributes
    ----------
    mean, low, high : float or ndarray of shape (n_classes,)
        Posterior mean and interval; for more than two classes one number each, in the order of
        `differences`: sorted, or from the lowest to the highest of ordered classes.
    draws : ndarray of shape (n_draws,) or (n_draws, n_classes)
    coverage : float
        Of the intervals.
    column : str
    values : pair
        The second value is compared with the first.
    n_rows : int
        How many rows were averaged.
    differences : list of Difference
        The same, with names.
    """

    mean: Any
    low: Any
    high: Any
    draws: FloatArray
    coverage: float
    column: str
    values: tuple[Any, Any]
    n_rows: int
    differences: list[Difference]

    def _parts(self) -> list[TextTable | str]:
        first, second = self.values
        title = f"{self.column}: {second} against {first}, averaged over {self.n_rows:,} rows"
        headings = ["prediction", "difference", f"{self.coverage:.0%} interval", "P(positive)"]
        rows = [
            [
                each.predicted,
                plain(each.mean),
                interval_text(each.low, each.high),
                probability_text(each.probability_positive),
            ]
            for each in self.differences
        ]
        return [TextTable(title, headings, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return the attributes as JSON-serializable values, without the draws.

        Returns
        -------
        dict
        """
        return {
            "column": self.column,
            "values": [str(value) for value in self.values],
            "coverage": self.coverage,
            "n_rows": self.n_rows,
            "differences": [each._asdict() for each in self.differences],
        }


def average_difference(
    model: Any,
    X: Any,
    column: str | int,
    values: Sequence[Any],
    *,
    coverage: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> AverageDifference:
    """Return how much predictions change on average if a column has another value.

    This is the g-formula, or standardisation: all rows of X get the first value of the column,
    then the second, and the difference of the predicted means is averaged over the rows. It is
    the average causal effect of the column under the assumptions of `ObliqueBARTCausal`, whose
    estimates have priors that suit effects better.

    Parameters
    ----------
    model : fitted estimator
        An `ObliqueBARTRegressor`, `ObliqueBARTClassifier` or `ObliqueBARTCountRegressor`, one of
        whose columns is the treatment.
    X : table of shape (n, n_features)
        The rows to average over.
    column : str or int
        Name or position of the column.
    values : pair
        Two numbers, or two levels of a category. The second is compared with the first.
    coverage : float, default=0.95
        Probability of the intervals, in (0, 1).
    sample_weight : array-like of shape (n,), optional
        Weights of the rows in the average.

    Returns
    -------
    AverageDifference
        Prints as a table. For numbers the difference of the mean, for counts that of the rate per
        unit of exposure, for two classes that of the probability of the second, and for more
        classes that of each probability.

    Examples
    --------
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTRegressor, average_difference
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=100), np.arange(100) % 2])
    >>> y = X[:, 0] + 2 * X[:, 1] + 0.1 * rng.normal(size=100)
    >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=100, n_draws=50, random_state=0)
    >>> difference = average_difference(model.fit(X, y), X, 1, (0, 1))
    >>> bool(1.5 < difference.mean < 2.5)
    True
    """
    check_is_fitted(model)
    fitted = model._fitted
    if fitted.design is not None:
        raise ValueError("This is a causal model, which has no treatment column: use model.ate().")
    if fitted.likelihood.task == "survival":
        raise ValueError("average_difference is for numbers, counts and classes, not for times.")
    if not fitted.posteriors:
        raise ValueError("A model with a single class has no differences.")
    tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
    table: EncodedTable = fitted.encoding.transform(X)
    weights = check_weights(sample_weight, table.n_rows)
    weights = np.full(table.n_rows, 1.0) if weights is None else weights
    j = column_position(fitted.encoding, column)
    codes = _encoded(fitted.encoding, j, values)
    number = int(engine_order(fitted.encoding)[j])
    first, second = (
        _averages(model, table.with_value(number, code), weights / weights.sum()) for code in codes
    )
    draws = second - first
    low, high = np.quantile(draws, (tail, 1.0 - tail), axis=0)
    names = _predicted(model, draws.shape[1])
    rows = zip(names, draws.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    above = (draws > 0).mean(axis=0)
    differences = [Difference(*row, float(p)) for row, p in zip(rows, above, strict=True)]
    only = len(differences) == 1
    return AverageDifference(
        mean=differences[0].mean if only else draws.mean(axis=0),
        low=differences[0].low if only else low,
        high=differences[0].high if only else high,
        draws=draws[:, 0] if only else draws,
        coverage=coverage,
        column=fitted.encoding.names[j],
        values=(values[0], values[1]),
        n_rows=table.n_rows,
        differences=differences,
    )


def _encoded(encoding: Encoding, j: int, values: Any) -> list[float]:
    """Return the engine's codes of two values of a column."""
    if not isinstance(values, Collection) or isinstance(values, str) or len(values) != 2:
        raise ValueError(f"values={values!r} must be a pair of values of the column.")
    known, name = encoding.columns[j], encoding.names[j]
    if isinstance(known, LevelTable):
        return [float(_position(known, name, value)) for value in values]
    try:
        numbers = [_days(value) if known.is_date else float(value) for value in values]
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"values={tuple(values)!r} must be numbers, as column {name!r}: {error}"
        ) from error
    if not np.isfinite(numbers).all():
        raise ValueError(f"values={tuple(values)!r} must be finite numbers.")
    return [float(code) for code in known.apply(np.array(numbers))]


def _position(known: LevelTable, name: str, value: Any) -> int:
    """Return the number of a level, given as such or as text."""
    for position, level in enumerate(known.levels):
        if str(level) == str(value) or (isinstance(value, numbers.Real) and level == value):
            return position
    shown = ", ".join(map(repr, known.levels[:10]))
    raise ValueError(f"{value!r} is not a level of {name!r}, which has {shown}.")


def _days(value: Any) -> float:
    """Return a date as days, given as such or as text."""
    days = float(value) if isinstance(value, numbers.Real) else days_of_text(str(value))
    if days is None:
        raise ValueError(f"{value!r} is not a date such as 2024-05-02")
    return days


def _averages(model: Any, table: EncodedTable, weights: FloatArray) -> FloatArray:
    """Return draws of the weighted average prediction, shape (n_draws, n_predictions)."""
    total: FloatArray | float = 0.0
    for rows, draws in _prediction_blocks(model, table):
        total = total + np.einsum("dnc,n->dc", draws, weights[rows])
    return np.asarray(total, dtype=np.float64)


def _prediction_blocks(model: Any, table: EncodedTable) -> Iterator[tuple[slice, FloatArray]]:
    """Yield rows and all draws of predictions at them, with a last dimension of classes."""
    fitted = model._fitted
    if fitted.classes is None:
        for rows, mean in fitted.posteriors[0].mean_blocks(table, model.n_jobs):
            yield rows, mean[:, :, None]
        return
    probabilities: ClassProbabilities = model._probabilities
    for rows, draws in probabilities.blocks(table, model.n_jobs):
        yield rows, draws[:, :, 1:] if draws.shape[2] == 2 else draws


def _predicted(model: Any, n_predictions: int) -> list[str]:
    fitted = model._fitted
    if fitted.classes is None:
        return [f"mean {fitted.target_name or 'y'}"]
    labels = fitted.classes.tolist()
    return [probability_of(label, fitted.target_name) for label in labels[-n_predictions:]]
