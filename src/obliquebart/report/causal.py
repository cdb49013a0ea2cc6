"""The page of a causal model: what a treatment changes, for whom, and what that rests on."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from matplotlib.axes import Axes

from obliquebart import plots
from obliquebart.causal.answers import (
    AverageEffect,
    SubgroupEffects,
    interval_text,
    probability_text,
)
from obliquebart.causal.overlap import WARNED_SHARE, Overlap
from obliquebart.causal.policy import PolicyValue
from obliquebart.causal.sensitivity import Sensitivity
from obliquebart.display.numbers import about, plain
from obliquebart.explain.importance import ImportanceTable
from obliquebart.explain.overview import importance_overview
from obliquebart.plots.causal import MOST_GROUPS
from obliquebart.plots.style import styled
from obliquebart.posterior.diagnostics import ModelSummary
from obliquebart.report.columns import column_counts
from obliquebart.report.content import Content, convergence, fitting, trees
from obliquebart.report.headlines import CAUTIONS, Headline
from obliquebart.report.markup import (
    Part,
    box,
    cards,
    folded,
    gallery,
    paragraph,
    section,
    tables,
)
from obliquebart.report.pictures import Picture
from obliquebart.report.svg import new_figure, to_svg

# Of more arms only these are shown.
MAX_ARMS = 4
# Columns whose groups are drawn, and their smallest share of the importance.
MAX_GROUPS, SMALLEST_SHARE = 3, 0.05
SHOWN_COLUMNS = 10
N_ROWS_OF_F = 5
SURE = 0.95
ASSUMPTIONS = (
    "Nothing that affects both the treatment and the outcome is missing from the columns. No data "
    "can show this; the section on trust says how much it would take.",
    "Rows with the same columns could have had either treatment.",
    "The columns were known before the treatment, and the treatment of one row does not change the "
    "outcome of another.",
)


class ArmStudy(NamedTuple):
    """What the page shows of one effect."""

    arm: Any
    name: str
    average: AverageEffect
    treated: AverageEffect | None
    """Over the treated rows; None for a dose."""
    probability: Any
    """That the effect at each row is positive."""
    importance: ImportanceTable
    groups: list[SubgroupEffects]
    policy: PolicyValue
    sensitivity: Sensitivity | None
    """None for a dose."""


class CausalStudy(NamedTuple):
    """A causal model and what its page shows."""

    model: Any
    X: Any
    propensity: Any
    arms: list[ArmStudy]
    overlap: Overlap | None
    summary: ModelSummary

    @property
    def target(self) -> str:
        """Name of the outcome."""
        return self.model.target_name_ or "y"


def causal_content(
    model: Any, X: Any, treatment: Any, propensity: Any, source: str | None
) -> Content:
    """Return the content of the page; effects are averaged over the rows of X."""
    arms = [
        _study(model, X, arm, name, treatment, propensity)
        for name, arm in zip(model.treatment_.names, model.effects_, strict=True)
    ][:MAX_ARMS]
    overlap = None
    if model.treatment_.arms is not None and model._design.n_propensities:
        overlap = model.overlap(X, treatment, propensity=propensity)
    summary = model.summary(X, rows=N_ROWS_OF_F, propensity=propensity)._for("page")
    study = CausalStudy(model, X, propensity, arms, overlap, summary)
    column = model._fitted.encoding.left_out
    return Content(
        title=f"What does {column or 'the treatment'} change?",
        lead=_lead(study, source),
        parts=[_in_short(study), _who(study), _overlap(study), _trust(study)],
        analysts=_analysts(study),
    )


def _study(model: Any, X: Any, arm: Any, name: str, treatment: Any, propensity: Any) -> ArmStudy:
    importance = model.importance(X, arm=arm)
    some = [row.column for row in importance[:MAX_GROUPS] if row.share >= SMALLEST_SHARE]
    given = {"arm": arm, "propensity": propensity}
    has_arms = model.treatment_.arms is not None
    return ArmStudy(
        arm=arm,
        name=name,
        average=model.ate(X, **given),
        treated=model.att(X, treatment, **given) if has_arms else None,
        probability=model.probability_above(X, **given),
        importance=importance,
        groups=[model.effect_by(X, column, **given) for column in some],
        policy=model.policy_value(X, **given),
        sensitivity=model.sensitivity(X, treatment, **given) if has_arms else None,
    )


def _lead(study: CausalStudy, source: str | None) -> str:
    fitted = study.model._fitted
    columns = column_counts(fitted.encoding, study.model._narrow(study.X))
    learned = "" if fitted.n_rows is None else f"trained on {fitted.n_rows:,} rows, and its "
    of = f" of {source}" if source else ""
    n_rows = study.arms[0].average.n_rows
    return (
        f"This model estimates what a treatment changes in {study.target}, given {columns}. It was "
        f"{learned or 'fitted, and its '}effects are averaged over {n_rows:,} rows{of}. Method: "
        "oblique Bayesian additive regression trees for the outcome and for the effect."
    )


# ---- what a reader wants first -------------------------------------------------------------------


def _in_short(study: CausalStudy) -> Part:
    shown = [headline for arm in study.arms for headline in _headlines(arm, len(study.arms) > 1)]
    if study.overlap is not None:
        shown.append(
            Headline(
                "Comparable rows",
                f"{1.0 - study.overlap.share:.0%}",
                "of the rows have counterparts with the other treatment.",
            )
        )
    body = cards(shown)
    body += "".join(paragraph(_in_words(arm)) for arm in study.arms)
    body += box("This is an effect only if", ASSUMPTIONS, good=False)
    verdict = study.summary.verdict
    if verdict is not None and verdict.tier in CAUTIONS:
        body += box(CAUTIONS[verdict.tier], verdict.sentences, good=False)
    return Part("summary", "Summary", "Summary", body)


def _headlines(arm: ArmStudy, is_several: bool) -> list[Headline]:
    average = arm.average
    of = f" ({arm.name})" if is_several else ""
    positive, negative = (arm.probability > SURE).mean(), (arm.probability < 1 - SURE).mean()
    return [
        Headline(
            f"Average effect{of}",
            plain(average.mean),
            f"{average.coverage:.0%} interval {interval_text(average.low, average.high)}.",
        ),
        Headline(
            f"Clearly positive{of}",
            f"{positive:.0%}",
            f"of the rows: there the effect is above zero with at least {SURE:.0%} probability. "
            f"It is clearly negative for {negative:.0%}.",
        ),
    ]


def _in_words(arm: ArmStudy) -> str:
    """Say in a sentence what the treatment changes."""
    average = arm.average
    direction = "raises" if average.mean >= 0 else "lowers"
    words = (
        f"On average, the treatment ({arm.name}) {direction} {average.outcome} by about "
        f"{about(abs(average.mean))}. The effect is between {plain(average.low)} and "
        f"{plain(average.high)} with {average.coverage:.0%} probability, and positive with "
        f"probability {probability_text(average.probability_positive)}."
    )
    if average.low < 0 < average.high:
        words += " So the data do not tell its sign for certain."
    if arm.treated is not None:
        words += (
            f" For those who were treated it is {plain(arm.treated.mean)} on average "
            f"({interval_text(arm.treated.low, arm.treated.high)})."
        )
    return words


# ---- who benefits --------------------------------------------------------------------------------


def _who(study: CausalStudy) -> Part:
    body = paragraph(
        "Effects can differ between rows. The first picture has them from the smallest to the "
        "largest: if the intervals are as wide as the whole curve, the data do not tell who "
        "responds more. Importance is the share of these differences that is lost when a column is "
        "shuffled."
    )
    for i, arm in enumerate(study.arms):
        content = _who_benefits(study, arm, i)
        body += folded(arm.name if len(study.arms) > 1 else "", content)
    return Part("who", "Who benefits", "Who benefits?", body)


def _who_benefits(study: CausalStudy, arm: ArmStudy, i: int) -> str:
    given = {"arm": arm.arm, "propensity": study.propensity}
    ranking = partial(plots.effect_ranking, study.model, study.X, **given)
    drawn = [_picture(f"ranking{i}", ranking, "Effects of the rows, with 95% intervals.")]
    for j, groups in enumerate(arm.groups):
        drawn.append(_groups_picture(groups, f"groups{i}-{j}"))
    gain = arm.policy.gain
    caption = (
        "The gain per row if only some rows are treated, those with the largest effects first. "
        f"Treating the {arm.policy.share_treated:.0%} whose mean effect is above zero gains "
        f"{plain(gain.mean)} ({interval_text(gain.low, gain.high)})."
    )
    drawn.append(_picture(f"policy{i}", partial(plots.policy, arm.policy), caption))
    listed = importance_overview(arm.importance, SHOWN_COLUMNS)
    listed = listed._replace(
        title="Columns by importance for the effect",
        headings=[*listed.headings[:-1], "change of the effect"],
    )
    return gallery(drawn) + tables([listed], of=arm.name)


def _groups_picture(groups: SubgroupEffects, key: str) -> Picture:
    height = 1.6 + 0.3 * min(len(groups), MOST_GROUPS)
    caption = f"Average effect by {groups.column}, with 95% intervals. Rows are in brackets."
    listed = "; ".join(f"{group.group} {plain(group.mean)}" for group in groups[:10])
    return _picture(key, partial(plots.subgroups, groups), caption, listed, height)


# ---- what it rests on ----------------------------------------------------------------------------


def _overlap(study: CausalStudy) -> Part:
    title = "Are there rows to compare with?"
    if study.overlap is None:
        is_dose = study.model.treatment_.arms is None
        words = (
            "The treatment is a dose, so there are no arms to compare."
            if is_dose
            else "The model was fitted without propensities, as is right for a randomised "
            "experiment: then every row could have had either treatment."
        )
        return Part("overlap", "Overlap", title, paragraph(words))
    body = paragraph(
        "The propensity of a row is its probability of the treatment, given its columns. Where "
        "only one arm has rows, the data do not show what the other treatment would have done; "
        "effects there come from the model alone."
    )
    found = study.overlap
    is_fine = found.share <= WARNED_SHARE
    body += box(
        "The arms overlap." if is_fine else "Some rows have nothing to compare with.",
        [found.in_words()],
        good=is_fine,
    )
    drawn = [
        _picture(
            f"overlap{k}",
            partial(plots.overlap, found, arm=arm),
            "Propensities by arm. Crosses are rows without counterparts.",
        )
        for k, arm in enumerate(found.arms[1 : MAX_ARMS + 1])
    ]
    return Part("overlap", "Overlap", title, body + gallery(drawn))


def _trust(study: CausalStudy) -> Part:
    body = paragraph(
        "One picture shows what the model assumed about the average effect before it saw the "
        "outcomes, and what it knows now. The other shows how strong a confounder that was not "
        "measured would have to be: how much more common it would be among the treated, and how "
        "much it would add to the outcome. Diamonds are observed columns, cut in two, for "
        "comparison."
    )
    drawn: list[Picture] = []
    for i, arm in enumerate(study.arms):
        of = f" {arm.name}." if len(study.arms) > 1 else ""
        average = arm.average
        drawn.append(
            _picture(
                f"prior{i}",
                partial(
                    plots.prior_and_posterior,
                    study.model,
                    study.X,
                    arm=arm.arm,
                    propensity=study.propensity,
                ),
                f"Prior and posterior of the average effect.{of}",
                f"Posterior interval {interval_text(average.low, average.high)}.",
            )
        )
        found = arm.sensitivity
        if found is not None:
            drawn.append(
                _picture(
                    f"sensitivity{i}",
                    partial(plots.sensitivity, found),
                    f"What a confounder would leave of the effect.{of} {found.in_words()}",
                )
            )
    return Part("trust", "Trust", "How far can it be trusted?", body + gallery(drawn))


def _analysts(study: CausalStudy) -> Part:
    posteriors = {f"effect, {arm.name}": study.model.effects_[arm.arm] for arm in study.arms}
    outcome = {"outcome without treatment": study.model.posterior_}
    parts = [
        convergence(study.summary, {**outcome, **posteriors}, study.target),
        trees(posteriors, study.X),
        fitting(study.model),
    ]
    listed = "Convergence of the chains, the trees of the effects, columns and parameters."
    body = paragraph(listed) + "\n".join(section(part, 3) for part in parts)
    return Part("analysts", "For analysts", "Details for analysts", body)


def _picture(
    key: str,
    draw: Callable[..., Axes],
    caption: str,
    more: str = "",
    height: float = 3.6,
) -> Picture:
    with styled():
        figure = new_figure(height)
        draw(ax=figure.subplots())
    return Picture(to_svg(figure, key, f"{caption} {more}".strip()), caption)
