"""Read model files; every field, index and number is checked before it is used."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.causal.design import CausalDesign
from obliquebart.estimators import ESTIMATORS, ObliqueBART
from obliquebart.estimators.fitted import Fitted
from obliquebart.exceptions import ModelFileError
from obliquebart.files.arrays import ArrayReader, field
from obliquebart.files.chains import ChainReader
from obliquebart.files.container import unpack
from obliquebart.files.design import read_design
from obliquebart.likelihood import LIKELIHOODS, Likelihood
from obliquebart.model.class_weight import LARGEST_WEIGHT, SMALLEST_WEIGHT
from obliquebart.model.outcome import Outcome, OutcomeScale
from obliquebart.model.seen_rows import Keys
from obliquebart.model.settings import MORE_ENSEMBLES, settings_from_dict, settings_to_dict
from obliquebart.model.training import Fingerprint, TrainingProblem
from obliquebart.posterior.draws import split_draws, take_draws
from obliquebart.posterior.posterior import Posterior
from obliquebart.sampling.chain import Ensembles, State, Trace
from obliquebart.table import Encoding
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.levels import LevelTable

FORMAT = "obliquebart model"
SCHEMA = 9
# Of models without scales of trees, and of those whose rules are hard besides, which older versions
# can read too.
ALIKE_SCHEMA = 8
HARD_SCHEMA = 7
# The first that has `n_thin` with each posterior.
THINNING_SCHEMA = 4
# The first with weights of the classes.
CLASS_WEIGHT_SCHEMA = 5
# The first in which draws are packed, and `n_burn` is with each posterior.
PACKED_SCHEMA = 5
# The first that names the likelihood, and may have several ensembles.
LIKELIHOOD_SCHEMA = 6
# Settings that had another name in older schemas.
RENAMED = {"stretch": "scale_jointly"}

# All that the prior of a constant outcome has.
CONSTANT_PRIOR = {"likelihood", "n_trees"}
MAX_SIZE = 2**31
MAX_ENSEMBLES = 4096
# A short file cannot ask for more memory than so many numbers.
MAX_REPEATED = 5_000_000
# Numbers, text, dates and durations, without the byte order.
LABEL_DTYPE = re.compile(
    r"b1|[iu][1248]|f[248]|U[1-9][0-9]{0,6}|[Mm]8(\[[0-9]{0,6}[a-zA-Z]{1,2}\])?"
)


class StoredModel(NamedTuple):
    """The estimator's parameters and the result of its fit."""

    parameters: dict[str, Any]
    fitted: Fitted


class _Model(NamedTuple):
    """What the posteriors of a model share."""

    encoding: Encoding
    likelihood: Likelihood
    classes: NDArray[Any] | None
    n_draws: int
    n_thin: int | None
    """In files that have one value for all posteriors."""
    packed: bool
    """Whether draws are packed."""


def column_dtypes(encoding: Encoding) -> list[str]:
    """Return what each column had in training: "number", "text", or "empty"."""
    return [c.kind if isinstance(c, LevelTable) else "number" for c in encoding.columns]


def read_model(data: bytes) -> StoredModel:
    """Return the model of a file's bytes, or raise ModelFileError."""
    contents = unpack(data, FORMAT, tuple(range(1, SCHEMA + 1)))
    header = contents.header
    estimator = field(header, "estimator", str)
    if estimator not in ESTIMATORS:
        raise ModelFileError(f"it is of an unknown estimator {estimator[:80]!r}")
    likelihood = _read_likelihood(header, ESTIMATORS[estimator])
    reader = ArrayReader(contents.arrays)
    encoding = _read_encoding(field(header, "encoding", dict), reader)
    classes = _read_labels(field(header, "classes", dict)) if likelihood.has_classes else None
    parameters = _read_parameters(field(header, "parameters", dict))
    if classes is not None and header["schema"] < LIKELIHOOD_SCHEMA:
        parameters = {"multiclass": "one_vs_rest", **parameters}
    n_thin = None
    if header["schema"] < THINNING_SCHEMA:
        n_thin = _size({"n_thin": 1, **parameters}, "n_thin")
    packed = header["schema"] >= PACKED_SCHEMA
    model = _Model(encoding, likelihood, classes, _size(header, "n_draws"), n_thin, packed)
    posteriors = _read_posteriors(field(header, "posteriors", list), reader, model)
    design = None
    if likelihood.n_treatments:
        design = _read_design(header, reader, encoding, posteriors[0])
    if likelihood.joint_classes or design is not None:
        # It knows how many classes or treatments there are.
        likelihood = posteriors[0].likelihood
        model = model._replace(likelihood=likelihood)
    information = field(header, "training", dict)
    fingerprint = _read_fingerprint(field(information, "fingerprint", dict))
    training = None
    if field(information, "included", bool):
        scale = posteriors[0].scale if posteriors else OutcomeScale()
        training = _read_training(reader, model, scale, fingerprint)
    _check_rows(posteriors, training)
    row_numbers = _read_row_numbers(reader, training)
    row_keys = _read_row_keys(reader)
    reader.finish()
    weights = None
    if classes is not None and header["schema"] >= CLASS_WEIGHT_SCHEMA:
        weights = _read_class_weights(header, len(classes))
    fitted = Fitted(
        estimator=estimator,
        encoding=encoding if design is None else design.narrow,
        likelihood=likelihood,
        posteriors=posteriors,
        classes=classes,
        n_draws=model.n_draws,
        training=training,
        fingerprint=fingerprint,
        class_weights=weights,
        target_name=_read_target(header),
        row_keys=row_keys,
        design=design,
        row_numbers=row_numbers,
    )
    return StoredModel(parameters, fitted)


