"""Checkpoints: the chains of a long fit, saved while they run, so that it can continue later.

A checkpoint is a container (`container.py`) with the identity of the fit, the seeds, for every
posterior the schedule of its current round, and for every chain its draws, trace and state so far.
It belongs to one call of `fit`: the same data, settings, run length, seed and version. Any other
call raises an error, so the draws are always those of a fit that was never interrupted. What short
fits said about the noise is part of the identity, and they are not repeated: with a time limit they
might say something else.
"""

from __future__ import annotations

import errno
import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import obliquebart
from obliquebart.exceptions import CheckpointWarning, ModelFileError, warn_caller
from obliquebart.files.arrays import ArrayReader, Arrays, field
from obliquebart.files.chains import ChainReader, add_draws, add_state
from obliquebart.files.container import Contents, new_header, pack, read_file, unpack, write_file
from obliquebart.likelihood import LIKELIHOODS
from obliquebart.model import directions
from obliquebart.model.outcome import NoiseEstimate
from obliquebart.model.parameters import (
    BEFORE,
    MAX_SWEEPS,
    WORTHWHILE_SHARE,
    RunLength,
    Schedule,
)
from obliquebart.model.settings import settings_from_dict
from obliquebart.model.training import ARGUMENTS, TrainingProblem, differences
from obliquebart.sampling.chain import Chain, ChainProgress
from obliquebart.validation import check_count

FORMAT = "obliquebart checkpoint"
SCHEMA = 4
# A chain is saved after so many seconds, unless the user gave a number of sweeps.
DEFAULT_SECONDS = 60.0
# How often a chain looks at the clock, roughly.
LOOK_SECONDS = 0.25


class Identity(NamedTuple):
    """What distinguishes one call of `fit` from another, except for the seed."""

    estimator: str
    parameters: dict[str, Any]
    """Those of the estimator that its draws depend on, as the user gave them; plain values."""
    n_parts: int
    """Classes that share the kept draws of a fit, or 1."""
    problem: TrainingProblem
    priors: list[dict[str, Any]]
    """The calibrated settings of each posterior."""
    length: RunLength
    estimates: list[NoiseEstimate | None]
    """Of the noise, if the fit made some; None where there was too little time or data."""

    @property
    def first_round(self) -> Schedule:
        """Return the schedule with which every posterior begins."""
        return self.length.first_round(self.n_parts)

    def read_round(self, entry: Any) -> Schedule | None:
        """Return the schedule with these values if chains may get to it, given time."""
        first = self.first_round
        if entry == vars(first):
            return first
        if not (
            isinstance(entry, dict)
            and entry.keys() == vars(first).keys()
            and all(type(value) is int for value in entry.values())
        ):
            return None
        found = Schedule(**entry)
        if not first.n_sweeps <= found.n_burn < found.n_sweeps <= MAX_SWEEPS:
            return None
        # What each round adds is a multiple of the number of draws; the last may be cut short.
        n_thin = math.ceil(found.n_burn / first.n_draws)
        is_later = (
            self.length.n_draws == "auto"
            and found == replace(first, n_burn=found.n_burn, n_thin=found.n_thin)
            and (found.n_burn - first.n_sweeps) % first.n_draws == 0
            and WORTHWHILE_SHARE * n_thin <= found.n_thin <= n_thin
        )
        return found if is_later else None

    def to_header(self) -> dict[str, Any]:
        """Return plain values for the header of the file."""
        return {
            "version": obliquebart.__version__,
            "estimator": self.estimator,
            "parameters": self.parameters,
            **self.problem.fingerprint(),
            **vars(self.length),
            "estimates": [one and _estimate_header(one) for one in self.estimates],
            "priors": self.priors,
        }


