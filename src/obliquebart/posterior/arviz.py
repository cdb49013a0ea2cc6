"""Export of a posterior to ArviZ: InferenceData in ArviZ 0.x, a DataTree in 1.x."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from obliquebart import _core
from obliquebart.likelihood import Given
from obliquebart.posterior.diagnostics import choose_rows, scalars
from obliquebart.sampling.memory import require_memory
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_weights

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

FloatArray = NDArray[np.float64]
Groups = dict[str, dict[str, Any]]


class Observed(NamedTuple):
    """The user's outcomes, their weights, and the generator for new outcomes."""

    y: Any
    sample_weight: Any
    random_state: Any

    def require_table(self, X: Any) -> None:
        """Raise ValueError if there are outcomes or weights but no table."""
        if X is None and (self.y is not None or self.sample_weight is not None):
            raise ValueError("y and sample_weight require X: pass the table they belong to.")

    def checked(self, check_y: Callable[[Any, int], NDArray[Any]], n_rows: int) -> Observed:
        """Return arrays and a generator; `check_y` is called with y and the number of rows."""
        weights = check_weights(self.sample_weight, n_rows)
        if weights is None:
            weights = np.ones(n_rows)
        if not weights.all():
            raise ValueError("sample_weight is 0 in some rows: drop these rows from X and y.")
        y = None if self.y is None else check_y(self.y, n_rows)
        return Observed(y, weights, check_random_state(self.random_state))


def to_arviz(
    posterior: Posterior,
    X: Any,
    observed: Observed,
    rows: int | Sequence[int],
    n_jobs: int | None,
    shift: FloatArray | None = None,
) -> Any:
    """Export a posterior; see `Posterior.to_arviz`. Outcomes are those at f plus the shift."""
    arviz = import_arviz()
    observed.require_table(X)
    shape = (posterior.n_chains, posterior.n_draws)
    groups = trace_groups(posterior)
    coords: dict[str, Any] = {}
    dims: dict[str, list[str]] = {}
    if X is not None:
        columns = posterior.encode(X)
        chosen = choose_rows(rows, columns.n_rows)
        observed = observed.checked(posterior.likelihood.check_observed, columns.n_rows)
        require_groups_memory(shape[0] * shape[1], columns.n_rows, n_arrays=3)
        given = _given(posterior, columns, n_jobs)
        if chosen.size:
            groups["posterior"]["f"] = given.f[..., chosen]
        if shift is not None:
            given = given._replace(f=given.f + shift)
        groups |= _outcome_groups(posterior, observed, given)
        coords = {"row": np.arange(columns.n_rows), "f_row": chosen}
        dims = {"f": ["f_row"], "y": ["row"], "lower": ["row"], "upper": ["row"]}
    return build(arviz, groups, coords, dims)


def trace_groups(posterior: Posterior) -> Groups:
    """Return the groups that need no table: the scales, and statistics of the sweeps."""
    stats = {f"accept_{move}" for move in _core.MOVES} | {"n_leaves", "depth"}
    return {
        "posterior": dict(scalars(posterior)),
        "sample_stats": {
            name: values
            for name, values in posterior.trace.items()
            if name in stats and not np.isnan(values).all()
        },
    }


def require_groups_memory(n_draws: int, n_rows: int, n_arrays: int) -> None:
    """Raise MemoryError if the arrays of draws by rows do not fit in memory."""
    require_memory(
        8.0 * n_arrays * n_draws * n_rows,
        f"Exporting {n_draws} draws at {n_rows} rows to ArviZ",
        "Pass fewer rows.",
    )


def _given(posterior: Posterior, columns: EncodedTable, n_jobs: int | None) -> Given:
    """Return f and the noise at all rows, of shape (n_chains, n_draws, n_rows or 1)."""
    shape = (posterior.n_chains, posterior.n_draws, -1)
    found = [given for _, given in posterior.given_blocks(columns, n_jobs)]
    f = np.concatenate([given.f for given in found], axis=1).reshape(shape)
    noise = {
        name: values.reshape(shape)
        if values.shape[1] == 1
        else np.concatenate([given.noise[name] for given in found], axis=1).reshape(shape)
        for name, values in found[0].noise.items()
    }
    return Given(f, noise)


def _outcome_groups(posterior: Posterior, observed: Observed, given: Given) -> Groups:
    """Draw a new outcome for each f, and compute the log likelihood of observed outcomes."""
    likelihood, y = posterior.likelihood, observed.y
    given = given._replace(weights=observed.sample_weight)
    groups: Groups = {
        "posterior_predictive": {"y": likelihood.simulate(given, observed.random_state)}
    }
    if y is not None:
        groups |= {"log_likelihood": {"y": likelihood.log_density(y, given)}}
        groups |= {"observed_data": likelihood.observed_groups(y)}
    return groups


def import_arviz() -> Any:
    """Import ArviZ; the error says how to install it."""
    try:
        with warnings.catch_warnings():
            # Version 0.23 announces 1.0 once a day; both are supported.
            warnings.simplefilter("ignore", FutureWarning)
            import arviz
    except ImportError as error:
        raise ImportError(
            "to_arviz needs ArviZ: install it with pip install 'obliquebart[arviz]'."
        ) from error
    return arviz


def build(arviz: Any, groups: Groups, coords: dict[str, Any], dims: dict[str, list[str]]) -> Any:
    """Return the non-empty groups in the format of the installed ArviZ."""
    from obliquebart import __version__

    groups = {name: variables for name, variables in groups.items() if variables}

    attributes = {"inference_library": "obliquebart", "inference_library_version": __version__}
    if int(arviz.__version__.partition(".")[0]) >= 1:
        return arviz.from_dict(
            groups, coords=coords, dims=dims, attrs=dict.fromkeys(groups, attributes)
        )
    return arviz.from_dict(**groups, coords=coords, dims=dims, attrs=attributes)
