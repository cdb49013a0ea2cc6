"""The sections of the page: quality, importance, effects, convergence, details."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from obliquebart.display.tables import TextTable
from obliquebart.explain import effects
from obliquebart.explain import importance as importances
from obliquebart.explain.effects import Effect
from obliquebart.explain.evaluation import ClassEvaluation, Evaluation, evaluate, score_text
from obliquebart.explain.importance import ImportanceTable, in_words
from obliquebart.explain.overview import (
    importance_overview,
    labelled_posteriors,
    rows_seen,
    rule_overview,
)
from obliquebart.explain.survival import SurvivalEvaluation
from obliquebart.explain.trees import Tree
from obliquebart.model.seen_rows import SeenRows
from obliquebart.posterior.diagnostics import ModelSummary
from obliquebart.posterior.posterior import Posterior
from obliquebart.report import pictures
from obliquebart.report.columns import column_counts, columns_in_words
from obliquebart.report.headlines import caution, headlines
from obliquebart.report.markup import (
    Part,
    box,
    cards,
    folded,
    gallery,
    heading,
    paragraph,
    preformatted,
    section,
    tables,
)

# With more classes, the chains of only this many are shown.
MAX_CLASSES = 6
SHOWN_COLUMNS = 15
# The number of columns whose effects are drawn, and their minimum importance.
MAX_EFFECTS, SMALLEST_SHARE = 6, 0.01
N_ROWS_OF_F = 10
# Tasks whose method is called differently.
TASKS = {"survival": "survival analysis"}
# What is less is written as 0.0%.
SMALLEST_SHOWN = 0.0005


class Study(NamedTuple):
    """A model and everything the page shows about it."""

    model: Any
    X: Any
    summary: ModelSummary
    evaluation: Evaluation
    importance: ImportanceTable
    effects: list[Effect]
    seen: SeenRows
    """How many of the rows were in training."""

    @property
    def target(self) -> str:
        """Name of the outcome."""
        return self.model.target_name_ or "y"

    @property
    def shown(self) -> dict[str, Posterior]:
        """The posteriors whose chains and trees are shown, by class."""
        return dict(list(labelled_posteriors(self.model).items())[:MAX_CLASSES])


def study(model: Any, X: Any, y: ArrayLike) -> Study:
    """Compute what a page needs."""
    # Several posteriors take their time, and half of the draws is enough for a picture.
    share = 1 if len(model._fitted.parts) <= 1 else 2
    importance = model.importance(X, max_draws=importances.MAX_DRAWS // share)
    some = [row.column for row in importance[:MAX_EFFECTS] if row.share >= SMALLEST_SHARE]
    return Study(
        model=model,
        X=X,
        summary=model.summary(X, rows=N_ROWS_OF_F)._for("page"),
        evaluation=evaluate(model, X, y, n_jobs=model.n_jobs),
        importance=importance,
        effects=[model.effects(X, column, max_draws=effects.MAX_DRAWS // share) for column in some],
        seen=rows_seen(model, X, y),
    )


def all_parts(subject: Study) -> list[Part]:
    """Return the sections for every reader, in their order."""
    parts = [_in_short(subject), _quality(subject), _columns(subject)]
    if subject.effects:
        parts.append(_effects(subject))
    return [*parts, _convergence(subject)] if subject.shown else parts


def for_analysts(subject: Study) -> Part:
    """Return one section with all that is left."""
    trees = [_trees(subject)] if subject.shown else []
    parts = [_details(subject), *trees, _fitting(subject)]
    listed = "Scores and more checks, the trees, and the columns and parameters of the fit."
    body = paragraph(listed) + "\n".join(section(part, 3) for part in parts)
    return Part("analysts", "For analysts", "Details for analysts", body)


def default_title(model: Any) -> str:
    """Return the default title, a question that the page answers."""
    return f"What predicts {model.target_name_}?" if model.target_name_ else "Oblique BART"


def lead(subject: Study, source: str | None) -> str:
    """Describe the model and the rows it is evaluated on."""
    fitted = subject.model._fitted
    encoding = fitted.encoding
    kind = fitted.likelihood.outcome_in_words(fitted.classes)
    columns = column_counts(encoding, encoding.transform(subject.X))
    learned = "" if fitted.n_rows is None else f"trained on {fitted.n_rows:,} rows and "
    judged = f"{subject.evaluation.n_table:,} rows" + (f" of {source}" if source else "")
    task = TASKS.get(fitted.likelihood.task, fitted.likelihood.task)
    return (
        f"This model predicts {subject.target}, {kind}, from {columns}. It was {learned}"
        f"evaluated on {judged}. Method: {task} by oblique Bayesian additive regression trees "
        "(BART)."
    )


# ---- what a reader wants first -------------------------------------------------------------------


def _in_short(subject: Study) -> Part:
    body = cards(headlines(subject.evaluation))
    if subject.importance and subject.importance[0].share > 0:
        most = in_words(subject.importance)
        body += paragraph(
            f"What matters most: {most}. In brackets: the share of the variation of the "
            "predictions that is lost when the column is shuffled (importance)."
        )
    body += _about_rows(subject.seen)
    verdict = subject.summary.verdict
    if verdict is not None and verdict.tier != "fine":
        warning = caution(verdict, subject.evaluation)
        body += box(warning.headline, [warning.sentence], good=False)
    return Part("summary", "Summary", "Summary", body)


def _about_rows(seen: SeenRows) -> str:
    """Warn of rows that were in training, or may have been."""
    if seen.n_seen == 0:
        return ""
    if seen.n_seen is None:
        return paragraph(
            "The model does not know whether these rows were in its training data. If they were, "
            "errors and intervals look better than they would on new rows."
        )
    some = f"{seen.n_seen:,} of these {seen.n_rows:,} rows were in the training data."
    return box(
        "These are the training rows." if seen.n_seen == seen.n_rows else some,
        [
            "Errors and intervals look better on them than on new rows. For an honest page, "
            "pass rows that were held out."
        ],
        good=False,
    )


def _quality(subject: Study) -> Part:
    drawn = pictures.main_checks(subject.evaluation)
    if isinstance(subject.evaluation, SurvivalEvaluation):
        drawn.append(pictures.survival(subject.model, subject.X))
    body = gallery(drawn)
    return Part("predictions", "Predictions", "How good are the predictions?", body)


def _columns(subject: Study) -> Part:
    table = subject.importance
    body = paragraph(
        "The importance of a column is how much predictions change when its values are shuffled "
        "among the rows: 0% for a column that does not matter, 100% for a column that the "
        "predictions depend on entirely."
    )
    drawn = gallery([pictures.importance(table[:SHOWN_COLUMNS], len(table))])
    listed = importance_overview(table, SHOWN_COLUMNS)._replace(title="Columns by importance")
    shown = tables([listed])
    body += f'<div class="beside">{drawn}{shown}</div>'
    return Part("columns", "Columns", "Which columns matter?", body)


def _effects(subject: Study) -> Part:
    body = paragraph(
        "The effect of a column is the average prediction if all rows had the same value of it. "
        "Bands and bars are 90% intervals; marks at the bottom are quantiles of the rows."
    )
    drawn = [pictures.effect(effect, f"effect{i}") for i, effect in enumerate(subject.effects)]
    surface = pictures.surface(subject.model, subject.X, "surface") if subject.shown else None
    body += gallery([*drawn, *([surface] if surface else [])])
    return Part("effects", "Effects", "How do predictions depend on them?", body)


# ---- convergence ---------------------------------------------------------------------------------


def _convergence(subject: Study) -> Part:
    verdict = subject.summary.verdict
    body = ""
    if verdict is not None:
        body += box(verdict.headline, verdict.sentences, good=verdict.tier == "fine")
    body += paragraph(
        "The model is a set of draws, made by several chains. If the chains agree, repeating "
        "the calculation would give nearly the same results. R-hat compares them: 1 is agreement. "
        "ESS says how many independent draws they are worth, and MCSE how precise the means are. "
        "The verdict is for new rows similar to those in the table."
    )
    body += _several(subject)
    for i, (label, posterior) in enumerate(subject.shown.items()):
        diagnostics = subject.summary.diagnostics[label]
        drawn = gallery([pictures.trace(posterior, diagnostics, f"trace{i}", subject.target)])
        shown = tables(diagnostics.tables(), of_terms=True, of=label)
        body += folded(label, f'<div class="beside">{drawn}{shown}</div>')
    return Part("convergence", "Convergence", "Have the chains converged?", body)


def _several(subject: Study) -> str:
    n_classes = len(labelled_posteriors(subject.model))
    if n_classes < 2:
        return ""
    shown = "" if n_classes <= MAX_CLASSES else f" The first {MAX_CLASSES} of {n_classes}:"
    own = "Each class has its own chains, for the class against the rest."
    joint = "Each class has its own trees, in chains that have those of all classes."
    is_joint = subject.model._fitted.likelihood.is_joint
    return paragraph(f"{joint if is_joint else own}{shown}")


# ---- details -------------------------------------------------------------------------------------


def _details(subject: Study) -> Part:
    evaluation = subject.evaluation
    rows = [[name, score_text(name, value)] for name, value in evaluation.scores().items()]
    title = f"Scores ({subject.seen.in_words})"
    body = tables([TextTable(title, ["score", "value"], rows)], of_terms=True)
    body += gallery(pictures.more_checks(evaluation))
    if isinstance(evaluation, ClassEvaluation) and len(evaluation.classes) > 2:
        body += heading("Calibration of each class")
        body += gallery(pictures.calibrations(evaluation, MAX_CLASSES), small=True)
    return Part("checks", "Checks", "More checks", body)


def _trees(subject: Study) -> Part:
    body = paragraph(
        "A continuous rule compares a weighted sum φ'x of columns, each scaled to [-1, 1], with a "
        "cut. The number of rules that use a column describes how the model is built, not how "
        "much the column matters: the prior gives categorical columns fewer rules than continuous "
        "ones."
    )
    for i, (label, posterior) in enumerate(subject.shown.items()):
        body += folded(label, _rules(posterior, subject.X, i, label))
    return Part("rules", "Trees", "What do the trees look like?", body)


def _rules(posterior: Posterior, X: Any, i: int, label: str) -> str:
    found = rule_overview(posterior, SHOWN_COLUMNS)
    body = paragraph(found.sentence())
    body += gallery([pictures.inclusion(found.inclusion, f"inclusion{i}")])
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


def _fitting(subject: Study) -> Part:
    model = subject.model
    encoding = model._fitted.encoding
    table = model._fitted.training.table if model._fitted.training is not None else None
    described = columns_in_words(encoding, table)
    columns = [list(row) for row in zip(encoding.names, encoding.taken_as, described, strict=True)]
    more = len(columns) - 100
    if more > 0:
        columns = [*columns[:100], [f"{more} more", "", ""]]
    # These two do not affect the draws.
    parameters = [
        [name, str(value)]
        for name, value in model.get_params().items()
        if name not in ("n_jobs", "progress")
    ]
    body = tables(
        [
            TextTable("Columns", ["column", "used as", "in training"], columns),
            TextTable("Parameters", ["parameter", "value"], parameters),
        ]
    )
    return Part("fitting", "Fit", "How was the model fitted?", body)
