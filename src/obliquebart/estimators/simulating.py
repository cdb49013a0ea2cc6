"""New outcomes from the posterior predictive distribution."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from obliquebart.posterior.posterior import Posterior
from obliquebart.posterior.predictions import FloatArray
from obliquebart.validation import check_count, check_seed


class Simulating:
    """A base of estimators with one posterior of numbers: `sample_y`."""

    posterior_: Posterior
    n_jobs: int | None

    def sample_y(
        self,
        X: Any,
        n_samples: int = 1,
        random_state: int | np.random.RandomState | None = None,
    ) -> FloatArray:
        """Return draws of new outcomes from the posterior predictive distribution.

        Each column is one joint draw: the same ensemble at all rows, and independent noise.

        Parameters
        ----------
        X : array-like or data frame of shape (n, n_features)
            Rows to predict.
        n_samples : int, default=1
            Draws per row.
        random_state : int, RandomState or None, default=None
            An int gives the same draws in every call.

        Returns
        -------
        ndarray of shape (n, n_samples)
        """
        check_is_fitted(self)
        n_samples = check_count("n_samples", n_samples, 1)
        rng = check_seed(random_state)
        return self._in_users_units(self.posterior_.sample_y(X, n_samples, rng, n_jobs=self.n_jobs))

    def _in_users_units(self, outcomes: FloatArray) -> FloatArray:
        """Return outcomes of the posterior as the user gave theirs."""
        return outcomes
