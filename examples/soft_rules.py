"""
Smooth functions
================

Trees are step functions. Where the truth is smooth, a sum of trees approximates it by many small
steps, which are elsewhere in every draw. Soft rules send rows near a cut both ways, and the sum is
smooth.
"""

import matplotlib.pyplot as plt
import numpy as np

from obliquebart import ObliqueBARTRegressor

rng = np.random.default_rng(0)
n = 120


def truth(x):
    """A wave along a direction of two columns, and a bend of the third."""
    return np.sin(3 * x[:, 0] + 2 * x[:, 1]) + x[:, 2] ** 2


X = rng.uniform(-1, 1, (n, 4))  # the last column is noise
y = truth(X) + 0.15 * rng.normal(size=n)
new = rng.uniform(-1, 1, (1000, 4))

# %%
# The same model twice. ``kind="mean"`` asks for intervals of the truth, not of outcomes.

lengths = {"n_burn": 4000, "n_draws": 500, "n_thin": 8, "n_chains": 4}
settings = {**lengths, "random_state": 0, "progress": False}
models = {
    name: ObliqueBARTRegressor(soft=name == "soft", **settings).fit(X, y)
    for name in ("hard", "soft")
}
for name, model in models.items():
    error = np.sqrt(np.mean((model.predict(new) - truth(new)) ** 2))
    low, high = model.predict_interval(new, 0.9, kind="mean").T
    held = np.mean((low <= truth(new)) & (truth(new) <= high))
    width = np.mean(high - low)
    print(f"{name}: error {error:.3f}; 90% intervals hold {held:.0%}, and are {width:.2f} wide")

# %%
# Along one column, with the others at zero: the mean, its interval, and three single draws. Draws
# of hard rules have steps, and differ more than their mean errs.

line = np.zeros((300, 4))
line[:, 0] = np.linspace(-1, 1, 300)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    low, high = model.predict_interval(line, 0.9, kind="mean").T
    draws = model.posterior_.predict(line)
    ax.fill_between(line[:, 0], low, high, color="C0", alpha=0.2, label="90% interval")
    ax.plot(line[:, 0], draws[::400][:3].T, color="C0", lw=0.6)
    ax.plot([], [], color="C0", lw=0.6, label="draws")
    ax.plot(line[:, 0], model.predict(line), color="C0", lw=2, label="mean")
    ax.plot(line[:, 0], truth(line), "k--", label="truth")
    ax.set(title=f"{name} rules", xlabel="first column", ylabel="f")
    ax.legend()
plt.show()
