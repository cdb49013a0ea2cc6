"""Methods of the estimators for saving and pickling."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from obliquebart.estimators.fitted import Fitted
from obliquebart.model.parameters import BEFORE

Self = TypeVar("Self", bound="Savable")

# Attributes that `_set_fitted` restores, so pickles need not contain them.
RESTORED = (
    *("posterior_", "posteriors_", "classes_", "n_features_in_", "feature_names_in_"),
    *("class_weight_", "ordered_classes_", "target_name_", "device_"),
    *("_probabilities", "_columns"),
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
        """Save the fitted model to a file; `obliquebart.load` reads it.

        The file is in the safetensors format and contains no code. An existing file is replaced
        only after the new one is complete.

        Parameters
        ----------
        path : str or path
            The file, by convention with the extension `.obart`.
        include_state : bool, default=True
            Keep the state of each chain, so that `sample_more` can go on. That is, for each row of
            the training data, the residual (4 bytes per chain) and for a classifier the latent
            outcome (8 bytes per chain); and a key of each row (8 bytes), so that summaries and
            reports can say which rows were in training. Leave it out where these must stay private.
        include_data : bool, default=False
            Save the encoded training data too, so that `sample_more` works without passing them.

        Notes
        -----
        The file contains the draws, their trace, the prior, the parameters, and the names and
        levels of the columns. A `RandomState` as `random_state` is saved as None.
        """
        from obliquebart.files import model_file

        check_is_fitted(self)
        model_file.save(self, path, include_state=include_state, include_data=include_data)

    def __getstate__(self) -> dict[str, Any]:
        from obliquebart.files import model_file

        # BaseEstimator returns a dictionary; mypy sees the signature of object.
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
        names = type(self)._get_param_names()  # type: ignore[attr-defined]
        state = {name: BEFORE[name] for name in BEFORE if name in names} | state
        # Last, because `_set_fitted` clears cached results.
        super().__setstate__(state)  # type: ignore[misc]
