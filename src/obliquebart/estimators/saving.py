"""The part of the estimators that outlives a process: saving and pickling."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.fitted import Fitted

Self = TypeVar("Self", bound="Savable")

# Attributes that `_set_fitted` makes, so that a pickle need not hold them.
RESTORED = (
    *("posterior_", "posteriors_", "classes_", "n_features_in_", "feature_names_in_"),
    *("class_weight_", "target_name_", "_probabilities"),
)


class Savable(ABC):
    """A base of the estimators; `_fitted` is set by their `_set_fitted`."""

    _fitted: Fitted

    @abstractmethod
    def _set_fitted(self: Self, fitted: Fitted) -> Self:
        """Set the fitted attributes; every estimator has its own."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        include_state: bool = True,
        include_data: bool = False,
    ) -> None:
        """Write the fitted model to one file that `obliquebart.load` reads.

        The file is in the safetensors format and holds no code. It is written whole or not at all:
        an older file of that name is replaced at the end.

        Parameters
        ----------
        path : str or path
            The file, by custom with the ending `.obart`.
        include_state : bool, default=True
            Keep the state of each chain, so that `sample_more` can go on. That is, for each row of
            the training data, the residual (4 bytes per chain) and for a classifier the latent
            outcome (8 bytes per chain); and a key of each row (8 bytes), so that summaries and
            reports can say which rows were in training. Leave it out where these must stay private.
        include_data : bool, default=False
            Keep the encoded training data too, so that `sample_more` needs no others.

        Notes
        -----
        Kept are the draws, their trace, the prior, the parameters, and names and levels of the
        columns. A `RandomState` as `random_state` becomes None.
        """
        from obliquebart.files import model_file

        check_is_fitted(self)
        model_file.save(self, path, include_state=include_state, include_data=include_data)

    def __getstate__(self) -> dict[str, Any]:
        from obliquebart.files import model_file

        # BaseEstimator's, which is a dictionary; mypy sees that of object.
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        fitted = state.pop("_fitted", None)
        if fitted is not None:
            for name in RESTORED:
                state.pop(name, None)
            state["_model_file"] = model_file.to_bytes(fitted, {})
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        from obliquebart.files import model_reader

        state = dict(state)
        data = state.pop("_model_file", None)
        if data is not None:
            self._set_fitted(model_reader.read_model(data).fitted)
        # After it, because a new fit forgets what was computed from an old one.
        super().__setstate__(state)  # type: ignore[misc]
