"""
Oblique or axis-aligned rules
=============================

The paper's rotated-axes function takes two values, and its edges are not parallel to the axes.
Rules on one column need many small steps to follow such an edge; an oblique rule needs one cut.
"""

import matplotlib.pyplot as plt
import numpy as np

from obliquebart import ObliqueBARTRegressor

rng = np.random.default_rng(1)


def truth(x):
    """Return 4 or -4 by the quadrant of the point, turned by 45 degrees."""
    return 4.0 * np.sign((x[:, 0] - x[:, 1]) * (x[:, 0] + x[:, 1]))


X = rng.uniform(-1, 1, (1000, 2))
y = truth(X) + rng.standard_normal(1000)

models = {
    rules: ObliqueBARTRegressor(
        rules=rules, soft=False, n_chains=2, random_state=1, progress=False
    ).fit(X, y)
    for rules in ("axis", "oblique")
}

# %%
# Errors of the posterior mean on a fine grid, compared with the true function.

ticks = np.linspace(-0.995, 0.995, 200)
grid = np.stack(np.meshgrid(ticks, ticks), axis=-1).reshape(-1, 2)
panels = {"truth": truth(grid)}
for rules, model in models.items():
    panels[f"{rules} rules"] = model.predict(grid)
    rmse = np.sqrt(np.mean((panels[f"{rules} rules"] - truth(grid)) ** 2))
    print(f"{rules:>8} rules: RMSE to the truth {rmse:.2f}")

# %%
# This picture is like the paper's Figure 2.

figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True, layout="constrained")
for axis, (name, values) in zip(axes, panels.items(), strict=True):
    image = axis.imshow(
        values.reshape(200, 200),
        extent=(-1, 1, -1, 1),
        origin="lower",
        cmap="RdBu_r",
        vmin=-5,
        vmax=5,
    )
    axis.set(title=name, xlabel="$x_1$")
axes[0].set_ylabel("$x_2$")
figure.colorbar(image, ax=axes, label="f(x)", shrink=0.9)
plt.show()
