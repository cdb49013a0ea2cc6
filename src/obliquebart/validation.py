"""Checks of parameters, outcomes and weights. Each error names the fix."""

from __future__ import annotations

import math
import numbers
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from obliquebart.exceptions import warn_caller
from obliquebart.table.frames import read_table, unmasked

Auto = Literal["auto"]

# The largest magnitude of y: sums and predictive noise still fit into float64.
LARGEST_OUTCOME = 1e300
# Of a row that has one, relative to the largest.
SMALLEST_WEIGHT = 1e-250
# Whole numbers among the parameters: the engine has 32 bits for them.
LARGEST_PARAMETER = 2**31 - 1
# Counts beyond this, and exposures beyond these, leave nothing of a float32 rate.
LARGEST_COUNT = 1e9
EXPOSURE_RANGE = (1e-9, 1e12)
COUNT_WEIGHT_RANGE = (1e-4, 1e9)
# The largest label weight the engine accepts, and the tolerance for treating weights as integers.
LARGEST_LABEL_WEIGHT = 2**20
WHOLE = 1e-9


class OutcomeError(ValueError):
    """Outcomes that another estimator is for; the command line has a remedy of its own."""

    def __init__(self, fault: str, remedy: str) -> None:
        super().__init__(fault, remedy)
        self.fault = fault

    def __str__(self) -> str:
        return " ".join(self.args)


class CountError(OutcomeError):
    """Numbers that are no counts."""


class LabelError(OutcomeError):
    """Numbers that are no classes."""


