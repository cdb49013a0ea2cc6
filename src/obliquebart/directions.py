"""The directions of rules: pass one of these classes, or a list of them, as `directions`.

Examples
--------
>>> import numpy as np
>>> from obliquebart import ObliqueBARTClassifier
>>> from obliquebart.directions import Patch
>>> images = np.random.default_rng(0).normal(size=(60, 6, 6))
>>> labels = images[:, 2:4, 2:4].mean(axis=(1, 2)) > 0
>>> model = ObliqueBARTClassifier(
...     n_trees=10, n_burn=20, n_draws=20, random_state=0, directions=Patch((6, 6))
... )
>>> model.fit(images, labels).predict(images).shape
(60,)
"""

from obliquebart.model.directions import Axis, Groups, Patch, Signs, Sparse

__all__ = ["Axis", "Groups", "Patch", "Signs", "Sparse"]
