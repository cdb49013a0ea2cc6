"""SIGKILL at random moments of fits with a checkpoint, and of `save`.

A killed fit goes on from its checkpoint and gives the draws of an undisturbed one, bit for bit. A
killed `save` leaves the old file or the new one, whole. Neither leaves other files behind.
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers import killing, small_files
from obliquebart import ObliqueBARTRegressor, load
from scorecard.finding import finish

KINDS = ("regressor", "one thread", "three classes", "auto")


def kill_fits(n_kills: int, folder: Path, rng: np.random.Generator) -> tuple[int, list[str]]:
    """Kill fits of all kinds; return how often, and what went wrong."""
    n_done, n_fits, problems = 0, 0, []
    while n_done < n_kills or n_fits < len(KINDS):
        kind = KINDS[n_fits % len(KINDS)]
        try:
            found = killing.scenario(kind, folder / str(n_fits), rng)
        except Exception as error:
            problems.append(f"{kind}: {error!r}")
            break
        n_fits += 1
        n_done += sum(found["kills"].values())
        if not found["finished"] or not found["identical"] or found["leftovers"]:
            problems.append(str(found))
    return n_done, problems


def kill_saves(n_kills: int, folder: Path, rng: np.random.Generator) -> tuple[int, list[str]]:
    """Kill processes that save two models in turn, over and over.

    Return how often the model that was found had changed since the kill before, and the problems.
    """
    path = folder / "model.obart"
    models = [small_files.small_regressor(n_draws=2000, random_state=seed) for seed in (3, 4)]
    begin = time.monotonic()
    versions = [_saved(model, path) for model in models]
    seconds = (time.monotonic() - begin) / 2
    problems: list[str] = []
    found = [versions[1]]
    for _ in range(n_kills):
        child = os.fork()
        if child == 0:
            _save_for_ever(models, path)
        time.sleep(6 * seconds * float(rng.random()))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        found.append(path.read_bytes())
        if found[-1] not in versions:
            problems.append(f"neither the old file nor the new one: {len(found[-1])} bytes")
    if not problems:
        load(path)
    _saved(models[0], path)
    left = [name for name in os.listdir(folder) if name != path.name]
    if left:
        problems.append(f"left behind: {left}")
    return sum(a != b for a, b in itertools.pairwise(found)), problems


def _saved(model: ObliqueBARTRegressor, path: Path) -> bytes:
    model.save(path)
    return path.read_bytes()


def _save_for_ever(models: list[ObliqueBARTRegressor], path: Path) -> None:
    try:
        while True:
            for model in models:
                model.save(path)
    finally:
        os._exit(1)


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(words)
    rng = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "saves").mkdir()
        n_changed, problems = kill_saves(options.kills, folder / "saves", rng)
        n_fits, more = kill_fits(options.kills, folder, rng)
    figure = (
        f"{n_fits} kills of fits, and {options.kills} of save (the other model was there after "
        f"{n_changed})"
    )
    return finish(figure, [*problems, *more])


if __name__ == "__main__":
    sys.exit(main())
