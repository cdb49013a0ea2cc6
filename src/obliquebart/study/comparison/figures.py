"""Figures 2, 4, 5 and 6 of the paper, and a critical-difference plot, readable without colour."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Picture
from numpy.typing import NDArray

from obliquebart.study.comparison.results import Results, Variant
from obliquebart.study.comparison.statistics import critical_difference
from obliquebart.study.comparison.tables import OURS, PAPER_PRIOR
from obliquebart.study.methods import METHODS
from obliquebart.study.plans import ROTATED
from obliquebart.study.synthetic import Synthetic
from obliquebart.study.train_test import StudyTable, TrainTest
from obliquebart.study.units import Unit

GREYS = ("0.0", "0.25", "0.4", "0.55", "0.65", "0.75", "0.85")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (1, 1)), (0, (3, 1, 1, 1)))
MARKERS = "osD^vP*"
HATCHES = ("", "///", "...", "xxx", "\\\\\\", "++", "ooo", "---")


@contextmanager
def _style() -> Iterator[None]:
    with mpl.rc_context(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlelocation": "left",
            "axes.titlesize": "medium",
            "font.size": 9,
            "legend.frameon": False,
            "svg.hashsalt": "obliquebart",
        }
    ):
        yield


def _figure(rows: int, columns: int, size: tuple[float, float]) -> tuple[Picture, Any]:
    picture = Picture(figsize=size, layout="constrained")
    return picture, picture.subplots(rows, columns, squeeze=False)


def _save(picture: Picture, path: Path) -> None:
    # No date: the same results give the same file.
    picture.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None, dpi=110)


def estimates(path: Path, settings: tuple[tuple[str, Any], ...] = ()) -> None:
    """Draw figure 2: the two functions, and estimates by BART and obliqueBART from 1000 rows."""
    cells = (Synthetic("rotated_axes", 1000, 4.0, 9), Synthetic("sinusoid", 1000, 4.0, 5))
    with _style():
        picture, axes = _figure(2, 3, (8.0, 5.4))
        for row, cell in zip(axes, cells, strict=True):
            surfaces = {"true function": _surface(cell, None, settings)}
            for method in ("BART", "obliqueBART-paper"):
                surfaces[METHODS[method].label] = _surface(cell, method, settings)
            for ax, (label, z) in zip(row, surfaces.items(), strict=True):
                image = ax.imshow(
                    z, origin="lower", extent=(-1, 1, -1, 1), cmap="gray", vmin=-4.5, vmax=4.5
                )
                ax.set_title(label)
                ax.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        picture.colorbar(image, ax=axes, shrink=0.6)
        _save(picture, path)


def _surface(
    cell: Synthetic, method: str | None, settings: tuple[tuple[str, Any], ...], n: int = 120
) -> NDArray[np.float64]:
    side = np.linspace(-1, 1, n)
    x = np.stack([a.ravel() for a in np.meshgrid(side, side)], axis=1)
    if method is None:
        return cell.f(x).reshape(n, n)
    problem = cell.problem(0)
    grid = StudyTable(x, np.empty((len(x), 0), np.int64), ())
    zeros = np.zeros(len(x))
    shown = TrainTest("regression", problem.train, grid, problem.y_train, zeros)
    prediction = METHODS[method].solve(shown, Unit(cell.name, 0, method, settings=settings))
    return prediction.mean.reshape(n, n)


def synthetic_ratios(results: Results, path: Path, metric: str = "rmse") -> None:
    """Draw figure 4: errors relative to obliqueBART with the paper's prior, n = 1000, Δ = 4."""
    variants = [("BART", Variant("BART"))]
    variants += [
        (f"rotBART, R = {r}", Variant("rotBART", rotations=r)) for r in (1, 4, 16, 50, 200)
    ]
    variants.append(("obliqueBART, our defaults", OURS))
    with _style():
        picture, axes = _figure(1, 2, (9.0, 3.8))
        for ax, function in zip(axes[0], ("rotated_axes", "sinusoid"), strict=True):
            cells = [
                cell
                for cell in results.cells()
                if (cell.function, cell.n, cell.jump) == (function, 1000, 4.0)
            ]
            for k, (label, variant) in enumerate(variants):
                points = [(cell.step, _ratio(results, cell, variant, metric)) for cell in cells]
                points = [point for point in points if np.isfinite(point[1])]
                if points:
                    ax.plot(
                        *zip(*points, strict=True),
                        color=GREYS[k] if k else "0",
                        linestyle=DASHES[k],
                        marker=MARKERS[k],
                        markersize=4,
                        label=label,
                    )
            ax.axhline(1.0, color="0", linewidth=0.6)
            angle = function == "rotated_axes"
            ax.set_title("Rotated axes" if angle else "Sinusoid")
            ax.set_xlabel("angle θ, in units of π/36" if angle else "amplitude θ, in tenths")
        of_what = "new outcomes" if metric == "rmse" else "the true function"
        axes[0][0].set_ylabel(f"RMSE of {of_what}\nrelative to obliqueBART")
        axes[0][1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))
        _save(picture, path)


