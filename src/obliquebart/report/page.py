"""The page: sections of words, tables and pictures, put into the template."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from importlib import resources
from string import Template
from typing import Any, NamedTuple

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from obliquebart.display.numbers import plain
from obliquebart.display.tables import TextTable, html_table
from obliquebart.documentation import shared_parameters
from obliquebart.explain.evaluation import Evaluation, evaluate, score_text
from obliquebart.explain.overview import (
    RuleOverview,
    is_training_data,
    labelled_posteriors,
    rule_overview,
)
from obliquebart.explain.trees import Tree
from obliquebart.files.container import write_file
from obliquebart.posterior.diagnostics import Diagnostics, ModelSummary
from obliquebart.posterior.posterior import Posterior
from obliquebart.report import pictures
from obliquebart.report.pictures import Picture
from obliquebart.table.levels import LevelTable

# Of a model of many classes, the classes whose chains are shown.
MAX_CLASSES = 6
SHOWN_COLUMNS = 15
N_ROWS_OF_F = 10

documented = shared_parameters("""\
model : ObliqueBARTRegressor or ObliqueBARTClassifier
    Fitted.
X, y : table and outcomes
    Rows on which to judge the model; best those that it has not seen.
title : str
    Of the page.
source : str, optional
    Where the rows come from, for the reader.""")


class Part(NamedTuple):
    """A section of the page."""

    key: str
    title: str
    body: str


@documented
def write_report(
    model: Any,
    X: Any,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    title: str = "Oblique BART",
    source: str | None = None,
) -> None:
    """Write the page of `report_html` to a file, whole or not at all.

    Parameters
    ----------
    path : str or path
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from obliquebart import ObliqueBARTRegressor
    >>> from obliquebart.report import write_report
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=50, n_draws=50, random_state=0).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write_report(model, X, y, path, title="Diabetes")
    >>> os.path.getsize(path) > 50_000
    True
    """
    write_file(path, report_html(model, X, y, title=title, source=source).encode())


@documented
def report_html(
    model: Any, X: Any, y: ArrayLike, *, title: str = "Oblique BART", source: str | None = None
) -> str:
    """Return one HTML page about a fitted model: convergence, errors, the rules it found.

    The page needs nothing else: pictures are in it, and it has no script. It is made for a screen
    of any width, for print, for dark rooms and for screen readers.

    Returns
    -------
    str
    """
    check_is_fitted(model)
    from obliquebart import __version__

    posteriors = labelled_posteriors(model)
    shown = dict(list(posteriors.items())[:MAX_CLASSES])
    summary = model.summary(X, rows=N_ROWS_OF_F)
    overviews = {key: rule_overview(posterior, SHOWN_COLUMNS) for key, posterior in shown.items()}
    evaluation = evaluate(model, X, y, n_jobs=model.n_jobs)
    seen = is_training_data(model, X, y)
    parts = [
        _in_short(summary, evaluation, overviews, seen),
        _convergence(shown, summary.diagnostics),
        _predictions(evaluation, seen),
        *([_rules(shown, overviews, X)] if shown else []),
        _fitting(model),
    ]
    contents = "".join(f'<li><a href="#{part.key}">{_text(part.title)}</a></li>' for part in parts)
    template = resources.files("obliquebart.report").joinpath("template.html")
    return Template(template.read_text(encoding="utf-8")).substitute(
        version=__version__,
        title=_text(title),
        lead=_text(_lead(model, evaluation, source)),
        contents=contents,
        main="\n".join(map(_section, parts)),
    )


def _lead(model: Any, evaluation: Evaluation, source: str | None) -> str:
    encoding = model._fitted.encoding
    kind = model._likelihood.task.capitalize()
    words = f"{kind} by oblique Bayesian additive regression trees on {encoding.p_cont} continuous "
    words += f"and {encoding.p_cat} categorical columns, judged on {evaluation.n_table} rows"
    return words + (f" of {source}." if source else ".")


def _in_short(
    summary: ModelSummary,
    evaluation: Evaluation,
    overviews: dict[str, RuleOverview],
    seen: bool,
) -> Part:
    body = ""
    verdict = summary.verdict
    if verdict is not None:
        lines = [f"<strong>{_text(verdict.headline)}</strong>", *map(_text, verdict.sentences)]
        body += _verdict(lines, good=verdict.tier == "fine")
    scores = pictures.in_words(evaluation)
    body += f"<p>{_text(f'Scores: {scores}.')}</p>"
    if seen:
        body += _verdict(
            [
                "<strong>These are the rows of the fit.</strong>",
                "Errors and intervals look better on them than on new rows. For an honest page, "
                "pass rows that were held out.",
            ],
            good=False,
        )
    if len(overviews) == 1:
        (only,) = overviews.values()
        used = ", ".join(f"{row.column} ({row.share:.0%})" for row in only.inclusion[:3])
        body += f"<p>{_text(f'Most used columns: {used}. {only.sentence()}')}</p>"
    return Part("in-short", "In short", body)


def _convergence(posteriors: dict[str, Posterior], diagnoses: dict[str, Diagnostics]) -> Part:
    body = (
        "<p>R-hat compares the chains: 1 is agreement. The effective sample size (ESS) says how "
        "many independent draws they are worth, for the middle (bulk) and the ends (tail). MCSE is "
        "the Monte Carlo standard error of the mean: how far it is from that of endless chains. "
        "f[i] is the prediction at row i. The verdict at the top is about rows between these.</p>"
    )
    for i, (label, posterior) in enumerate(posteriors.items()):
        diagnostics = diagnoses[label]
        body += f"<h3>{_text(label)}</h3>" if label else ""
        drawn = _pictures([pictures.trace(posterior, diagnostics, f"trace{i}")])
        body += f'<div class="beside">{drawn}{_tables(diagnostics.tables())}</div>'
    return Part("convergence", "Has it converged?", body)


def _predictions(evaluation: Evaluation, seen: bool) -> Part:
    rows = [[name, score_text(name, value)] for name, value in evaluation.scores().items()]
    where = "rows of the fit" if seen else "rows that were not in the fit"
    body = _tables([TextTable(f"Errors at {where}", ["score", "value"], rows)])
    body += _pictures(pictures.checks(evaluation))
    return Part("predictions", "How good are the predictions?", body)


def _rules(posteriors: dict[str, Posterior], overviews: dict[str, RuleOverview], X: Any) -> Part:
    body = (
        "<p>A continuous rule asks whether a weighted sum φ'x of columns, each scaled to [-1, 1], "
        "is below a cut. The share of rules that use a column is compared with that of rules from "
        "the prior: what lies far above was asked for by the data.</p>"
    )
    for i, (label, posterior) in enumerate(posteriors.items()):
        found = overviews[label]
        body += f"<h3>{_text(label)}</h3>" if label else ""
        body += f"<p>{_text(found.sentence())}</p>"
        drawn = [pictures.inclusion(found.inclusion, f"inclusion{i}")]
        surface = pictures.surface(posterior, X, f"surface{i}")
        body += _pictures([*drawn, *([surface] if surface else [])])
        sizes = [
            [str(row.n_columns), f"{row.share:.1%}", f"{row.low:.1%} to {row.high:.1%}"]
            for row in found.sizes.sizes[:10]
        ]
        table = TextTable("Columns of a rule", ["columns", "share of rules", "90% interval"], sizes)
        body += _tables([*found.tables(), table])
        tree = pictures.example_tree(posterior, X)
        body += "<h3>One tree of the last draw</h3>"
        body += f"<p>{_text(_about(tree))}</p>"
        body += _pictures([pictures.tree(tree, f"tree{i}")])
        body += f'<pre aria-label="The same tree as text" tabindex="0">{_text(str(tree))}</pre>'
    return Part("rules", "What did it learn?", body)


def _about(tree: Tree) -> str:
    if "s(" in str(tree):
        return (
            "s(column) is the column scaled to [-1, 1]; other rules are in the units of their "
            "column. A leaf shows what the tree adds to f."
        )
    return "Rules are in the units of the columns. A leaf shows what the tree adds to f."


def _fitting(model: Any) -> Part:
    encoding = model._fitted.encoding
    columns = []
    for name, kind, column in zip(encoding.names, encoding.kinds, encoding.columns, strict=True):
        if isinstance(column, LevelTable):
            values = f"{column.n_levels} levels"
        else:
            values = (
                "no value"
                if column.is_empty
                else f"{plain(column.low, 6)} to {plain(column.high, 6)}"
            )
        columns.append([name, kind, values])
    more = len(columns) - 100
    if more > 0:
        columns = [*columns[:100], [f"{more} more", "", ""]]
    # Neither changes a draw.
    parameters = [
        [name, str(value)]
        for name, value in model.get_params().items()
        if name not in ("n_jobs", "progress")
    ]
    body = _tables(
        [
            TextTable("Columns", ["column", "taken as", "in training"], columns),
            TextTable("Parameters", ["parameter", "value"], parameters),
        ]
    )
    return Part("fitting", "How it was fitted", body)


def _section(part: Part) -> str:
    return (
        f'<section aria-labelledby="{part.key}"><h2 id="{part.key}">{_text(part.title)}</h2>\n'
        f"{part.body}</section>"
    )


def _verdict(sentences: Sequence[str], good: bool) -> str:
    lines = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    return f'<div class="verdict {"good" if good else "warn"}">{lines}</div>'


def _pictures(drawn: Sequence[Picture]) -> str:
    figures = "".join(
        f"<figure{' class=wide tabindex=0' if picture.wide else ''}>{picture.svg}"
        f"<figcaption>{_text(picture.caption)}</figcaption></figure>\n"
        for picture in drawn
    )
    return f'<div class="pictures">{figures}</div>'


def _tables(tables: Sequence[TextTable]) -> str:
    return f'<div class="tables">{"".join(_table(table) for table in tables if table.rows)}</div>'


def _table(table: TextTable) -> str:
    """Return a table in a frame that scrolls by itself."""
    title = _text(table.title)
    frame = f'<div class="scroll" role="region" tabindex="0" aria-label="{title}">'
    return f"{frame}{html_table(table)}</div>\n"


def _text(text: str) -> str:
    return html.escape(text)
