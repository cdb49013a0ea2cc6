"""
Missing values
==============

A fifth of the numbers of the diabetes data are removed. Rows with missing values stay in the table:
each rule has a side for them, which the sampler learns together with the rule.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from obliquebart import ObliqueBARTRegressor

rng = np.random.default_rng(0)
X, y = load_diabetes(return_X_y=True)
missing = rng.uniform(size=X.shape) < 0.2
X_missing = np.where(missing, np.nan, X)
rows = np.arange(len(y))
train, test = train_test_split(rows, random_state=0)
complete = train[~missing[train].any(axis=1)]
print(f"{len(train)} training rows, {len(complete)} of them without a missing value")

# %%
# Nothing has to be filled in, either for training or for prediction.


def test_rmse(table, fit_rows):
    """Fit on some rows and return the error on the test rows, which keep their missing values."""
    model = ObliqueBARTRegressor(n_chains=2, random_state=0, progress=False)
    model.fit(table[fit_rows], y[fit_rows])
    return np.sqrt(np.mean((model.predict(table[test]) - y[test]) ** 2))


mean_filled = np.where(missing, np.nanmean(X_missing[train], axis=0), X_missing)
errors = {
    "no value missing": test_rmse(X, train),
    "20% missing, as they are": test_rmse(X_missing, train),
    "20% missing, means filled in": test_rmse(mean_filled, train),
    "20% missing, rows dropped": test_rmse(X_missing, complete),
    "mean of y": float(y[test].std()),
}

# %%
# A missing category is a level of its own.

figure, axis = plt.subplots(figsize=(7, 3), layout="constrained")
bars = axis.barh(list(errors), list(errors.values()), color="0.6")
axis.bar_label(bars, fmt="%.1f", padding=3)
axis.invert_yaxis()
axis.set(xlabel="test RMSE", xlim=(0, 1.15 * max(errors.values())))
plt.show()
