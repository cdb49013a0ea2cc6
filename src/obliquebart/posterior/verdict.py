"""The verdict on the predictions of a fit: three tiers, with the same wording everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from obliquebart.display.numbers import about, duration
from obliquebart.display.tables import notebook_html
from obliquebart.likelihood import Given
from obliquebart.likelihood.base import AGAINST_THE_REST
from obliquebart.model.parameters import PRESETS, Schedule
from obliquebart.model.settings import ensemble_prefix
from obliquebart.posterior.convergence import (
    FINE_RHAT,
    FINE_SCALE_RHAT,
    FINE_SHARE,
    SMALLEST_CHAIN,
    Convergence,
    FloatArray,
    Tier,
    measure_convergence,
    relative_to_mean,
    standard_error,
)
from obliquebart.posterior.probes import rows_between
from obliquebart.table.encoded import EncodedTable

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

HEADLINES: dict[Tier, str] = {
    "fine": "Fine for predictions.",
    "more": "More draws would help.",
    "apart": "The chains disagree.",
}
# Where a verdict is read, which decides what it can advise. The reader of a page may use either of
# the others.
Place = Literal["Python", "command line", "page"]
# Where nothing can be said about predictions.
NO_ROWS = "No verdict without rows: pass a table, such as the training table."
# Parameters with an option of their own on the command line; others are for `--set`.
OPTIONS = ("n_burn", "n_draws", "n_chains")
# How many standard errors "within about" is: 19 rows of 20.
WITHIN = 2.0
# Errors shrink more slowly than in theory, and are themselves estimates. On the tables of
# benchmarks/verdict.py, this factor raises the share of fits with enough draws from about one half
# to three quarters.
SLACK = 3.0
# If chains disagree, only much longer runs are worth trying.
LONGER = 4
# Chains with fewer sweeps of burn-in, or after it, were a trial: even four times as many are few.
TRIAL = 100
# Of leaves in a fit whose chains disagree: fewer explanations of single rows.
SAFE_LEAF = 5


class Evidence(NamedTuple):
    """The evidence about the chains of one posterior."""

    convergence: Convergence
    error: float
    """Monte Carlo standard error of predictions (for classes, of probabilities)."""
    n_chains: int
    n_burn: int
    n_draws: int
    """Kept draws per chain."""
    n_thin: int
    settings: dict[str, Any]
    predicted: str
    """What predictions are called, at the beginning of a sentence."""
    label: str
    """Name of the posterior; empty if the model has only one."""

    @property
    def badness(self) -> tuple[int, float]:
        """Sort key; the worst comes last."""
        return list(HEADLINES).index(self.convergence.tier), self.convergence.mc_share


class Verdict(NamedTuple):
    """Whether predictions are affected by Monte Carlo error; prints as a headline and sentences."""

    tier: Tier
    """"fine" (for predictions), "more" (draws would help) or "apart" (the chains disagree)."""
    headline: str
    """The tier as a sentence."""
    sentences: tuple[str, ...]
    """How large the Monte Carlo error is, and what to do about it."""
    error: float
    """Monte Carlo standard error of predictions, in the units of y or as a probability."""
    more_draws: int | None
    """In the tier "more", the number of draws per chain to add with `sample_more`."""
    seconds: float | None
    """The approximate duration of these draws, if known."""

    def __str__(self) -> str:
        return " ".join([self.headline, *self.sentences])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return notebook_html([str(self)])

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-serializable values.

        Returns
        -------
        dict
            The fields by name; NaN becomes None.
        """
        error = self.error if math.isfinite(self.error) else None
        return {**self._asdict(), "sentences": list(self.sentences), "error": error}


def examine(
    posterior: Posterior, table: EncodedTable, label: str = "", n_jobs: int | None = None
) -> Evidence:
    """Check the chains of a posterior at new rows, halfway between rows of a table."""
    found = [given for _, given in posterior.given_blocks(rows_between(table), n_jobs)]
    f = np.concatenate([given.f for given in found], axis=1)
    noise = {
        name: values
        if values.shape[1] == 1
        else np.concatenate([given.noise[name] for given in found], axis=1)
        for name, values in found[0].noise.items()
    }
    given = Given(f + posterior.usual_shift, noise)
    return _evidence(posterior, given, posterior.likelihood.predictions(given), label)


