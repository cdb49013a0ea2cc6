"""Where chains run: on the processor, or on a graphics card.

A card gives the same draws, bit for bit, so the device is part of neither a model nor a checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import joblib

from obliquebart import _core
from obliquebart.exceptions import CudaUnavailableError
from obliquebart.model.settings import has_soft_rules, n_trees_in_all
from obliquebart.model.training import TrainingProblem
from obliquebart.sampling import cuda
from obliquebart.sampling.remote import is_placed
from obliquebart.validation import check_choice

DeviceChoice = Literal["cpu", "cuda", "auto"]
DEVICES = ("cpu", "cuda", "auto")
# Smaller tables have little to gain from a card; how much depends on the cores that it replaces.
FEWEST_ROWS = 50_000
ROWS_PER_CORE = 20_000
# Likelihoods that leave the rows on the card; others write all of them in every sweep.
STAYING = frozenset({"gaussian"})
# The part of a card's memory that "auto" takes to be free.
FREE_SHARE = 0.9


class Device(NamedTuple):
    """What chains run on."""

    name: str
    """For users: "cpu", or that of the card."""
    backend: str
    """The engine's name for it."""
    is_optional: bool = False
    """Whether the processor will do, if the card does not work after all."""

    def made_ready(self, n_chains: int) -> Device:
        """Prepare this process for so many chains side by side; return what they run on."""
        if self.backend == "cpu":
            return self
        if self.backend == "cuda":
            try:
                cuda.prepare()
            except CudaUnavailableError:
                if self.is_optional:
                    return CPU
                raise
        _core.set_chains_on_card(n_chains)
        return self

    def applied_to(self, settings: _core.Settings) -> _core.Settings:
        """Return a copy of the settings for chains on this device."""
        settings = settings.copy()
        settings.backend = self.backend
        return settings


CPU = Device("cpu", "cpu")


def check_device(device: str, *, on_cluster: bool = False, is_soft: bool = False) -> None:
    """Raise an error if the choice is none, or cannot be had: before anything else takes time."""
    check_choice("device", device, DEVICES)
    if device != "cuda":
        return
    if on_cluster:
        raise ValueError(
            'device="cuda" needs the table in memory: rows of a Dask collection stay on the '
            'processors of its workers. Use device="cpu", or pass X.compute().'
        )
    if is_soft:
        raise ValueError(
            'Soft rules run on the CPU: use device="cpu", or soft=False to use the card.'
        )
    cuda.prepare()


def resolve_device(
    device: str,
    problem: TrainingProblem,
    settings: Sequence[_core.Settings],
    n_chains: int = 1,
    n_jobs: int = 1,
) -> Device:
    """Return what to run the chains of a model on, of which so many run side by side.

    `n_jobs` is how many threads they would have in all without a card. "auto" never fails:
    it is the processor where there is no card, or nothing to gain from one.
    """
    is_soft = any(map(has_soft_rules, settings))
    check_device(device, on_cluster=is_placed(problem), is_soft=is_soft)
    if device == "cuda":
        return Device(cuda.prepare().name, "cuda")
    if device == "auto" and not is_soft and _pays(problem, settings, n_jobs):
        try:
            card = cuda.find_card()
            if _bytes_on_card(problem, settings, n_chains) <= FREE_SHARE * card.bytes:
                return Device(cuda.prepare().name, "cuda", is_optional=True)
        except (CudaUnavailableError, _core.CardError):
            pass
    return CPU


def _pays(problem: TrainingProblem, settings: Sequence[_core.Settings], n_jobs: int) -> bool:
    n_cores = min(n_jobs, joblib.cpu_count())
    return (
        not is_placed(problem)
        and problem.table.n_rows >= max(FEWEST_ROWS, ROWS_PER_CORE * n_cores)
        and all(each.likelihood in STAYING for each in settings)
    )


def _bytes_on_card(
    problem: TrainingProblem, settings: Sequence[_core.Settings], n_chains: int
) -> float:
    """Return the memory that chains need: codes and bits by tree, values by row, and columns."""
    table = problem.table
    n_trees = max(n_trees_in_all(each) for each in settings)
    n_columns = len(table.x_cont) + len(table.x_cat)
    return table.n_rows * (n_chains * (1.125 * n_trees + 24.0) + 4.0 * n_columns)
