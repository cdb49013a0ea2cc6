"""Compare predictions with known outcomes: errors, intervals and calibration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics
from sklearn.utils.validation import check_is_fitted

from obliquebart.display.numbers import plain
from obliquebart.explain.survival import SurvivalEvaluation, evaluate_times
from obliquebart.model.parameters import Task
from obliquebart.posterior.class_probabilities import ClassProbabilities
from obliquebart.posterior.diagnostics import choose_rows
from obliquebart.posterior.outcome_quantiles import grouped
from obliquebart.posterior.posterior import Posterior
from obliquebart.table import EncodedTable
from obliquebart.validation import check_count, check_labels, check_number, count_rows

# More rows than this would not visibly change a plot.
MAX_ROWS = 5000
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class RegressionEvaluation:
    """Predictions of a regression and the observed outcomes.

    Attributes
    ----------
    y, mean : ndarray of shape (n,)
        Outcomes, and the posterior mean of f.
    low, high : ndarray of shape (n,)
        The central interval of a new outcome, with probability `coverage`.
    pit : ndarray of shape (n,)
        The predictive probability of an outcome below y; uniform if the model is correct.
    sigma : ndarray of shape (n,)
        Posterior mean of the standard deviation of the noise at each row.
    coverage : float
        The probability of the intervals.
    n_table : int
        The number of rows of the table, `n` of which were used.
    target : str or None
        What the outcome is called.
    """

    y: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    pit: FloatArray
    sigma: FloatArray
    coverage: float
    n_table: int
    target: str | None = None

    @property
    def residual(self) -> FloatArray:
        """Outcome minus the mean of f."""
        return self.y - self.mean

    @property
    def covered(self) -> NDArray[np.bool_]:
        """Whether each y is inside its interval."""
        return (self.low <= self.y) & (self.y <= self.high)

    def coverage_at(self, level: float) -> float:
        """Return the share of outcomes inside their central intervals of probability `level`."""
        return float(np.mean(np.abs(2.0 * self.pit - 1.0) <= level))

    def scores(self) -> dict[str, float]:
        """Return errors and coverages by name."""
        error = self.residual
        variation = float(np.sum((self.y - self.y.mean()) ** 2))
        return {
            "RMSE": float(np.sqrt(np.mean(error**2))),
            "MAE": float(np.mean(np.abs(error))),
            "R²": 1.0 - float(np.sum(error**2)) / variation if variation > 0 else float("nan"),
            "in 50% interval": self.coverage_at(0.5),
            f"in {self.coverage:.0%} interval": float(self.covered.mean()),
        }


@dataclass(frozen=True)
class CountEvaluation(RegressionEvaluation):
    """Predictions of counts and the observed counts.

    As a `RegressionEvaluation`, where `mean` is the expected count at the exposure of a row. `pit`
    is randomised: the probability of a smaller count, plus a uniformly distributed part of the
    probability of the observed one; with a fixed seed.

    Attributes
    ----------
    sd : ndarray of shape (n,)
        Predictive standard deviation of each count; `sigma` is its mean.
    log_probability : ndarray of shape (n,)
        Log predictive probability of each count.
    exposure : ndarray of shape (n,)
        Exposures.
    """

    sd: FloatArray = field(default_factory=lambda: np.zeros(0))
    log_probability: FloatArray = field(default_factory=lambda: np.zeros(0))
    exposure: FloatArray = field(default_factory=lambda: np.zeros(0))

    def scores(self) -> dict[str, float]:
        """Return errors and coverages by name."""
        scores = super().scores()
        del scores["R²"]
        explained = deviance_explained(self.y, self.mean, self.exposure)
        errors = {name: scores.pop(name) for name in ("RMSE", "MAE")}
        log_score = float(np.mean(self.log_probability))
        return {**errors, "D²": explained, "log score": log_score, **scores}


def deviance_explained(
    y: FloatArray, mean: FloatArray, exposure: FloatArray, weights: FloatArray | None = None
) -> float:
    """Return one minus the Poisson deviance of predictions over that of one rate for all rows.

    NaN if one rate explains all counts.
    """
    total = float(np.average(y, weights=weights))
    constant = exposure * (total / float(np.average(exposure, weights=weights)))
    tiny = np.finfo(np.float64).tiny
    own, of_constant = (
        metrics.mean_poisson_deviance(y, np.maximum(each, tiny), sample_weight=weights)
        for each in (mean, constant)
    )
    return 1.0 - float(own / of_constant) if total > 0 and of_constant > 0 else float("nan")


@dataclass(frozen=True)
class ClassEvaluation:
    """Class probabilities and the true labels.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        Positions of the true labels in `classes`.
    classes : ndarray of shape (k,)
        The labels; those that have an order are in it.
    probability : ndarray of shape (n, k)
        Posterior means.
    low, high : ndarray of shape (n, k)
        The central interval of a probability, with probability `coverage`.
    coverage : float
        The probability of the intervals.
    n_table : int
        The number of rows of the table, `n` of which were used.
    target : str or None
        What the outcome is called.
    """

    codes: NDArray[np.intp]
    classes: NDArray[Any]
    probability: FloatArray
    low: FloatArray
    high: FloatArray
    coverage: float
    n_table: int
    target: str | None = None

    @property
    def is_class(self) -> NDArray[np.bool_]:
        """Whether each row has each class, shape (n, k)."""
        return np.asarray(self.codes[:, None] == np.arange(len(self.classes)))

    def pairs(self, code: int | None = None) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Return predicted probabilities, and whether the rows have the class.

        `code` is the position of a class. By default, the result is for the second of two classes,
        or for all of more than two.
        """
        if code is None:
            code = 1 if len(self.classes) == 2 else None
        chosen = slice(None) if code is None else slice(code, code + 1)
        return self.probability[:, chosen].ravel(), self.is_class[:, chosen].ravel()

    def scores(self) -> dict[str, float]:
        """Return errors by name."""
        chosen = np.clip(self.probability[np.arange(len(self.codes)), self.codes], 1e-300, None)
        scores = {
            "accuracy": float(np.mean(np.argmax(self.probability, axis=1) == self.codes)),
            "log loss": float(-np.mean(np.log(chosen))),
            "Brier score": float(np.mean(np.sum((self.probability - self.is_class) ** 2, axis=1))),
        }
        if len(self.classes) == 2 and len(np.unique(self.codes)) == 2:
            scores["AUC"] = float(metrics.roc_auc_score(self.codes, self.probability[:, 1]))
        return scores


