"""
Spectra: rules about stretches of a curve
=========================================

How much of a substance is in a sample? A spectrometer answers with a curve of 120 points. It also
has the bands of other substances, bands saturate where there is much of them, and the baseline
depends on how the sample was ground. The spectra are simulated, so that we know where to look.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV

from obliquebart import ObliqueBARTRegressor, plots
from obliquebart.directions import Patch

rng = np.random.default_rng(0)
points = np.linspace(0, 1, 120)
bands = np.array([np.exp(-(((points - centre) / 0.05) ** 2) / 2) for centre in (0.3, 0.42, 0.7)])
content = rng.uniform(0, 1, size=(300, 3))
scatter = rng.normal(1.0, 0.15, size=(300, 1))
baseline = rng.normal(0.0, 1.0, size=(300, 1)) + rng.normal(0.0, 0.5, size=(300, 1)) * points
X = scatter * (1 - np.exp(-4 * content @ bands)) + baseline + 0.005 * rng.normal(size=(300, 120))
y = 100 * content[:, 0]
X_train, X_test, y_train, y_test = X[:150], X[150:], y[:150], y[150:]

# %%
# The substance has its band at point 36; its neighbour at point 50 overlaps with it. The level of a
# curve says nothing, but differences within a stretch of it do: ``values="difference"``. Partial
# least squares is the standard method for spectra, here with the best number of components by
# cross-validation.

settings = {"n_burn": 1000, "n_draws": 500, "n_chains": 2, "random_state": 0, "progress": False}
settings |= {"feature_scaling": "joint"}
model = ObliqueBARTRegressor(directions=Patch(120, 2, 24, values="difference"), **settings)
contestants = {
    "differences within stretches": model,
    "a few points from anywhere": ObliqueBARTRegressor(**settings),
    "partial least squares": GridSearchCV(PLSRegression(), {"n_components": range(1, 16)}),
    "random forest": RandomForestRegressor(500, random_state=0),
}
for name, each in contestants.items():
    error = each.fit(X_train, y_train).predict(X_test).ravel() - y_test
    print(f"{name}: root mean squared error {np.sqrt(np.mean(error**2)):.2f}")

# %%
# Where do rules look, and what are the strongest stretches? Where a line is above zero, larger
# values mean more of the substance; the rest of the stretch is what they are compared with.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
plots.direction_map(model, signed=True, ax=left)
plots.patches(model, 6, ax=right)
plt.show()

# %%
# Two samples: what in their spectra makes the prediction larger or smaller than for others?

figure, axes = plt.subplots(1, 2, figsize=(11, 3.8), layout="constrained")
prediction = model.predict(X_test)
for ax, i in zip(axes, (y_test.argmax(), y_test.argmin()), strict=True):
    plots.evidence(model, X_test[i], ax=ax)
    ax.set_title(f"content {y_test[i]:.0f}, predicted {prediction[i]:.0f}")
plt.show()