def examine_parts(
    posterior: Posterior, table: EncodedTable, labels: Sequence[str], n_jobs: int | None = None
) -> list[Evidence]:
    """Do the same for each class of a posterior of several classes."""
    parts = posterior.parts()
    probes = rows_between(table)
    each = [np.concatenate([f for _, f in p.blocks(probes, n_jobs)], axis=1) for p in parts]
    each = relative_to_mean(each)
    weights = [np.exp(f - np.max(each, axis=0)) for f in each]
    total = np.sum(weights, axis=0)
    noise = posterior.likelihood.noise_of(posterior.trace)
    return [
        _evidence(part, Given(f, noise), weight / total, label)
        for part, f, weight, label in zip(parts, each, weights, labels, strict=True)
    ]


def examine_all(
    posteriors: Sequence[Posterior],
    table: EncodedTable,
    labels: Sequence[str],
    n_jobs: int | None = None,
) -> list[Evidence]:
    """Check all posteriors of a model, or all classes of one."""
    if posteriors and posteriors[0].likelihood.is_joint:
        return examine_parts(posteriors[0], table, labels, n_jobs)
    pairs = zip(posteriors, labels, strict=True)
    return [examine(posterior, table, label, n_jobs) for posterior, label in pairs]


def _evidence(posterior: Posterior, given: Given, predictions: FloatArray, label: str) -> Evidence:
    shape = (posterior.n_chains, posterior.n_draws)
    likelihood = posterior.likelihood
    # In standard deviations of y, because squares of the user's numbers may overflow.
    unit = posterior.scale.scale or 1.0
    in_units = likelihood.trace_units(posterior.scale)
    noise = {
        name: values / unit if name in in_units else values for name, values in given.noise.items()
    }
    f = given.f / unit
    variance = likelihood.noise_on_f(Given(f, noise)).mean(axis=0)
    found = measure_convergence(f.reshape(*shape, -1), variance, sampled_scales(posterior))
    return Evidence(
        convergence=found._replace(mcse=found.mcse * unit),
        error=standard_error((predictions / unit).reshape(*shape, -1)) * unit,
        n_chains=shape[0],
        n_burn=posterior.schedule.n_burn,
        n_draws=shape[1],
        n_thin=posterior.schedule.n_thin,
        settings=posterior.settings,
        predicted=likelihood.predicted,
        label=label,
    )


def sampled_scales(posterior: Posterior) -> dict[str, FloatArray]:
    """Return the draws of the noise and leaf scales, if they are not fixed."""
    names = [scalar.name for scalar in posterior.likelihood.noise if scalar.is_scale]
    names += [f"{ensemble_prefix(e)}leaf_sd" for e in range(len(posterior.ensembles))]
    draws = {name: posterior.trace[name] for name in names}
    return {name: values for name, values in draws.items() if values.min() < values.max()}


def reach_verdict(
    evidence: Sequence[Evidence], took: float | None = None, place: Place = "Python"
) -> Verdict:
    """Return the verdict on a model: that on its worst posterior."""
    worst = max(evidence, key=lambda each: each.badness)
    tier = worst.convergence.tier
    more = None
    if worst.n_draws < SMALLEST_CHAIN:
        name = "--n-draws" if place == "command line" else "n_draws"
        draws = "One draw per chain is" if worst.n_draws == 1 else f"{worst.n_draws} draws are"
        sentences = [f"{draws} too few to judge the predictions: increase {name}."]
    else:
        sentences = [_about_error(worst)]
        if tier == "more":
            more = _missing_draws(worst)
            sentences.append(_about_more(worst, more, took, place))
        elif tier == "apart":
            sentences.append(_about_remedies(worst, took, place))
    if worst.n_chains == 1:
        chains = _written(place, n_chains=Schedule().n_chains)
        sentences.append(f"A single chain cannot reveal what it missed: fit with {chains}.")
    seconds = None if more is None or took is None else _seconds(worst, more, took)
    return Verdict(tier, HEADLINES[tier], tuple(sentences), worst.error, more, seconds)


def _about_error(worst: Evidence) -> str:
    what = worst.predicted
    error = f"within about ±{about(WITHIN * worst.error)} of what an infinitely long run would give"
    label = worst.label.removesuffix(AGAINST_THE_REST).rstrip()
    where = f", least certain for class {label}" if label else ""
    if worst.convergence.tier != "apart":
        return f"{what} are {error}{where}."
    return (
        f"They have found different explanations of the data. {what}, averaged over "
        f"all chains, are {error}{where}. Intervals of f may be too narrow."
    )