def _read_likelihood(header: dict[str, Any], kind: type[ObliqueBART]) -> Likelihood:
    """Return the likelihood of a model; in older files it is that of its estimator."""
    if header["schema"] < LIKELIHOOD_SCHEMA:
        return kind._family
    name = field(header, "likelihood", str)
    if name not in LIKELIHOODS or not kind._takes(LIKELIHOODS[name]):
        raise ModelFileError(f"its likelihood {name[:80]!r} is none of {kind._family.task}")
    return LIKELIHOODS[name]


def _read_design(
    header: dict[str, Any], reader: ArrayReader, encoding: Encoding, posterior: Posterior
) -> CausalDesign:
    """Return treatments and propensities, which must be those of the posterior."""

    def read_posterior(
        entry: Any,
        prefix: str,
        narrow: Encoding,
        likelihood: Likelihood,
        classes: NDArray[Any] | None,
    ) -> Posterior:
        n_draws = _size(entry, "n_draws")
        model = _Model(narrow, likelihood, classes, n_draws, n_thin=None, packed=True)
        return _read_posterior(entry, prefix, reader, model)

    design = read_design(field(header, "design", dict), encoding, read_posterior, _read_labels)
    likelihood, treatment = posterior.likelihood, design.treatment
    hidden = posterior.settings[MORE_ENSEMBLES][-1]["hidden_columns"]
    if likelihood.n_treatments != treatment.n_treatments or hidden != design.n_propensities:
        raise ModelFileError("its treatments are not those of its posterior")
    if (posterior.settings["more"]["codes_arms"] != 0.0) != (treatment.arms is not None):
        raise ModelFileError("its treatments are not those of its posterior")
    return design


def _read_target(header: dict[str, Any]) -> str | None:
    if "target" not in header:
        return None
    name: str = field(header, "target", str)
    if not name.strip():
        raise ModelFileError("the name of its outcome is empty")
    return name


def _size(values: Any, name: str) -> int:
    size: int = field(values, name, int)
    if not 1 <= size < MAX_SIZE:
        raise ModelFileError(f"{name}={size} is out of range")
    return size


def _read_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    for name, value in parameters.items():
        if name == "directions":
            continue
        if not all(map(_is_plain, value if isinstance(value, list) else [value])):
            raise ModelFileError(f"its parameter {name[:80]!r} is not a plain value")
    return parameters


def _is_plain(value: Any) -> bool:
    """Say whether it is a number, text or None, or a list of such: a pair, for example."""
    entries = value if isinstance(value, list) else [value]
    return all(entry is None or isinstance(entry, (bool, int, float, str)) for entry in entries)


def _read_encoding(header: dict[str, Any], reader: ArrayReader) -> Encoding:
    names = field(header, "names", list)
    if any(type(name) is not str for name in [*names, field(header, "owner", str)]):
        raise ModelFileError("the name of a column is not text")
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
        raise ModelFileError("its columns do not have as many knots as its arrays")
    try:
        encoding = Encoding.from_state({**header, "columns": columns})
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"its columns cannot be read: {error!s:.300}") from error
    if header.get("dtypes") != column_dtypes(encoding):
        raise ModelFileError("its columns do not have the dtypes in its header")
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
        is_distinct = len(np.unique(labels)) == len(labels)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"its class labels cannot be read: {error!s:.200}") from error
    if not is_distinct or len(labels) == 0 or (dtype[0] == "f" and not np.isfinite(labels).all()):
        raise ModelFileError("its class labels are not distinct")
    return labels


