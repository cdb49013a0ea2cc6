"""
A GridSearchCV comparison
=========================

The estimators follow scikit-learn's contract, so pipelines, searches and cross-validation work as
with any other. Here: is it worth tuning, and what do random forests do on the same folds?
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from obliquebart import ObliqueBARTRegressor

X, y = load_diabetes(return_X_y=True)
folds = KFold(5, shuffle=True, random_state=0)

# %%
# Rules and k, the width of the prior of f: six models on five folds.

search = GridSearchCV(
    ObliqueBARTRegressor(n_chains=1, soft=False, random_state=0, progress=False),
    {"rules": ["oblique", "axis"], "k": [1.0, 2.0, 3.0]},
    cv=folds,
    scoring="neg_root_mean_squared_error",
)
search.fit(X, y)
scores = -search.cv_results_["mean_test_score"]
names = [f"{p['rules']}, k = {p['k']:g}" for p in search.cv_results_["params"]]
print("best:", search.best_params_)

# %%

forest = RandomForestRegressor(random_state=0)
forest_score = -cross_val_score(
    forest, X, y, cv=folds, scoring="neg_root_mean_squared_error"
).mean()
order = np.argsort(scores)
figure, axis = plt.subplots(figsize=(7, 3.5), layout="constrained")
axis.plot(scores[order], [names[i] for i in order], "o", color="black")
axis.axvline(forest_score, linestyle="--", color="0.3")
axis.annotate("random forest", (forest_score, 0.02), rotation=90, ha="right")
axis.set(xlabel="RMSE, mean of five folds")
plt.show()
