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
)
from obliquebart.explain.survival import SurvivalEvaluation
from obliquebart.model.seen_rows import SeenRows
from obliquebart.posterior.diagnostics import ModelSummary
from obliquebart.posterior.posterior import Posterior
from obliquebart.report import content, pictures
from obliquebart.report.columns import column_counts
from obliquebart.report.content import SHOWN_COLUMNS, Content, convergence, fitting
from obliquebart.report.headlines import caution, headlines
from obliquebart.report.markup import (
    Part,
    box,
    cards,
    gallery,
    heading,
    paragraph,
    section,
    tables,
)

# With more classes, the chains of only this many are shown.
MAX_CLASSES = 6
# The number of columns whose effects are drawn, and their minimum importance.
MAX_EFFECTS, SMALLEST_SHARE = 6, 0.01
N_ROWS_OF_F = 10
# Tasks whose method is called differently.
TASKS = {"survival": "survival analysis"}


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


def study(model: Any, X: Any, y: ArrayLike, exposure: ArrayLike | None = None) -> Study:
    """Compute what a page needs."""
    # Several posteriors take their time, and half of the draws is enough for a picture.
    share = 1 if len(model._fitted.parts) <= 1 else 2
    importance = model.importance(X, max_draws=importances.MAX_DRAWS // share)
    some = [row.column for row in importance[:MAX_EFFECTS] if row.share >= SMALLEST_SHARE]
    return Study(
        model=model,
        X=X,
        summary=model.summary(X, rows=N_ROWS_OF_F)._for("page"),
        evaluation=evaluate(model, X, y, exposure=exposure, n_jobs=model.n_jobs),
        importance=importance,
        effects=[model.effects(X, column, max_draws=effects.MAX_DRAWS // share) for column in some],
        seen=rows_seen(model, X, y),
    )


def plain_content(
    model: Any, X: Any, y: ArrayLike, source: str | None, exposure: ArrayLike | None = None
) -> Content:
    """Return the content of the page of a model that predicts."""
    subject = study(model, X, y, exposure)
    return Content(
        default_title(model), lead(subject, source), all_parts(subject), for_analysts(subject)
    )


def all_parts(subject: Study) -> list[Part]:
    """Return the sections for every reader, in their order."""
    parts = [_in_short(subject), _quality(subject), _columns(subject)]
    if subject.effects:
        parts.append(_effects(subject))
    if not subject.shown:
        return parts
    about = _several(subject)
    return [*parts, convergence(subject.summary, subject.shown, subject.target, about)]


def for_analysts(subject: Study) -> Part:
    """Return one section with all that is left."""
    trees = [content.trees(subject.shown, subject.X)] if subject.shown else []
    parts = [_details(subject), *trees, fitting(subject.model)]
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


# ---- details ------------------------------------------------------------------------------------


def _several(subject: Study) -> str:
    n_classes = len(labelled_posteriors(subject.model))
    if n_classes < 2:
        return ""
    shown = "" if n_classes <= MAX_CLASSES else f" The first {MAX_CLASSES} of {n_classes}:"
    own = "Each class has its own chains, for the class against the rest."
    joint = "Each class has its own trees, in chains that have those of all classes."
    is_joint = subject.model._fitted.likelihood.is_joint
    return paragraph(f"{joint if is_joint else own}{shown}")


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