def read_estimates(path: str | os.PathLike[str]) -> list[NoiseEstimate | None] | None:
    """Return the estimates of the noise in a checkpoint; None if there is no file.

    A missing folder is an error here, before short fits take their time.
    """
    if not os.path.exists(path):
        if not os.fspath(path) or not os.path.isdir(os.path.dirname(os.path.realpath(path))):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
        return None
    try:
        header = unpack(read_file(path), FORMAT, (SCHEMA,)).header
        entries = field(field(header, "identity", dict), "estimates", list)
        return [None if entry is None else _read_estimate(entry) for entry in entries]
    except ModelFileError as error:
        raise _cannot_continue(path, error) from error


class Checkpoint:
    """The file of one fit, and the chains that are saved in it.

    The file is read if it exists, and otherwise written at once, so that a missing folder is an
    error before the first sweep. A chain is saved after every `every` sweeps; None means about once
    a minute. `seeds` are used for sampling, one for each posterior; if the user gave none
    (`any_seed`), they come from the file.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: int | None,
        identity: Identity,
        seeds: list[int],
        *,
        any_seed: bool,
    ) -> None:
        self.seeds = seeds
        self._path = path
        self._every = None if every is None else check_count("checkpoint_every", every, 1)
        self._identity = identity.to_header()
        self._schedules = [identity.first_round] * len(seeds)
        self._lock = threading.Lock()
        self._error: OSError | None = None
        self._is_dirty = False
        self._chains: list[list[Chain | None]] = [[None] * identity.length.n_chains for _ in seeds]
        if os.path.exists(path):
            try:
                self._read(identity, any_seed)
            except ModelFileError as error:
                raise _cannot_continue(path, error) from error
        else:
            write_file(path, self._pack())

    def task(self, i: int) -> TaskRecorder:
        """Return the recorder of the chains of posterior i."""
        return TaskRecorder(self, i)

    # ---- what the recorders use ------------------------------------------------------------------

    @property
    def every(self) -> int | None:
        """Sweeps after which a chain is saved; None means by the clock."""
        return self._every

    def schedule(self, task: int) -> Schedule:
        """Return the current round of a posterior."""
        return self._schedules[task]

    def starts(self, task: int) -> list[ChainProgress | None]:
        """Return the saved chains of a posterior."""
        return [
            None if chain is None else ChainProgress(chain, int((chain.state or {})["n_sweeps"]))
            for chain in self._chains[task]
        ]

    def put(self, task: int, number: int, chain: Chain, *, write: bool) -> None:
        """Save a chain, in memory only or also in the file."""
        with self._lock:
            self._chains[task][number] = chain
            self._is_dirty = True
            if write:
                self._write()

    def begin_round(self, task: int, schedule: Schedule, starts: Sequence[Chain]) -> None:
        """Save the chains of a posterior as the starts of its next round."""
        with self._lock:
            self._schedules[task] = schedule
            self._chains[task] = list(starts)
            self._write()

    def flush(self) -> None:
        """Write the chains that are saved in memory only."""
        with self._lock:
            if self._is_dirty:
                self._write()

    def report(self) -> None:
        """Warn if the file could not be written."""
        error, self._error = self._error, None
        if error is not None:
            warn_caller(
                f"The checkpoint {os.fspath(self._path)!r} could not be written ({error}). The fit "
                "continues and tries again later; the previous checkpoint is still there.",
                CheckpointWarning,
            )

    # ---- the file --------------------------------------------------------------------------------

    def _write(self) -> None:
        try:
            write_file(self._path, self._pack())
            self._is_dirty = False
        except OSError as error:
            self._error = error

    def _pack(self) -> bytes:
        arrays: Arrays = {}
        header = {
            **new_header(FORMAT, SCHEMA),
            "identity": self._identity,
            "seeds": self.seeds,
            "rounds": [vars(schedule) for schedule in self._schedules],
            "chains": [
                [_add_chain(arrays, _prefix(i, c), chain) for c, chain in enumerate(chains)]
                for i, chains in enumerate(self._chains)
            ],
        }
        return pack(Contents(header, arrays))

    def _read(self, identity: Identity, any_seed: bool) -> None:
        header, arrays = unpack(read_file(self._path), FORMAT, (SCHEMA,))
        _check_identity(field(header, "identity", dict), self._identity)
        seeds = field(header, "seeds", list)
        if not any_seed and seeds != self.seeds:
            raise ModelFileError("it was made with a different random_state")
        if len(seeds) != len(self.seeds) or not all(
            type(seed) is int and 0 <= seed < 2**64 for seed in seeds
        ):
            raise ModelFileError("its seeds are not 64-bit numbers, one for each posterior")
        entries = field(header, "chains", list)
        shape = [len(task) if isinstance(task, list) else -1 for task in entries]
        if shape != [len(task) for task in self._chains]:
            raise ModelFileError("it has a different number of chains")
        self._schedules = _read_rounds(field(header, "rounds", list), identity)
        reader = ArrayReader(arrays)
        table = identity.problem.table
        for i, prior in enumerate(identity.priors):
            chains = ChainReader(reader, settings_from_dict(prior), table)
            # All chains of a later round have its burn-in behind them.
            is_later = self._schedules[i] != identity.first_round
            for c, numbers in enumerate(entries[i]):
                if numbers is None and is_later:
                    raise ModelFileError(f"{_prefix(i, c)}state is missing")
                if numbers is not None:
                    self._chains[i][c] = _read_chain(
                        chains, _prefix(i, c), numbers, self._schedules[i], table.n_rows, is_later
                    )
        reader.finish()
        self.seeds = seeds


class TaskRecorder:
    """Records the chains of one posterior; see `chain.Recorder`."""

    def __init__(self, checkpoint: Checkpoint, task: int) -> None:
        self._checkpoint = checkpoint
        self._task = task
        self.schedule = checkpoint.schedule(task)
        self.starts = checkpoint.starts(task)
        n_chains = len(self.starts)
        now = time.monotonic()
        self._stage = [1] * n_chains
        self._began = [now] * n_chains
        self._written = [now] * n_chains

    def stage(self, chain: int) -> int:
        """Return the number of sweeps until the next visit."""
        self._began[chain] = time.monotonic()
        return self._checkpoint.every or self._stage[chain]

    def visit(self, chain: int, so_far: Callable[[], Chain]) -> None:
        """Write the chain to the file if it is time to."""
        now = time.monotonic()
        if now - self._began[chain] < LOOK_SECONDS:
            self._stage[chain] *= 2
        if self._checkpoint.every or now - self._written[chain] >= DEFAULT_SECONDS:
            self._checkpoint.put(self._task, chain, so_far(), write=True)
            self._written[chain] = time.monotonic()

    def begin_round(self, schedule: Schedule, starts: Sequence[Chain]) -> None:
        """Save the chains as the starts of a longer schedule."""
        self._checkpoint.begin_round(self._task, schedule, starts)

    def keep(self, chain: int, result: Chain, *, finished: bool) -> None:
        """Save a chain that has ended; if the user stopped it, `flush` writes it."""
        self._checkpoint.put(self._task, chain, result, write=finished)

    def report(self) -> None:
        """Warn if the file could not be written."""
        self._checkpoint.report()

    def flush(self) -> None:
        """Write the chains that are saved in memory only."""
        self._checkpoint.flush()


def _cannot_continue(path: str | os.PathLike[str], error: ModelFileError) -> ModelFileError:
    return ModelFileError(
        f"Cannot continue from the checkpoint {os.fspath(path)!r}: {error}. "
        "To start again, delete the file or name another."
    )


def _estimate_header(estimate: NoiseEstimate) -> dict[str, Any]:
    """Return plain values; JSON has no infinity."""
    df = None if math.isinf(estimate.df) else estimate.df
    return {**estimate._asdict(), "df": df}


def _read_estimate(entry: Any) -> NoiseEstimate:
    if not isinstance(entry, dict) or entry.keys() != set(NoiseEstimate._fields):
        raise ModelFileError("it has an estimate of the noise with other fields")
    found = NoiseEstimate(**{**entry, "df": math.inf if entry["df"] is None else entry["df"]})
    if not (
        all(type(number) is float and number > 0.0 for number in (found.sigma, found.df))
        and str(found.likelihood) in LIKELIHOODS
        and isinstance(found.is_soft, bool)
    ):
        raise ModelFileError("it has an estimate of the noise that cannot be one")
    return found


def _prefix(task: int, chain: int) -> str:
    return f"task.{task}.chain.{chain}."


def _add_chain(arrays: Arrays, prefix: str, chain: Chain | None) -> dict[str, Any] | None:
    if chain is None or chain.state is None:
        return None
    ensembles = [draws.to_arrays() for draws in chain.ensembles]
    add_draws(arrays, prefix, ensembles, chain.trace)
    return add_state(arrays, prefix + "state.", chain.state)


def _read_rounds(entries: list[Any], identity: Identity) -> list[Schedule]:
    found = [schedule for entry in entries if (schedule := identity.read_round(entry))]
    if not len(found) == len(entries) == len(identity.priors):
        raise ModelFileError("its rounds are not those of this fit")
    return found


def _read_chain(
    chains: ChainReader,
    prefix: str,
    numbers: Any,
    schedule: Schedule,
    n_rows: int,
    is_later: bool,
) -> Chain:
    ensembles = chains.ensembles(prefix)
    state = chains.state(prefix + "state.", numbers, ensembles, has_target=True)
    n_done, n_kept = state["n_sweeps"], ensembles[0].n_draws
    if (
        n_done > schedule.n_sweeps
        or (is_later and n_done < schedule.n_burn)
        or schedule.n_kept(n_done) != n_kept
        or len(state["residual"]) != n_rows
        or any(draws.n_draws != n_kept for draws in ensembles)
    ):
        raise ModelFileError(f"{prefix}state does not belong to this fit")
    trace = chains.trace(prefix + "trace.", (n_kept,), (n_done - n_kept,), "")
    return Chain(ensembles, trace, state)


def _check_identity(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise ModelFileError, which names what is different, if two calls of `fit` differ."""
    if old.get("version") != new["version"]:
        raise ModelFileError(
            f"it was made by obliquebart {old.get('version')!s:.80}, whose draws may differ from "
            f"those of this version, {new['version']}"
        )
    if old.get("estimator") != new["estimator"]:
        raise ModelFileError(f"it is of an {old.get('estimator')!s:.80}, not {new['estimator']}")
    _check_parameters(field(old, "parameters", dict), new["parameters"])
    arguments = differences(*({name: side.get(name) for name in ARGUMENTS} for side in (old, new)))
    if arguments:
        raise ModelFileError(f"it was made with a different {' and a different '.join(arguments)}")
    for name, value in new.items():
        if name == "parameters":
            continue
        if name == "priors" and old.get(name) != value:
            raise ModelFileError(
                f"it was made with different settings ({_different_settings(old, new)})"
            )
        if old.get(name) != value:
            raise ModelFileError(f"it was made with {name}={old.get(name)!r:.80}, not {value!r}")


def _check_parameters(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise ModelFileError, which names the first parameter that differs."""
    old = {name: BEFORE[name] for name in BEFORE if name in new} | old
    for name, value in new.items():
        if old.get(name) != value:
            was = "another value" if name not in old else _shown(name, old[name])
            raise ModelFileError(f"it was made with {name}={was}, not {_shown(name, value)}")


def _shown(name: str, value: Any) -> str:
    """Return a parameter as in a call, where it is short."""
    if name == "directions" and value is not None:
        with suppress(ValueError, TypeError):
            value = directions.from_state(value)
        return f"{value!r:.300}"
    return f"{value!r:.80}"


def _different_settings(old: dict[str, Any], new: dict[str, Any]) -> str:
    """Return the names of the settings that differ."""
    try:
        names = {
            name
            for was, is_now in zip(old["priors"], new["priors"], strict=True)
            for name in {*was, *is_now}
            if was.get(name) != is_now.get(name)
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        return "it is damaged"
    return ", ".join(sorted(map(str, names)))
