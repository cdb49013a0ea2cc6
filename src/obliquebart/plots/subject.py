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
    def sign(self) -> float:
        """-1 where f speaks against the chosen class: of two classes, it is that of the second."""
        is_first_of_two = self.chosen == 0 and len(self.classes) == 2
        return -1.0 if is_first_of_two and len(self.posteriors) == 1 else 1.0

    @property
    def unit(self) -> str:
        """What predictions of numbers are in, to follow "in"."""
        quantity = self.posteriors[0].likelihood.quantity(self.target)
        is_outcome = quantity is None or quantity == self.target
        return f"units of {self.name}" if is_outcome else short_name(str(quantity))

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


def subject_with_f(model: Any, class_: Any = None, *, is_one: bool = False) -> Subject:
    """Return what to draw of f itself, whose sign matters with `is_one`.

    With three or more classes, each has an f of its own. Only differences between these count, so
    that their signs say nothing when they are added up. Ordered classes share one f.
    """
    subject = subject_of(model, class_)
    classes = subject.classes
    if subject.chosen is not None and len(subject.posteriors) == 1 and len(classes) > 2:
        raise ValueError(
            f"class_={class_!r} makes no difference here: ordered classes share one f, which grows "
            f"towards the last of them, {classes[-1]!r}. Leave class_ out."
        )
    if is_one and len(subject.parts) > 1:
        raise ValueError(
            "signed=True needs a class here, as each class has a score of its own and the signs of "
            f"their sum mean nothing. Pass class_=, for example class_={classes[0]!r}."
        )
    return subject


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
