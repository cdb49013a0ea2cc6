"""The quality of a model in a few plain numbers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from obliquebart.display.numbers import about
from obliquebart.explain.evaluation import (
    ClassEvaluation,
    CountEvaluation,
    Evaluation,
    RegressionEvaluation,
)
from obliquebart.explain.survival import SurvivalEvaluation
from obliquebart.posterior.verdict import WITHIN, Verdict

CAUTIONS = {
    "more": "The calculation was a little short.",
    "apart": "The calculation has not settled on one explanation of the data.",
}


class Headline(NamedTuple):
    """A number with a name, and a sentence that puts it in context."""

    name: str
    value: str
    note: str


def headlines(evaluation: Evaluation) -> list[Headline]:
    """Return the numbers to show first."""
    if isinstance(evaluation, ClassEvaluation):
        return _of_classes(evaluation)
    if isinstance(evaluation, SurvivalEvaluation):
        return _of_times(evaluation)
    return _of_numbers(evaluation)


class Caution(NamedTuple):
    """How much chance there is in the predictions because the calculation was short."""

    headline: str
    sentence: str


def caution(verdict: Verdict, evaluation: Evaluation) -> Caution:
    """Say in words without statistics what a verdict that is not "fine" means for predictions."""
    if not math.isfinite(verdict.error):
        return Caution(verdict.headline, verdict.sentences[0])
    headline = CAUTIONS[verdict.tier]
    if isinstance(evaluation, ClassEvaluation):
        points = about(100.0 * WITHIN * verdict.error)
        compared = f"a probability by about ±{points} percentage points"
    elif isinstance(evaluation, SurvivalEvaluation):
        compared = f"a predicted time by about ±{about(100.0 * WITHIN * verdict.error)}%"
    else:
        error = about(float(evaluation.scores()["MAE"]), 3)
        compared = (
            f"a prediction by about ±{about(WITHIN * verdict.error)}, compared with an average "
            f"error of {error}"
        )
    return Caution(
        headline,
        f"Another run could move {compared}. The section on convergence says what to do.",
    )


def _of_numbers(evaluation: RegressionEvaluation) -> list[Headline]:
    scores = evaluation.scores()
    name = evaluation.target or "y"
    guess = float(np.mean(np.abs(evaluation.y - evaluation.y.mean())))
    shown = [
        Headline(
            "Average error",
            about(scores["MAE"], 3),
            f"Predictions of {name} are off by this much on average (mean absolute error). Always "
            f"predicting the average would be off by {about(guess, 3)}.",
        )
    ]
    measure = "D²" if isinstance(evaluation, CountEvaluation) else "R²"
    if not np.isnan(scores[measure]):
        shown.append(
            Headline(
                "Explained",
                f"{scores[measure]:.0%}",
                f"of the differences in {name} between rows ({measure}).",
            )
        )
    inside = float(evaluation.covered.mean())
    shown.append(
        Headline(
            "Inside their interval",
            f"{inside:.0%}",
            f"of the rows. The target is {evaluation.coverage:.0%}. Intervals are "
            f"±{about(float(np.mean(evaluation.high - evaluation.low)) / 2.0)} on average.",
        )
    )
    return shown


def _of_times(evaluation: SurvivalEvaluation) -> list[Headline]:
    scores = evaluation.scores()
    n_rows = len(evaluation.risk)
    shown = []
    if not np.isnan(scores["concordance"]):
        shown.append(
            Headline(
                "Ranked correctly",
                f"{scores['concordance']:.0%}",
                "of pairs of rows: the one with the higher risk has the earlier event "
                "(concordance). Guessing would give 50%.",
            )
        )
    inside = evaluation.coverage_at(evaluation.coverage)
    return [
        *shown,
        Headline(
            "Inside their interval",
            f"{inside:.0%}",
            f"of the rows. The target is {evaluation.coverage:.0%}. Censored rows count with the "
            "probability of being inside.",
        ),
        Headline(
            "Events",
            f"{evaluation.n_events / n_rows:.0%}",
            f"of the rows: {evaluation.n_events:,} of {n_rows:,}. The others are censored: their "
            "event is known to be later than the end of observation.",
        ),
    ]


def _of_classes(evaluation: ClassEvaluation) -> list[Headline]:
    scores = evaluation.scores()
    counts = np.bincount(evaluation.codes, minlength=len(evaluation.classes))
    common = evaluation.classes[int(np.argmax(counts))]
    shown = [
        Headline(
            "Correct",
            f"{scores['accuracy']:.0%}",
            f"of the rows (accuracy). Always predicting {common}, the most frequent class, would "
            f"be correct for {counts.max() / counts.sum():.0%}.",
        )
    ]
    if "AUC" in scores:
        first, second = evaluation.classes[:2]
        shown.append(
            Headline(
                "Ranked correctly",
                f"{scores['AUC']:.0%}",
                f"of pairs of one row with {second} and one with {first} (AUC). Guessing would "
                "give 50%.",
            )
        )
    own = evaluation.probability[np.arange(len(evaluation.codes)), evaluation.codes]
    shown.append(
        Headline(
            "Confidence in the right class",
            f"{float(own.mean()):.0%}",
            "on average. Predicting the class frequencies would give "
            f"{float(np.sum((counts / counts.sum()) ** 2)):.0%}.",
        )
    )
    return shown
