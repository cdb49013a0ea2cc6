"""Which columns the rules of a posterior use, with which weights, and in which combinations.

A rule's direction φ has unit length and refers to columns scaled to [-1, 1], so that the weights
of different columns are comparable. All shares are computed for each draw and summarised by their
mean and a central interval over the draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from obliquebart.explain.directions import prior_pairs, prior_shares
from obliquebart.posterior.draws import DecodedDraws
from obliquebart.validation import check_choice, check_count, check_coverage

if TYPE_CHECKING:
    from obliquebart.posterior.posterior import Posterior

FloatArray = NDArray[np.float64]


class Inclusion(NamedTuple):
    """The share of rules that use a column.

    `share` has the interval (`low`, `high`); an oblique rule counts for each of its columns.
    `draws` is the share of draws with at least one such rule. `prior` is approximately the share
    among rules drawn from the prior: a column with a much higher `share` is used because of the
    data.
    """

    column: str
    kind: str
    share: float
    low: float
    high: float
    draws: float
    prior: float


class Loading(NamedTuple):
    """The mean size of a column in φ, over all continuous rules and over those that use it."""

    column: str
    mean: float
    low: float
    high: float
    when_used: float


class Interaction(NamedTuple):
    """The share of oblique rules (or of trees with two or more columns) that use both columns.

    `lift` is this share divided by that of a random pair. Where `directions` put some columns
    together, it is divided by the share of the pair among oblique rules drawn from their prior; by
    tree, it is then NaN.
    """

    first: str
    second: str
    share: float
    low: float
    high: float
    lift: float


class SizeShare(NamedTuple):
    """The share of continuous rules with a given number of columns."""

    n_columns: int
    share: float
    low: float
    high: float


class RuleSizes(NamedTuple):
    """How many columns a continuous rule uses, and how many rules there are.

    `oblique` is the share of continuous rules with two or more columns, `categorical` the share
    of categorical rules among all rules, `n_rules` the number of rules in an ensemble, and
    `mean_columns` the number of columns in a continuous rule. Each is a mean over draws.
    """

    sizes: list[SizeShare]
    mean_columns: float
    oblique: float
    categorical: float
    n_rules: float


class Rules:
    """All rules of all kept draws, as sparse matrices.

    Draws whose trees have the same structure share its rules, so everything is first counted by
    structure and then by draw.

    Attributes
    ----------
    names, kinds : list of str
        The names of the columns, and "continuous" or "categorical".
    prior : ndarray of shape (n_columns,)
        The share of rules that use a column, if rules are drawn from the prior.
    uses : csr_matrix of shape (n_rules, n_columns)
        1 where a rule uses a column.
    weights : csr_matrix of shape (n_rules, n_columns)
        |φ| of continuous rules.
    structure : ndarray of shape (n_rules,)
        The structure that a rule belongs to.
    is_continuous : ndarray of bool of shape (n_rules,)
        Whether a rule is continuous.
    draws : csr_matrix of shape (n_draws, n_structures)
        How many trees of a draw have a structure.
    """

    def __init__(self, posterior: Posterior) -> None:
        decoded = DecodedDraws(posterior.draws, posterior.encoding.n_levels)
        table = decoded.rules()
        self.names = posterior.encoding.names
        self.kinds = posterior.encoding.kinds
        self.taken_as = posterior.encoding.taken_as
        self.prior = _prior_shares(posterior)
        self._posterior = posterior
        self.structure = table.structure
        self.is_continuous = table.is_continuous
        # From positions among the columns of a kind to positions among all columns.
        continuous, categorical = (
            np.array([j for j, k in enumerate(self.kinds) if k == kind], dtype=np.int64)
            for kind in ("continuous", "categorical")
        )
        n_continuous = table.column_begin[table.is_continuous.sum()]
        columns = np.concatenate(
            [continuous[table.columns[:n_continuous]], categorical[table.columns[n_continuous:]]]
        )
        shape = (len(table.structure), len(self.names))
        ones = np.ones(len(columns))
        self.uses = sparse.csr_matrix((ones, columns, table.column_begin), shape)
        sizes = np.abs(table.weights)
        self.weights = sparse.csr_matrix((sizes, columns, table.column_begin), shape)
        self.draws = _count_structures(decoded.structure_of, decoded.n_structures)

    @cached_property
    def n_rules(self) -> FloatArray:
        """The number of rules of each draw."""
        return self.per_draw(np.ones(len(self.structure)))

    @cached_property
    def n_columns(self) -> NDArray[np.int64]:
        """The number of columns of each rule."""
        return np.asarray(np.diff(self.uses.indptr), dtype=np.int64)

    def per_draw(self, values: Any) -> FloatArray:
        """Sum values of rules, (n_rules,) or sparse (n_rules, k), over the rules of each draw."""
        if sparse.issparse(values):
            total = self.draws @ (self._by_structure @ values)
            return np.asarray(total.todense(), dtype=np.float64)
        return np.asarray(self.draws @ (self._by_structure @ values), dtype=np.float64)

    @property
    def has_neighbours(self) -> bool:
        """Whether the prior has some pairs of columns in the same rule more often than others."""
        return any(
            each["kind"] in ("patch", "groups") or (each["kind"] != "axis" and each["columns"])
            for each in self._posterior.settings.get("directions") or ()
        )

    def prior_pairs(self, first: NDArray[np.int64], second: NDArray[np.int64]) -> FloatArray:
        """Return the shares of oblique rules drawn from the prior of directions with both columns.

        The columns are continuous, and given by their positions among all columns.
        """
        number = np.cumsum([kind == "continuous" for kind in self.kinds]) - 1
        components, p_cont = self._posterior.settings["directions"], int(number[-1]) + 1
        pairs = number[first], number[second]
        return prior_pairs(self._posterior.trace, components, p_cont, pairs)

    @cached_property
    def _by_structure(self) -> Any:
        n_rules = len(self.structure)
        shape = (self.draws.shape[1], n_rules)
        return sparse.csr_matrix(
            (np.ones(n_rules), (self.structure, np.arange(n_rules))), shape=shape
        )

    def by_tree(self) -> tuple[Any, Any]:
        """Return the columns of each structure (sparse, 0 or 1), and the draws' counts."""
        columns = self._by_structure @ self.uses
        columns.data = np.ones_like(columns.data)
        return columns.tocsr(), self.draws

    def by_rule(self) -> tuple[Any, Any]:
        """Return the columns of each rule (sparse, 0 or 1), and the draws' counts."""
        return self.uses, (self.draws @ self._by_structure).tocsr()