def _ratio(results: Results, cell: Synthetic, variant: Variant, metric: str) -> float:
    ours, reference = results.pairs(cell.name, variant, PAPER_PRIOR, metric)
    return float(ours.mean() / reference.mean()) if len(ours) else float("nan")


def axis_boxes(results: Results, path: Path) -> None:
    """Draw figure 5: scores of all splits and sets."""
    _boxes(results, path, [(name, Variant(name)) for name in ("BART", "RF", "ERT", "XGB")])


def rotated_boxes(results: Results, path: Path, rotations: int = 16) -> None:
    """Draw figure 6: the same with rotated competitors."""
    rivals = [(name, Variant(name, rotations=rotations)) for name in ROTATED]
    _boxes(results, path, rivals, same_splits=rivals[0][1])


def _boxes(
    results: Results,
    path: Path,
    rivals: Sequence[tuple[str, Variant]],
    same_splits: Variant | None = None,
) -> None:
    variants = [
        ("obliqueBART,\nour defaults", OURS),
        ("obliqueBART,\npaper's prior", PAPER_PRIOR),
        *rivals,
    ]
    with _style():
        picture, axes = _figure(1, 2, (9.0, 4.0))
        for ax, task in zip(axes[0], ("regression", "classification"), strict=True):
            groups = [
                np.concatenate(
                    [
                        results.pairs(name, variant, same_splits or variant)[0]
                        for name in results.sets(task)
                    ]
                    or [np.empty(0)]
                )
                for _, variant in variants
            ]
            _draw_boxes(ax, groups, [label for label, _ in variants])
            ax.set_ylabel("SMSE (lower is better)" if task == "regression" else "accuracy")
            ax.set_title(task.capitalize())
            if task == "regression":
                ax.set_ylim(0, 1.5)
        _save(picture, path)


def _draw_boxes(ax: Axes, groups: Sequence[NDArray[np.float64]], labels: Sequence[str]) -> None:
    drawn = ax.boxplot(
        [group if len(group) else [np.nan] for group in groups],
        patch_artist=True,
        showmeans=True,
        medianprops={"color": "0"},
        meanprops={"marker": "D", "markerfacecolor": "1", "markeredgecolor": "0", "markersize": 4},
        flierprops={"marker": ".", "markersize": 2},
    )
    for box, hatch in zip(drawn["boxes"], HATCHES, strict=False):
        box.set(facecolor="0.92", edgecolor="0", hatch=hatch)
    ax.set_xticks(range(1, len(labels) + 1), labels, rotation=30, ha="right", fontsize=7)


def critical_plot(path: Path, labels: Sequence[str], ranks: Any, n_sets: int) -> None:
    """Draw mean ranks on a line, with bars over methods that do not differ (Nemenyi, 5%)."""
    width = critical_difference(len(labels), n_sets)
    order = np.argsort(ranks)
    with _style():
        picture, axes = _figure(1, 1, (7.5, 2.6))
        ax = axes[0][0]
        low, high = np.floor(min(ranks)), np.ceil(max(ranks))
        half = (len(order) + 1) // 2
        for place, k in enumerate(order):
            left = place < half
            level = -1.0 - (place if left else len(order) - 1 - place)
            end = low - 0.1 if left else high + 0.1
            ax.plot([ranks[k], ranks[k], end], [0, level, level], color="0", linewidth=0.8)
            side = "right" if left else "left"
            ax.text(end, level, f" {labels[k]} ({ranks[k]:.2f}) ", ha=side, va="center")
        for number, (first, last) in enumerate(_cliques(np.sort(ranks), width)):
            ax.plot(
                [first - 0.03, last + 0.03], [-0.25 - 0.22 * number] * 2, color="0", linewidth=3
            )
        ax.plot([low, low + width], [0.9, 0.9], color="0", marker="|")
        ax.text(low + width / 2, 1.0, f"critical difference {width:.2f}", ha="center", va="bottom")
        ax.hlines(0, low, high, color="0")
        for tick in np.arange(low, high + 0.5):
            ax.plot([tick, tick], [0, 0.15], color="0")
            ax.text(tick, 0.2, f"{tick:.0f}", ha="center", va="bottom")
        ax.set(xlim=(low - 1.6, high + 1.6), ylim=(-half - 0.8, 1.8))
        ax.axis("off")
        _save(picture, path)


def _cliques(ranks: Any, width: float) -> list[tuple[float, float]]:
    """Return the longest runs of sorted ranks that span no more than `width`."""
    found: list[tuple[float, float]] = []
    for i, first in enumerate(ranks):
        last = ranks[i:][ranks[i:] <= first + width][-1]
        if last > first and (not found or last > found[-1][1]):
            found.append((float(first), float(last)))
    return found
