"""Methods of a posterior besides predictions: convergence, columns, rules, ArviZ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from obliquebart.display.tables import notebook_html
from obliquebart.documentation import EXPLAINING, shared_parameters
from obliquebart.explain import effects as effect_curves
from obliquebart.explain import importance as importances
from obliquebart.explain import rules, trees
from obliquebart.posterior import arviz, diagnostics

documented = shared_parameters(f"""\
X : table of shape (n, n_features)
    Any table that `fit` supports.
n_jobs : int or None
    Number of threads, as in joblib.
coverage : float, default=0.9
    Coverage of the intervals over the draws.
{EXPLAINING}""")


class PosteriorSummaries:
    """The part of `Posterior` that forwards to diagnostics, rules, trees and ArviZ."""

    @documented
    def summary(
        self: Any, X: Any = None, *, rows: int | Sequence[int] = 10, n_jobs: int | None = None
    ) -> diagnostics.Diagnostics:
        """Check whether the chains have converged.

        The summary has a verdict (fine for predictions, more draws would help, or the chains
        disagree) and a table: rank-normalised R-hat, bulk and tail effective sample sizes (ESS)
        and the Monte Carlo standard error of the mean (MCSE) for sigma, theta and, given a table,
        f at some of its rows. It also shows how often each move was accepted.

        Parameters
        ----------
        X : table of shape (n, n_features), optional
            Rows at which to check f, for example the training data; the verdict is then about new
            rows similar to them. Without X there is no verdict.
        rows : int or sequence of int, default=10
            Rows of X to show in the table: their number (evenly spaced), or their positions.

        Returns
        -------
        Diagnostics
            Prints as a verdict and a table; `quantities`, `acceptance`, `verdict`, `to_dict()`.

        See Also
        --------
        ObliqueBARTRegressor.summary : The same for a model, by default on its training data.

        Examples
        --------
        >>> import numpy as np
        >>> from obliquebart import ObliqueBARTRegressor
        >>> x = np.random.default_rng(0).uniform(size=(60, 2))
        >>> model = ObliqueBARTRegressor(n_trees=20, random_state=0).fit(x, x[:, 0])
        >>> model.posterior_.summary()["sigma"].ess_bulk > 100
        True
        """
        table = None if X is None else self.encode(X)
        return diagnostics.diagnose(self, table, rows, n_jobs)

    def _repr_html_(self: Any) -> str:
        scalars = diagnostics.diagnose(self).tables()[:1]
        more = "summary(X) shows whether the chains have converged."
        return notebook_html([str(self), *scalars, more])

    @documented
    def to_arviz(
        self: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        rows: int | Sequence[int] = 10,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> Any:
        """Convert the posterior for ArviZ: `az.plot_trace`, `az.summary`, `az.loo`, `az.compare`.

        Parameters
        ----------
        X : table of shape (n, n_features), optional
            Adds f at some rows to the group posterior, and adds the group posterior_predictive.
        y : array-like of shape (n,), optional
            Adds the groups log_likelihood and observed_data. For a model with two classes, pass 0
            or 1: `y == model.classes_[1]`.
        sample_weight : array-like of shape (n,), optional
            Weights as for `fit`.
        rows : int or sequence of int, default=10
            Rows at which to include f: their number (evenly spaced), or their positions.
        random_state : int, RandomState or None, default=None
            Seed of the posterior predictive draws.

        Returns
        -------
        arviz.InferenceData or xarray.DataTree
            The former with ArviZ 0.x, the latter with ArviZ 1.x.

        Notes
        -----
        For `az.loo` pass the training rows and their outcomes. Pareto k is often large for such
        flexible models, and the estimate unreliable; then compare the log density of held-out
        rows, which is in the group log_likelihood if these are passed instead.
        """
        observed = arviz.Observed(y, sample_weight, random_state)
        return arviz.to_arviz(self, X, observed, rows, n_jobs)

    @documented
    def importance(
        self: Any,
        X: Any,
        *,
        coverage: float = 0.9,
        max_rows: int = importances.MAX_ROWS,
        max_draws: int = importances.MAX_DRAWS,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
    ) -> importances.ImportanceTable:
        """Measure which columns matter: how much predictions change when a column is shuffled.

        See `ObliqueBARTRegressor.importance`. Predictions are f, or the probability of the class;
        with more than two classes, the score of this class or, with ``multiclass="one_vs_rest"``,
        its probability against the rest.

        Parameters
        ----------
        random_state : int, RandomState or None, default=0
            Seed of the shuffling; None shuffles differently at every call.

        Returns
        -------
        ImportanceTable
            A sequence of `Importance`, most important first; it prints as a table.
        """
        return importances.column_importance(
            [self],
            self.encoding,
            self.encode(X),
            coverage=coverage,
            max_rows=max_rows,
            max_draws=max_draws,
            random_state=random_state,
            n_jobs=n_jobs,
        )

    @documented
    def effects(
        self: Any,
        X: Any,
        column: str | int,
        *,
        centered: bool = False,
        n_points: int = effect_curves.N_POINTS,
        coverage: float = 0.9,
        max_rows: int = effect_curves.MAX_ROWS,
        max_draws: int = effect_curves.MAX_DRAWS,
        n_jobs: int | None = None,
    ) -> effect_curves.Effect:
        """Return how predictions depend on one column, with intervals: partial dependence.

        See `ObliqueBARTRegressor.effects`. Predictions are f, or the probability of the class;
        with more than two classes, the score of this class or, with ``multiclass="one_vs_rest"``,
        its probability against the rest.

        Returns
        -------
        Effect
            Prints as a table; `obliquebart.plots.effects` draws it.
        """
        return effect_curves.column_effect(
            [self],
            self.encoding,
            self.encode(X),
            column,
            centered=centered,
            n_points=n_points,
            coverage=coverage,
            max_rows=max_rows,
            max_draws=max_draws,
            n_jobs=n_jobs,
        )

    @documented
    def variable_inclusion(self: Any, coverage: float = 0.9) -> list[rules.Inclusion]:
        """Return the share of rules that use each column, most used first.

        This describes how the model is built; use `importance` to see which columns matter.

        Returns
        -------
        list of Inclusion
            Named tuples (`column`, `kind`, `share`, `low`, `high`, `draws`, `prior`), which can be
            converted to a data frame.
        """
        return rules.variable_inclusion(rules.Rules(self), coverage)

    @documented
    def loadings(self: Any, coverage: float = 0.9) -> list[rules.Loading]:
        """Return the mean weight of each continuous column in the rules, largest first.

        The weight is the absolute value of the column's entry in φ. Columns are scaled to [-1, 1]
        and φ to length 1, so the numbers are comparable.

        Returns
        -------
        list of Loading
            Named tuples (`column`, `mean`, `low`, `high`, `when_used`).
        """
        return rules.loadings(rules.Rules(self), coverage)

    @documented
    def interactions(
        self: Any, by: Literal["rule", "tree"] = "rule", top: int = 20, coverage: float = 0.9
    ) -> list[rules.Interaction]:
        """Return the pairs of columns that most often share an oblique rule, or a tree.

        Parameters
        ----------
        by : {"rule", "tree"}, default="rule"
            "tree" also counts categorical columns and axis-aligned rules.
        top : int, default=20
            Maximum number of pairs.

        Returns
        -------
        list of Interaction
            Named tuples (`first`, `second`, `share`, `low`, `high`, `lift`).
        """
        return rules.interactions(rules.Rules(self), by, top, coverage)

    @documented
    def rule_sparsity(self: Any, coverage: float = 0.9) -> rules.RuleSizes:
        """Return how many columns the continuous rules use, and how many rules there are.

        Returns
        -------
        RuleSizes
            A named tuple (`sizes`, `mean_columns`, `oblique`, `categorical`, `n_rules`).
        """
        return rules.rule_sparsity(rules.Rules(self), coverage)

    def tree(self: Any, draw: int = -1, tree: int = 0, X: Any = None) -> trees.Tree:
        """Return one tree of one draw, with its rules in the units of the columns.

        Parameters
        ----------
        draw : int, default=-1
            Number of the draw among all draws, ordered by chain; negative numbers count from the
            end.
        tree : int, default=0
            Number of the tree in the ensemble.
        X : table, optional
            Rows to count in each leaf. Where a soft rule sends a row both ways, it is counted on
            the side of its larger share.

        Returns
        -------
        Tree
            Prints as text; `obliquebart.plots.tree` draws it.
        """
        return trees.read_tree(self, draw, tree, X)
