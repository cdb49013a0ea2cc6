"""
Ordered classes
===============

A year after 442 patients were examined, a doctor graded how far their diabetes had advanced. Here
the grade is one of four, from "little" to "severe". Grades have an order but no distances: a model
that knows the order needs one function f for all of them, and cuts that divide its range.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from obliquebart import ObliqueBARTClassifier, plots

X, advance = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
grades = ["little", "some", "marked", "severe"]
grade = pd.cut(advance, [0, 80, 150, 230, np.inf], labels=grades)
X_train, X_test, y_train, y_test = train_test_split(X, grade, test_size=0.5, random_state=0)

# %%
# An ordered categorical needs no other parameter. ``ordered_classes_`` has its order; ``classes_``,
# and with it the columns of probabilities, is sorted.

model = ObliqueBARTClassifier(n_chains=2, random_state=0, progress=False).fit(X_train, y_train)
print(model.ordered_classes_, model.classes_)

# %%
# The same without the order has an ensemble per class, which takes longer and knows less. The last
# column is the mean distance between the predicted and the true grade.

unordered = ObliqueBARTClassifier(ordered=False, n_chains=2, random_state=0, progress=False)
unordered.fit(X_train, y_train)
truth = y_test.cat.codes.to_numpy()
for name, each in (("ordered", model), ("unordered", unordered)):
    columns = np.searchsorted(each.classes_, grades)
    probability = each.predict_proba(X_test)[:, columns]
    middle = (probability.cumsum(axis=1) < 0.5).sum(axis=1)
    loss = log_loss(truth, probability, labels=range(4))
    print(f"{name:9} log loss {loss:.3f}, distance {np.abs(middle - truth).mean():.3f}")

# %%
# The cuts are sampled with the trees. Only their differences matter, and those to f.

summary = model.summary()
for k in (1, 2, 3):
    print(f"cut {k}: {summary.diagnostics[''][f'cut.{k}'].mean:.2f}")

# %%
# As the body mass index grows, the lower grades become rarer and the higher ones more common. On
# the right: do the probabilities come true?

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
plots.effects(model.effects(X_train, "bmi"), ax=left)
plots.calibration(model, X_test, y_test, ax=right)
plt.show()