def variable_inclusion(rules: Rules | Sequence[Rules], coverage: float = 0.9) -> list[Inclusion]:
    """Return the share of rules that use each column, most used first.

    Parameters
    ----------
    rules : Rules or sequence of Rules
        The rules of a posterior, or of the posteriors of all classes, which are combined.
    coverage : float
        Coverage of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> from obliquebart import ObliqueBARTRegressor
    >>> X = np.random.default_rng(0).uniform(size=(100, 3))
    >>> model = ObliqueBARTRegressor(n_trees=10, n_burn=100, n_draws=50, random_state=0)
    >>> posterior = model.fit(X, np.sin(6 * X[:, 1])).posterior_
    >>> variable_inclusion(Rules(posterior))[0].column
    'x1'
    """
    parts = [rules] if isinstance(rules, Rules) else list(rules)
    counts = np.sum([part.per_draw(part.uses) for part in parts], axis=0)
    n_rules = np.sum([part.n_rules for part in parts], axis=0)
    prior = np.mean([part.prior for part in parts], axis=0)
    mean, low, high = _over_draws(counts, n_rules, coverage)
    draws = (counts > 0).mean(axis=0)
    table = [
        Inclusion(name, kind, *map(float, numbers))
        for name, kind, *numbers in zip(
            parts[0].names, parts[0].taken_as, mean, low, high, draws, prior, strict=True
        )
    ]
    return sorted(table, key=lambda row: -row.share)


def loadings(rules: Rules, coverage: float = 0.9) -> list[Loading]:
    """Return the mean |φ| of each continuous column, largest first."""
    n_continuous = rules.per_draw(rules.is_continuous.astype(np.float64))
    total = rules.per_draw(rules.weights)
    used = rules.per_draw(rules.uses).sum(axis=0)
    mean, low, high = _over_draws(total, n_continuous, coverage)
    when_used = np.divide(total.sum(axis=0), used, out=np.zeros(len(used)), where=used > 0)
    table = [
        Loading(name, *map(float, numbers))
        for name, kind, *numbers in zip(
            rules.names, rules.kinds, mean, low, high, when_used, strict=True
        )
        if kind == "continuous"
    ]
    return sorted(table, key=lambda row: -row.mean)


