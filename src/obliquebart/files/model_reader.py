"""Read model files with distrust: every field, index and number is checked before it is used."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.estimators import ESTIMATORS
from obliquebart.estimators.fitted import Fitted
from obliquebart.exceptions import ModelFileError
from obliquebart.files.arrays import Reader, field
from obliquebart.files.container import unpack
from obliquebart.likelihood import LIKELIHOODS, Likelihood
from obliquebart.model.outcome import Outcome, OutcomeScale
from obliquebart.model.settings import SETTINGS_FIELDS, settings_from_dict, settings_to_dict
from obliquebart.model.training import Fingerprint, TrainingProblem
from obliquebart.posterior.draws import count_leaves
from obliquebart.posterior.posterior import Posterior
from obliquebart.sampling.chain import State, Trace
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.levels import LevelTable

__all__ = ["FORMAT", "LABEL_DTYPE", "SCHEMA", "StoredModel", "column_dtypes", "read_model"]

FORMAT = "obliquebart model"
SCHEMA = 2

TRACE = (
    *("sigma", "theta", "leaf_sd", "n_leaves", "depth", "axis_share"),
    *(f"accept_{move}" for move in _core.MOVES),
)
# The whole prior of an outcome without variation.
CONSTANT_PRIOR = {"likelihood", "n_trees"}
MAX_SIZE = 2**31
# Numbers, text, dates and durations, without the order of bytes.
LABEL_DTYPE = re.compile(
    r"b1|[iu][1248]|f[248]|U[1-9][0-9]{0,6}|[Mm]8(\[[0-9]{0,6}[a-zA-Z]{1,2}\])?"
)


class StoredModel(NamedTuple):
    """What a file holds."""

    parameters: dict[str, Any]
    fitted: Fitted


def column_dtypes(encoding: Encoding) -> list[str]:
    """Return what the columns held in training: "number", "text", or "empty"."""
    return [c.kind if isinstance(c, LevelTable) else "number" for c in encoding.columns]


def read_model(data: bytes) -> StoredModel:
    """Return the model of a file's bytes, or raise ModelFileError."""
    contents = unpack(data, FORMAT, tuple(range(1, SCHEMA + 1)))
    header = contents.header
    estimator = field(header, "estimator", str)
    if estimator not in ESTIMATORS:
        raise ModelFileError(f"it is of an unknown estimator {estimator[:80]!r}")
    likelihood = ESTIMATORS[estimator]._likelihood
    reader = Reader(contents.arrays)
    encoding = _read_encoding(field(header, "encoding", dict), reader)
    reader.set_columns(encoding.p_cont, encoding.n_levels)
    classes = None
    if likelihood.has_classes:
        classes = _read_labels(field(header, "classes", dict))
    n_draws = _size(header, "n_draws")
    entries = field(header, "posteriors", list)
    expected = len(likelihood.titles(classes))
    if len(entries) != expected:
        raise ModelFileError(f"it has {len(entries)} posteriors, not {expected}")
    posteriors = [
        _read_posterior(entry, f"posterior.{i}.", reader, encoding, likelihood, n_draws)
        for i, entry in enumerate(entries)
    ]
    information = field(header, "training", dict)
    fingerprint = _read_fingerprint(field(information, "fingerprint", dict))
    training = None
    if field(information, "included", bool):
        scale = posteriors[0].scale if posteriors else OutcomeScale()
        training = _read_training(reader, encoding, fingerprint, likelihood, scale, classes)
    _check_rows(posteriors, training)
    reader.finish()
    fitted = Fitted(estimator, encoding, posteriors, classes, n_draws, training, fingerprint)
    return StoredModel(_read_parameters(field(header, "parameters", dict)), fitted)


def _size(values: Any, name: str) -> int:
    size: int = field(values, name, int)
    if not 1 <= size < MAX_SIZE:
        raise ModelFileError(f"{name}={size} is out of range")
    return size


def _read_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    for name, value in parameters.items():
        for entry in value if isinstance(value, list) else [value]:
            if entry is not None and not isinstance(entry, (bool, int, float, str)):
                raise ModelFileError(f"its parameter {name[:80]!r} is no plain value")
    return parameters


def _read_encoding(header: dict[str, Any], reader: Reader) -> Encoding:
    names = field(header, "names", list)
    if any(type(name) is not str for name in [*names, field(header, "owner", str)]):
        raise ModelFileError("a name of its columns is no text")
    field(header, "is_named", bool)
    knots = reader.array("encoding.knots", np.float64, None)
    heights = reader.array("encoding.heights", np.float64, None)
    columns = []
    begin = 0
    for column in field(header, "columns", list):
        entry = dict(column) if isinstance(column, dict) else {}
        if "knots" in entry:
            end = begin + max(field(entry, "knots", int), 0)
            entry.update(knots=knots[begin:end], heights=heights[begin:end])
            begin = end
        columns.append(entry)
    if not begin == len(knots) == len(heights):
        raise ModelFileError("its columns do not have the knots that its arrays have")
    try:
        encoding = Encoding.from_state({**header, "columns": columns})
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"its columns are not in order: {error!s:.300}") from error
    if header.get("dtypes") != column_dtypes(encoding):
        raise ModelFileError("its columns do not have the dtypes that it says")
    return encoding


