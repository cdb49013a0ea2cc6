"""An outcome model in Python; its sampling is in the engine, under the same name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from obliquebart.model.outcome import NoiseEstimate, Outcome, OutcomeScale
from obliquebart.model.parameters import CheckedHyperparameters, Task
from obliquebart.model.settings import settings_of

FloatArray = NDArray[np.float64]
# Ends the label of each of the posteriors of a model of several classes.
AGAINST_THE_REST = "against the rest"


class NoiseScalar(NamedTuple):
    """A number of the noise, such as sigma."""

    name: str
    """In the trace and in the engine's progress."""
    symbol: str
    """On the progress line and in pictures."""
    sampled: bool = True
    """Whether it changes from draw to draw; otherwise the progress line leaves it out."""
    in_progress: bool = True
    """Whether the progress line has room for it."""
    is_scale: bool = True
    """Whether it is positive, so that its logarithm can be judged."""
    is_shown: bool = True
    """Whether it means something by itself, so that tables have it."""


class CheckedOutcome(NamedTuple):
    """What the user gave to `fit`, after all checks."""

    rows: NDArray[np.int64] | None
    """Rows of the table to fit, perhaps repeated; None for all of them."""
    y: NDArray[Any]
    """Outcomes at these rows."""
    weights: FloatArray | None
    """Their weights."""
    more: tuple[FloatArray, ...] = ()
    """Further numbers of the outcomes."""


class Given(NamedTuple):
    """What the distribution of an outcome depends on; the parts broadcast against each other."""

    f: FloatArray
    """The sum of the trees."""
    noise: Mapping[str, FloatArray]
    """The scalars of the noise."""
    weights: FloatArray | None = None
    """Weights of the outcomes; None means 1."""


class Noise(NamedTuple):
    """Additive noise that the engine knows."""

    scale: FloatArray
    """Per draw, in the engine's units; the standard deviation of normal noise."""
    df: FloatArray | None = None
    """Degrees of freedom of Student's t, per draw; None for normal noise."""


