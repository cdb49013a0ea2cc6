"""Convergence diagnostics: R-hat, effective sample sizes, errors of means, and a verdict.

The statistics are those of Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021), "Rank-
normalization, folding, and localization", Bayesian Analysis 16(2), computed by arviz-stats.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from obliquebart import _core
from obliquebart.display.numbers import plain, plain_alike
from obliquebart.display.tables import TextTable, aligned, notebook_html
from obliquebart.model.directions import theta_columns
from obliquebart.model.settings import ensemble_prefix, settings_of
from obliquebart.posterior.convergence import SMALLEST_CHAIN, relative_to_mean
from obliquebart.posterior.verdict import (
    NO_ROWS,
    Evidence,
    Place,
    Verdict,
    examine,
    examine_parts,
    reach_verdict,
)
from obliquebart.table.encoded import EncodedTable
from obliquebart.validation import check_count

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

TAILS = (0.05, 0.95)
ONE_CLASS = "A model with a single class has no draws: it always predicts that class."
FloatArray = NDArray[np.float64]


class Quantity(NamedTuple):
    """A scalar of the posterior with its convergence diagnostics.

    `rhat`, `ess_bulk`, `ess_tail` and `mcse_mean` are NaN for a constant, and if chains have fewer
    than four draws.
    """

    name: str
    mean: float
    sd: float
    q5: float
    q95: float
    mcse_mean: float
    ess_bulk: float
    ess_tail: float
    rhat: float

    @property
    def fixed(self) -> bool:
        """Whether all draws are equal."""
        return self.sd == 0.0


class Diagnostics:
    """What `Posterior.summary` returns; prints as a verdict and a table.

    Attributes
    ----------
    quantities : list of Quantity
        sigma, theta and leaf_sd (if the model has them) and f at the chosen rows.
    acceptance : dict of str to float
        Acceptance rate of each proposed move, averaged over the kept sweeps.
    trees : dict of str to float
        Posterior means of `n_leaves` and `depth` of a tree, and of `axis_share`, the share of
        axis-aligned rules among the continuous rules.
    evidence : Evidence or None
        What the verdict is based on; None without a table.
    n_chains, n_draws, n_trees : int
        Numbers of chains, kept draws per chain, and trees in an ensemble.
    title : str
        These numbers in words.
    """

    def __init__(
        self, posterior: Posterior, quantities: list[Quantity], evidence: Evidence | None = None
    ) -> None:
        trace = posterior.trace
        self.n_chains = posterior.n_chains
        self.n_draws = posterior.n_draws
        self.n_trees = posterior.n_trees
        self.title = posterior.in_words()
        self._has_effects = posterior.likelihood.n_treatments > 0
        self.quantities = quantities
        self.acceptance = {
            move: float(np.nanmean(trace[f"accept_{move}"]))
            for move in _core.MOVES
            if not np.isnan(trace[f"accept_{move}"]).all()
        }
        self.trees = {
            name: float(np.nanmean(trace[name]))
            for name in ("n_leaves", "depth", "axis_share")
            if not np.isnan(trace[name]).all()
        }
        self.evidence = evidence

    @property
    def verdict(self) -> Verdict | None:
        """Verdict on the predictions; None without a table."""
        return None if self.evidence is None else reach_verdict([self.evidence])

    def __getitem__(self, name: str) -> Quantity:
        for quantity in self.quantities:
            if quantity.name == name:
                return quantity
        raise KeyError(name)

    def __iter__(self) -> Iterator[Quantity]:
        return iter(self.quantities)

    def __len__(self) -> int:
        return len(self.quantities)

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "\n".join([_verdict_text(self.verdict), "", *self.lines()])

    def _repr_html_(self) -> str:
        return notebook_html([_verdict_text(self.verdict), *self.tables()])

    def tables(self) -> list[TextTable]:
        """Return non-empty tables of the quantities and the acceptance rates."""
        moves = [[move, f"{share:.0%}"] for move, share in self.acceptance.items()]
        tables = [
            TextTable(self.title, ["quantity", *HEADINGS[1:]], [*map(cells, self.quantities)]),
            TextTable("Accepted moves", ["move", "accepted"], moves),
        ]
        return [table for table in tables if table.rows]

    def lines(self) -> list[str]:
        """Return the table and the acceptance rates as lines of text."""
        lines = [self.title]
        if self.quantities:
            lines += ["", *aligned([list(HEADINGS), *map(cells, self.quantities)])]
        if self.acceptance:
            shares = (f"{move} {share:.0%}" for move, share in self.acceptance.items())
            lines += ["", f"accepted: {', '.join(shares)}"]
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; NaN becomes None.

        Returns
        -------
        dict
            With the attributes' names as keys.
        """
        return {
            "n_chains": self.n_chains,
            "n_draws": self.n_draws,
            "n_trees": self.n_trees,
            "quantities": [
                {key: _plain(value) for key, value in quantity._asdict().items()}
                for quantity in self.quantities
            ],
            "acceptance": self.acceptance,
            "trees": self.trees,
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
        }


