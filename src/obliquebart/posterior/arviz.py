"""The posterior as ArviZ keeps it: InferenceData in ArviZ 0.x, a DataTree in 1.x."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from obliquebart import _core
from obliquebart.posterior.diagnostics import choose_rows, scalar_names
from obliquebart.sampling.memory import require_memory
from obliquebart.validation import check_weights

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

__all__ = ["to_arviz"]

FloatArray = NDArray[np.float64]
Groups = dict[str, dict[str, Any]]


def to_arviz(
    posterior: Posterior,
    X: Any = None,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    rows: int | Sequence[int] = 10,
    random_state: int | np.random.RandomState | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Export a posterior; see `Posterior.to_arviz`."""
    arviz = _import_arviz()
    if X is None and (y is not None or sample_weight is not None):
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
        outcome = _Outcome(posterior, y, sample_weight, columns.n_rows, random_state)
        require_memory(
            24.0 * shape[0] * shape[1] * columns.n_rows,
            f"ArviZ's groups of {shape[0] * shape[1]} draws at {columns.n_rows} rows",
            "Pass fewer rows.",
        )
        f = posterior.predict(X, n_jobs=n_jobs).reshape(*shape, columns.n_rows)
        if chosen.size:
            groups["posterior"]["f"] = f[..., chosen]
        groups |= outcome.groups(f)
        coords = {"row": np.arange(columns.n_rows), "f_row": chosen}
        dims = {"f": ["f_row"], "y": ["row"]}
    groups = {name: variables for name, variables in groups.items() if variables}
    return _build(arviz, groups, coords, dims)


class _Outcome:
    """The outcome given f: draws of a new one, and the likelihood of the one observed."""

    def __init__(
        self,
        posterior: Posterior,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        n_rows: int,
        random_state: int | np.random.RandomState | None,
    ) -> None:
        self.likelihood = posterior.likelihood
        noise = self.likelihood.noise_of(posterior.trace)
        self.noise = {name: values[..., None] for name, values in noise.items()}
        self.rng = check_random_state(random_state)
        weights = check_weights(sample_weight, n_rows)
        self.weights = np.ones(n_rows) if weights is None else weights
        if not self.weights.all():
            raise ValueError("sample_weight is 0 in some rows: leave these rows out of X and y.")
        self.y = None if y is None else self.likelihood.check_observed(y, n_rows)

    def groups(self, f: FloatArray) -> Groups:
        new = self.likelihood.simulate(f, self.noise, self.weights, self.rng)
        groups: Groups = {"posterior_predictive": {"y": new}}
        if self.y is not None:
            density = self.likelihood.log_density(self.y, f, self.noise, self.weights)
            groups["log_likelihood"] = {"y": density}
            groups["observed_data"] = {"y": self.y}
        return groups


def _import_arviz() -> Any:
    try:
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