def _read_labels(header: dict[str, Any]) -> NDArray[Any]:
    dtype, values = field(header, "dtype", str), field(header, "values", list)
    if not LABEL_DTYPE.fullmatch(dtype):
        raise ModelFileError(f"its class labels have an unknown dtype {dtype[:80]!r}")
    wanted = {"b": bool, "f": float, "U": str}.get(dtype[0], int)
    if any(type(value) is not wanted for value in values):
        raise ModelFileError(f"its class labels are not all {wanted.__name__}")
    if dtype[0] == "U" and any(len(value) > int(dtype[1:]) for value in values):
        raise ModelFileError("a class label is longer than its dtype allows")
    try:
        if dtype[0] in "Mm":
            labels = np.array(values, np.int64).astype(dtype)
        else:
            labels = np.array(values, dtype)
        is_sorted = bool((labels[:-1] < labels[1:]).all())
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"its class labels cannot be read: {error!s:.200}") from error
    if not is_sorted or len(labels) == 0 or (dtype[0] == "f" and not np.isfinite(labels).all()):
        raise ModelFileError("its class labels are not sorted and distinct")
    return labels


def _read_posterior(
    entry: Any,
    prefix: str,
    reader: Reader,
    encoding: Encoding,
    likelihood: Likelihood,
    n_draws: int,
) -> Posterior:
    prior = _read_prior(field(entry, "prior", dict))
    if prior["likelihood"] != likelihood.name:
        raise ModelFileError(f"its likelihood is {prior['likelihood']!r}, not {likelihood.name!r}")
    scale = _read_scale(field(entry, "outcome", dict))
    draws, trace, states = _read_chains(entry, prefix, reader, n_draws, prior)
    return Posterior(draws, trace, encoding, prior, scale, states)


def _read_chains(
    entry: dict[str, Any], prefix: str, reader: Reader, n_draws: int, prior: dict[str, Any]
) -> tuple[_core.Draws, Trace, tuple[State, ...]]:
    n_chains = _size(entry, "n_chains")
    if n_draws % n_chains:
        raise ModelFileError(f"{n_draws} draws are not of {n_chains} chains")
    draws = reader.draws(prefix + "draws.", n_draws, prior["n_trees"])
    trace = reader.trace(prefix + "trace.", TRACE, (n_chains, n_draws // n_chains))
    trace["burn_sigma"] = reader.numbers(
        prefix + "trace.burn_sigma", (n_chains, None), 0.0, np.inf, nan=False
    )
    if set(prior) != CONSTANT_PRIOR and not trace["sigma"].all():
        raise ModelFileError(f"{prefix}trace.sigma is zero somewhere")
    numbers = field(entry, "states", list)
    if len(numbers) not in (0, n_chains):
        raise ModelFileError(f"it has {len(numbers)} states of {n_chains} chains")
    has_target = LIKELIHOODS[prior["likelihood"]].has_latents
    last_leaves = count_leaves(draws.to_arrays())[:: -n_draws // n_chains][::-1]
    states = tuple(
        reader.state(f"{prefix}state.{i}.", number, last_leaves[i], has_target=has_target)
        for i, number in enumerate(numbers)
    )
    return draws, trace, states


def _read_prior(prior: dict[str, Any]) -> dict[str, Any]:
    settings = _core.Settings()
    if set(prior) == CONSTANT_PRIOR:
        return {"likelihood": field(prior, "likelihood", str), "n_trees": _size(prior, "n_trees")}
    # A field that is younger than the file has its default.
    for name in prior:
        if name not in SETTINGS_FIELDS:
            raise ModelFileError(f"its prior has an unknown field {name[:80]!r}")
        field(prior, name, type(getattr(settings, name)))
    try:
        settings = settings_from_dict(prior)
        settings.verify()
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"its prior is not allowed: {error!s:.200}") from error
    return settings_to_dict(settings)


def _read_scale(values: dict[str, Any]) -> OutcomeScale:
    names = ("location", "scale", "sigma_unit")
    scale = OutcomeScale(*(field(values, name, float) for name in names))
    if scale.scale < 0 or scale.sigma_unit < 0:
        raise ModelFileError("the scale of its outcome is negative")
    return scale


def _read_fingerprint(values: dict[str, Any]) -> Fingerprint:
    arguments = {"X": (str,), "y": (str,), "sample_weight": (str, type(None))}
    if set(values) != set(arguments) or not all(
        isinstance(values[name], kinds) for name, kinds in arguments.items()
    ):
        raise ModelFileError("the fingerprint of its training data is not in order")
    return {name: values[name] for name in arguments}


def _read_training(
    reader: Reader,
    encoding: Encoding,
    fingerprint: Fingerprint,
    likelihood: Likelihood,
    scale: OutcomeScale,
    classes: NDArray[Any] | None,
) -> TrainingProblem:
    x_cont = reader.array("training.x_cont", np.float32, encoding.p_cont, None)
    n_rows = x_cont.shape[1]
    x_cat = reader.array("training.x_cat", np.uint32, encoding.p_cat, n_rows)
    target = reader.array("training.target", likelihood.target_dtype, n_rows)
    weights = None
    if fingerprint["sample_weight"] is not None:
        weights = reader.numbers("training.weights", (n_rows,), 1e-300, 1e300, nan=False)
    n_levels = np.array(encoding.n_levels, np.uint32).reshape(-1, 1)
    is_target = likelihood.is_target(target, classes)
    if np.isinf(x_cont).any() or (x_cat >= n_levels).any() or not is_target:
        raise ModelFileError("its training data are out of range")
    outcome = Outcome(target, weights, scale, likelihood, classes)
    problem = TrainingProblem(EncodedTable(x_cont, x_cat, encoding.n_levels), outcome)
    if problem.fingerprint() != fingerprint:
        raise ModelFileError("its training data do not have the fingerprint that it says")
    return problem


def _check_rows(posteriors: list[Posterior], training: TrainingProblem | None) -> None:
    n_rows = {len(state["residual"]) for posterior in posteriors for state in posterior.states}
    if training is not None:
        n_rows.add(training.table.n_rows)
    if len(n_rows) > 1 or 0 in n_rows:
        raise ModelFileError("its chains and its training data have different numbers of rows")
