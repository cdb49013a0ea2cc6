"""The treatment of each row: an arm, or a dose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from obliquebart.validation import check_choice, check_treatment

FloatArray = NDArray[np.float64]
Kind = Literal["arms", "dose"]
KINDS = ("auto", "arms", "dose")
# More different whole numbers than this are a dose, fewer are arms.
MOST_ARMS = 10
# Squares of doses, and effects of one unit, must be numbers.
SMALLEST_DOSE_SCALE = 1e-100
# Each arm needs some rows.
FEWEST_ROWS = 2


@dataclass(frozen=True, eq=False)
class Treatment:
    """What the treatments are, and how the engine sees them.

    Attributes
    ----------
    kind : {"arms", "dose"}
    arms : ndarray or None
        The labels of the arms, the control first; None for a dose.
    location, scale : float
        The engine's dose is (dose - location) / scale; 0 and 1 for arms.
    """

    kind: Kind
    arms: NDArray[Any] | None = None
    location: float = 0.0
    scale: float = 1.0

    @classmethod
    def fit(
        cls,
        labels: NDArray[Any],
        kind: str = "auto",
        control: Any = None,
        order: list[Any] | None = None,
    ) -> Treatment:
        """Learn from the checked treatments of the training rows.

        `order` has the categories of an ordered categorical, which are arms, the first of them the
        control. Raises a ValueError that says what is wrong.
        """
        check_choice("treatment_type", kind, KINDS)
        if kind == "dose" or (kind == "auto" and order is None and _is_dose(labels)):
            if control is not None:
                raise ValueError("control names an arm, but the treatment is a dose: leave it out.")
            doses = _numbers(labels)
            if doses.min() == doses.max():
                raise ValueError("All rows have the same treatment: there is nothing to compare.")
            with np.errstate(over="ignore", invalid="ignore"):
                scale = float(doses.std(ddof=1))
            if not SMALLEST_DOSE_SCALE <= scale <= 1.0 / SMALLEST_DOSE_SCALE:
                raise ValueError(
                    f"Doses from {doses.min():.3g} to {doses.max():.3g} are out of range: use "
                    "other units."
                )
            return cls("dose", None, float(doses.mean()), scale)
        arms, counts = np.unique(labels, return_counts=True)
        if len(arms) < 2:
            raise ValueError(
                f"All rows have the treatment {arms.tolist()[0]!r}: there is nothing to compare."
            )
        if counts.min() < FEWEST_ROWS:
            rare = arms[counts.argmin()].item()
            raise ValueError(
                f"Only one row has the treatment {rare!r}. Leave it out, or if the treatment is a "
                'number that can be more or less, set treatment_type="dose".'
            )
        return cls("arms", _control_first(_in_order(arms, order), control))

    @property
    def n_treatments(self) -> int:
        """How many treatments have an effect: arms besides the control, or one dose."""
        return 1 if self.arms is None else len(self.arms) - 1

    @property
    def names(self) -> list[str]:
        """What each effect is called."""
        if self.arms is None:
            return ["one unit more"]
        control, *others = map(label_text, self.arms.tolist())
        return [f"{arm} against {control}" for arm in others]

    def encode(self, values: Any, n_rows: int) -> FloatArray:
        """Return the engine's doses, of shape (n_treatments, n_rows)."""
        labels = check_treatment(values, n_rows)
        if self.arms is None:
            return (_numbers(labels)[None] - self.location) / self.scale
        known = np.isin(labels, self.arms)
        if not known.all():
            raise ValueError(
                f"The treatment {labels[~known][:1].tolist()[0]!r} is not one of those in fit: "
                f"{', '.join(repr(arm) for arm in self.arms.tolist())}."
            )
        return np.stack([(labels == arm).astype(np.float64) for arm in self.arms[1:]])

    def index(self, arm: Any) -> int:
        """Return the number of the effect of an arm; with one effect, None will do."""
        if arm is None:
            if self.n_treatments > 1:
                others = [] if self.arms is None else self.arms[1:].tolist()
                raise ValueError(
                    f"There are several treatments: say which with arm=, one of {others!r}."
                )
            return 0
        arms = [] if self.arms is None else self.arms.tolist()
        if arm not in arms[1:]:
            if self.arms is None:
                raise ValueError(f"arm={arm!r}, but the treatment is a dose, which has no arms.")
            raise ValueError(f"arm={arm!r} must be one of {arms[1:]!r}.")
        return arms.index(arm) - 1


def label_text(label: Any) -> str:
    """Return the label of an arm as people write it.

    Examples
    --------
    >>> label_text(1.0), label_text(0.5), label_text("drug")
    ('1', '0.5', 'drug')
    """
    return f"{label:g}" if isinstance(label, float) else str(label)


def _numbers(labels: NDArray[Any]) -> FloatArray:
    """Return doses as numbers."""
    if labels.dtype.kind not in "biuf":
        raise ValueError(
            f"A dose must be a number, but the treatment {labels.tolist()[0]!r} is text: convert "
            "the treatments to numbers first."
        )
    return labels.astype(np.float64)


def _is_dose(labels: NDArray[Any]) -> bool:
    """Say whether numbers are doses: fractions, or many different ones."""
    if labels.dtype.kind not in "iuf" or len(np.unique(labels)) <= 2:
        return False
    is_whole = labels.dtype.kind != "f" or bool((labels == np.floor(labels)).all())
    return not is_whole or len(np.unique(labels)) > MOST_ARMS


def _in_order(arms: NDArray[Any], order: list[Any] | None) -> NDArray[Any]:
    """Return sorted arms in the order of their categories, if these have one."""
    if order is None:
        return arms
    position = {str(label): i for i, label in enumerate(order)}
    return arms[np.argsort([position[str(label)] for label in arms.tolist()])]


def _control_first(arms: NDArray[Any], control: Any) -> NDArray[Any]:
    if control is None:
        return arms
    if control not in arms.tolist():
        raise ValueError(f"control={control!r} must be one of the treatments: {arms.tolist()!r}.")
    is_control = np.array([arm == control for arm in arms.tolist()])
    return np.concatenate([arms[is_control], arms[~is_control]])