def interactions(
    rules: Rules, by: Literal["rule", "tree"] = "rule", top: int = 20, coverage: float = 0.9
) -> list[Interaction]:
    """Return the `top` pairs of columns that are used together most often.

    With "rule", they share an oblique rule. With "tree", they share a tree, and categorical
    columns count too.
    """
    check_choice("by", by, ("rule", "tree"))
    top = check_count("top", top, 1)
    uses, draws = rules.by_rule() if by == "rule" else rules.by_tree()
    size = np.diff(uses.indptr)
    joint = size >= 2
    uses, draws, size = uses[joint], draws[:, joint], size[joint]
    times = np.asarray(draws.sum(axis=0), dtype=np.float64).ravel()
    total = np.asarray(draws.sum(axis=1), dtype=np.float64).ravel()
    pairs = sparse.triu(uses.T @ sparse.diags(times) @ uses, k=1).tocoo()
    best = np.argsort(-pairs.data, kind="stable")[:top]
    firsts, seconds = pairs.row[best], pairs.col[best]
    if not rules.has_neighbours:
        # A rule with k of p columns contains this share of all pairs.
        p = rules.kinds.count("continuous") if by == "rule" else len(rules.names)
        share_of_all = float(times @ (size * (size - 1))) / max(p * (p - 1) * times.sum(), 1.0)
        expected = np.full(len(best), share_of_all)
    elif by == "rule":
        expected = rules.prior_pairs(firsts, seconds)
    else:
        expected = np.full(len(best), np.nan)
    table = []
    by_column = uses.tocsc()
    for first, second, chance in zip(firsts, seconds, expected.tolist(), strict=True):
        both = np.asarray(by_column[:, first].multiply(by_column[:, second]).todense()).ravel()
        share, low, high = _over_draws((draws @ both)[:, None], total, coverage)
        lift = float(times @ both) / float(times.sum()) / chance
        estimates = float(share[0]), float(low[0]), float(high[0])
        table.append(Interaction(rules.names[first], rules.names[second], *estimates, lift))
    return sorted(table, key=lambda row: -row.share)


def rule_sparsity(rules: Rules, coverage: float = 0.9) -> RuleSizes:
    """Return how many columns the continuous rules use."""
    n_continuous = rules.per_draw(rules.is_continuous.astype(np.float64))
    sizes = np.unique(rules.n_columns[rules.is_continuous])
    table = []
    for size in sizes:
        has_size = rules.is_continuous & (rules.n_columns == size)
        count = rules.per_draw(has_size.astype(np.float64))[:, None]
        estimates = (float(value[0]) for value in _over_draws(count, n_continuous, coverage))
        table.append(SizeShare(int(size), *estimates))
    n_rules = rules.n_rules
    return RuleSizes(
        table,
        mean_columns=sum(row.n_columns * row.share for row in table),
        oblique=sum(row.share for row in table if row.n_columns >= 2),
        categorical=_mean_share(n_rules - n_continuous, n_rules),
        n_rules=float(n_rules.mean()),
    )


def _over_draws(
    counts: FloatArray, total: FloatArray, coverage: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return mean and interval of counts (n_draws, k) as shares of a total (n_draws,).

    Draws with a total of 0 are ignored; if there are no others, all shares are 0.
    """
    levels = check_coverage(coverage)
    some = total > 0
    if not some.any():
        zero = np.zeros(counts.shape[1])
        return zero, zero, zero
    shares = counts[some] / total[some, None]
    low, high = np.quantile(shares, levels, axis=0)
    return shares.mean(axis=0), low, high


def _mean_share(count: FloatArray, total: FloatArray) -> float:
    return float(_over_draws(count[:, None], total, 0.9)[0][0])


def _count_structures(structure_of: NDArray[np.uint32], n_structures: int) -> Any:
    n_draws, n_trees = structure_of.shape
    draw = np.repeat(np.arange(n_draws), n_trees)
    entries = (np.ones(n_draws * n_trees), (draw, structure_of.ravel().astype(np.int64)))
    return sparse.csr_matrix(entries, shape=(n_draws, n_structures))


def _prior_shares(posterior: Posterior) -> FloatArray:
    """Return the share of rules that use each column if rules are drawn from the prior.

    These are valid rules at the root: φ is not zero, and both sides get some levels. theta comes
    from the posterior draws, so that the comparison is about which columns are used, not about how
    many.
    """
    kinds, p_cont = posterior.encoding.kinds, posterior.encoding.p_cont
    used, valid = _continuous_shares(posterior)
    proper = iter(1.0 - 2.0 ** (1 - count) for count in posterior.encoding.n_levels)
    each = iter(used)
    columns = [p_cont * next(each) if kind == "continuous" else next(proper) for kind in kinds]
    n_levels = np.array(posterior.encoding.n_levels, dtype=np.float64)
    total = p_cont * valid + (1.0 - 2.0 ** (1.0 - n_levels)).sum()
    return np.array([float(np.mean(column / np.maximum(total, 1e-300))) for column in columns])


def _continuous_shares(posterior: Posterior) -> tuple[FloatArray, FloatArray]:
    """Return, by draw, the probabilities that a continuous rule has each column and is not zero."""
    settings, p_cont = posterior.settings, posterior.encoding.p_cont
    theta = posterior.trace["theta"].ravel()
    is_zero_legal = settings.get("min_samples_leaf", 1) == 0
    if settings.get("directions"):
        return prior_shares(posterior.trace, settings["directions"], p_cont, is_zero_legal)
    if p_cont < 2 or settings.get("axis_rules", False) or np.isnan(theta).any():
        used, valid = np.full(len(theta), 1.0 / max(p_cont, 1)), np.ones(len(theta))
    else:
        used, valid = theta, 1.0 - (1.0 - theta) ** p_cont
        if is_zero_legal:
            valid = np.ones(len(theta))
    return np.broadcast_to(used, (p_cont, len(theta))), valid
