"""Run the missing units of a list on any pool; retry, record, and never repeat a finished unit."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from obliquebart.study.pool import UnitResult
from obliquebart.study.store import Store
from obliquebart.study.units import Unit


class Pool(Protocol):
    """Something that runs units: processes here, or a cluster."""

    @property
    def n_free(self) -> int:
        """How many units can be started now."""

    @property
    def running(self) -> list[Unit]:
        """Units in progress."""

    def give(self, unit: Unit) -> None:
        """Start a unit."""

    def outcomes(self, patience: float = 1.0) -> Iterator[UnitResult]:
        """Wait for events and return them."""

    def close(self) -> None:
        """Stop everything."""


@dataclass(frozen=True)
class Limits:
    """When to stop trying."""

    losses: int = 5  # attempts at a unit that may end with the death of its worker
    timeouts: int = 2  # attempts at a unit that may take too long
    seconds: float = float("inf")  # for the run; no unit starts that would end later


@dataclass
class Tally:
    """What a run has done so far."""

    total: int = 0
    present: int = 0
    done: int = 0
    failed: int = 0
    lost: int = 0
    timeouts: int = 0
    skipped: int = 0
    running: list[Unit] = field(default_factory=list)

    @property
    def finished(self) -> int:
        """Units with a result, old or new."""
        return self.present + self.done + self.failed


def run(
    units: Iterable[Unit],
    store: Store,
    pool: Pool,
    limits: Limits | None = None,
    expected_seconds: Callable[[Unit], float] = lambda _: 0.0,
    watch: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Run the units that have no result yet, each once, in the order given.

    The caller closes the pool. A unit is left out if there is not enough time for its expected
    seconds. `watch` is called with the tally after every event, at least once a second.
    """
    return _Run(store, pool, limits or Limits(), expected_seconds, watch).go(units)


class _Run:
    def __init__(
        self,
        store: Store,
        pool: Pool,
        limits: Limits,
        expected_seconds: Callable[[Unit], float],
        watch: Callable[[Tally], None],
    ) -> None:
        self.store, self.pool, self.limits = store, pool, limits
        self.expected_seconds, self.watch = expected_seconds, watch
        self.tally = Tally()
        self.attempts: dict[str, list[dict[str, Any]]] = {}
        self.deadline = time.monotonic() + limits.seconds

    def go(self, units: Iterable[Unit]) -> Tally:
        tally, waiting = self.tally, deque(self._missing(units))
        while waiting or self.pool.running:
            while waiting and self.pool.n_free:
                unit = waiting.popleft()
                if time.monotonic() + self.expected_seconds(unit) > self.deadline:
                    tally.skipped += 1
                else:
                    self.pool.give(unit)
            tally.running = self.pool.running
            self.watch(tally)
            for outcome in self.pool.outcomes():
                if self._settle(outcome):
                    waiting.appendleft(outcome.unit)
            if time.monotonic() > self.deadline:
                tally.skipped += len(waiting) + len(self.pool.running)
                break
        tally.running = []
        self.watch(tally)
        return tally

    def _missing(self, units: Iterable[Unit]) -> Iterator[Unit]:
        missing: dict[Unit, None] = {}
        for unit in dict.fromkeys(units):
            self.tally.total += 1
            if self.store.has(unit.key):
                self.tally.present += 1
            else:
                missing[unit] = None
        return iter(missing)

    def _settle(self, outcome: UnitResult) -> bool:
        """Store a result or the end of all attempts; return whether to try again."""
        unit, tally = outcome.unit, self.tally
        if outcome.event == "finished" and outcome.result is not None:
            result = dict(outcome.result)
        else:
            history = self.attempts.setdefault(unit.key, [])
            history.append({"event": outcome.event, "seconds": round(outcome.seconds, 3)})
            if outcome.event == "lost":
                tally.lost += 1
            else:
                tally.timeouts += 1
            allowed = {"lost": self.limits.losses, "timeout": self.limits.timeouts}[outcome.event]
            if sum(attempt["event"] == outcome.event for attempt in history) < allowed:
                return True
            result = {"key": unit.key, "unit": unit.to_dict(), "status": outcome.event}
        result["attempts"] = self.attempts.pop(unit.key, [])
        if self.store.write(result):
            if result["status"] == "done":
                tally.done += 1
            else:
                tally.failed += 1
        return False
