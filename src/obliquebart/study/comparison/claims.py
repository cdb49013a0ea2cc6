"""The paper's findings one by one, with our numbers."""

from __future__ import annotations

import numpy as np

from obliquebart.study.comparison.parts import Cell, Table
from obliquebart.study.comparison.results import FloatArray, Results, Variant
from obliquebart.study.comparison.statistics import is_better
from obliquebart.study.comparison.tables import AS_PAPER, OURS, PAPER_PRIOR, rotations_needed
from obliquebart.study.fetch import packaged
from obliquebart.study.synthetic import Synthetic

METHODS = ("BART", "RF", "ERT", "XGB")


def means_table(results: Results, task: str) -> Table:
    """Return the averages that the paper's text quotes, and ours."""
    tables = packaged("paper_results.json")
    label = "tab:aa_vs_obl_table_reg" if task == "regression" else "tab:aa_vs_obl_table_class"
    paper, names = tables["values"][label], results.sets(task)
    rows: list[list[Cell | str]] = []
    columns = [
        ("obliqueBART, paper's prior and inputs", AS_PAPER, "obliqueBART"),
        ("obliqueBART, paper's prior, correct inputs", PAPER_PRIOR, "obliqueBART"),
        ("obliqueBART, our defaults", OURS, "obliqueBART"),
        *((name, Variant(name), name) for name in METHODS),
    ]
    lower = task == "regression"
    for text, variant, theirs in columns:
        present = [name for name in names if results.by_split(name, variant)]
        if not present:
            continue
        mean = float(np.mean([results.mean(name, variant) for name in present]))
        quoted = float(np.mean([paper[name][theirs] for name in present]))
        counts = []
        for reference in (AS_PAPER, OURS):
            pairs = [results.pairs(name, reference, variant) for name in names]
            counts.append(sum(is_better(*pair, lower_is_better=lower) for pair in pairs))
        starred = sum(bool(tables["significant"][label][name][theirs]) for name in names)
        numbers = [f"{mean:.4f}", f"{quoted:.4f}", f"{mean - quoted:+.4f}"]
        stars = "" if theirs == "obliqueBART" else str(starred)
        rows.append([text, *numbers, *map(str, counts), stars])
    heading = [
        *("", "mean", "paper", "difference", "sets where obliqueBART as in the paper is better"),
        *("sets where our defaults are better", "asterisks in the paper"),
    ]
    return Table(heading, rows)


def axis_shares(results: Results) -> Table:
    """Return the share of axis-aligned rules by angle, and errors, at n = 1000, Δ = 4."""
    rows: list[list[Cell | str]] = []
    for cell in results.cells():
        if (cell.n, cell.jump) != (1000, 4.0):
            continue
        share, ours = (
            results.mean(cell.name, variant, "axis_share") for variant in (PAPER_PRIOR, OURS)
        )
        errors = [
            results.mean(cell.name, variant, "rmse_f")
            for variant in (PAPER_PRIOR, OURS, Variant("BART"))
        ]
        axis, oblique = results.pairs(cell.name, Variant("BART"), PAPER_PRIOR, "rmse")
        better = is_better(oblique, axis, lower_is_better=True)
        rows.append(
            [
                _name(cell),
                f"{share:.1%}",
                f"{ours:.1%}",
                *(f"{error:.3f}" for error in errors),
                _ratio(axis, oblique, "*" if better else ""),
            ]
        )
    heading = [
        *("problem", "axis-aligned rules, paper's prior", "… our defaults"),
        *("RMSE of f, obliqueBART, paper's prior", "… our defaults", "… BART"),
        "RMSE of y: BART / obliqueBART",
    ]
    notes = (
        "Paper's prior: a share counts the rules with at most one column. The last column is the "
        "paper's measure; \\* obliqueBART (paper's prior) is significantly better over replicates."
    )
    return Table(heading, rows, notes)


def grid_table(results: Results) -> Table:
    """Return the coarse grid: error of BART and of rotBART relative to obliqueBART."""
    rows: list[list[Cell | str]] = []
    rivals = (Variant("BART"), Variant("rotBART", rotations=50))
    for cell in results.cells():
        texts: list[Cell] = []
        for rival in rivals:
            theirs, oblique = results.pairs(cell.name, rival, PAPER_PRIOR, "rmse_f")
            if not len(theirs):
                texts.append(Cell(""))
                continue
            better = is_better(oblique, theirs, lower_is_better=True)
            worse = is_better(theirs, oblique, lower_is_better=True)
            mark = "*" if better else "‡" if worse else ""
            texts.append(_ratio(theirs, oblique, mark))
        error = results.mean(cell.name, PAPER_PRIOR, "rmse_f")
        rows.append([_name(cell), str(cell.n), f"{cell.jump:g}", f"{error:.3f}", *texts])
    notes = (
        "RMSE of the true function, relative to obliqueBART with the paper's prior; \\* "
        "obliqueBART is significantly better, ‡ significantly worse."
    )
    heading = ["problem", "n", "Δ", "RMSE of f, obliqueBART", "BART", "rotBART, R = 50"]
    return Table(heading, rows, notes)


def _ratio(one: FloatArray, other: FloatArray, mark: str) -> Cell:
    return Cell(f"{one.mean() / other.mean():.3f}{mark}" if len(one) else "")


def _name(cell: Synthetic) -> str:
    if cell.function == "rotated_axes":
        return f"rotated axes, θ = {cell.step}π/36"
    return f"sinusoid, θ = {cell.step / 10:g}"


def needed_counts(results: Results, method: str, reference: Variant) -> dict[str, int]:
    """Return how many sets need how many rotations; "-" where none of those tried suffice."""
    counts: dict[str, int] = {}
    for task in ("regression", "classification"):
        for name in results.sets(task):
            if results.by_split(name, Variant(method, rotations=1)):
                lower = task == "regression"
                needed = rotations_needed(results, name, method, reference, lower)
                key = "-" if needed is None else str(needed)
                counts[key] = counts.get(key, 0) + 1
    return counts
