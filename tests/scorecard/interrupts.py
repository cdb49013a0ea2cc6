"""Ctrl-C: how long it takes until `fit` has stopped, and what is kept.

Children fit, and get a SIGINT at random moments. The time from the signal to the moment at which
KeyboardInterrupt reaches the caller is measured; for the command line, the time until the process
has ended, its saved model and summary included. With a checkpoint, the same call later gives the
draws of an undisturbed fit. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from helpers import small_files
from obliquebart import ObliqueBARTCausal, ObliqueBARTClassifier, ObliqueBARTRegressor
from obliquebart.files import model_file
from scorecard.finding import finish

# What docs/howto/saving.md promises, and what the command line may take to save and to end.
MOST_SECONDS = 0.5
MOST_SECONDS_OF_COMMAND = 5.0
HANG_SECONDS = 120.0
LONG: dict[str, Any] = {"n_burn": 100_000, "n_draws": 100_000, "progress": False, "random_state": 0}


@dataclass(frozen=True)
class Case:
    """A fit that would take hours, and the seconds within which the signal comes."""

    start: Callable[[], Any]
    within: float


def cases(n_large: int) -> dict[str, Case]:
    rng = np.random.default_rng(0)
    large = rng.uniform(size=(n_large, 10))
    large_y = large[:, 0] + rng.normal(size=n_large)
    X, y = large[:200], large_y[:200]
    arms = np.arange(200) % 2

    def fit(model: Any, *data: Any) -> Callable[[], Any]:
        return lambda: model.fit(*data)

    jobs: dict[str, Any] = {"n_jobs": 2}
    return {
        "small": Case(fit(ObliqueBARTRegressor(**LONG), X, y), 0.5),
        "small, two threads": Case(fit(ObliqueBARTRegressor(**LONG, **jobs), X, y), 0.5),
        "until it converges": Case(
            fit(ObliqueBARTRegressor(progress=False, n_trees=400), large[:5000], large_y[:5000]), 3
        ),
        "16 chains": Case(fit(ObliqueBARTRegressor(**LONG, **jobs, n_chains=16), X, y), 0.5),
        "classes": Case(fit(ObliqueBARTClassifier(**LONG, **jobs), X, np.digitize(y, [0, 1])), 0.5),
        "effects": Case(fit(ObliqueBARTCausal(**LONG), X, y, arms), 3),
        "large": Case(fit(ObliqueBARTRegressor(**LONG), large, large_y), 6),
        "large, two threads": Case(fit(ObliqueBARTRegressor(**LONG, **jobs), large, large_y), 6),
        "large, varying noise": Case(
            fit(ObliqueBARTRegressor(**LONG, noise="varying"), large, large_y), 6
        ),
        "large, classes": Case(
            fit(ObliqueBARTClassifier(**LONG), large, np.digitize(large_y, [0, 1])), 6
        ),
    }


def latency(case: Case, wait: float) -> float | str:
    """Return the seconds from the signal to the exception, or what happened instead."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _fit_in_the_child(case.start, writer)
    os.close(writer)
    with os.fdopen(reader) as words:
        words.readline()
        time.sleep(wait)
        sent = time.monotonic()
        os.kill(child, signal.SIGINT)
        result = words.read().strip()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return f"crash ({signal.Signals(os.WTERMSIG(status)).name})"
    try:
        return float(result) - sent
    except ValueError:
        return result or "no answer"


def _fit_in_the_child(start: Callable[[], Any], writer: int) -> None:
    answer = "the fit ended by itself"
    try:
        signal.alarm(int(HANG_SECONDS))
        os.write(writer, b"begins\n")
        start()
    except KeyboardInterrupt:
        # Comparable between processes on Linux.
        answer = repr(time.monotonic())
    except BaseException:
        answer = traceback.format_exc()
    finally:
        os.write(writer, answer.encode())
        os._exit(0)


