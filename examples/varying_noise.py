"""
Noise that varies
=================

Each of 569 images of tumours shows many cell nuclei. How precisely is their mean area known (its
standard error), given the mean sizes and shapes in the image? Where nuclei are small, that is easy
to predict; where they are large, much less so. One noise level for all images describes neither.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from obliquebart import ObliqueBARTRegressor

table = load_breast_cancer(as_frame=True).frame
X, y = table.filter(regex="^mean "), table["area error"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# ``noise="varying"`` has a second ensemble of trees, for the size of the noise.

settings = {"n_chains": 2, "n_draws": 500, "random_state": 0, "progress": False}
models = {
    noise: ObliqueBARTRegressor(noise=noise, **settings).fit(X_train, y_train)
    for noise in ("constant", "varying")
}

# %%
# The log score is the mean log density of the test outcomes; larger is better. How many outcomes do
# the 90% intervals contain, in thirds of the rows from small to large nuclei? With constant noise
# they are too wide for the small and too narrow for the large. The error of the predictions
# themselves (RMSE) hardly changes: what improves is what the model says about its errors.

thirds = np.array_split(np.argsort(X_test["mean radius"].to_numpy()), 3)
outcome = y_test.to_numpy()
for noise, model in models.items():
    error = np.sqrt(np.mean((model.predict(X_test) - outcome) ** 2))
    low, high = model.predict_interval(X_test).T
    inside = (low <= outcome) & (outcome <= high)
    shares = ", ".join(f"{inside[rows].mean():.0%}" for rows in thirds)
    print(
        f"{noise:8} log score {model.log_score(X_test, y_test):.2f}, RMSE {error:.2f}, in: {shares}"
    )

# %%
# The intervals of both models, and the predicted noise with intervals of its own.

figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
order = np.argsort(X_test["mean radius"].to_numpy())
rows, size = X_test.iloc[order], X_test["mean radius"].to_numpy()[order]
for ax, (noise, model) in zip(axes[:2], models.items(), strict=True):
    low, high = model.predict_interval(rows).T
    ax.vlines(size, low, high, color="0.75", label="90% interval")
    ax.plot(size, outcome[order], ".", color="C0", ms=3, label="outcome")
    ax.set(title=f"{noise} noise", xlabel="mean radius", ylabel="area error")
    ax.legend()
axes[1].sharey(axes[0])

noise, limits = models["varying"].predict_noise(rows, return_interval=True)
axes[2].vlines(size, *limits.T, color="0.75", label="90% interval")
axes[2].plot(size, noise, ".", color="C0", ms=3, label="varying")
axes[2].axhline(models["constant"].predict_noise(rows)[0], color="k", ls="--", label="constant")
axes[2].set(title="predicted noise", xlabel="mean radius", ylabel="standard deviation")
axes[2].legend()
plt.show()
