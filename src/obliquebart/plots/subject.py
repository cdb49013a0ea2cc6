"""What is drawn: the posterior of a model, or of one of its classes, and its name."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from obliquebart.display.words import probability_of
from obliquebart.plots.style import short_name
from obliquebart.posterior.posterior import Posterior

SHOWN_CLASSES = 8


class Subject(NamedTuple):
    """A model or a posterior, with what a plot needs to know about it."""

    posteriors: list[Posterior]
    """All posteriors of the model."""
    target: str | None
    """Name of the outcome."""
    classes: list[Any]
    """Labels of a classification; empty for a posterior without its model."""
    chosen: int | None
    """Position of the chosen class; None for all classes, or if there are none."""
    class_weights: NDArray[np.float64] | None = None
    """Factors for the probabilities, one per class; None without class weights."""

    @property
    def name(self) -> str:
        """Name of the outcome, or "y"."""
        return short_name(self.target or "y")

    @property
    def parts(self) -> dict[str, Posterior]:
        """The posteriors to draw, by class; the key is empty if there is only one."""
        if len(self.posteriors) == 1:
            return {"": self.posteriors[0]}
        parts = {str(c): p for c, p in zip(self.classes, self.posteriors, strict=True)}
        return parts if self.chosen is None else dict([list(parts.items())[self.chosen]])

    @property
    def is_probability(self) -> bool:
        """Whether predictions are probabilities."""
        likelihood = self.posteriors[0].likelihood
        return likelihood.has_classes and (bool(self.classes) or not likelihood.joint_classes)

    @property
    def mean_label(self) -> str:
        """Label for the mean of the only posterior, or of the chosen class."""
        likelihood = self.posteriors[0].likelihood
        if not likelihood.has_classes:
            return f"predicted {short_name(likelihood.quantity(self.target) or 'y')}"
        if not self.is_probability:
            return "f"
        if not self.classes:
            return "probability"
        chosen = -1 if self.chosen is None else self.chosen
        return short_probability_of(self.classes[chosen], self.target)


def subject_of(model: Any, class_: Any = None) -> Subject:
    """Return what to draw of a fitted estimator or of a posterior."""
    if isinstance(model, Posterior):
        if class_ is not None:
            raise ValueError("class_ requires a fitted estimator, not a Posterior.")
        return Subject([model], None, [], None)
    check_is_fitted(model)
    fitted = model._fitted
    classes = [] if fitted.classes is None else fitted.classes.tolist()
    if not fitted.parts:
        raise ValueError("A model with a single class has no trees to draw.")
    chosen = None if class_ is None else class_position(classes, class_)
    return Subject(fitted.parts, fitted.target_name, classes, chosen, fitted.class_weights)


def class_position(classes: list[Any], class_: Any) -> int:
    """Return the position of a label; the error lists the valid labels."""
    if class_ in classes:
        return classes.index(class_)
    if not classes:
        raise ValueError(f"class_={class_!r} requires a classifier.")
    known = ", ".join(map(repr, classes[:SHOWN_CLASSES]))
    more = ", …" if len(classes) > SHOWN_CLASSES else ""
    raise ValueError(f"class_={class_!r} is not a class of the model. Its classes: {known}{more}.")


def short_probability_of(label: Any, target: str | None) -> str:
    """Name the probability of a label, short enough for an axis label."""
    name = None if target is None else short_name(target)
    return probability_of(short_name(str(label)), name)
