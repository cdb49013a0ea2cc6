"""Dask collections as training data: their rows stay on the workers of a cluster."""

from __future__ import annotations

from typing import Any, cast

from obliquebart.estimators.arguments import ReadData
from obliquebart.likelihood import Likelihood
from obliquebart.model.directions import grids_of
from obliquebart.model.parameters import CheckedHyperparameters
from obliquebart.model.training import TrainingProblem
from obliquebart.sampling.remote import PlacedTable
from obliquebart.table.dask import computed, is_dask
from obliquebart.table.encoded import EncodedTable
from obliquebart.table.encoding import CategoricalFeatures
from obliquebart.table.remote import encode_remotely, with_known_rows
from obliquebart.table.selection import Dates

# Chains of these have no values per row but what the workers can find alone.
ON_WORKERS = ("gaussian",)


def require_in_memory(X: Any, owner: str, likelihood: Likelihood) -> None:
    """Raise TypeError if X is a Dask collection and this model needs all rows in one place."""
    if is_dask(X) and likelihood.name not in ON_WORKERS:
        raise TypeError(
            f"{owner} with this outcome needs the whole table in memory: pass X.compute(). Only "
            "ObliqueBARTRegressor with noise='constant' takes Dask collections in fit."
        )


def read_collection(
    X: Any,
    y: Any,
    sample_weight: Any,
    likelihood: Likelihood,
    parameters: CheckedHyperparameters,
    *,
    categorical_features: CategoricalFeatures,
    dates: Dates,
    owner: str,
) -> ReadData:
    """Check and encode the arguments of `fit`, and leave the rows on the workers."""
    if grids_of(parameters.directions):
        raise TypeError("directions=Patch(...) needs the whole table in memory: pass X.compute().")
    if parameters.soft is True:
        raise TypeError(
            "soft=True needs the whole table in memory: pass X.compute(), or use soft=False."
        )
    X, n_rows = with_known_rows(X)
    rows, values, weights, _ = likelihood.read(computed(y), computed(sample_weight), n_rows)
    encoding, table = encode_remotely(
        X,
        n_rows=n_rows,
        categorical_features=categorical_features,
        dates=dates,
        feature_scaling=parameters.feature_scaling,
        rows=rows,
        owner=owner,
    )
    outcome = likelihood.encode(values, weights)
    placed = PlacedTable(table, outcome)
    # It has what chains, checkpoints and diagnostics need of a table.
    problem = TrainingProblem(cast(EncodedTable, placed), outcome)
    return ReadData(encoding, problem, placed.placement.row_keys(values))
