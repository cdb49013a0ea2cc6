"""Random rotations of the numeric columns, for trees with axis-parallel rules."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy.stats import special_ortho_group
from sklearn import get_config
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from obliquebart.table.encoding import CategoricalFeatures
from obliquebart.table.frames import Table, check_columns, read_table
from obliquebart.table.problems import ProblemCollector
from obliquebart.table.scaling import ColumnScale
from obliquebart.table.selection import column_roles, is_category
from obliquebart.validation import check_count


class RandomRotation(TransformerMixin, BaseEstimator):
    """Apply several random rotations to the numeric columns.

    Each numeric column is mapped to [0, 1] by its mid-rank among the training values: 0 for the
    smallest, 1 for the largest, linear between training values and constant outside their range.
    The mapped columns are multiplied by `n_rotations` rotation matrices, drawn uniformly from all
    rotations, and the results are concatenated. Categorical columns follow unchanged.

    In a pipeline before trees with axis-parallel splits, this gives a random rotation ensemble.

    Parameters
    ----------
    n_rotations : int, default=50
        Number of rotations. Each adds as many output columns as there are numeric columns.
    random_state : int, RandomState instance or None, default=None
        Seed of the rotations.
    categorical_features : "auto", None, or list of names, positions or booleans, default="auto"
        Columns to pass through. ``"auto"``: in a data frame, columns of categorical, enum or text
        type, and object columns that contain text; in an array, none. Names and positions add
        columns to these; a list of booleans replaces the automatic choice.

    Attributes
    ----------
    rotations_ : ndarray of shape (n_rotations, p, p)
        The rotation matrices; p is the number of numeric columns.
    n_features_in_ : int
        Number of columns in `fit`.
    feature_names_in_ : ndarray of str
        Names of the columns in `fit`, if they are all strings.

    Notes
    -----
    Missing values are replaced by the middle rank, ½. Every rotated column mixes all numeric
    columns, so one missing value would otherwise make the whole row missing.

    A data frame with categorical columns gives a data frame of the same library. Everything else
    gives an array, unless `set_output` is used.

    References
    ----------
    R. Blaser and P. Fryzlewicz (2016), Random rotation ensembles, JMLR 17(4).

    Examples
    --------
    >>> X = np.array([[0.0, 5.0], [1.0, 7.0], [2.0, 6.0]])
    >>> rotation = RandomRotation(n_rotations=3, random_state=0).fit(X)
    >>> rotation.transform(X).shape
    (3, 6)
    >>> rotation.get_feature_names_out()[:3].tolist()
    ['rotation0_0', 'rotation0_1', 'rotation1_0']
    """

    def __init__(
        self,
        n_rotations: int = 50,
        *,
        random_state: int | np.random.RandomState | None = None,
        categorical_features: CategoricalFeatures = "auto",
    ) -> None:
        self.n_rotations = n_rotations
        self.random_state = random_state
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any = None) -> RandomRotation:  # noqa: ARG002
        """Learn the ranks and draw the rotations.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        RandomRotation
            The transformer itself.
        """
        n_rotations = check_count("n_rotations", self.n_rotations, 1)
        table = read_table(X, type(self).__name__)
        scales: list[ColumnScale | None] = []
        problems = ProblemCollector()
        for j, role in enumerate(column_roles(table, self.categorical_features)):
            with problems.of_column():
                numbers = None if is_category(role) else table.column(j).numbers()
                scales.append(None if numbers is None else ColumnScale.fit(numbers, "rank"))
        problems.raise_all()
        p = len(scales) - scales.count(None)
        self.rotations_ = _draw_rotations(p, n_rotations, self.random_state)
        self._scales = scales
        self._names, self._is_named = table.names, table.is_named
        self.n_features_in_ = len(table.names)
        if table.is_named:
            self.feature_names_in_ = np.array(table.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def transform(self, X: Any) -> Any:
        """Rotate the numeric columns and append the categorical ones.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray or data frame of shape (n_samples, n_rotations × numeric + categorical)
        """
        check_is_fitted(self)
        table = read_table(X, type(self).__name__)
        check_columns(table, self._names, self._is_named, type(self).__name__)
        rotated = self._rotate(table)
        passed = [j for j, scale in enumerate(self._scales) if scale is None]
        if not passed:
            return rotated
        if table.is_frame:
            joined = _beside_frame(rotated, self.get_feature_names_out(), X, passed)
            return _keep_types(joined, X, self._wanted_output())
        return np.hstack([rotated, np.asarray(X)[:, passed]])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the output columns.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the input columns if `fit` saw none; otherwise they must match.

        Returns
        -------
        ndarray of str
            ``rotation0_0``, ``rotation0_1``, …, then the names of the categorical columns.
        """
        check_is_fitted(self)
        names_in = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        n_rotations, p, _ = self.rotations_.shape
        rotated = [f"rotation{r}_{j}" for r in range(n_rotations) for j in range(p)]
        passed = [name for name, scale in zip(names_in, self._scales, strict=True) if scale is None]
        return np.array(rotated + passed, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _wanted_output(self) -> str:
        # scikit-learn stores the choice of set_output here; without it only types may get lost
        own: dict[str, str] = getattr(self, "_sklearn_output_config", {})
        return str(own.get("transform", get_config()["transform_output"]))

    def _rotate(self, table: Table) -> NDArray[np.float64]:
        n_rotations, p, _ = self.rotations_.shape
        ranks = np.empty((table.n_rows, p))
        numeric = [(j, scale) for j, scale in enumerate(self._scales) if scale is not None]
        for k, (j, scale) in enumerate(numeric):
            if scale.is_empty:
                ranks[:, k] = 0.5
            else:
                scaled = scale.apply(table.column(j).numbers()).astype(np.float64)
                ranks[:, k] = np.where(np.isnan(scaled), 0.5, 0.5 + 0.5 * scaled)
        # row r * p + j of the stacked rotations gives the output column rotation{r}_{j}
        rotated: NDArray[np.float64] = ranks @ self.rotations_.reshape(n_rotations * p, p).T
        return rotated


def _draw_rotations(
    p: int, n_rotations: int, random_state: int | np.random.RandomState | None
) -> NDArray[np.float64]:
    if p < 2:
        # in one dimension the only rotation is the identity; SciPy needs at least two
        return np.ones((n_rotations, p, p))
    drawn = special_ortho_group.rvs(
        p, size=n_rotations, random_state=check_random_state(random_state)
    )
    return np.asarray(drawn, dtype=np.float64).reshape(n_rotations, p, p)


def _beside_frame(
    rotated: NDArray[np.float64], names: NDArray[np.object_], X: Any, passed: list[int]
) -> nw.DataFrame[Any]:
    """Join rotated columns and passed-through columns in a data frame of the same library."""
    frame: nw.DataFrame[Any] = nw.from_native(X, eager_only=True)
    schema = [str(name) for name in names[: rotated.shape[1]]]
    rotated_frame = nw.from_numpy(rotated, schema=schema, backend=frame.implementation)
    passed_frame = nw.maybe_reset_index(frame[:, passed])
    return nw.concat([rotated_frame, passed_frame], how="horizontal")


def _keep_types(joined: nw.DataFrame[Any], X: Any, wanted: str) -> Any:
    """Convert to the library that `set_output` asks for; scikit-learn would lose column types."""
    if hasattr(X, "index"):
        native = joined.to_native()
        native.index = X.index
        return native
    if wanted == "pandas":
        return joined.to_pandas()
    return joined.to_polars() if wanted == "polars" else joined.to_native()
