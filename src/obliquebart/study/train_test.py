"""What a method is given: training rows, test rows, and how to read the columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from obliquebart import RandomRotation
from obliquebart.model.parameters import Task

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class StudyTable:
    """Rows of a table: numbers, and the codes of categories."""

    numbers: FloatArray  # (n, p_cont)
    codes: NDArray[np.int64]  # (n, p_cat), counted over the whole data set
    n_levels: tuple[int, ...]  # of each category

    def take(self, rows: NDArray[np.bool_]) -> StudyTable:
        """Return some of the rows."""
        return replace(self, numbers=self.numbers[rows], codes=self.codes[rows])

    def with_codes(self) -> FloatArray:
        """Return one array: the numbers, then a column of codes for each category."""
        return np.hstack([self.numbers, self.codes])

    def with_indicators(self) -> FloatArray:
        """Return one array: the numbers, then a column of 0 and 1 for each level."""
        indicators = [
            (self.codes[:, [j]] == np.arange(n)).astype(np.float64)
            for j, n in enumerate(self.n_levels)
        ]
        return np.hstack([self.numbers, *indicators])

    @property
    def categorical(self) -> list[int]:
        """Positions of the categories in `with_codes`."""
        p_cont = self.numbers.shape[1]
        return list(range(p_cont, p_cont + len(self.n_levels)))


@dataclass(frozen=True)
class TrainTest:
    """One training part and its test part."""

    task: Task  # outcomes of a classification are 0 and 1
    train: StudyTable
    test: StudyTable
    y_train: FloatArray
    y_test: FloatArray
    # Whether a model that scales columns must scale all by one range: the inputs are the paper's,
    # and the differences of scale between its columns are part of them.
    joint_scaling: bool = False
    f_test: FloatArray | None = None  # the true function, where it is known

    def rotated(self, n_rotations: int, seed: int) -> TrainTest:
        """Return the problem with `n_rotations` random rotations of the numbers."""
        rotation = RandomRotation(n_rotations, random_state=seed).fit(self.train.numbers)
        train, test = (
            replace(part, numbers=np.asarray(rotation.transform(part.numbers), np.float64))
            for part in (self.train, self.test)
        )
        return replace(self, train=train, test=test, joint_scaling=False)

    def mean_rows(self) -> float:
        """Return the training mean, with which SMSE compares a prediction."""
        return float(self.y_train.mean())
