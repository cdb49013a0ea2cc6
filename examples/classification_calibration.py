"""
Classification and calibration
==============================

Two classes by probit: the posterior mean of the probability, an interval for it, and a check
that rows with probability 0.8 have the class in about 80% of the cases.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from obliquebart import ObliqueBARTClassifier, plots

X, y = make_classification(
    1500, n_features=8, n_informative=4, n_redundant=2, flip_y=0.15, random_state=3
)
labels = np.where(y == 1, "yes", "no")
X_train, X_test, y_train, y_test = train_test_split(X, labels, test_size=0.5, random_state=0)

model = ObliqueBARTClassifier(n_chains=2, random_state=0, progress=False).fit(X_train, y_train)

# %%
# Columns of the probabilities are in the order of ``classes_``.

probability = model.predict_proba(X_test)
print("classes ", model.classes_)
print(f"accuracy {accuracy_score(y_test, model.predict(X_test)):.3f}")
print(f"log loss {log_loss(y_test, probability):.3f}")

# %%
# ``predict_interval`` says how well each probability is known: shape (rows, classes, 2).

interval = model.predict_interval(X_test[:3], coverage=0.9)
for row in range(3):
    low, high = interval[row, 1]
    print(f"row {row}: P(yes) = {probability[row, 1]:.2f}, 90% interval {low:.2f} to {high:.2f}")

# %%
# Left: do the probabilities come true? Right: each test row with its interval.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
plots.calibration(model, X_test, y_test, ax=left)
plots.fit(model, X_test, y_test, ax=right)
plt.show()
