"""The posterior as ArviZ keeps it: InferenceData in ArviZ 0.x, a DataTree in 1.x."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from obliquebart import _core
from obliquebart.likelihood import Given, Likelihood
from obliquebart.posterior.diagnostics import choose_rows, scalar_names
from obliquebart.sampling.memory import require_memory
from obliquebart.validation import check_weights

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

FloatArray = NDArray[np.float64]
Groups = dict[str, dict[str, Any]]


class Observed(NamedTuple):
    """The outcomes that the user gave, their weights, and what draws new ones."""

    y: Any
    sample_weight: Any
    random_state: Any

    def checked(self, likelihood: Likelihood, n_rows: int) -> Observed:
        """Return arrays and a generator."""
        weights = check_weights(self.sample_weight, n_rows)
        if weights is None:
            weights = np.ones(n_rows)
        if not weights.all():
            raise ValueError("sample_weight is 0 in some rows: leave these rows out of X and y.")
        y = None if self.y is None else likelihood.check_observed(self.y, n_rows)
        return Observed(y, weights, check_random_state(self.random_state))


def to_arviz(
    posterior: Posterior, X: Any, observed: Observed, rows: int | Sequence[int], n_jobs: int | None
) -> Any:
    """Export a posterior; see `Posterior.to_arviz`."""
    arviz = _import_arviz()
    if X is None and (observed.y is not None or observed.sample_weight is not None):
        raise ValueError("y and sample_weight need the table X that they belong to.")
    shape = (posterior.n_chains, posterior.n_draws)
    groups: Groups = {
        "posterior": {name: posterior.trace[name] for name in scalar_names(posterior)},
        "sample_stats": {
            name: values
            for name, values in posterior.trace.items()
            if name in {f"accept_{move}" for move in _core.MOVES} | {"n_leaves", "depth"}
            and not np.isnan(values).all()
        },
    }
    coords: dict[str, Any] = {}
    dims: dict[str, list[str]] = {}
    if X is not None:
        columns = posterior.encode(X)
        chosen = choose_rows(rows, columns.n_rows)
        observed = observed.checked(posterior.likelihood, columns.n_rows)
        require_memory(
            24.0 * shape[0] * shape[1] * columns.n_rows,
            f"ArviZ's groups of {shape[0] * shape[1]} draws at {columns.n_rows} rows",
            "Pass fewer rows.",
        )
        f = posterior.predict(X, n_jobs=n_jobs).reshape(*shape, columns.n_rows)
        if chosen.size:
            groups["posterior"]["f"] = f[..., chosen]
        groups |= _outcome_groups(posterior, observed, f)
        coords = {"row": np.arange(columns.n_rows), "f_row": chosen}
        dims = {"f": ["f_row"], "y": ["row"]}
    groups = {name: variables for name, variables in groups.items() if variables}
    return _build(arviz, groups, coords, dims)


def _outcome_groups(posterior: Posterior, observed: Observed, f: FloatArray) -> Groups:
    """Draw a new outcome for each f, and rate the observed one where there is one."""
    likelihood, y = posterior.likelihood, observed.y
    noise = likelihood.noise_of(posterior.trace, (*f.shape[:-1], 1))
    given = Given(f, noise, observed.sample_weight)
    groups: Groups = {
        "posterior_predictive": {"y": likelihood.simulate(given, observed.random_state)}
    }
    if y is not None:
        groups |= {"log_likelihood": {"y": likelihood.log_density(y, given)}}
        groups |= {"observed_data": {"y": y}}
    return groups


def _import_arviz() -> Any:
    try:
        with warnings.catch_warnings():
            # Once a day 0.23 announces 1.0; both are supported.
            warnings.simplefilter("ignore", FutureWarning)
            import arviz
    except ImportError as error:
        raise ImportError(
            "to_arviz needs ArviZ: install it with pip install 'obliquebart[arviz]'."
        ) from error
    return arviz


def _build(arviz: Any, groups: Groups, coords: dict[str, Any], dims: dict[str, list[str]]) -> Any:
    from obliquebart import __version__

    attributes = {"inference_library": "obliquebart", "inference_library_version": __version__}
    if int(arviz.__version__.partition(".")[0]) >= 1:
        return arviz.from_dict(
            groups, coords=coords, dims=dims, attrs=dict.fromkeys(groups, attributes)
        )
    return arviz.from_dict(**groups, coords=coords, dims=dims, attrs=attributes)
