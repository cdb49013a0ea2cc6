"""Model files: write a fitted model, and load it again.

A file of schema 9 is a container (`container.py`) whose header has, besides `format`, `schema` and
`version`:

- `estimator`, `parameters`: the class and its constructor's arguments;
- `encoding`: names, kinds, dtypes and levels of the columns (knots of rank maps are arrays);
- `likelihood`: how outcomes depend on the trees;
- `target`: what the outcome is called, where it has a name;
- `classes`: dtype and labels of a classification, otherwise null;
- `class_weights`: a number for each label, or null;
- `n_draws`: the number of draws of all chains together;
- `training`: the fingerprint of the training data, and whether they are included;
- `posteriors`: of each the calibrated `prior` (in the engine's units), the scale of the `outcome`,
  the number of chains, the sweeps before their draws and between them (`n_burn`, `n_thin`), and
  the numbers of their `states`.

- `design`, only of a causal model: its arms (the control first) or the location and scale of its
  dose, how many of the last columns are propensities, and the fits that propensities come from.

Optional are `row_keys`: a 64-bit key of each training row, sorted, by which a row is
recognised later; and, of a causal model with its training data, `training.row_numbers`: where these
rows were in the table of `fit`, if that had others.

Arrays have names like `posterior.0.draws.cut`; `posterior/packing.py` says what is in those of the
draws. Where sigma is the same in all sweeps before the draws, `burn_sigma` has one of them. Files
of every schema stay loadable, and the tests have a file of each. Schema 1 lacks two fields of the
prior, which then have their defaults; schema 2 calls `scale_jointly` by another name; schema 3 has
`n_thin` among the parameters only; schema 4 has the draws as they are in memory, no `n_burn` and
no weights of classes; schema 5 has no `likelihood` and one ensemble per posterior; schema 6 has no
`design` and no `directions`; schema 8 has no scales of trees, and schema 7 no soft rules
either; models without them are still written in these.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.estimators import ESTIMATORS
from obliquebart.estimators.fitted import Fitted
from obliquebart.exceptions import ModelFileError
from obliquebart.files.arrays import Arrays
from obliquebart.files.chains import add_draws, add_state
from obliquebart.files.container import Contents, new_header, pack, read_file, write_file
from obliquebart.files.design import design_header
from obliquebart.files.model_reader import (
    ALIKE_SCHEMA,
    FORMAT,
    HARD_SCHEMA,
    LABEL_DTYPE,
    MAX_REPEATED,
    SCHEMA,
    StoredModel,
    column_dtypes,
    read_model,
)
from obliquebart.files.plain import number_of, to_plain
from obliquebart.model.directions import from_state
from obliquebart.model.parameters import BEFORE
from obliquebart.posterior.packing import pack_draws
from obliquebart.posterior.posterior import Posterior
from obliquebart.table import Encoding

# More than any machine has threads for.
MAX_JOBS = 4096


def save(model: Any, path: str | os.PathLike[str], **options: bool) -> None:
    """Write a fitted model; see the estimators' `save`."""
    # Parameters that `load` would reject are not written.
    model._checked_parameters()
    parameters = {
        name: to_plain(name, value) for name, value in model.get_params(deep=False).items()
    }
    write_file(path, to_bytes(model._fitted, parameters, **options))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Nothing in the file is trusted or executed; a damaged or malicious file raises an error.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    ObliqueBARTRegressor or ObliqueBARTClassifier
        Fitted; its predictions are those of the saved model, bit for bit.

    Raises
    ------
    ModelFileError
        If it is not a model file, or damaged; the message says what is wrong.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTRegressor, load
    >>> x = np.linspace(0, 1, 50).reshape(-1, 1)
    >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=50, n_draws=30, random_state=0)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.obart")
    >>> model.fit(x, x[:, 0]).save(path)
    >>> bool((load(path).predict(x) == model.predict(x)).all())
    True
    """
    try:
        stored = read_model(read_file(path))
        return _new_estimator(stored)
    except ModelFileError as error:
        raise ModelFileError(f"Cannot load {os.fspath(path)!r}: {error}.") from error


def _new_estimator(stored: StoredModel) -> Any:
    kind = ESTIMATORS[stored.fitted.estimator]
    parameters = dict(stored.parameters)
    names = set(kind._get_param_names())
    # They are left out of files that older versions can read.
    parameters = {name: BEFORE[name] for name in BEFORE if name in names} | parameters
    unknown = set(parameters) - names
    if unknown:
        raise ModelFileError(f"it has a parameter {min(unknown)!r} that {kind.__name__} has not")
    if isinstance(parameters.get("theta_prior"), list):
        parameters["theta_prior"] = tuple(parameters["theta_prior"])
    if parameters.get("directions") is not None:
        parameters["directions"] = _read_directions(parameters["directions"])
    if "noise_df" in parameters:
        parameters["noise_df"] = number_of(parameters["noise_df"])
    if isinstance(parameters.get("class_weight"), list):
        parameters["class_weight"] = _read_pairs(parameters["class_weight"])
    n_jobs = parameters.get("n_jobs")
    if type(n_jobs) is int and abs(n_jobs) > MAX_JOBS:
        raise ModelFileError(f"it has n_jobs={n_jobs}")
    model = kind(**parameters)
    try:
        model._checked_parameters()
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"it has a parameter that is not allowed: {error!s:.200}") from error
    return model._set_fitted(stored.fitted)


def _read_directions(state: Any) -> Any:
    """Return one component, or a list of several."""
    try:
        directions = from_state(state)
    except (ValueError, TypeError, OverflowError) as error:
        raise ModelFileError(f"its directions are not allowed: {error!s:.200}") from error
    return directions[0] if len(directions) == 1 else directions


def _read_pairs(pairs: list[Any]) -> dict[Any, Any]:
    """Return a dictionary that was written as a list of its items."""
    if any(not isinstance(pair, list) or len(pair) != 2 for pair in pairs):
        raise ModelFileError("its class_weight is not a list of pairs")
    return dict(pairs)


# ---- to bytes ------------------------------------------------------------------------------------


def to_bytes(
    fitted: Fitted,
    parameters: dict[str, Any],
    *,
    include_state: bool = True,
    include_data: bool = False,
) -> bytes:
    """Return the bytes of a model file; the same model gives the same bytes on every machine."""
    if include_data and fitted.training is None:
        raise ValueError(
            "include_data=True, but this model was loaded without its training data: pass them to "
            "sample_more first, or leave them out."
        )
    arrays: Arrays = {}
    has_scales = parameters.get("tree_df") is not None or any(
        one.has_tree_scales for one in fitted.posteriors
    )
    is_soft = bool(parameters.get("soft")) or any(one.is_soft for one in fitted.posteriors)
    # Older versions do not know the parameters.
    is_known = {
        "tree_df": has_scales,
        "soft": has_scales or is_soft,
        "votes": parameters.get("votes") != BEFORE["votes"],
        # Those of causal models; others always had it.
        "directions": fitted.design is None or parameters.get("directions") is not None,
    }
    parameters = {name: value for name, value in parameters.items() if is_known.get(name, True)}
    header = {
        **new_header(FORMAT, SCHEMA if has_scales else ALIKE_SCHEMA if is_soft else HARD_SCHEMA),
        "estimator": fitted.estimator,
        "parameters": parameters,
        "encoding": _encoding_header(_all_columns(fitted), arrays),
        "likelihood": fitted.likelihood.name,
        **({} if fitted.target_name is None else {"target": fitted.target_name}),
        "classes": _labels_header(fitted.classes),
        "class_weights": None if fitted.class_weights is None else fitted.class_weights.tolist(),
        "n_draws": fitted.n_draws,
        "training": {"fingerprint": fitted.fingerprint, "included": include_data},
        "posteriors": [
            _posterior_header(posterior, f"posterior.{i}.", arrays, include_state)
            for i, posterior in enumerate(fitted.posteriors)
        ],
    }
    if fitted.design is not None:
        header["design"] = design_header(
            fitted.design,
            lambda posterior, prefix: {
                **_posterior_header(posterior, prefix, arrays, include_state=False),
                "n_draws": posterior.n_chains * posterior.n_draws,
            },
            _labels_header,
        )
    if include_state and fitted.row_keys is not None:
        arrays["row_keys"] = fitted.row_keys
    if include_data and fitted.training is not None:
        table, outcome = fitted.training
        arrays["training.x_cont"] = table.x_cont
        arrays["training.x_cat"] = table.x_cat
        arrays["training.target"] = outcome.values
        for i, column in enumerate(outcome.more):
            arrays[f"training.more.{i}"] = column
        if outcome.weights is not None:
            arrays["training.weights"] = outcome.weights
        if fitted.row_numbers is not None:
            arrays["training.row_numbers"] = fitted.row_numbers
    return pack(Contents(header, arrays))


def _all_columns(fitted: Fitted) -> Encoding:
    """Return the encoding of all columns of the chains, propensities too."""
    return fitted.encoding if fitted.design is None else fitted.design.wide


def _encoding_header(encoding: Encoding, arrays: Arrays) -> dict[str, Any]:
    state = encoding.to_state()
    continuous = [column for column in state["columns"] if "knots" in column]
    # As JSON these numbers would take five times the space.
    for name in ("knots", "heights"):
        values = [value for column in continuous for value in column[name]]
        arrays[f"encoding.{name}"] = np.array(values, np.float64)
    columns = [
        {k: len(v) if k == "knots" else v for k, v in column.items() if k != "heights"}
        for column in state["columns"]
    ]
    return {**state, "columns": columns, "dtypes": column_dtypes(encoding)}


def _labels_header(classes: NDArray[Any] | None) -> dict[str, Any] | None:
    if classes is None:
        return None
    dtype = classes.dtype.str[1:]
    if not LABEL_DTYPE.fullmatch(dtype):
        raise TypeError(
            f"Class labels of dtype {classes.dtype} cannot be saved: fit with text or integers."
        )
    values = classes.astype(np.int64) if dtype[0] in "Mm" else classes
    return {"dtype": dtype, "values": values.tolist()}


def _posterior_header(
    posterior: Posterior, prefix: str, arrays: Arrays, include_state: bool
) -> dict[str, Any]:
    trace = {**posterior.trace, "burn_sigma": _short_burn_in(posterior.burn_sigma)}
    packed = [pack_draws(draws.to_arrays()) for draws in posterior.ensembles]
    add_draws(arrays, prefix, packed, trace)
    scale = posterior.scale
    states = posterior.states if include_state else ()
    return {
        "prior": posterior.settings,
        "outcome": {
            "location": scale.location,
            "scale": scale.scale,
            "sigma_unit": scale.sigma_unit,
        },
        "n_chains": posterior.n_chains,
        "n_burn": posterior.schedule.n_burn,
        "n_thin": posterior.schedule.n_thin,
        "states": [
            add_state(arrays, f"{prefix}state.{chain}.", state)
            for chain, state in enumerate(states)
        ],
    }


def _short_burn_in(sigma: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one number per chain, if all of them are the same."""
    is_fixed = 1 < sigma.size <= MAX_REPEATED and (sigma == sigma[:, :1]).all()
    return sigma[:, :1] if is_fixed else sigma