def _about_more(worst: Evidence, more: int, took: float | None, place: Place) -> str:
    """Say how to get more draws: only in Python can chains go on, elsewhere they begin again."""
    seconds = None if took is None else _seconds(worst, more, took)
    if place == "Python":
        sentence = f"sample_more({more}) should be enough"
    else:
        thinned = {} if worst.n_thin == 1 else {"n_thin": worst.n_thin}
        longer = _written(place, n_burn=worst.n_burn, n_draws=worst.n_draws + more, **thinned)
        sentence = f"Fitting again with {longer} should be enough"
        seconds = None if took is None or seconds is None else took + seconds
    if seconds is not None:
        sentence += f"; it takes about {duration(seconds)}"
    return sentence + "."


def _written(place: Place, **parameters: float) -> str:
    """Return parameters as a user writes them."""
    if place != "command line":
        return ", ".join(f"{name}={value}" for name, value in parameters.items())
    return " ".join(
        f"--{name.replace('_', '-')} {value}" if name in OPTIONS else f"--set {name}={value}"
        for name, value in parameters.items()
    )


def _about_remedies(worst: Evidence, took: float | None, place: Place) -> str:
    settings = worst.settings
    remedies = [f"a longer run ({_longer(worst, took, place)})"]
    if not settings.get("p_change") and not settings.get("p_perturb"):
        ours = PRESETS["default"]
        moves = _written(place, p_change=ours.p_change, p_perturb=ours.p_perturb)
        remedies.append(f"more moves ({moves})")
    if settings.get("soft"):
        hard = "--no-soft" if place == "command line" else "soft=False"
        remedies.append(f"hard rules ({hard})")
    if settings.get("tree_df"):
        alike = "--set tree_df=None" if place == "command line" else "tree_df=None"
        remedies.append(f"trees of one scale ({alike})")
    if settings.get("min_samples_leaf", 0) < SAFE_LEAF:
        remedies.append(f"larger leaves ({_written(place, min_samples_leaf=SAFE_LEAF)})")
    if not settings.get("sigma_fixed", True):
        quantile = PRESETS["paper"].sigma_quantile
        remedies.append(f"a prior with more noise ({_written(place, sigma_quantile=quantile)})")
    if worst.n_chains > 1:
        remedies.append(f"more chains ({_written(place, n_chains=2 * worst.n_chains)})")
    *others, last = remedies
    return f"Try {', '.join(others)} or {last}." if others else f"Try {last}."


def _longer(worst: Evidence, took: float | None, place: Place) -> str:
    if min(worst.n_burn, worst.n_draws * worst.n_thin) < TRIAL:
        auto = "--n-draws auto" if place == "command line" else 'n_draws="auto"'
        return f"{auto} and the default n_burn"
    n_burn, n_thin = LONGER * worst.n_burn, LONGER * worst.n_thin
    wait = f", about {duration(LONGER * took)}" if took is not None else ""
    return _written(place, n_burn=n_burn, n_draws=worst.n_draws, n_thin=n_thin) + wait


def _missing_draws(worst: Evidence) -> int:
    """Return how many draws each chain lacks; squared errors shrink with the length."""
    found = worst.convergence
    factor = max(
        found.mc_share / FINE_SHARE,
        _excess(found.rhat_f) / _excess(FINE_RHAT),
        _excess(found.worst_scale_rhat) / _excess(FINE_SCALE_RHAT),
    )
    return _round_up((SLACK * factor - 1.0) * worst.n_draws)


def _excess(rhat: float) -> float:
    """Return the variance between halves of chains divided by that within them."""
    return max(rhat**2 - 1.0, 0.0)


def _seconds(worst: Evidence, more: int, took: float) -> float:
    n_sweeps = worst.n_burn + worst.n_draws * worst.n_thin
    return took * more * worst.n_thin / n_sweeps


def _round_up(needed: float) -> int:
    """Round up to one digit: the number is an estimate."""
    unit = int(10 ** int(math.log10(max(needed, 1.0))))
    return math.ceil(needed / unit) * unit
