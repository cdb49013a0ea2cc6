"""The design of a causal model in a file: treatments, and fits of the propensities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from obliquebart.causal.design import CausalDesign
from obliquebart.causal.propensity import N_FOLDS, Propensity
from obliquebart.causal.treatment import Treatment
from obliquebart.exceptions import ModelFileError
from obliquebart.files.arrays import field
from obliquebart.likelihood import LIKELIHOODS, Likelihood
from obliquebart.likelihood.softmax import Softmax
from obliquebart.posterior.posterior import Posterior
from obliquebart.table import Encoding

# Writes a posterior with a prefix of its arrays; reads one, given what the fit is of.
WritePosterior = Callable[[Posterior, str], dict[str, Any]]
ReadPosterior = Callable[[Any, str, Encoding, Likelihood, NDArray[Any] | None], Posterior]
WriteLabels = Callable[[NDArray[Any] | None], dict[str, Any] | None]
ReadLabels = Callable[[dict[str, Any]], NDArray[Any]]


def design_header(
    design: CausalDesign, write_posterior: WritePosterior, write_labels: WriteLabels
) -> dict[str, Any]:
    """Return the header of a design, after adding its arrays to those of the file."""
    treatment, propensity = design.treatment, design.propensity
    fits = None
    if propensity is not None:
        fits = {
            "shares": propensity.shares.tolist(),
            "posteriors": [
                None if posterior is None else write_posterior(posterior, f"propensity.{fold}.")
                for fold, posterior in enumerate(propensity.posteriors)
            ],
        }
    return {
        "arms": write_labels(treatment.arms),
        "location": treatment.location,
        "scale": treatment.scale,
        "n_propensities": design.n_propensities,
        "propensity": fits,
    }


def read_design(
    header: dict[str, Any],
    wide: Encoding,
    read_posterior: ReadPosterior,
    read_labels: ReadLabels,
) -> CausalDesign:
    """Return the design of a file, or raise ModelFileError."""
    treatment = _read_treatment(header, read_labels)
    n_propensities = field(header, "n_propensities", int)
    if n_propensities not in (0, treatment.n_treatments):
        raise ModelFileError(f"it has {n_propensities} propensities")
    n_plain = len(wide.columns) - n_propensities
    if n_plain < 1 or "categorical" in wide.kinds[n_plain:]:
        raise ModelFileError("its propensities are not the last of its columns")
    design = CausalDesign(treatment, wide, n_propensities, None)
    if header.get("propensity") is None:
        return design
    if n_propensities == 0:
        raise ModelFileError("it has fits of propensities that it does not use")
    fits = field(header, "propensity", dict)
    return design._replace(propensity=_read_fits(fits, design, read_posterior))


def _read_treatment(header: dict[str, Any], read_labels: ReadLabels) -> Treatment:
    location, scale = field(header, "location", float), field(header, "scale", float)
    if header.get("arms") is None:
        if not scale > 0:
            raise ModelFileError("the scale of its dose is not positive")
        return Treatment("dose", None, location, scale)
    arms = read_labels(field(header, "arms", dict))
    if len(arms) < 2 or (location, scale) != (0.0, 1.0):
        raise ModelFileError("its arms cannot be read")
    return Treatment("arms", arms)


def _read_fits(
    fits: dict[str, Any], design: CausalDesign, read_posterior: ReadPosterior
) -> Propensity:
    shares, entries = field(fits, "shares", list), field(fits, "posteriors", list)
    is_number = all(type(share) is float and np.isfinite(share) for share in shares)
    if len(entries) not in (1, N_FOLDS) or len(shares) != design.n_propensities or not is_number:
        raise ModelFileError("the fits of its propensities cannot be read")
    likelihood, classes = _fitted_as(design.treatment)
    return Propensity(
        tuple(
            None
            if entry is None
            else read_posterior(entry, f"propensity.{fold}.", design.narrow, likelihood, classes)
            for fold, entry in enumerate(entries)
        ),
        np.array(shares, np.float64),
    )


def _fitted_as(treatment: Treatment) -> tuple[Likelihood, NDArray[Any] | None]:
    """Return what the fits of propensities are of."""
    if treatment.arms is None:
        return LIKELIHOODS["gaussian"], None
    n_arms = len(treatment.arms)
    return (LIKELIHOODS["probit"] if n_arms == 2 else Softmax(n_arms)), np.arange(n_arms)
