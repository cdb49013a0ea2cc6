"""Fit two data sets, compare with axis-aligned BART and a linear model, draw the paper's picture.

Run it with `make demo`; it takes well under a minute and writes one PNG under demo_output/.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.base import RegressorMixin
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split

from obliquebart import ConvergenceWarning, ObliqueBARTRegressor

OUTPUT = Path(__file__).resolve().parent.parent / "demo_output"
ANGLE, JUMP = np.pi / 4, 4.0
COVERAGE = 0.9


@dataclass(frozen=True)
class Task:
    """Training and test data; `noise_sd` is known for simulated data only."""

    name: str
    x_train: NDArray[np.float64]
    y_train: NDArray[np.float64]
    x_test: NDArray[np.float64]
    y_test: NDArray[np.float64]
    noise_sd: float | None = None


def rotated_axes(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The paper's section 4.1: the sign depends on the quadrant of the rotated point."""
    cos, sin = np.cos(ANGLE), np.sin(ANGLE)
    u1, u2 = cos * x[:, 0] - sin * x[:, 1], sin * x[:, 0] + cos * x[:, 1]
    return JUMP * (2.0 * (u1 * u2 > 0) - 1.0)


def simulated_task(rng: np.random.Generator) -> Task:
    x_train, x_test = rng.uniform(-1, 1, (1000, 2)), rng.uniform(-1, 1, (1000, 2))
    y_train, y_test = (rotated_axes(x) + rng.standard_normal(len(x)) for x in (x_train, x_test))
    return Task("rotated axes, n = 1000", x_train, y_train, x_test, y_test, noise_sd=1.0)


def diabetes_task() -> Task:
    x, y = load_diabetes(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=0)
    return Task("diabetes, n = 331", x_train, y_train, x_test, y_test)


def models() -> dict[str, RegressorMixin]:
    # Of a fixed length: left to themselves, chains of the rotated axes go on for a minute.
    length = {"n_chains": 4, "n_burn": 3000, "n_draws": 500, "n_thin": 6}

    def bart(rules: str) -> ObliqueBARTRegressor:
        return ObliqueBARTRegressor(rules=rules, n_jobs=2, random_state=1, **length)

    return {
        "linear regression": LinearRegression(),
        "axis-aligned BART": bart("axis"),
        "oblique BART": bart("oblique"),
    }


def table_row(task: Task, name: str, model: RegressorMixin) -> list[str]:
    """Fit, and say how well it went."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        # The table has the verdict.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(task.x_train, task.y_train)
    seconds = time.perf_counter() - start
    rmse = float(np.sqrt(np.mean((model.predict(task.x_test) - task.y_test) ** 2)))
    row = [name, f"{rmse:.2f}"]
    if not isinstance(model, ObliqueBARTRegressor):
        return [*row, "", "", "", "", f"{seconds:.1f}"]
    interval = model.predict_interval(task.x_test, COVERAGE, kind="outcome")
    covered = np.mean((interval[:, 0] <= task.y_test) & (task.y_test <= interval[:, 1]))
    trace = model.posterior_.trace
    oblique = 1.0 - np.nanmean(trace["axis_share"])
    return [
        *row,
        f"{covered:.0%}",
        f"{trace['sigma'].mean():.2f}",
        f"{oblique:.0%}",
        {"fine": "yes", "more": "nearly", "apart": "no"}[model.summary().verdict.tier],
        f"{seconds:.1f}",
    ]


def report(task: Task, fitted: dict[str, RegressorMixin]) -> Table:
    title = f"[bold]{task.name}[/bold]"
    if task.noise_sd is not None:
        title += f" (noise with standard deviation {task.noise_sd:g}: no test RMSE can be below)"
    else:
        title += f" (standard deviation of y: {task.y_test.std():.1f})"
    table = Table(title=title, title_justify="left")
    table.add_column("method", no_wrap=True)
    for heading in (
        "test RMSE",
        f"in {COVERAGE:.0%} interval",
        "σ",
        "oblique rules",
        "agree",
        "seconds",
    ):
        table.add_column(heading, justify="right")
    for name, model in fitted.items():
        table.add_row(*table_row(task, name, model))
    return table


def draw(fitted: dict[str, RegressorMixin], path: Path) -> None:
    """The paper's Figure 2: truth, axis-aligned and oblique, with one colour scale."""
    ticks = np.linspace(-1, 1, 200)
    grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
    panels = {"truth": rotated_axes(grid)}
    for name in ("axis-aligned BART", "oblique BART"):
        panels[name] = fitted[name].predict(grid)
    limit = max(np.abs(values).max() for values in panels.values())
    figure, axes = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
    for axis, (name, values) in zip(axes, panels.items(), strict=True):
        image = axis.imshow(
            values.reshape(len(ticks), len(ticks)),
            extent=(-1, 1, -1, 1),
            origin="lower",
            cmap="RdBu_r",
            vmin=-limit,
            vmax=limit,
        )
        axis.set(title=name, xlabel="$x_1$")
    axes[0].set_ylabel("$x_2$")
    figure.colorbar(image, ax=axes, label="f(x), posterior mean", shrink=0.9)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    console = Console()
    start = time.perf_counter()
    for task in (diabetes_task(), simulated_task(np.random.default_rng(1))):
        fitted = models()
        console.print()
        console.print(report(task, fitted))
    console.print(
        "\nin 90% interval: share of the test outcomes inside their 90% predictive interval."
        "\noblique rules: share of the rules that use more than one column."
        "\nagree: whether the chains do; model.summary() says more."
    )
    path = OUTPUT / "rotated_axes.png"
    draw(fitted, path)
    console.print(f"\nPicture of the rotated axes: {path}")
    console.print(f"All of it took {time.perf_counter() - start:.0f} seconds.")


if __name__ == "__main__":
    main()
