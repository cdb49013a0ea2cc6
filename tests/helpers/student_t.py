"""Regression with Student's t noise, though the estimator's own likelihood is normal."""

from __future__ import annotations

from typing import Any

from obliquebart import ObliqueBARTRegressor

DF = 6.0


def student_t_regressor(**parameters: Any) -> ObliqueBARTRegressor:
    """Return an estimator with six degrees of freedom."""
    return ObliqueBARTRegressor(noise_df=DF, **parameters)