# Quantities that are printed of each of several classes.
N_WORST = 3


class ModelSummary:
    """What an estimator's `summary` returns; prints as one verdict and a table.

    Attributes
    ----------
    diagnostics : dict of str to Diagnostics
        One per posterior, by class; the key is empty if there is only one.
    verdict : Verdict or None
        Verdict on the worst posterior, which it names. None without a table.

    Examples
    --------
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTRegressor
    >>> x = np.random.default_rng(0).uniform(size=(60, 2))
    >>> y = x[:, 0] + np.random.default_rng(1).normal(size=60)
    >>> summary = ObliqueBARTRegressor(n_trees=20, random_state=0).fit(x, y).summary()
    >>> summary.verdict.tier
    'fine'
    >>> summary["sigma"].ess_bulk > 100
    True
    """

    def __init__(
        self,
        diagnostics: dict[str, Diagnostics],
        took: float | None = None,
        place: Place = "Python",
    ) -> None:
        self.diagnostics = diagnostics
        self._took = took
        evidence = [each.evidence for each in diagnostics.values() if each.evidence is not None]
        self.verdict = reach_verdict(evidence, took, place) if evidence else None

    def _for(self, place: Place) -> ModelSummary:
        """Return the same with advice that can be followed there."""
        return ModelSummary(self.diagnostics, self._took, place)

    def __getitem__(self, name: str) -> Quantity:
        if len(self.diagnostics) != 1:
            raise KeyError(f"{name}: choose a class first, as in summary.diagnostics[label].")
        (only,) = self.diagnostics.values()
        return only[name]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        several = list(self.diagnostics.values())
        if not several:
            return self.verdict_text
        lines = several[0].lines() if len(several) == 1 else self._worst_lines()
        return "\n".join([self.verdict_text, "", *lines])

    def _worst_lines(self) -> list[str]:
        """Return one table for all classes, with the quantities of each that are known worst."""
        rows = []
        for label, diagnostics in self.diagnostics.items():
            varied = [quantity for quantity in diagnostics if not quantity.fixed]
            worst = sorted(varied, key=lambda quantity: -np.nan_to_num(quantity.rhat))
            rows += [[label, *cells(quantity)] for quantity in worst[:N_WORST]]
        first = next(iter(self.diagnostics.values()))
        # The parts of a causal model are the outcome and its effects, in one chain.
        each = "" if first._has_effects else " per class"
        return [
            f"{first.title}{each}; the {N_WORST} quantities with the largest R-hat of each",
            "",
            *aligned([["", *HEADINGS], *rows]),
            "",
            "diagnostics[label] has all of them.",
        ]

    @property
    def verdict_text(self) -> str:
        """The verdict as text, or a hint if there is none."""
        return _verdict_text(self.verdict) if self.diagnostics else ONE_CLASS

    def _repr_html_(self) -> str:
        parts: list[TextTable | str] = [self.verdict_text]
        for label, diagnostics in self.diagnostics.items():
            parts += [label] if label else []
            parts += diagnostics.tables()
        return notebook_html(parts)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values that JSON can hold; NaN becomes None.

        Returns
        -------
        dict
            With the attributes' names as keys.
        """
        return {
            "diagnostics": {label: each.to_dict() for label, each in self.diagnostics.items()},
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
        }


def _verdict_text(verdict: Verdict | None) -> str:
    """Return a verdict as text, or a hint if there is none."""
    return NO_ROWS if verdict is None else str(verdict)


HEADINGS = ("", "mean", "sd", "R-hat", "bulk ESS", "tail ESS", "MCSE", "5%", "95%")


def cells(quantity: Quantity) -> list[str]:
    """Format a quantity as a row of a table, in the order of `HEADINGS`."""
    if quantity.fixed:
        return [quantity.name, plain(quantity.mean), "fixed", *[""] * 6]
    mean, sd, mcse, q5, q95 = plain_alike(
        [quantity.mean, quantity.sd, quantity.mcse_mean, quantity.q5, quantity.q95]
    )
    rhat = _cell(quantity.rhat, ".3f")
    ess = [_cell(value, ",.0f") for value in (quantity.ess_bulk, quantity.ess_tail)]
    return [quantity.name, mean, sd, rhat, *ess, mcse, q5, q95]


def diagnose(
    posterior: Posterior,
    table: EncodedTable | None = None,
    rows: int | Sequence[int] = 10,
    n_jobs: int | None = None,
    label: str = "",
) -> Diagnostics:
    """Compute the diagnostics of a posterior; see `Posterior.summary`."""
    draws = scalars(posterior)
    evidence = None
    if table is not None and table.n_rows:
        draws |= f_at_rows([posterior], table, rows, n_jobs)[0]
        evidence = examine(posterior, table, label, n_jobs)
    return _diagnostics(posterior, draws, evidence)


def diagnose_all(
    posteriors: Sequence[Posterior],
    labels: Sequence[str],
    table: EncodedTable | None = None,
    rows: int | Sequence[int] = 10,
    n_jobs: int | None = None,
) -> dict[str, Diagnostics]:
    """Compute the diagnostics of all posteriors of a model, or of all classes of one, by label."""
    if not posteriors or not posteriors[0].likelihood.is_joint:
        pairs = zip(labels, posteriors, strict=True)
        return {label: diagnose(each, table, rows, n_jobs, label) for label, each in pairs}
    parts = posteriors[0].parts()
    f: list[dict[str, FloatArray]] = [{} for _ in parts]
    evidence: list[Evidence | None] = [None for _ in parts]
    if table is not None and table.n_rows:
        f = f_at_rows(parts, table, rows, n_jobs)
        evidence = [*examine_parts(posteriors[0], table, labels, n_jobs)]
    return {
        label: _diagnostics(part, scalars(part) | at_rows, found)
        for label, part, at_rows, found in zip(labels, parts, f, evidence, strict=True)
    }


def _diagnostics(
    posterior: Posterior, draws: dict[str, FloatArray], evidence: Evidence | None
) -> Diagnostics:
    quantities = [measure(name, values) for name, values in draws.items()]
    return Diagnostics(posterior, quantities, evidence)


def scalars(posterior: Posterior) -> dict[str, FloatArray]:
    """Return the draws of the model's parameters, by the names that users see."""
    names = scalar_names(posterior)
    return {posterior.likelihood.shown_name(name): posterior.trace[name] for name in names}