def check_count(name: str, value: object, minimum: int) -> int:
    """Return a parameter that must be a whole number of at least `minimum`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name}={value!r} must be an integer >= {minimum}, not {_type(value)}.")
    if not minimum <= int(value) <= LARGEST_PARAMETER:
        limit = f">= {minimum}" if int(value) < minimum else f"<= {LARGEST_PARAMETER}"
        raise ValueError(f"{name}={value!r} is out of range: it must be an integer {limit}.")
    return int(value)


def check_count_or_auto(name: str, value: object, minimum: int) -> int | Auto:
    """Return a parameter that must be a whole number of at least `minimum`, or "auto"."""
    if not isinstance(value, str):
        return check_count(name, value, minimum)
    if value != "auto":
        raise ValueError(f'{name}={value!r} must be "auto" or an integer >= {minimum}.')
    return "auto"


def check_number(
    name: str, value: object, low: float, high: float, closed: str = "neither"
) -> float:
    """Return a finite real parameter between `low` and `high`.

    `closed` names the endpoints that are allowed: "neither", "left", "right" or "both".
    """
    left, right = closed in ("left", "both"), closed in ("right", "both")
    allowed = f"a number in {'[' if left else '('}{low:g}, {high:g}{']' if right else ')'}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name}={value!r} must be {allowed}, not {_type(value)}.")
    number = float(value)
    above = number >= low if left else number > low
    below = number <= high if right else number < high
    if not (math.isfinite(number) and above and below):
        raise ValueError(f"{name}={value!r} is out of range: it must be {allowed}.")
    return number


def check_coverage(coverage: object) -> tuple[float, float]:
    """Return the probabilities below the two limits of a central interval."""
    tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
    return tail, 1.0 - tail


def check_pair(name: str, value: object) -> tuple[float, float]:
    """Return a pair of positive numbers."""
    if not isinstance(value, (tuple, list, np.ndarray)) or len(value) != 2:
        raise TypeError(f"{name}={value!r} must be None or a pair (a, b) of positive numbers.")
    a, b = (
        check_number(f"{name}[{i}]", v.item() if isinstance(v, np.generic) else v, 0, math.inf)
        for i, v in enumerate(value)
    )
    return a, b


def check_choice(name: str, value: object, allowed: tuple[object, ...]) -> Any:
    """Return a parameter that must be one of a few values."""
    for choice in allowed:
        # `1 == True`, so compare the types as well.
        if type(value) is type(choice) and value == choice:
            return choice
    raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}.")


def check_ordered(ordered: object) -> Literal["auto"] | bool | list[Any]:
    """Return the parameter `ordered`: a choice, or labels in their order."""
    if isinstance(ordered, (list, tuple, np.ndarray)):
        labels = list(ordered.tolist() if isinstance(ordered, np.ndarray) else ordered)
        if len(labels) < 2 or len({repr(label) for label in labels}) < len(labels):
            raise ValueError(f"ordered={ordered!r} must list at least two different labels.")
        return labels
    if isinstance(ordered, (bool, str)) and ordered in ("auto", True, False):
        return "auto" if ordered == "auto" else bool(ordered)
    raise ValueError(
        f'ordered={ordered!r} must be "auto", True, False, or the labels in their order.'
    )


def check_seed(random_state: int | np.random.RandomState | None) -> np.random.RandomState:
    """Return the random state as scikit-learn does; the error names the parameter."""
    try:
        state: np.random.RandomState = check_random_state(random_state)
    except ValueError as error:
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer in [0, 2^32) or a "
            "numpy.random.RandomState."
        ) from error
    return state


def effective_jobs(n_jobs: int | None) -> int:
    """Resolve `n_jobs` to a number of jobs as joblib does (None: 1, unless a context sets it)."""
    if n_jobs is not None and (
        isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer))
    ):
        raise TypeError(
            f"n_jobs={n_jobs!r} must be None or an integer, not {type(n_jobs).__name__}."
        )
    if n_jobs == 0:
        raise ValueError(
            "n_jobs=0 is out of range: use None, a positive number, or -1 for all cores."
        )
    return max(int(joblib.effective_n_jobs(n_jobs)), 1)


def _one_dimensional(y: object, n_rows: int) -> NDArray[Any]:
    """Return `y` as a vector with one entry per row of X."""
    if y is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None: call fit(X, y)."
        )
    array = unmasked(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warn_caller(
            "A column-vector y was passed when a 1d array was expected. "
            "Please change the shape of y to (n_samples, ), for example using ravel().",
            DataConversionWarning,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(
            f"y should be a 1d array, got an array of shape {array.shape} instead: "
            "fit one model per outcome."
        )
    if len(array) != n_rows:
        raise ValueError(
            f"X and y have inconsistent numbers of rows: {n_rows} in X, {len(array)} in y."
        )
    if np.iscomplexobj(array):
        raise ValueError("Complex data not supported: y must be real.")
    return array


def check_target_name(given: Any, y: object) -> str | None:
    """Return the name of the outcome: the given one, or that of the Series or data frame."""
    if given is not None and not (isinstance(given, str) and given.strip()):
        raise ValueError(f"target_name={given!r} must be None or a non-empty string.")
    names = [given, getattr(y, "name", None), *list(getattr(y, "columns", []))[:1]]
    return next((name for name in names if isinstance(name, str) and name.strip()), None)


def check_outcome(y: object, n_rows: int) -> NDArray[np.float64]:
    """Return the outcomes of a regression as finite float64."""
    array = _one_dimensional(y, n_rows)
    if array.dtype.kind in "mM":
        raise TypeError(f"y has dtype {array.dtype}: convert it to numbers, for example days.")
    if array.dtype.kind == "O":
        array = np.array([np.nan if _missing(value) else value for value in array], dtype=object)
    text = array.dtype.kind in "US" or any(isinstance(v, (str, bytes)) for v in array.tolist())
    try:
        if text:
            raise TypeError("it contains text")
        values = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(
            f"y must be numeric, but its dtype is {array.dtype} ({error}). Convert it, or use "
            "ObliqueBARTClassifier if y contains labels."
        ) from error
    _require_finite("y", values, "drop these rows, or fill in a finite value")
    largest = float(np.abs(values).max(initial=0.0))
    if largest > LARGEST_OUTCOME:
        raise ValueError(
            f"y contains a value of magnitude {largest:.3g}; the limit is {LARGEST_OUTCOME:g}. "
            "Rescale y."
        )
    return values


def check_counts(y: object, n_rows: int) -> NDArray[np.float64]:
    """Return counts as float64: whole numbers of at least 0."""
    values = check_outcome(y, n_rows)
    remedies = (
        (values < 0, "is negative", "counts are whole numbers of at least 0"),
        (values != np.floor(values), "is not a whole number", "counts are whole numbers"),
        (values > LARGEST_COUNT, "is too large", f"the limit is {LARGEST_COUNT:g}"),
    )
    for is_bad, fault, rule in remedies:
        if is_bad.any():
            row = int(np.flatnonzero(is_bad)[0])
            raise CountError(
                f"Some value(s) of y are out of range: y {fault} at row {row} ({values[row]:g}), "
                f"but {rule}.",
                "For other numbers, use ObliqueBARTRegressor; if y is a rate, pass the counts as y "
                "and what they are divided by as exposure.",
            )
    return values


def check_exposure(exposure: object, n_rows: int) -> NDArray[np.float64]:
    """Return one positive number per row; None means 1."""
    if exposure is None:
        return np.ones(n_rows)
    try:
        array = unmasked(exposure)
        if array.dtype.kind in "cmMUS":
            raise TypeError(f"its dtype is {array.dtype}")
        values = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"exposure must be numeric: {error}") from error
    if values.ndim == 0:
        values = np.full(n_rows, float(values))
    if values.shape != (n_rows,):
        raise ValueError(
            f"exposure has shape {values.shape}, but X has {n_rows} rows: pass one number per row, "
            f"shape ({n_rows},), or one number for all."
        )
    _require_finite("exposure", values, "drop these rows, or fill in a positive number")
    low, high = EXPOSURE_RANGE
    for is_bad, fault in (
        (values <= 0, "must be positive: drop rows that were not observed at all"),
        (
            (values < low) | (values > high),
            f"must be between {low:g} and {high:g}: use other units",
        ),
    ):
        if is_bad.any():
            row = int(np.flatnonzero(is_bad)[0])
            raise ValueError(f"exposure is {values[row]:g} at row {row}, but {fault}.")
    return values


def check_labels(y: object, n_rows: int) -> NDArray[Any]:
    """Return the labels of a classification as an array that can be sorted."""
    array = _one_dimensional(y, n_rows)
    if isinstance(y, (list, tuple)) and array.dtype.kind == "U":
        # NumPy has converted the whole list to text, even values that were not.
        array = np.array(y, dtype=object)
    if array.dtype.kind == "O":
        missing = np.array([_missing(value) for value in array], dtype=bool)
        if missing.any():
            row = int(np.flatnonzero(missing)[0])
            raise ValueError(f"Input y contains NaN (row {row}): drop rows without a label.")
        kinds = {"text" if isinstance(value, str) else "other" for value in array}
        if len(kinds) > 1:
            raise ValueError(
                "y mixes text and other labels: convert all labels to one type, for example with "
                "astype(str)."
            )
        # Integers and booleans in an object column are labels too.
        plain = np.array(array.tolist())
        array = plain if kinds == {"text"} or plain.dtype.kind in "biuf" else array
    if array.dtype.kind == "f":
        numbers = array.astype(np.float64)
        _require_finite("y", numbers, "drop rows without a label")
        if (numbers != np.floor(numbers)).any():
            # scikit-learn's words, and what to do.
            raise LabelError(
                "Unknown label type: continuous. y holds numbers with decimals.",
                "To predict numbers, use ObliqueBARTRegressor; if they are classes, convert them "
                "to text with astype(str).",
            )
    check_classification_targets(array)
    return array


def check_treatment(treatment: object, n_rows: int) -> NDArray[Any]:
    """Return the treatments as numbers, booleans or text, one per row and none missing."""
    if treatment is None:
        raise ValueError("treatment is missing: call fit(X, y, treatment).")
    array = unmasked(treatment)
    if array.shape == (n_rows, 1):
        array = array.ravel()
    if array.shape != (n_rows,):
        raise ValueError(
            f"treatment has shape {array.shape}, but X has {n_rows} rows: pass one treatment per "
            f"row, shape ({n_rows},), or the name of a column of X."
        )
    if array.dtype.kind not in "biuf":
        values = array.astype(object)
        missing = np.array([_missing(value) for value in values], dtype=bool)
        if missing.any():
            row = int(np.flatnonzero(missing)[0])
            raise ValueError(f"treatment is missing at row {row}: leave out such rows.")
        plain = np.array(values.tolist())
        is_text = all(isinstance(value, str) for value in values)
        array = plain if is_text or plain.dtype.kind in "biuf" else values.astype(str)
    if array.dtype.kind == "f":
        _require_finite("treatment", array.astype(np.float64), "leave out such rows")
    return array


def check_weights(sample_weight: object, n_rows: int) -> NDArray[np.float64] | None:
    """Return the weights as finite non-negative float64, not all zero; None stays None."""
    if sample_weight is None:
        return None
    try:
        array = unmasked(sample_weight)
        if array.dtype.kind in "cmMUS":
            raise TypeError(f"its dtype is {array.dtype}")
        weights = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"sample_weight must be numeric: {error}") from error
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has shape {weights.shape}, but X has {n_rows} rows: "
            f"pass one weight per row, shape ({n_rows},)."
        )
    _require_finite("sample_weight", weights, "give every row a weight, or 0 to ignore it")
    if (weights < 0).any():
        row = int(np.flatnonzero(weights < 0)[0])
        raise ValueError(
            f"sample_weight is negative at row {row} ({weights[row]:g}): "
            "weights must be >= 0, and 0 ignores the row."
        )
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for every row: at least one weight must be positive."
        )
    with np.errstate(under="ignore"):
        relative = weights / weights.max()
    row = int(np.argmin(np.where(weights > 0, relative, np.inf)))
    if relative[row] < SMALLEST_WEIGHT:
        raise ValueError(
            f"sample_weight is {weights[row]:g} at row {row} and {weights.max():g} at another: "
            "give rows of so little weight the weight 0."
        )
    return weights


def check_count_weights(sample_weight: object, n_rows: int) -> NDArray[np.float64] | None:
    """Return weights of counts, of which float32 sums keep enough digits; None stays None."""
    weights = check_weights(sample_weight, n_rows)
    if weights is not None:
        low, high = COUNT_WEIGHT_RANGE
        is_bad = (weights > 0) & ((weights < low) | (weights > high))
        if is_bad.any():
            row = int(np.flatnonzero(is_bad)[0])
            raise ValueError(
                f"sample_weight is {weights[row]:g} at row {row}. The weight of a count says how "
                f"many rows it stands for: 0, or a number between {low:g} and {high:g}."
            )
    return weights


def whole_weights(weights: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return a classifier's weights as integers, or None if some are not integers.

    Rounding errors in the last few bits are ignored.
    """
    whole = np.round(weights)
    if (np.abs(weights - whole) <= WHOLE * whole).all():
        with np.errstate(over="ignore"):
            total = float(whole.sum())
        if total >= 2**31:
            raise ValueError(
                f"sample_weight sums to {total:.3g}: integer weights of a classifier repeat rows, "
                "and their sum must be less than 2^31."
            )
        return whole.astype(np.int64)
    largest = float(weights.max())
    if largest > LARGEST_LABEL_WEIGHT:
        raise ValueError(
            f"sample_weight contains {largest:.3g}: if any weight is not an integer, the weights "
            f"of a classifier must be at most {LARGEST_LABEL_WEIGHT}."
        )
    return None


def count_rows(X: Any, owner: str) -> int:
    """Return the number of rows of a table before its values are read."""
    shape = getattr(X, "shape", None)
    # A lazy table's shape does not contain integers.
    if isinstance(shape, tuple) and len(shape) > 0 and isinstance(shape[0], int):
        return shape[0]
    if isinstance(X, (list, tuple)):
        return len(X)
    return read_table(X, owner).n_rows


def _missing(value: object) -> bool:
    # pandas' NA is recognized by name, because pandas may not be installed.
    return value is None or type(value).__name__ == "NAType" or value != value


def _require_finite(name: str, values: NDArray[np.float64], remedy: str) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size == 0:
        return
    row = int(bad[0])
    what = "NaN" if np.isnan(values[row]) else "infinity"
    more = f" and {bad.size - 1} more" if bad.size > 1 else ""
    raise ValueError(f"Input {name} contains {what} (row {row}{more}): {remedy}.")


def _type(value: object) -> str:
    return type(value).__name__
