"""
Regression with intervals
=========================

Predictions for scikit-learn's diabetes data, with intervals for a new outcome, and a check that the
intervals contain as many outcomes as they should.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

from obliquebart import ObliqueBARTRegressor, plots

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = ObliqueBARTRegressor(random_state=0, progress=False).fit(X_train, y_train)

# %%
# By default an interval is for a new y at x; ``kind="mean"`` gives one for f(x), without the noise.

mean = model.predict(X_test)
of_mean = model.predict_interval(X_test, coverage=0.9, kind="mean")
of_outcome = model.predict_interval(X_test, coverage=0.9, kind="outcome")
inside = (of_outcome[:, 0] <= y_test) & (y_test <= of_outcome[:, 1])

print(f"test RMSE                          {np.sqrt(np.mean((mean - y_test) ** 2)):.1f}")
print(f"width of the 90% interval of f(x)  {np.diff(of_mean).mean():.0f}")
print(f"width of the 90% interval of y     {np.diff(of_outcome).mean():.0f}")
print(f"test outcomes in the latter        {inside.mean():.0%}")

# %%
# Outcomes against predictions, and the coverage of intervals of every probability.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
plots.fit(model, X_test, y_test, ax=left)
plots.coverage(model, X_test, y_test, ax=right)
plt.show()