def scalar_names(posterior: Posterior) -> list[str]:
    """Return the names of the model's parameters in the trace."""
    settings = posterior.settings
    names = [scalar.name for scalar in posterior.likelihood.noise if scalar.is_shown]
    components = settings.get("directions", [])
    has_theta = posterior.encoding.p_cont > 1 and not settings.get("axis_rules", False)
    if components:
        has_theta = theta_columns(components, posterior.encoding.p_cont) > 1
    for e in range(len(posterior.ensembles)):
        prefix = ensemble_prefix(e)
        n_components = len(settings_of(settings, e).get("directions", []))
        if n_components > 1:
            names += [f"{prefix}direction.{c}" for c in range(n_components)]
        if has_theta and not np.isnan(posterior.trace[f"{prefix}theta"]).all():
            names.append(f"{prefix}theta")
        if not settings_of(settings, e).get("leaf_sd_fixed", True):
            names.append(f"{prefix}leaf_sd")
    return names


def measure(name: str, draws: FloatArray) -> Quantity:
    """Return the diagnostics of one scalar, from its draws of shape (n_chains, n_draws).

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(0).normal(size=(4, 1000))
    >>> measure("independent", draws).rhat < 1.01
    True
    """
    low, high = np.quantile(draws, TAILS)
    constant = bool(draws.min() == draws.max())
    sd = 0.0 if constant else float(draws.std(ddof=1))
    if constant or draws.shape[1] < SMALLEST_CHAIN:
        mcse = bulk = tail = rhat = math.nan
    else:
        mcse, bulk, tail, rhat = _statistics(draws)
    return Quantity(name, float(draws.mean()), sd, float(low), float(high), mcse, bulk, tail, rhat)


