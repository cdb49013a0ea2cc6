"""What pages of all models have: a title, sections, convergence, trees, the fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from obliquebart.display.tables import TextTable
from obliquebart.explain.overview import rule_overview
from obliquebart.explain.trees import Tree
from obliquebart.posterior.diagnostics import ModelSummary
from obliquebart.posterior.posterior import Posterior
from obliquebart.report import pictures
from obliquebart.report.columns import columns_in_words
from obliquebart.report.markup import (
    Part,
    box,
    folded,
    gallery,
    heading,
    paragraph,
    preformatted,
    tables,
)

SHOWN_COLUMNS = 15
# What is less is written as 0.0%.
SMALLEST_SHOWN = 0.0005


class Content(NamedTuple):
    """All of a page but its glossary."""

    title: str
    lead: str
    parts: list[Part]
    """The sections for every reader, in their order."""
    analysts: Part
    """One section with all that is left."""


def convergence(
    summary: ModelSummary, shown: Mapping[str, Posterior], target: str, about: str = ""
) -> Part:
    """Return the verdict, the traces and the diagnostics of the shown posteriors."""
    verdict = summary.verdict
    body = ""
    if verdict is not None:
        body += box(verdict.headline, verdict.sentences, good=verdict.tier == "fine")
    body += paragraph(
        "The model is a set of draws, made by several chains. If the chains agree, repeating "
        "the calculation would give nearly the same results. R-hat compares them: 1 is agreement. "
        "ESS says how many independent draws they are worth, and MCSE how precise the means are. "
        "The verdict is for new rows similar to those in the table."
    )
    body += about
    for i, (label, posterior) in enumerate(shown.items()):
        diagnostics = summary.diagnostics[label]
        drawn = gallery([pictures.trace(posterior, diagnostics, f"trace{i}", target)])
        listed = tables(diagnostics.tables(), of_terms=True, of=label)
        body += folded(label, f'<div class="beside">{drawn}{listed}</div>')
    return Part("convergence", "Convergence", "Have the chains converged?", body)


def trees(shown: Mapping[str, Posterior], X: Any) -> Part:
    """Return what the rules and trees of the shown posteriors look like."""
    body = paragraph(
        "A continuous rule compares a weighted sum φ'x of columns, each scaled to [-1, 1], with a "
        "cut. The number of rules that use a column describes how the model is built, not how "
        "much the column matters: the prior gives categorical columns fewer rules than continuous "
        "ones."
    )
    for i, (label, posterior) in enumerate(shown.items()):
        body += folded(label, _rules(posterior, X, i, label))
    return Part("rules", "Trees", "What do the trees look like?", body)


def _rules(posterior: Posterior, X: Any, i: int, label: str) -> str:
    found = rule_overview(posterior, SHOWN_COLUMNS)
    body = paragraph(found.sentence())
    body += gallery([pictures.inclusion(found.inclusion, f"inclusion{i}")])
    if posterior.encoding.grids:
        body += gallery(pictures.directions(posterior, f"directions{i}"))
    sizes = [
        [str(row.n_columns), f"{row.share:.1%}", f"{row.low:.1%} to {row.high:.1%}"]
        for row in found.sizes.sizes[:10]
        if row.share >= SMALLEST_SHOWN
    ]
    table = TextTable("Columns of a rule", ["columns", "share of rules", "90% interval"], sizes)
    body += tables([*found.tables(), table], of=label)
    tree = pictures.example_tree(posterior, X)
    body += heading("One tree of the last draw")
    body += paragraph(_about(tree))
    body += gallery([pictures.tree(tree, f"tree{i}")])
    return body + preformatted(str(tree), "The same tree as text", of=label)


def _about(tree: Tree) -> str:
    if "s(" in str(tree):
        return (
            "s(column) is the column scaled to [-1, 1]; other rules are in the units of their "
            "column. Each leaf shows what the tree adds to f."
        )
    return "Rules are in the units of the columns. Each leaf shows what the tree adds to f."


def fitting(model: Any) -> Part:
    """Return the columns and parameters of a fit."""
    encoding = model._fitted.encoding
    table = model._fitted.training.table if model._fitted.training is not None else None
    described = columns_in_words(encoding, table)
    columns = [list(row) for row in zip(encoding.names, encoding.taken_as, described, strict=True)]
    more = len(columns) - 100
    if more > 0:
        columns = [*columns[:100], [f"{more} more", "", ""]]
    # These do not affect the draws.
    parameters = [
        [name, str(value)]
        for name, value in model.get_params().items()
        if name not in ("n_jobs", "device", "progress")
    ]
    body = tables(
        [
            TextTable("Columns", ["column", "used as", "in training"], columns),
            TextTable("Parameters", ["parameter", "value"], parameters),
        ]
    )
    return Part("fitting", "Fit", "How was the model fitted?", body)
