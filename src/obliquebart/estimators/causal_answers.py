"""What a causal model answers: effects for rows and on average."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.causal.answers import AverageEffect
from obliquebart.causal.design import CausalDesign
from obliquebart.causal.effects import effect_blocks
from obliquebart.causal.treatment import Treatment
from obliquebart.estimators.fitted import Fitted
from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.predictions import require_draws_memory
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_number

FloatArray = NDArray[np.float64]


class CausalAnswers:
    """A base of `ObliqueBARTCausal`."""

    _fitted: Fitted
    posterior_: Posterior
    effects_: dict[Any, Posterior]
    treatment_: Treatment
    n_jobs: int | None

    @property
    def _design(self) -> CausalDesign:
        design = self._fitted.design
        if design is None:
            raise AssertionError("a causal model has a design")
        return design

    def _wide(self, X: Any, propensity: Any = None) -> EncodedTable:
        """Return all columns of the chains at the rows of X; None means the training rows."""
        if X is None:
            training = self._fitted.training
            if training is None:
                raise ValueError(
                    "This model was loaded without its training data: pass X, or save the model "
                    "with include_data=True."
                )
            return training.table
        design = self._design
        table = self._fitted.encoding.transform(X)
        return design.widen(table, design.propensities(table, propensity, self.n_jobs))

    def effect_draws(
        self, X: Any = None, *, arm: Any = None, propensity: ArrayLike | None = None
    ) -> FloatArray:
        """Return every draw of the effect at the rows of X.

        Parameters
        ----------
        X : table of shape (n, n_features), optional
            By default the training rows.
        arm : label, optional
            Which treatment, if there are several.
        propensity : array-like, optional
            Propensities of the rows, if `fit` was given such.

        Returns
        -------
        ndarray of shape (n_chains * n_draws, n)
            In the units of y, or differences of probabilities; of a dose, per unit.
        """
        check_is_fitted(self)
        k = self.treatment_.index(arm)
        wide = self._wide(X, propensity)
        effect = list(self.effects_.values())[k]
        n_draws = effect.n_chains * effect.n_draws
        require_draws_memory(n_draws, wide.n_rows, 1)
        out = np.empty((n_draws, wide.n_rows))
        for rows, draws in effect_blocks(self.posterior_, effect, wide, (0.0, 1.0), self.n_jobs):
            out[:, rows] = draws
        return out

    def effect(
        self,
        X: Any = None,
        *,
        arm: Any = None,
        return_interval: bool = False,
        coverage: float = 0.95,
        propensity: ArrayLike | None = None,
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Return the posterior mean of the effect at each row of X, and perhaps intervals."""
        tail = (1.0 - check_number("coverage", coverage, 0, 1)) / 2.0
        draws = self.effect_draws(X, arm=arm, propensity=propensity)
        mean = np.asarray(draws.mean(axis=0), dtype=np.float64)
        if not return_interval:
            return mean
        return mean, np.quantile(draws, [tail, 1.0 - tail], axis=0).T

    def ate(
        self,
        X: Any = None,
        *,
        arm: Any = None,
        coverage: float = 0.95,
        propensity: ArrayLike | None = None,
    ) -> AverageEffect:
        """Return the effect averaged over the rows of X, by default the training rows."""
        coverage = check_number("coverage", coverage, 0, 1)
        draws = self.effect_draws(X, arm=arm, propensity=propensity)
        name = self.treatment_.names[self.treatment_.index(arm)]
        return AverageEffect.of_draws(draws.mean(axis=1), coverage, draws.shape[1], name)

    def _warn_of_overlap(self) -> None:
        """Warn of rows without counterparts."""