def _read_class_weights(header: dict[str, Any], n_classes: int) -> NDArray[np.float64] | None:
    values = header.get("class_weights")
    if values is None:
        return None
    low, high = SMALLEST_WEIGHT, LARGEST_WEIGHT
    is_list = isinstance(values, list) and len(values) == n_classes
    if not is_list or not all(type(v) is float and low <= v <= high for v in values):
        raise ModelFileError(f"its class_weights are not {n_classes} positive numbers")
    return np.array(values, np.float64)


def _read_posteriors(entries: list[Any], reader: ArrayReader, model: _Model) -> list[Posterior]:
    expected = len(model.likelihood.titles(model.classes))
    if len(entries) != expected:
        raise ModelFileError(f"it has {len(entries)} posteriors, not {expected}")
    return [
        _read_posterior(entry, f"posterior.{i}.", reader, model) for i, entry in enumerate(entries)
    ]


def _read_posterior(entry: Any, prefix: str, reader: ArrayReader, model: _Model) -> Posterior:
    prior = _read_prior(field(entry, "prior", dict))
    likelihood = LIKELIHOODS.get(prior["likelihood"])
    if likelihood is None or likelihood.task != model.likelihood.task:
        raise ModelFileError(
            f"its likelihood is {prior['likelihood']!r}, which is none of {model.likelihood.task}"
        )
    likelihood = likelihood.with_settings(prior.get("more", {}))
    is_joint = likelihood.joint_classes
    if is_joint != model.likelihood.joint_classes or not likelihood.fits(model.classes):
        raise ModelFileError("its likelihood is not that of its classes")
    scale = _read_scale(field(entry, "outcome", dict))
    chains = ChainReader(reader, settings_from_dict(prior), model.encoding)
    ensembles, trace = _read_draws(chains, prefix, entry, model)
    if set(prior) != CONSTANT_PRIOR:
        if not trace["sigma"].all():
            raise ModelFileError(f"{prefix}trace.sigma is zero somewhere")
        if not likelihood.are_scalars(trace):
            raise ModelFileError(f"{prefix}trace has noise that is out of range")
        for scalar in likelihood.noise:
            if not scalar.sampled and (trace[scalar.name] != prior["more"][scalar.name]).any():
                raise ModelFileError(f"{prefix}trace.{scalar.name} is not that of its prior")
    n_thin = _size(entry, "n_thin") if model.n_thin is None else model.n_thin
    posterior = Posterior(ensembles, trace, model.encoding, prior, scale, n_thin=n_thin)
    posterior.states = _read_states(chains, prefix, field(entry, "states", list), posterior)
    return posterior


def _read_draws(
    chains: ChainReader, prefix: str, entry: dict[str, Any], model: _Model
) -> tuple[Ensembles, Trace]:
    n_chains, n_draws = _size(entry, "n_chains"), model.n_draws
    if n_draws % n_chains:
        raise ModelFileError(f"{n_chains} chains cannot have {n_draws} draws in all")
    ensembles = chains.ensembles(prefix, packed=model.packed)
    for draws in ensembles:
        if draws.n_draws != n_draws:
            raise ModelFileError(f"{prefix}draws has {draws.n_draws} draws, not {n_draws}")
    shape = (n_chains, n_draws // n_chains)
    trace = chains.trace(prefix + "trace.", shape, (n_chains, None), "accept_")
    if model.packed:
        trace["burn_sigma"] = _whole_burn_in(trace["burn_sigma"], field(entry, "n_burn", int))
    return ensembles, trace


def _whole_burn_in(sigma: NDArray[np.float64], n_burn: int) -> NDArray[np.float64]:
    """Return sigma in all sweeps before the draws; a file may have it once."""
    n_chains, n_stored = sigma.shape
    if n_stored == n_burn:
        return sigma
    if n_stored != 1 or not 1 <= n_chains * n_burn <= MAX_REPEATED:
        raise ModelFileError(f"it has sigma in {n_stored} sweeps of burn-in, not in {n_burn}")
    return np.repeat(sigma, n_burn, axis=1)


def _read_states(
    chains: ChainReader, prefix: str, numbers: list[Any], posterior: Posterior
) -> tuple[State, ...]:
    if not numbers:
        return ()
    n_chains = posterior.n_chains
    if len(numbers) != n_chains:
        raise ModelFileError(f"it has {len(numbers)} states for {n_chains} chains")
    last = np.arange(1, n_chains + 1) * posterior.n_draws - 1
    encoding, has_target = posterior.encoding, posterior.likelihood.has_latents
    by_ensemble = [
        split_draws(take_draws(draws, last, encoding), n_chains, encoding)
        for draws in posterior.ensembles
    ]
    return tuple(
        chains.state(f"{prefix}state.{i}.", numbers[i], kept, has_target=has_target)
        for i, kept in enumerate(zip(*by_ensemble, strict=True))
    )


def _read_prior(prior: dict[str, Any]) -> dict[str, Any]:
    if set(prior) == CONSTANT_PRIOR:
        return {"likelihood": field(prior, "likelihood", str), "n_trees": _size(prior, "n_trees")}
    # A field that is newer than the file has its default.
    prior = {RENAMED.get(name, name): value for name, value in prior.items()}
    _check_fields({name: prior[name] for name in prior if name != MORE_ENSEMBLES})
    others = field(prior, MORE_ENSEMBLES, list) if MORE_ENSEMBLES in prior else []
    if len(others) >= MAX_ENSEMBLES or not all(isinstance(each, dict) for each in others):
        raise ModelFileError("the settings of its ensembles cannot be read")
    for each in others:
        _check_fields(each, _core.ENSEMBLE_SETTINGS)
    try:
        settings = settings_from_dict(prior)
        settings.verify()
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"its prior is not allowed: {error!s:.200}") from error
    return settings_to_dict(settings)


