"""
Digits: rules about patches of an image
=======================================

Handwritten digits of 8 × 8 pixels. By default a rule adds up a few pixels from anywhere. With
``directions=Patch((8, 8))`` it looks at a rectangle of neighbours, as a reader of digits would.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from obliquebart import ObliqueBARTClassifier, plots
from obliquebart.directions import Patch

digits = load_digits()
X_train, X_test, y_train, y_test = train_test_split(
    digits.images,
    digits.target,
    train_size=300,
    test_size=500,
    stratify=digits.target,
    random_state=0,
)
print(X_train.shape)

# %%
# 300 digits to learn from, 500 to be judged by. ``values="difference"`` compares one part of the
# patch with the rest: the edge of a stroke. Nobody disputes which digit an image shows, so each
# label has 16 votes. A random forest sees the same pixels as a flat table.

settings = {"n_trees": 100, "n_burn": 500, "n_draws": 200, "n_chains": 2, "random_state": 0}
settings |= {"progress": False, "feature_scaling": "range"}
edges = Patch((8, 8), 2, 4, values="difference")
model = ObliqueBARTClassifier(directions=edges, votes=16, **settings).fit(X_train, y_train)
one_vote = ObliqueBARTClassifier(directions=edges, **settings).fit(X_train, y_train)
anywhere = ObliqueBARTClassifier(**settings).fit(X_train.reshape(300, -1), y_train)
forest = RandomForestClassifier(500, random_state=0).fit(X_train.reshape(300, -1), y_train)
flat = X_test.reshape(500, -1)
for name, p in (
    ("patches, 16 votes", model.predict_proba(X_test)),
    ("patches, one vote", one_vote.predict_proba(X_test)),
    ("pixels from anywhere", anywhere.predict_proba(flat)),
    ("random forest", forest.predict_proba(flat)),
):
    right = (p.argmax(axis=1) == y_test).mean()
    print(f"{name}: {right:.1%} correct, log loss {log_loss(y_test, p):.3f}")

# %%
# Where do the rules look, and which patches tell a 3 from other digits? In the second picture, more
# ink in the bright part of a patch and less in its dark part speak for a 3.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
plots.direction_map(model, ax=left)
plots.patches(model, class_=3, ax=right)
plt.show()

# %%
# One digit at a time: what speaks for the most probable class, and what against it? Windows of the
# image are replaced by those of training images; the contour is the digit itself. The four digits
# are those with the lowest probability of their most probable class.

probability = model.predict_proba(X_test)
unsure = probability.max(axis=1).argsort()[:4]
figure, axes = plt.subplots(2, 2, figsize=(10, 8.5), layout="constrained")
for ax, i in zip(axes.flat, unsure, strict=True):
    plots.evidence(model, X_test[i], ax=ax)
    best = model.classes_[probability[i].argmax()]
    ax.set_title(f"a {y_test[i]}; the model says {best} with {probability[i].max():.0%}")
plt.show()
