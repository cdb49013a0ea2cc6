"""
Which columns, and which together?
==================================

Friedman's function uses five columns, two of them only as a product; 15 more columns are
noise. This example shows how often rules use a column, how often two columns share a tree, and what
one tree looks like.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import make_friedman1

from obliquebart import ObliqueBARTRegressor, plots

X, y = make_friedman1(800, n_features=20, noise=1.0, random_state=1)
X = pd.DataFrame(X, columns=[f"x{j}" for j in range(1, 21)])
model = ObliqueBARTRegressor(random_state=0, n_chains=2, progress=False).fit(X, y)

# %%
# Shares of the rules; an oblique rule counts for each of its columns. ``prior`` is what rules
# drawn without data would have.

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
