"""treeple's manifold oblique forest (MORF), in a process of its own.

treeple 0.10 needs scikit-learn 1.6: `OBLIQUEBART_TREEPLE` names a folder with both. Patches have
from 2 pixels along each side to half the side, at most 7. Defaults otherwise.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from structured_study import Task

FOLDER = "OBLIQUEBART_TREEPLE"
PROGRAM = """
import sys
import numpy as np
from treeple import PatchObliqueRandomForestClassifier
given = np.load(sys.argv[1])
shape, seed, n_trees = given["shape"], int(given["seed"]), int(given["n_trees"])
most = np.minimum(7, np.maximum(shape // 2, 2))
if len(shape) == 1:
    shape, most, least = np.array([1, *shape]), np.array([1, *most]), np.array([1, 2])
else:
    least = np.full(len(shape), 2)
model = PatchObliqueRandomForestClassifier(
    n_trees, min_patch_dims=least, max_patch_dims=most, data_dims=shape, random_state=seed
)
model.fit(given["x"].astype(np.float32), given["y"])
np.save(sys.argv[2], model.predict_proba(given["x_test"].astype(np.float32)))
"""


def morf(task: Task, n_trees: int) -> np.ndarray:
    """Return probabilities at the rows to score."""
    with tempfile.TemporaryDirectory() as name:
        given, found = Path(name) / "task.npz", Path(name) / "found.npy"
        np.savez(
            given,
            x=task.x_train,
            y=task.y_train,
            x_test=task.x_test,
            shape=np.array(task.shape),
            seed=task.seed,
            n_trees=n_trees,
        )
        path = os.pathsep.join(filter(None, (os.environ.get(FOLDER), os.environ.get("PYTHONPATH"))))
        subprocess.run(
            [sys.executable, "-c", PROGRAM, str(given), str(found)],
            env={**os.environ, "PYTHONPATH": path},
            check=True,
        )
        return np.asarray(np.load(found))
