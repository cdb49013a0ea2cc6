"""Assemble the report and write it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from obliquebart.study.comparison import claims, figures, tables
from obliquebart.study.comparison.parts import Cell, Figure, Section, Table, to_html, to_markdown
from obliquebart.study.comparison.results import Results
from obliquebart.study.comparison.tables import OURS, PAPER_PRIOR
from obliquebart.study.plans import ROTATED

TITLE = "The obliqueBART experiments, repeated"
TASKS = ("regression", "classification")


def write_report(
    table: Path, output: Path, figure_settings: tuple[tuple[str, Any], ...] = ()
) -> Path:
    """Write the report of a run from its results.jsonl.gz, and return its HTML page.

    The folder gets index.html, report.md and the pictures; it is created if missing.
    `figure_settings` are parameters of the models fitted for figure 2, to make it quicker.
    """
    results = Results.read(table)
    output.mkdir(parents=True, exist_ok=True)
    sections = [_about(results)]
    if results.sets():
        sections += [*_benchmark(results, output), *_rotations(results, output)]
    if results.cells():
        sections.append(_synthetic(results, output))
    sections.append(_estimates(output, figure_settings))
    (output / "report.md").write_text(to_markdown(TITLE, sections), encoding="utf-8")
    page = output / "index.html"
    page.write_text(to_html(TITLE, sections), encoding="utf-8")
    return page


def _about(results: Results) -> Section:
    bad = f"; {results.n_bad} more failed" if results.n_bad else ""
    return Section(
        "What was run",
        [
            f"{results.n_units - results.n_bad} units of work{bad}, {results.seconds / 3600:.1f} "
            "hours of one core. A unit is one fit on one of the paper's splits (or one synthetic "
            "data set) and its evaluation. Errors of regression are standardised mean square "
            "errors: those of a method over those of the training mean.",
            "**obliqueBART, our defaults** is `ObliqueBARTRegressor()` or "
            "`ObliqueBARTClassifier()` with 2000 + 2000 sweeps in eight chains; "
            '**paper\'s prior** is `prior="paper"` with one chain of '
            '1000 + 1000 sweeps; **BART** is the same with `rules="axis"`. RF and ERT are '
            "scikit-learn's with the defaults of R's randomForest and ranger (500 trees), XGB is "
            "xgboost as the authors' scripts call it (100 rounds of depth 3, or 1 for classes).",
        ],
    )


def _benchmark(results: Results, output: Path) -> list[Section]:
    sections = []
    for number, task in enumerate(TASKS, 2):
        if results.sets(task):
            measure = "SMSE" if task == "regression" else "accuracy"
            parts = [tables.axis_table(results, task), claims.means_table(results, task)]
            sections.append(Section(f"Table {number}: {measure}, {task}", [*parts]))
    figures.axis_boxes(results, output / "figure5.png")
    caption = (
        "Figure 5: scores of all splits and data sets. Box: quartiles; line: median; diamond: "
        "mean. SMSE above 1.5 not shown."
    )
    sections.append(Section("Figure 5", [Figure("figure5.png", caption)]))
    ranks = Section("Mean ranks")
    for group in (*TASKS, None):
        labels, means, n_sets = tables.rank_columns(results, group)
        if n_sets < 2:
            continue
        file = f"ranks_{group or 'all'}.svg"
        figures.critical_plot(output / file, labels, means, n_sets)
        what = group or "all data sets"
        caption = f"Mean ranks, {what} ({n_sets}); bars join methods that do not differ at 5%."
        ranks.parts.append(Figure(file, caption))
    ranks.parts.append(tables.other_metrics(results))
    duels = Section("Wins, ties, losses", [tables.duel_table(results)])
    return [*sections, ranks, duels]


def _rotations(results: Results, output: Path) -> list[Section]:
    sections = []
    for number, task in enumerate(TASKS, 4):
        table = tables.rotated_table(results, task)
        if table.rows:
            title = f"Table {number}: rotated competitors, {task}"
            sections.append(Section(title, [table]))
    for number, task in enumerate(TASKS, 6):
        table = tables.needed_table(results, task)
        if table.rows:
            title = f"Table {number}: rotations needed to match obliqueBART, {task}"
            sections.append(Section(title, [table]))
    if sections:
        sections[-1].parts.append(_needed_counts(results))
        figures.rotated_boxes(results, output / "figure6.png")
        caption = (
            "Figure 6: scores of the splits that the rotated methods have, with 16 rotations. "
            "SMSE above 1.5 not shown."
        )
        sections.append(Section("Figure 6", [Figure("figure6.png", caption)]))
    return sections


def _needed_counts(results: Results) -> Table:
    columns = ("1", "4", "16", "50", "100", "200", "-")
    rows: list[list[Cell | str]] = []
    for label, reference in (("paper's prior", PAPER_PRIOR), ("our defaults", OURS)):
        for method in ROTATED:
            counts = claims.needed_counts(results, method, reference)
            found = [str(counts.get(column, 0)) for column in columns]
            rows.append([f"{method} against obliqueBART, {label}", *found])
    return Table(["data sets by rotations needed", *columns], rows)


def _synthetic(results: Results, output: Path) -> Section:
    section = Section("Figure 4: synthetic problems")
    for metric, file in (("rmse", "figure4.svg"), ("rmse_f", "figure4_f.svg")):
        figures.synthetic_ratios(results, output / file, metric)
        of_what = "new outcomes, as in the paper" if metric == "rmse" else "the true function"
        caption = (
            f"Figure 4: root mean square error of {of_what}, relative to obliqueBART with the "
            "paper's prior; n = 1000, Δ = 4. Above the line obliqueBART is better."
        )
        section.parts.append(Figure(file, caption))
    section.parts += [claims.axis_shares(results), claims.grid_table(results)]
    return section


def _estimates(output: Path, settings: tuple[tuple[str, Any], ...]) -> Section:
    figures.estimates(output / "figure2.png", settings)
    caption = "Figure 2: the two functions, and estimates from 1000 rows (Δ = 4, noise 1)."
    return Section("Figure 2: true functions and estimates", [Figure("figure2.png", caption)])
