"""Regression with Student's t noise, though the estimator's own likelihood is normal."""

from __future__ import annotations

from dataclasses import replace

from obliquebart import ObliqueBARTRegressor
from obliquebart.likelihood import LIKELIHOODS

DF = 6.0


class StudentTRegressor(ObliqueBARTRegressor):
    """Fits with six degrees of freedom; it is saved as its base."""

    def _checked_parameters(self):
        parameters, schedule = super()._checked_parameters()
        return replace(parameters, noise_df=DF), schedule

    def _read(self, *arguments):
        encoding, problem = super()._read(*arguments)
        outcome = replace(problem.outcome, likelihood=LIKELIHOODS["student_t"])
        return encoding, problem._replace(outcome=outcome)
