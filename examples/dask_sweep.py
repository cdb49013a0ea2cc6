"""
Many fits on a Dask cluster
===========================

Independent fits, here for several numbers of trees and folds, run on the workers of a cluster. With
the address of a scheduler in place of the local cluster, the same script uses many machines.
"""

import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client, LocalCluster
from sklearn.datasets import make_friedman1
from sklearn.model_selection import KFold

from obliquebart import ObliqueBARTRegressor

X, y = make_friedman1(600, noise=1.0, random_state=0)


def error(n_trees, train, test):
    """Fit one model on one thread and return its test RMSE."""
    model = ObliqueBARTRegressor(
        n_trees, n_chains=1, soft=False, random_state=0, n_jobs=1, progress=False
    )
    model.fit(X[train], y[train])
    return float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))


# %%
# The core releases the GIL, so workers may be threads of one process; on a cluster of machines
# they are processes. A fit depends only on its seed, not on where it runs.

numbers = [10, 25, 50, 100, 200]
folds = list(KFold(4, shuffle=True, random_state=0).split(X))

with (
    LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
    ) as here,
    Client(here) as client,
):
    futures = {
        n_trees: [client.submit(error, n_trees, train, test) for train, test in folds]
        for n_trees in numbers
    }
    errors = {n_trees: client.gather(waiting) for n_trees, waiting in futures.items()}

# %%

for n_trees, values in errors.items():
    print(f"{n_trees:>4} trees: test RMSE {np.mean(values):.3f}")
figure, axis = plt.subplots(layout="constrained")
axis.boxplot(list(errors.values()))
axis.set_xticks(range(1, len(numbers) + 1), labels=[str(n) for n in numbers])
axis.set(xlabel="trees", ylabel="test RMSE of four folds")
plt.show()
