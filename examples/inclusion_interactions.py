"""
Which columns, and which together?
==================================

Friedman's function uses five columns, two of them only as a product; 15 more columns are
noise. This example shows which columns matter, how predictions depend on them, and the rules behind
them.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_friedman1

from obliquebart import ObliqueBARTRegressor, plots

X, y = make_friedman1(800, n_features=20, noise=1.0, random_state=1)
X = pd.DataFrame(X, columns=[f"x{j}" for j in range(1, 21)])
model = ObliqueBARTRegressor(random_state=0, n_chains=2, progress=False).fit(X, y)

# %%
# How much predictions change when a column is shuffled: the share of their variance that is lost.

print(pd.DataFrame(model.importance()).head(7).round(3).to_string(index=False))

# %%
# How predictions depend on one column: the average over the rows if all had the same value.

figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
plots.importance(model, top=8, ax=axes[0])
plots.effects(model, X, "x3", ax=axes[1])
plots.effects(model, X, "x4", ax=axes[2])
plt.show()

# %%
# How the model is built. Shares of the rules; an oblique rule counts for each of its columns.
# ``prior`` is what rules drawn without data would have.

inclusion = model.posterior_.variable_inclusion()
print(pd.DataFrame(inclusion).head(7).round(3).to_string(index=False))

# %%
# Pairs of columns that share a tree; a ``lift`` of 1 is what pairs picked at random would have.

pairs = model.posterior_.interactions(by="tree", top=5)
print(pd.DataFrame(pairs).round(3).to_string(index=False))

# %%
# How many columns a rule has, and one tree in words.

sizes = model.posterior_.rule_sparsity()
print(f"{sizes.oblique:.0%} of the rules use two columns or more")
trees = [model.posterior_.tree(draw=-1, tree=m, X=X) for m in range(model.n_trees)]
print(next((tree for tree in trees if tree.depth == 2), trees[0]))

# %%

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
plots.inclusion(model, top=10, ax=left)
plots.surface(model, X, ("x1", "x2"), ax=right)
plt.show()
