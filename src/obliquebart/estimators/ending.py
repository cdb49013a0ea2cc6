"""How a fit ended, and what users are told if that was early."""

from __future__ import annotations

from typing import NamedTuple

from obliquebart.exceptions import TimeLimitWarning, warn_caller
from obliquebart.model.parameters import Schedule
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.rounds import has_enough_draws
from obliquebart.sampling.device import CPU
from obliquebart.sampling.run import Run

CHECK_INTERRUPTED = (
    "The check of the chains was interrupted. The model keeps all its draws; look at its summary "
    "before using it."
)


class Sampled(NamedTuple):
    """The posteriors of a model, the message if the user interrupted the chains, and the device."""

    posteriors: list[Posterior]
    interrupted: str | None = None
    device: str = CPU.name

    def raise_if_interrupted(self) -> None:
        """Raise KeyboardInterrupt; call this after the model has stored its posteriors."""
        if self.interrupted is not None:
            raise KeyboardInterrupt(self.interrupted)


def interrupted_words(kept: Posterior, first: Schedule, is_auto: bool) -> str:
    """Describe what a fit keeps that the user stopped."""
    # An automatic fit has no number of draws to reach: its chains stop when they agree.
    when = " before the chains had converged" if is_auto else ""
    return (
        f"The fit was interrupted{when}. The model keeps {_what_is_kept(kept, first, is_auto)}, "
        f"after {kept.schedule.n_burn} sweeps of burn-in. Check its summary before using it."
    )


def warn_if_out_of_time(runs: list[Run], kept: Posterior, first: Schedule) -> bool:
    """Warn if time ran out in the first round, or before a later one had enough draws.

    A fit that goes on from a checkpoint in a later round has no earlier draws to keep. Returns
    whether it has warned.
    """
    is_short = (kept.n_chains, kept.n_draws) != (first.n_chains, first.n_draws)
    is_early = any(run.schedule.n_burn == first.n_burn or not has_enough_draws(run) for run in runs)
    if not (is_early and is_short and any(run.ending == "out of time" for run in runs)):
        return False
    warn_caller(
        f"The fit reached max_seconds. The model keeps {_what_is_kept(kept, first)}. Check its "
        "summary before using it.",
        TimeLimitWarning,
    )
    return True


def _what_is_kept(kept: Posterior, first: Schedule, is_auto: bool = False) -> str:
    wanted = "" if is_auto else f" of {first.n_draws}"
    draws = f"{kept.n_draws}{wanted} draws per chain"
    return f"{draws}, from {kept.n_chains} of {first.n_chains} chains"