def time_fits(n_moments: int, n_large: int) -> tuple[dict[str, float], list[str]]:
    """Interrupt each fit at several moments; return the longest times, and problems."""
    rng = np.random.default_rng(1)
    worst: dict[str, float] = {}
    problems: list[str] = []
    for name, case in cases(n_large).items():
        moments = case.within * rng.random(n_moments)
        found = [latency(case, float(wait)) for wait in moments]
        problems += [f"{name}: {each}" for each in found if isinstance(each, str)]
        seconds = [each for each in found if isinstance(each, float)]
        worst[name] = max(seconds, default=0.0)
        print(f"{name}: {[round(1000 * each) for each in seconds]} ms", flush=True)
        if worst[name] > MOST_SECONDS:
            after = moments[int(np.argmax([e if isinstance(e, float) else 0.0 for e in found]))]
            problems.append(f"{name}: {worst[name]:.2f} s, {after:.2f} s after the start")
    return worst, problems


def time_commands(n_moments: int, folder: Path) -> tuple[float, list[str]]:
    """Interrupt `obliquebart fit`; return the longest time until it had ended, and problems."""
    rng = np.random.default_rng(2)
    X, y = small_files.small_table(300)
    table, path = folder / "table.csv", folder / "model.obart"
    lines = [
        f"{u},{group},{value}\n" for u, group, value in zip(X["u"], X["group"], y, strict=True)
    ]
    table.write_text("u,group,y\n" + "".join(lines))
    words = ["fit", str(table), "-t", "y", "-o", str(path), "--n-burn", "0", "--n-draws", "1000000"]
    worst = 0.0
    problems: list[str] = []
    for _ in range(n_moments):
        process = subprocess.Popen(
            [sys.executable, "-m", "obliquebart", *words, "--set", "n_thin=100"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        while "Target" not in process.stderr.readline():
            if process.poll() is not None:
                return worst, [*problems, "the command ended by itself"]
        time.sleep(3.0 * float(rng.random()))
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=HANG_SECONDS)
        worst = max(worst, time.monotonic() - sent)
        tells_the_truth = path.exists() != ("no model was saved" in " ".join(errors.split()))
        if process.returncode != 130 or "Traceback" in errors or not tells_the_truth:
            problems.append(f"the command ended with {process.returncode}: {errors}")
        path.unlink(missing_ok=True)
    if worst > MOST_SECONDS_OF_COMMAND:
        problems.append(f"the command took {worst:.2f} s to end")
    return worst, problems


def lose_nothing(n_moments: int, folder: Path) -> list[str]:
    """Interrupt fits with a checkpoint again and again until one ends; compare the draws."""
    rng = np.random.default_rng(3)
    X, y = small_files.small_table(100)
    parameters = {**small_files.SMALL, "n_trees": 20, "n_burn": 200, "n_draws": 4000, "n_jobs": 2}
    undisturbed = ObliqueBARTRegressor(**parameters).fit(X, y)
    expected = model_file.to_bytes(undisturbed._fitted, {})
    path = folder / "run.ckpt"
    problems: list[str] = []
    case = Case(lambda: ObliqueBARTRegressor(**parameters).fit(X, y, checkpoint=path), 0.3)
    for _ in range(n_moments):
        found = latency(case, case.within * float(rng.random()))
        if found == "the fit ended by itself":
            path.unlink()
        elif isinstance(found, str):
            problems.append(f"with a checkpoint: {found}")
    resumed = case.start()
    if model_file.to_bytes(resumed._fitted, {}) != expected:
        problems.append("with a checkpoint: other draws than those of an undisturbed fit")
    left = [name for name in os.listdir(folder) if name.endswith(".tmp")]
    return [*problems, *(f"left behind: {name}" for name in left)]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--rows", type=int, default=300_000, help="of the large table")
    options = parser.parse_args(words)
    warnings.simplefilter("ignore")
    worst, problems = time_fits(options.moments, options.rows)
    with tempfile.TemporaryDirectory() as name:
        command, more = time_commands(options.moments, Path(name))
        problems += [*more, *lose_nothing(options.moments, Path(name))]
    name = max(worst, key=lambda each: worst[each])
    figure = (
        f"{1000 * worst[name]:.0f} ms at most ({name}; {options.moments} moments of each of "
        f"{len(worst)} fits), {1000 * worst['small']:.0f} ms for a small fit; the command line "
        f"ends within {command:.1f} s"
    )
    return finish(figure, problems)


if __name__ == "__main__":
    sys.exit(main())