def _statistics(draws: FloatArray) -> tuple[float, float, float, float]:
    # The import takes half a second and a fit does not need it; some versions have no types.
    array_stats: Any = import_module("arviz_stats.base").array_stats

    # R-hat splits every chain in two and needs two chains, so a single chain is split first.
    half = draws.shape[1] // 2
    chains = draws if len(draws) > 1 else np.stack([draws[0, :half], draws[0, -half:]])
    rhat = math.nan
    if chains.shape[1] >= SMALLEST_CHAIN:
        # A stuck chain has no variance: R-hat is infinite, and no warning is needed.
        with np.errstate(divide="ignore", invalid="ignore"):
            rhat = float(array_stats.rhat(chains))
    return (
        float(array_stats.mcse(draws)),
        float(array_stats.ess(draws, method="bulk")),
        float(array_stats.ess(draws, method="tail", prob=TAILS)),
        rhat,
    )


def choose_rows(rows: int | Sequence[int], n_rows: int) -> NDArray[np.intp]:
    """Return row numbers: the given ones, or a given number of evenly spaced ones."""
    if isinstance(rows, (int, np.integer)):
        count = min(check_count("rows", rows, 0), n_rows)
        return np.unique(np.linspace(0, n_rows - 1, count).round().astype(np.intp))
    chosen = np.asarray(rows)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise ValueError(f"rows={rows!r} must be a number of rows or a sequence of row numbers.")
    outside = chosen[(chosen < 0) | (chosen >= n_rows)]
    if outside.size:
        raise ValueError(
            f"rows contains {int(outside[0])}, but the rows of X are numbered 0 to {n_rows - 1}."
        )
    return chosen.astype(np.intp)


def f_at_rows(
    posteriors: Sequence[Posterior],
    table: EncodedTable,
    rows: int | Sequence[int],
    n_jobs: int | None = None,
) -> list[dict[str, FloatArray]]:
    """Return the draws of f at some rows, each of shape (n_chains, n_draws), by name.

    For the parts of a joint posterior, f is relative to its mean over the classes.
    """
    chosen = choose_rows(rows, table.n_rows)
    each = [_f_at(posterior, table.take(chosen), n_jobs) for posterior in posteriors]
    if posteriors[0].likelihood.is_joint:
        each = relative_to_mean(each)
    shape = (posteriors[0].n_chains, posteriors[0].n_draws)
    return [
        {f"f[{row}]": draws.reshape(shape) for row, draws in zip(chosen, f.T, strict=True)}
        for f in each
    ]


def _f_at(posterior: Posterior, table: EncodedTable, n_jobs: int | None) -> FloatArray:
    blocks = [f for _, f in posterior.blocks(table, n_jobs)]
    n_draws = int(posterior.draws.n_draws)
    return np.concatenate(blocks, axis=1) if blocks else np.zeros((n_draws, 0))


def _cell(number: float, form: str) -> str:
    return "–" if math.isnan(number) else format(number, form)


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
