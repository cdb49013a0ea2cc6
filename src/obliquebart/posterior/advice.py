"""What the diagnostics of a posterior mean, and what to do about it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from obliquebart.model.parameters import PRESETS, Schedule

if TYPE_CHECKING:
    from obliquebart.posterior.diagnostics import Quantity
    from obliquebart.posterior.posterior import Posterior

# Both limits are those of Vehtari et al. (2021), section 4.
RHAT_LIMIT = 1.01
ESS_PER_CHAIN = 100
# Shorter chains have no statistics.
SMALLEST_CHAIN = 4

Finding = Literal["short", "apart", "few", "single", "slow"]
# What is wrong in a few words, the worst first.
HEADLINES: dict[Finding, str] = {
    "short": "Too few draws to tell.",
    "apart": "Not converged yet.",
    "few": "Few independent draws.",
    "single": "One chain only.",
    "slow": "Some parameters move slowly.",
}
# theta and leaf_sd move slowly, and matter to predictions only through f.
PREDICTIONS_FINE = "what predictions are made of is fine at all rows looked at."


class Advice(NamedTuple):
    """What is wrong, as a key of `HEADLINES` and as a sentence that says what to do."""

    finding: Finding
    text: str


def advise(posterior: Posterior, quantities: Sequence[Quantity]) -> list[Advice]:
    """Return what speaks against the chains of a posterior; nothing if all is well."""
    if quantities and posterior.n_draws < SMALLEST_CHAIN:
        text = (
            f"{posterior.n_draws} draws per chain are too few to tell whether the chains have "
            "converged: raise n_draws."
        )
        return [Advice("short", text)]
    sampled = _Sampled([quantity for quantity in quantities if not quantity.fixed], posterior)
    advice = []
    if sampled.quantities and posterior.n_chains == 1:
        text = (
            "One chain cannot show that it has missed a part of the posterior: fit with "
            f"n_chains={Schedule().n_chains}."
        )
        advice.append(Advice("single", text))
    apart = [q for q in sampled.quantities if q.rhat > RHAT_LIMIT]
    if apart:
        advice.append(sampled.on_rhat(apart, posterior.settings))
    wanted = ESS_PER_CHAIN * posterior.n_chains
    few = [q for q in sampled.quantities if _size(q) < wanted]
    if few:
        # Chains that do not agree have no effective size that could be extrapolated.
        advice.append(sampled.on_ess(few, wanted, None if apart else posterior.n_draws))
    return advice


class _Sampled:
    """The quantities that are not fixed, those of predictions among them."""

    def __init__(self, quantities: list[Quantity], posterior: Posterior) -> None:
        self.quantities = quantities
        self._noise = {scalar.name for scalar in posterior.likelihood.noise}

    def on_rhat(self, apart: list[Quantity], settings: dict[str, Any]) -> Advice:
        worst = max(self._of_predictions(apart) or apart, key=lambda quantity: quantity.rhat)
        sentence = f"R-hat is {worst.rhat:.3f} for {worst.name}{_others(apart)}, above {RHAT_LIMIT}"
        if self._predictions_fine(apart):
            return Advice("slow", f"{sentence}; {PREDICTIONS_FINE}")
        sentence += ": the chains do not agree yet. Raise n_burn and n_draws, say to twice as many"
        if not settings.get("p_change") and not settings.get("p_perturb"):
            ours = PRESETS["default"]
            moves = f"p_change={ours.p_change}, p_perturb={ours.p_perturb}"
            sentence += f", or let the sampler also change rules ({moves})"
        return Advice("apart", sentence + ".")

    def on_ess(self, few: list[Quantity], wanted: int, n_draws: int | None) -> Advice:
        worst = min(self._of_predictions(few) or few, key=_size)
        tail = "tail" if worst.ess_tail < worst.ess_bulk else "bulk"
        sentence = (
            f"The {tail} ESS is {_size(worst):.0f} for {worst.name}{_others(few)}, below {wanted} "
            f"({ESS_PER_CHAIN} per chain)"
        )
        if self._predictions_fine(few):
            return Advice("slow", f"{sentence}; {PREDICTIONS_FINE}")
        sentence += ": means and intervals are uncertain."
        errors = [q.mcse_mean / q.sd for q in self.quantities if q.is_f]
        if errors:
            sentence += (
                f" The Monte Carlo error of the mean of f is up to {max(errors):.0%} of its "
                "posterior standard deviation."
            )
        if n_draws is not None:
            enough = _enough(n_draws * wanted / max(_size(worst), 1.0))
            sentence += (
                f" About n_draws={enough} would be enough: sample_more({enough - n_draws}) goes "
                "on from here."
            )
        return Advice("few", sentence)

    def _of_predictions(self, quantities: list[Quantity]) -> list[Quantity]:
        return [q for q in quantities if q.is_f or q.name in self._noise]

    def _predictions_fine(self, bad: list[Quantity]) -> bool:
        """Say whether f was looked at, and what predictions need is not among the bad."""
        return any(q.is_f for q in self.quantities) and not self._of_predictions(bad)


def _enough(needed: float) -> int:
    """Round up to two digits: the number is an estimate."""
    unit = int(10 ** max(int(math.log10(needed)) - 1, 0))
    return math.ceil(needed / unit) * unit


def _others(quantities: list[Quantity]) -> str:
    return f" and {len(quantities) - 1} more" if len(quantities) > 1 else ""


def _size(quantity: Quantity) -> float:
    return min(quantity.ess_bulk, quantity.ess_tail)
