"""
Convergence, and more draws
===========================

Has the chain forgotten its start, and are there enough draws? ``summary`` answers for sigma and
for f at rows that you choose; ``sample_more`` goes on where the chains stopped.
"""

import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning

from obliquebart import ObliqueBARTRegressor, plots

X, y = make_friedman1(500, noise=1.0, random_state=0)

# %%
# Too short on purpose. What is wrong comes as a warning, and is part of the table.

model = ObliqueBARTRegressor(n_burn=50, n_draws=100, random_state=0, progress=False).fit(X, y)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(model.posterior_.summary(X, rows=4))

# %%
# A longer run, then more draws from the same chains: the result is the same, bit for bit, as if
# ``fit`` had been asked for all of them.

model = ObliqueBARTRegressor(n_burn=1000, n_draws=500, random_state=0, progress=False).fit(X, y)
model.sample_more(1500)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(model.posterior_.summary(X, rows=4))

# %%
# Still not below 1.01: sigma and the leaf scale move slowly where 200 trees explain nearly
# everything about 500 rows. For a prediction, look at f at your rows: their Monte Carlo error
# (MCSE) is now small against their standard deviation. For the tails of sigma, sample more.
#
# One line per chain. Left of zero is what was thrown away.

plots.trace(model, ["sigma", "n_leaves"])
plt.show()
