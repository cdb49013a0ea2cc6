"""The sections of the page: quality, importance, effects, convergence, details."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from obliquebart.display.tables import TextTable
from obliquebart.explain.effects import Effect
from obliquebart.explain.evaluation import ClassEvaluation, Evaluation, evaluate, score_text
from obliquebart.explain.importance import ImportanceTable, in_words
from obliquebart.explain.overview import (
    importance_overview,
    is_training_data,
    labelled_posteriors,
    rule_overview,
)
from obliquebart.explain.trees import Tree
from obliquebart.posterior.diagnostics import ModelSummary
from obliquebart.posterior.posterior import Posterior
from obliquebart.report import pictures
from obliquebart.report.headlines import headlines
from obliquebart.report.markup import (
    Part,
    box,
    cards,
    folded,
    gallery,
    heading,
    paragraph,
    preformatted,
    tables,
)
from obliquebart.table.levels import LevelTable

# With more classes, the chains of only this many are shown.
MAX_CLASSES = 6
SHOWN_COLUMNS = 15
# The number of columns whose effects are drawn, and their minimum importance.
MAX_EFFECTS, SMALLEST_SHARE = 6, 0.01
N_ROWS_OF_F = 10


class Study(NamedTuple):
    """A model and everything the page shows about it."""

    model: Any
    X: Any
    summary: ModelSummary
    evaluation: Evaluation
    importance: ImportanceTable
    effects: list[Effect]
    is_training: bool
    """Whether the rows are the training rows."""

    @property
    def target(self) -> str:
        """Name of the outcome."""
        return self.model.target_name_ or "y"

    @property
    def shown(self) -> dict[str, Posterior]:
        """The posteriors whose chains and trees are shown, by class."""
        return dict(list(labelled_posteriors(self.model).items())[:MAX_CLASSES])


def study(model: Any, X: Any, y: ArrayLike) -> Study:
    """Compute everything the page needs."""
    importance = model.importance(X)
    some = [row.column for row in importance[:MAX_EFFECTS] if row.share >= SMALLEST_SHARE]
    return Study(
        model=model,
        X=X,
        summary=model.summary(X, rows=N_ROWS_OF_F),
        evaluation=evaluate(model, X, y, n_jobs=model.n_jobs),
        importance=importance,
        effects=[model.effects(X, column) for column in some],
        is_training=is_training_data(model, X, y),
    )


def all_parts(subject: Study) -> list[Part]:
    """Return the sections in order."""
    parts = [_in_short(subject), _quality(subject), _columns(subject)]
    if subject.effects:
        parts.append(_effects(subject))
    if subject.shown:
        parts += [_convergence(subject), _details(subject), _trees(subject)]
    else:
        parts.append(_details(subject))
    return [*parts, _fitting(subject)]


def default_title(model: Any) -> str:
    """Return the default title, a question that the page answers."""
    return f"What predicts {model.target_name_}?" if model.target_name_ else "Oblique BART"


def lead(subject: Study, source: str | None) -> str:
    """Describe the model and the rows it is evaluated on."""
    fitted = subject.model._fitted
    encoding = fitted.encoding
    kind = "a number" if fitted.classes is None else f"one of {len(fitted.classes)} classes"
    columns = [
        f"{count} {what} column{'' if count == 1 else 's'}"
        for count, what in ((encoding.p_cont, "continuous"), (encoding.p_cat, "categorical"))
        if count
    ]
    learned = "" if fitted.n_rows is None else f"was trained on {fitted.n_rows:,} rows and "
    judged = f"{subject.evaluation.n_table:,} rows" + (f" of {source}" if source else "")
    task = subject.model._likelihood.task
    return (
        f"This model predicts {subject.target}, {kind}, from {' and '.join(columns)}. It {learned}"
        f"was evaluated on {judged}. Method: {task} by oblique Bayesian additive regression trees "
        "(BART)."
    )


# ---- what a reader wants first -------------------------------------------------------------------


def _in_short(subject: Study) -> Part:
    body = cards(headlines(subject.evaluation))
    if subject.importance and subject.importance[0].share > 0:
        most = in_words(subject.importance)
        body += paragraph(f"The columns with the highest importance: {most}.")
    if subject.is_training:
        body += box(
            "These are the training rows.",
            [
                "Errors and intervals look better on them than on new rows. For realistic numbers, "
                "use rows held out from training."
            ],
            good=False,
        )
    verdict = subject.summary.verdict
    if verdict is not None and verdict.tier != "fine":
        body += box(verdict.headline, verdict.sentences[:1], good=False)
    return Part("in-short", "Summary", "Summary", body)


def _quality(subject: Study) -> Part:
    body = gallery(pictures.main_checks(subject.evaluation))
    return Part("predictions", "Predictions", "How good are the predictions?", body)


def _columns(subject: Study) -> Part:
    table = subject.importance
    body = paragraph(
        "The importance of a column is how much predictions change when its values are shuffled "
        "among the rows: 0% if the column does not matter, 100% if predictions depend on nothing "
        "else."
    )
    drawn = gallery([pictures.importance(table[:SHOWN_COLUMNS], len(table))])
    listed = importance_overview(table, SHOWN_COLUMNS)._replace(title="Columns by importance")
    shown = tables([listed])
    body += f'<div class="beside">{drawn}{shown}</div>'
    return Part("columns", "Columns", "Which columns matter?", body)


def _effects(subject: Study) -> Part:
    body = paragraph(
        "The effect of a column is the average prediction if all rows had the same value in it. "
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
        "The model is a set of draws from several chains. If the chains agree, other random "
        "numbers would give nearly the same page. R-hat compares the chains: 1 means that they "
        "agree. ESS is the equivalent number of independent draws, and MCSE the precision of the "
        "means. The verdict is about predictions at new rows, halfway between rows of the table."
    )
    body += _several(subject)
    for i, (label, posterior) in enumerate(subject.shown.items()):
        diagnostics = subject.summary.diagnostics[label]
        drawn = gallery([pictures.trace(posterior, diagnostics, f"trace{i}", subject.target)])
        shown = tables(diagnostics.tables(), of_terms=True)
        body += folded(label, f'<div class="beside">{drawn}{shown}</div>')
    return Part("convergence", "Convergence", "Have the chains converged?", body)


def _several(subject: Study) -> str:
    n_classes = len(labelled_posteriors(subject.model))
    if n_classes < 2:
        return ""
    shown = "" if n_classes <= MAX_CLASSES else f" The first {MAX_CLASSES} of {n_classes}:"
    return paragraph(f"Each class has its own chains, for the class against the rest.{shown}")


# ---- details -------------------------------------------------------------------------------------


def _details(subject: Study) -> Part:
    evaluation = subject.evaluation
    rows = [[name, score_text(name, value)] for name, value in evaluation.scores().items()]
    where = "training rows" if subject.is_training else "rows not in training"
    body = tables([TextTable(f"Scores on {where}", ["score", "value"], rows)], of_terms=True)
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
        body += folded(label, _rules(posterior, subject.X, i))
    return Part("rules", "Trees", "What do the trees look like?", body)


def _rules(posterior: Posterior, X: Any, i: int) -> str:
    found = rule_overview(posterior, SHOWN_COLUMNS)
    body = paragraph(found.sentence())
    body += gallery([pictures.inclusion(found.inclusion, f"inclusion{i}")])
    sizes = [
        [str(row.n_columns), f"{row.share:.1%}", f"{row.low:.1%} to {row.high:.1%}"]
        for row in found.sizes.sizes[:10]
    ]
    table = TextTable("Columns per rule", ["columns", "share of rules", "90% interval"], sizes)
    body += tables([*found.tables(), table])
    tree = pictures.example_tree(posterior, X)
    body += heading("One tree of the last draw")
    body += paragraph(_about(tree))
    body += gallery([pictures.tree(tree, f"tree{i}")])
    return body + preformatted(str(tree), "The same tree as text")


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
    columns = []
    for name, kind, column in zip(encoding.names, encoding.kinds, encoding.columns, strict=True):
        if isinstance(column, LevelTable):
            values = f"{column.n_levels} levels"
        else:
            values = column.range_in_words()
        columns.append([name, kind, values])
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
