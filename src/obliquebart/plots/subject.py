"""What is drawn: the posterior of a model, or of one of its classes, and what it is called."""

from __future__ import annotations

from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from obliquebart.display.words import probability_of
from obliquebart.plots.style import short_name
from obliquebart.posterior.posterior import Posterior

SHOWN_CLASSES = 8


class Subject(NamedTuple):
    """A model, or the posterior of one, as a picture sees it."""

    posteriors: list[Posterior]
    """All of a model."""
    target: str | None
    """What the outcome is called."""
    classes: list[Any]
    """The labels of a classification; empty for a posterior without its model."""
    chosen: int | None
    """The position of a class among them; None for all classes, and where there are none."""

    @property
    def name(self) -> str:
        """What to call the outcome."""
        return short_name(self.target or "y")

    @property
    def parts(self) -> dict[str, Posterior]:
        """The posteriors to draw, by what tells them apart: nothing where there is only one."""
        if len(self.posteriors) == 1:
            return {"": self.posteriors[0]}
        parts = {str(c): p for c, p in zip(self.classes, self.posteriors, strict=True)}
        return parts if self.chosen is None else dict([list(parts.items())[self.chosen]])

    @property
    def mean_label(self) -> str:
        """What a mean of the only posterior, or of the chosen class, is called."""
        posterior = self.posteriors[0]
        if not posterior.likelihood.has_classes:
            return f"predicted {self.name}"
        if not self.classes:
            return "probability"
        chosen = -1 if self.chosen is None else self.chosen
        return short_probability_of(self.classes[chosen], self.target)


def subject_of(model: Any, class_: Any = None) -> Subject:
    """Return what to draw of a fitted estimator or of a posterior."""
    if isinstance(model, Posterior):
        if class_ is not None:
            raise ValueError("A Posterior is of one class already: leave class_ out.")
        return Subject([model], None, [], None)
    check_is_fitted(model)
    fitted = model._fitted
    classes = [] if fitted.classes is None else fitted.classes.tolist()
    if not fitted.posteriors:
        raise ValueError("A model of a single class has no trees that could be drawn.")
    chosen = None if class_ is None else class_position(classes, class_)
    return Subject(fitted.posteriors, fitted.target_name, classes, chosen)


def class_position(classes: list[Any], class_: Any) -> int:
    """Return the position of a label, or say which there are."""
    if class_ in classes:
        return classes.index(class_)
    if not classes:
        raise ValueError(f"class_={class_!r}, but the outcome of this model has no classes.")
    known = ", ".join(map(repr, classes[:SHOWN_CLASSES]))
    more = ", …" if len(classes) > SHOWN_CLASSES else ""
    raise ValueError(f"class_={class_!r} is none of the classes of the model: {known}{more}.")


def short_probability_of(label: Any, target: str | None) -> str:
    """Name the probability of a label, in words that fit beside an axis."""
    name = None if target is None else short_name(target)
    return probability_of(short_name(str(label)), name)