Evaluation = RegressionEvaluation | ClassEvaluation | SurvivalEvaluation


def score_text(name: str, value: float) -> str:
    """Format a score: shares in percent, others with four digits."""
    if np.isnan(value):
        return "–"
    return (
        f"{value:.1%}"
        if name == "accuracy" or "interval" in name
        else plain(value, 4, separated=True)
    )


def evaluate(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    coverage: float = 0.9,
    exposure: ArrayLike | None = None,
    max_rows: int = MAX_ROWS,
    n_jobs: int | None = None,
) -> Evaluation:
    """Compare a fitted model's predictions with outcomes.

    Scores on training rows are too optimistic; pass rows held out from training.

    Parameters
    ----------
    model : estimator
        A fitted model.
    X : table of shape (n, n_features)
        Rows to predict, all of weight one.
    y : array-like of shape (n,)
        Outcomes or labels of the rows; for times, as for `fit`.
    coverage : float, default=0.9
        Coverage of the intervals.
    exposure : array-like of shape (n,) or number, optional
        Exposures of counts, as for `ObliqueBARTCountRegressor.predict`.
    max_rows : int, default=5000
        Maximum number of rows to use; larger tables are thinned evenly.
    n_jobs : int or None
        Number of threads, as in joblib.

    Returns
    -------
    RegressionEvaluation, CountEvaluation, ClassEvaluation or SurvivalEvaluation

    Examples
    --------
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTRegressor
    >>> X = np.random.default_rng(0).uniform(size=(200, 2))
    >>> y = X[:, 0] + X[:, 1]
    >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=100, n_draws=100, random_state=0)
    >>> evaluate(model.fit(X[:100], y[:100]), X[100:], y[100:]).scores()["R²"] > 0.9
    True
    """
    check_is_fitted(model)
    if model._fitted.design is not None:
        raise ValueError(
            "A causal model estimates effects, which are never observed, so they cannot be "
            "compared with outcomes: use log_score, overlap and sensitivity."
        )
    tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
    n_used = check_count("max_rows", max_rows, 1)
    rows = choose_rows(n_used, count_rows(X, type(model).__name__))
    shift = model._shift(X, exposure)
    data = _Data(model._fitted.encoding.transform(X), y, rows, shift)
    return EVALUATE[model._fitted.likelihood.task](model, data, tail, n_jobs)