def _check_fields(values: dict[str, Any], known: tuple[str, ...] = _core.SETTINGS) -> None:
    defaults = _core.Settings()
    for name in values:
        if name not in known:
            raise ModelFileError(f"its prior has an unknown field {name[:80]!r}")
        field(values, name, type(getattr(defaults, name)))


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
        raise ModelFileError("the fingerprint of its training data cannot be read")
    return {name: values[name] for name in arguments}


def _read_training(
    reader: ArrayReader, model: _Model, scale: OutcomeScale, fingerprint: Fingerprint
) -> TrainingProblem:
    encoding, likelihood, classes = model.encoding, model.likelihood, model.classes
    x_cont = reader.array("training.x_cont", np.float32, encoding.p_cont, None)
    n_rows = x_cont.shape[1]
    x_cat = reader.array("training.x_cat", np.uint32, encoding.p_cat, n_rows)
    target = reader.array("training.target", likelihood.target_dtype, n_rows)
    weights = None
    if fingerprint["sample_weight"] is not None:
        weights = reader.numbers("training.weights", (n_rows,), 1e-300, 1e300)
    n_levels = np.array(encoding.n_levels, np.uint32).reshape(-1, 1)
    if np.isinf(x_cont).any() or (x_cat >= n_levels).any():
        raise ModelFileError("its training data are out of range")
    more = tuple(
        reader.array(f"training.more.{i}", np.float64, n_rows) for i in range(likelihood.n_more)
    )
    if not likelihood.is_target(target, classes) or not likelihood.are_more(target, more):
        raise ModelFileError("its outcomes are out of range")
    outcome = Outcome(target, weights, scale, likelihood, classes, more)
    problem = TrainingProblem(EncodedTable(x_cont, x_cat, encoding.n_levels), outcome)
    if problem.fingerprint() != fingerprint:
        raise ModelFileError("its training data do not match the fingerprint in its header")
    return problem


def _read_row_numbers(
    reader: ArrayReader, training: TrainingProblem | None
) -> NDArray[np.int64] | None:
    """Return where the training rows were in the table of `fit`, if they were not all of it."""
    if training is None or not reader.has("training.row_numbers"):
        return None
    numbers: NDArray[np.int64] = reader.array(
        "training.row_numbers", np.int64, training.table.n_rows
    )
    if (numbers < 0).any():
        raise ModelFileError("the numbers of its training rows are negative")
    return numbers


def _read_row_keys(reader: ArrayReader) -> Keys | None:
    """Return the keys of the training rows, if the file has them."""
    if not reader.has("row_keys"):
        return None
    keys: Keys = reader.array("row_keys", np.uint64, None)
    if len(keys) == 0 or (keys[1:] < keys[:-1]).any():
        raise ModelFileError("the keys of its training rows are not sorted")
    return keys


def _check_rows(posteriors: list[Posterior], training: TrainingProblem | None) -> None:
    n_rows = {len(state["residual"]) for posterior in posteriors for state in posterior.states}
    if training is not None:
        n_rows.add(training.table.n_rows)
    if len(n_rows) > 1 or 0 in n_rows:
        raise ModelFileError("its chains and its training data have different numbers of rows")
