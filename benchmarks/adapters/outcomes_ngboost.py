"""NGBoost with normal outcomes.

Its defaults, which are 500 rounds; or, with early stopping, at most 2,000 rounds and an end after
50 without gain on a tenth of the training rows, which it sets aside itself.
"""

from __future__ import annotations

import time

import numpy as np
from forecasts import COVERAGE, Outcomes
from ngboost import NGBRegressor
from outcome_tables import Split
from scipy.stats import norm

from adapters.outcomes_encoding import one_hot

N_SAMPLES = 1000


def regression(split: Split, *, early_stopping: bool = False) -> Outcomes:
    x, x_test = one_hot(split)
    stop = {"n_estimators": 2000, "early_stopping_rounds": 50} if early_stopping else {}
    model = NGBRegressor(verbose=False, random_state=split.seed, **stop)
    start = time.process_time()
    model.fit(x, split.y_train)
    fit_s = time.process_time() - start
    # It keeps the rounds after the best one, and by default predicts with them.
    best = model.best_val_loss_itr + 1 if early_stopping else None
    found = model.pred_dist(x_test, max_iter=best)
    mean, sd = np.asarray(found.params["loc"]), np.asarray(found.params["scale"])
    ends = np.array([(1 - COVERAGE) / 2, (1 + COVERAGE) / 2])
    return Outcomes(
        mean,
        float(norm.logpdf(split.y_test, mean, sd).mean()),
        norm.ppf(ends, mean[:, None], sd[:, None]),
        np.random.default_rng(split.seed).normal(mean, sd, (N_SAMPLES, len(mean))),
        sd,
        fit_s,
    )