class _Data(NamedTuple):
    """A table with its outcomes, and the rows to use."""

    table: EncodedTable
    y: ArrayLike
    rows: NDArray[np.intp]
    shift: FloatArray | None
    """Added to f: logs of exposures."""


def _evaluate_numbers(
    model: Any, data: _Data, tail: float, n_jobs: int | None
) -> RegressionEvaluation:
    posterior: Posterior = model.posterior_
    likelihood = posterior.likelihood
    observed = likelihood.check_observed(data.y, data.table.n_rows)[data.rows]
    columns = data.table.take(data.rows)
    mean = posterior.summarise(columns, n_jobs=n_jobs).mean
    interval = posterior.summarise(columns, (tail, 1.0 - tail), "outcome", n_jobs).quantiles
    pit = np.empty(len(data.rows))
    sigma = np.empty(len(data.rows))
    for part, given in posterior.given_blocks(columns, n_jobs):
        pit[part] = likelihood.cdf(observed[part], given).mean(axis=0)
        sigma[part] = likelihood.noise_sd(given).mean(axis=0)
    return RegressionEvaluation(
        y=observed,
        mean=mean,
        low=interval[:, 0],
        high=interval[:, 1],
        pit=pit,
        sigma=sigma,
        coverage=1.0 - 2.0 * tail,
        n_table=data.table.n_rows,
        target=model.target_name_,
    )


def _evaluate_counts(model: Any, data: _Data, tail: float, n_jobs: int | None) -> CountEvaluation:
    posterior: Posterior = model.posterior_
    likelihood = posterior.likelihood
    observed = likelihood.check_observed(data.y, data.table.n_rows)[data.rows]
    columns = data.table.take(data.rows)
    shift = np.zeros(len(observed)) if data.shift is None else data.shift[data.rows]
    levels = (tail, 1.0 - tail)
    new = posterior.summarise(columns, levels, "outcome", n_jobs, shift)
    pit, log_probability = np.empty(len(observed)), np.empty(len(observed))
    part_of_step = np.random.RandomState(0).uniform(size=len(observed)) - 0.5
    for part, given in posterior.given_blocks(columns, n_jobs, shift):
        y = observed[part]
        log_p = likelihood.log_density(y, given)
        log_probability[part] = np.logaddexp.reduce(log_p, axis=0) - np.log(len(log_p))
        middle = likelihood.cdf(y, grouped(given)).mean(axis=0)
        pit[part] = middle + part_of_step[part] * np.exp(log_probability[part])
    return CountEvaluation(
        y=observed,
        mean=new.mean,
        low=new.quantiles[:, 0],
        high=new.quantiles[:, 1],
        pit=np.clip(pit, 0.0, 1.0),
        sigma=new.sd,
        coverage=1.0 - 2.0 * tail,
        n_table=data.table.n_rows,
        target=model.target_name_,
        sd=new.sd,
        log_probability=log_probability,
        exposure=np.exp(shift),
    )


def _evaluate_classes(model: Any, data: _Data, tail: float, n_jobs: int | None) -> ClassEvaluation:
    classes = model._fitted.classes
    codes = class_codes(check_labels(data.y, data.table.n_rows), classes)[data.rows]
    columns = data.table.take(data.rows)
    probabilities: ClassProbabilities = model._probabilities
    interval = probabilities.interval(columns, tail, n_jobs)
    return ClassEvaluation(
        codes=codes,
        classes=classes,
        probability=probabilities.mean(columns, n_jobs),
        low=interval[..., 0],
        high=interval[..., 1],
        coverage=1.0 - 2.0 * tail,
        n_table=data.table.n_rows,
        target=model.target_name_,
    )


EVALUATE: dict[Task, Callable[..., Evaluation]] = {
    "regression": _evaluate_numbers,
    "classification": _evaluate_classes,
    "count regression": _evaluate_counts,
    "survival": evaluate_times,
}


def class_codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of each label among the classes; unknown labels raise ValueError."""
    position: Mapping[Any, int] = {label: code for code, label in enumerate(classes.tolist())}
    unknown = [label for label in dict.fromkeys(labels.tolist()) if label not in position]
    if unknown:
        known = ", ".join(map(repr, list(position)[:5]))
        raise ValueError(
            f"y contains {unknown[0]!r}, which is not a class of the model. Its classes: {known}"
            + (", …" if len(position) > 5 else ".")
        )
    return np.array([position[label] for label in labels.tolist()], dtype=np.intp)
