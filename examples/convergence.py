"""
Convergence, and more draws
===========================

Are there enough draws? ``summary`` begins with a verdict; ``sample_more`` continues where the
chains stopped.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1

from obliquebart import ConvergenceWarning, ObliqueBARTRegressor, plots

X, y = make_friedman1(500, noise=1.0, random_state=0)

# %%
# A fit that is too short on purpose: ``fit`` warns if the chains disagree, and the verdict says so.

model = ObliqueBARTRegressor(n_burn=20, n_draws=20, random_state=0, progress=False)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    model.fit(X, y)
print(model.summary(rows=4))

# %%
# A longer run, then more draws from the same chains: the result is the same, bit for bit, as if
# ``fit`` had been asked for all of them.

model = ObliqueBARTRegressor(n_burn=1000, n_draws=500, random_state=0, progress=False).fit(X, y)
print(model.summary(rows=0).verdict)
model.sample_more(1500)
print(model.summary(rows=4))

# %%
# Chains are slow when 200 trees explain nearly everything about 500 rows: sigma and the leaf scale
# have few effective draws. Compare the error in the verdict with the noise of the outcomes, whose
# standard deviation is 1.
#
# One line per chain. Sweeps left of zero were discarded.

plots.trace(model, ["sigma", "n_leaves"])
plt.show()