class Likelihood(ABC):
    """How an outcome depends on f, the sum of the trees, at its row.

    The engine works in its own units; `OutcomeScale` converts them to the user's. Code outside this
    package uses these attributes and methods and knows no likelihood by name.

    Attributes
    ----------
    name : str
        The engine's name of it; also in model files.
    task : {"regression", "classification", "count regression", "survival"}
        Whether outcomes are numbers, labels, counts, or times until an event.
    link : str
        The engine's name of the map from the outputs of the trees to the mean of an outcome.
    sum_link : str
        The same for f itself: their sum, or the sum of their logarithms.
    noise : tuple of NoiseScalar
        What predictions need besides f. The trace of the engine has them.
    has_latents : bool
        Whether the chain's target is sampled, or not y, so that its state must keep it.
    target_dtype : dtype
        Of `Outcome.values` before `part`.
    boundary : float or None
        A mean at which a decision changes.
    n_more : int
        How many numbers an outcome has in `Outcome.more`, besides the first.
    is_joint : bool
        Whether every class has an ensemble, and one chain has them all.
    is_score : bool
        Whether f is the score of one class of several: exp(f) over the sum is a probability.
    other_link : str
        The engine's name of the map from the ensembles after the first to `noise_at_rows`.
    n_treatments : int
        How many treatments have an effect of their own on f: the last ensembles.
    n_hidden : int
        How many of the last continuous columns these ensembles do not have.
    joint_classes : bool
        Whether one posterior has the probabilities of all classes, as its `predictions`.
    is_whole : bool
        Whether outcomes are whole numbers of at least 0.
    noun : str
        What an outcome is called in a sentence.
    classes_in_words : str
        What labels are called.
    predicted : str
        What predictions are called, at the beginning of a sentence.
    """

    name: ClassVar[str]
    task: ClassVar[Task]
    link: ClassVar[str]
    sum_link: ClassVar[str] = "identity"
    noise: tuple[NoiseScalar, ...] = ()
    has_latents: ClassVar[bool]
    target_dtype: ClassVar[DTypeLike]
    boundary: ClassVar[float | None] = None
    n_more: int = 0
    is_joint: ClassVar[bool] = False
    is_score: ClassVar[bool] = False
    other_link: ClassVar[str] = "identity"
    n_treatments: int = 0
    n_hidden: int = 0
    joint_classes: ClassVar[bool] = False
    is_whole: ClassVar[bool] = False
    noun: ClassVar[str] = "a number"
    classes_in_words: ClassVar[str] = "classes"
    predicted: ClassVar[str] = "Predictions"

    @property
    def has_classes(self) -> bool:
        """Whether outcomes are labels."""
        return self.task == "classification"

    def with_settings(self, more: Mapping[str, float]) -> Likelihood:
        """Return the likelihood with the settings that it alone has in the engine."""
        return self

    # ---- a data file -----------------------------------------------------------------------------

    def from_column(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return numbers or text of a data file as `fit` takes them."""
        return values

    @abstractmethod
    def describe(self, y: NDArray[Any]) -> str:
        """Say in a few words what the task is and which outcomes there are."""

    # ---- the outcome -----------------------------------------------------------------------------

    @abstractmethod
    def read(self, y: Any, sample_weight: Any, n_rows: int) -> CheckedOutcome:
        """Check what the user gave."""

    @abstractmethod
    def encode(self, y: NDArray[Any], weights: FloatArray | None = None) -> Outcome:
        """Return checked outcomes in the engine's units."""

    def titles(self, classes: NDArray[Any] | None) -> list[str]:
        """Return what distinguishes the posteriors of a model, one text for each of them."""
        return [""]

    def labels(self, classes: NDArray[Any] | None) -> list[str]:
        """Return the same in words; empty if there is only one posterior."""
        titles = self.titles(classes)
        return [f"{title}{AGAINST_THE_REST}" if title else "" for title in titles]

    def part(self, outcome: Outcome, i: int) -> Outcome:
        """Return the outcome of posterior i of a model."""
        return outcome

    @abstractmethod
    def is_target(self, values: NDArray[Any], classes: NDArray[Any] | None) -> bool:
        """Say whether values of `target_dtype` from a file may be the `values` of an outcome."""

    def are_more(self, values: NDArray[Any], more: tuple[FloatArray, ...]) -> bool:
        """Say whether the same holds for the other numbers of the outcomes."""
        return all(bool(np.isfinite(column).all()) for column in more)

    def fits(self, classes: NDArray[Any] | None) -> bool:
        """Say whether this may be the likelihood of a model with these classes."""
        return True

    def are_scalars(self, noise: Mapping[str, FloatArray]) -> bool:
        """Say whether draws from a file may be those of the noise's scalars."""
        return True

    def order_key(self, outcome: Outcome) -> FloatArray:
        """Return a number per row that tells how large its outcome is."""
        return outcome.values

    @abstractmethod
    def check_observed(self, y: Any, n_rows: int) -> FloatArray:
        """Return the user's outcomes of one posterior, as `log_density` takes them."""

    def observed_groups(self, y: FloatArray) -> dict[str, FloatArray]:
        """Return checked outcomes by name, each of shape (n,), for other packages."""
        return {"y": y}

    def is_constant(self, outcome: Outcome) -> bool:
        """Say whether there is nothing to learn: one row, or all outcomes equal."""
        return bool(outcome.values.min() == outcome.values.max())

    def constant_warning(self, outcome: Outcome) -> str:
        """Say what a model of a constant outcome is."""
        return (
            f"All {len(outcome.values)} outcomes in y are equal: the model predicts this constant "
            "and has no uncertainty."
        )

    # ---- the prior -------------------------------------------------------------------------------

    @abstractmethod
    def leaf_sd(self, parameters: CheckedHyperparameters, outcome: Outcome) -> float:
        """Return the calibrated standard deviation of a leaf output in the engine's units."""

    @property
    def when_estimating(self) -> Likelihood:
        """The likelihood of the short fits that estimate the noise."""
        return self

    def wants_noise(self, parameters: CheckedHyperparameters) -> bool:
        """Say whether the prior of the noise needs an estimate."""
        return False

    @abstractmethod
    def noise_prior(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        noise: NoiseEstimate | None = None,
    ) -> dict[str, Any]:
        """Return the engine's settings of the noise and of the offset.

        The noise is an estimate, or None for a prior that needs none.
        """

    def more_ensembles(
        self,
        parameters: CheckedHyperparameters,
        outcome: Outcome,
        first: Mapping[str, Any],
    ) -> list[dict[str, Any]]:
        """Return the engine's settings of the ensembles after the first, which has its own."""
        return []

    def part_settings(self, settings: Mapping[str, Any], e: int) -> dict[str, Any]:
        """Return the settings of one ensemble as those of a model of its own."""
        return settings_of(settings, e)

    def usual_shift(self, more: Mapping[str, float]) -> float:
        """Return what is added to f at a usual row, given the likelihood's own settings."""
        return 0.0

    @abstractmethod
    def unit(self, scale: OutcomeScale) -> str:
        """Say what 1 is in the engine's units."""

    def shown_name(self, name: str) -> str:
        """Return what users read for a name in the trace."""
        return name

    def outcome_in_words(self, classes: NDArray[Any] | None) -> str:
        """Say what an outcome is."""
        return self.noun if classes is None else f"one of {len(classes)} {self.classes_in_words}"

    def quantity(self, target: str | None) -> str | None:
        """Return what is predicted of an outcome of this name."""
        return target

    # ---- from the engine's units to the user's ---------------------------------------------------

    def trace_units(self, scale: OutcomeScale) -> dict[str, float]:
        """Return what the engine's numbers in the trace are multiplied by, by name."""
        return {"leaf_sd": scale.scale}

    def noise_of(
        self, trace: Mapping[str, FloatArray], shape: tuple[int, ...] = (-1, 1)
    ) -> dict[str, FloatArray]:
        """Return the draws of the noise's scalars, shaped to go with all draws of f at a row."""
        return {scalar.name: trace[scalar.name].reshape(shape) for scalar in self.noise}

    def noise_at_rows(
        self,
        scalars: dict[str, FloatArray],
        others: Sequence[FloatArray],
    ) -> dict[str, FloatArray]:
        """Return the noise at rows, given what the ensembles after the first say of them."""
        return scalars

    def other_links(self, n_others: int) -> list[str]:
        """Return the engine's names of the links of the ensembles after the first."""
        return [self.other_link] * n_others

    def added(
        self, scalars: Mapping[str, FloatArray], others: Sequence[FloatArray]
    ) -> FloatArray | float:
        """Return what the ensembles after the first add to f, in the engine's units."""
        return 0.0

    def effects(
        self, scalars: Mapping[str, FloatArray], others: Sequence[FloatArray]
    ) -> list[FloatArray]:
        """Return the effect of each treatment on f, in the engine's units."""
        return []

    def terms(self, outputs: FloatArray) -> FloatArray:
        """Return what leaf outputs in the engine's units add to f."""
        return outputs

    # ---- a new outcome ---------------------------------------------------------------------------

    @abstractmethod
    def mean(self, f: FloatArray) -> FloatArray:
        """Return the mean of an outcome."""

    def predictions(self, given: Given) -> FloatArray:
        """Return what users see: the mean, or with `joint_classes` all probabilities.

        The classes are then the last dimension.
        """
        return self.mean(given.f)

    @abstractmethod
    def variance(self, given: Given) -> FloatArray:
        """Return the variance of an outcome of weight one."""

    def noise_sd(self, given: Given) -> FloatArray:
        """Return the standard deviation of an outcome of weight one."""
        return np.asarray(np.sqrt(self.variance(given)), dtype=np.float64)

    def noise_on_f(self, given: Given) -> FloatArray:
        """Return the variance of the noise in the square of f's units, of weight one.

        Monte Carlo errors of f are compared with it. It differs from the variance of an outcome if
        the link is not the identity.
        """
        return self.variance(given)

    def core_noise(self, noise: Mapping[str, FloatArray], scale: OutcomeScale) -> Noise | None:
        """Return the noise of an outcome of weight one as the engine knows it.

        None if it does not know it; quantiles of outcomes then come from `cdf`.
        """
        return None

    @abstractmethod
    def simulate(self, given: Given, random_state: np.random.RandomState) -> FloatArray:
        """Return a new outcome for each f."""

    @abstractmethod
    def log_density(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the log density of outcomes."""

    @abstractmethod
    def cdf(self, y: FloatArray, given: Given) -> FloatArray:
        """Return the probability of an outcome of weight one below y; a step at y counts half."""
