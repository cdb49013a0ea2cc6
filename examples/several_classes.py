"""
Several classes
===============

Chemists measured 178 wines of three growers. Whose wine is it? The classifier has one joint model
of all classes, and every probability comes with an interval.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

from obliquebart import ObliqueBARTClassifier, plots

X, y = load_wine(return_X_y=True, as_frame=True)
grower = np.array(["A", "B", "C"])[y]
X_train, X_test, y_train, y_test = train_test_split(
    X, grower, test_size=0.5, stratify=grower, random_state=0
)

# %%
# With three or more classes, each has an ensemble of trees, and its probability is proportional to
# the exponential of their sum.

settings = {"n_chains": 4, "n_draws": 500, "random_state": 0, "progress": False}
model = ObliqueBARTClassifier(**settings).fit(X_train, y_train)
probability = model.predict_proba(X_test)
print(f"correct: {model.score(X_test, y_test):.0%}")
print(model.importance())

# %%
# ``multiclass="one_vs_rest"`` fits a model of each class against the rest instead. The log loss is
# minus the mean log probability of the right class; smaller is better. On this easy table one
# against the rest is ahead: it is surer of its classes, and right. Compare both on your own data.


def losses(fitted):
    column = np.searchsorted(fitted.classes_, y_test)
    return -np.log(fitted.predict_proba(X_test)[np.arange(len(y_test)), column])


rest = ObliqueBARTClassifier(multiclass="one_vs_rest", **settings).fit(X_train, y_train)
joint_loss, rest_loss = losses(model), losses(rest)
difference = joint_loss - rest_loss
error = difference.std(ddof=1) / np.sqrt(len(difference))
print(f"log loss: joint {joint_loss.mean():.3f}, one against the rest {rest_loss.mean():.3f}")
print(f"difference {difference.mean():.3f}, standard error {error:.3f}")

# %%
# For which wines is the model unsure? The ten with the lowest probability of their most probable
# grower, with 90% intervals; and do the probabilities come true?

unsure = np.argsort(probability.max(axis=1))[:10]
interval = model.predict_interval(X_test.iloc[unsure])
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for k, (label, marker) in enumerate(zip(model.classes_, "os^", strict=True)):
    place = np.arange(10) + 0.2 * (k - 1)
    left.vlines(place, interval[:, k, 0], interval[:, k, 1], color=f"C{k}")
    left.plot(place, probability[unsure, k], marker, color=f"C{k}", label=label)
left.set_xticks(np.arange(10), y_test[unsure])
left.set(xlabel="true grower", ylabel="probability", ylim=(0, 1))
left.legend()
plots.calibration(model, X_test, y_test, ax=right)
plt.show()
