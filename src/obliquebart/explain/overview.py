"""An overview of the columns and rules of a model, as tables for a screen or a page."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from obliquebart.display.tables import TextTable
from obliquebart.explain.evaluation import class_codes
from obliquebart.explain.importance import ImportanceTable, cells
from obliquebart.explain.rules import (
    Inclusion,
    Interaction,
    Loading,
    Rules,
    RuleSizes,
    interactions,
    loadings,
    rule_sparsity,
    variable_inclusion,
)
from obliquebart.model.seen_rows import SeenRows, count_seen, row_keys
from obliquebart.posterior.posterior import Posterior
from obliquebart.validation import check_labels


def importance_overview(table: ImportanceTable, top: int = 10) -> TextTable:
    """Return the columns that matter most as a table with a heading that explains itself."""
    of = "" if len(table) <= top else f" ({top} of {len(table)})"
    return TextTable(
        f"Columns by importance{of}: variance of predictions lost when the column is shuffled",
        ["column", "kind", "share", f"{table.coverage:.0%} interval", "change of prediction"],
        [[row.column, row.kind, *cells(row)] for row in table[:top]],
    )


class RuleOverview(NamedTuple):
    """The most used columns and pairs of one posterior, and the sizes of its rules."""

    inclusion: list[Inclusion]
    loadings: list[Loading]
    interactions: list[Interaction]
    sizes: RuleSizes
    n_columns: int
    """Number of columns of the model; `inclusion` may list fewer."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON-serializable values."""
        return {
            "variable_inclusion": [row._asdict() for row in self.inclusion],
            "loadings": [row._asdict() for row in self.loadings],
            "interactions": [row._asdict() for row in self.interactions],
            "rule_sparsity": {
                **self.sizes._asdict(),
                "sizes": [row._asdict() for row in self.sizes.sizes],
            },
        }

    def sentence(self) -> str:
        """Describe the number of rules and how many columns they use."""
        sizes = self.sizes
        if sizes.n_rules == 0:
            return "The trees have no rules."
        words = f"An ensemble has {sizes.n_rules:.0f} rules on average"
        if sizes.categorical > 0:
            words += f", {sizes.categorical:.0%} of them categorical"
        if sizes.sizes:
            words += (
                f"; {sizes.oblique:.0%} of the continuous rules use two or more columns "
                f"({sizes.mean_columns:.1f} on average)"
            )
        return words + "."

    def tables(self) -> list[TextTable]:
        """Return the columns, the loadings and the pairs as tables."""
        of = (
            ""
            if len(self.inclusion) == self.n_columns
            else f" ({len(self.inclusion)} of {self.n_columns})"
        )
        return [
            TextTable(
                f"Columns by use{of}",
                [
                    "column",
                    "kind",
                    "share of rules",
                    "90% interval",
                    "draws with it",
                    "share by prior",
                ],
                [
                    [
                        *(row.column, row.kind, _share(row.share), _interval(row.low, row.high)),
                        *(_share(row.draws), _share(row.prior)),
                    ]
                    for row in self.inclusion
                ],
            ),
            TextTable(
                "Loadings: mean |φ| of the continuous rules",
                ["column", "all rules", "90% interval", "rules that use it"],
                [
                    [
                        *(row.column, f"{row.mean:.3f}", f"{row.low:.3f} to {row.high:.3f}"),
                        f"{row.when_used:.3f}",
                    ]
                    for row in self.loadings
                ],
            ),
            TextTable(
                "Pairs that share oblique rules",
                ["first", "second", "share of oblique rules", "90% interval", "against chance"],
                [
                    [
                        *(row.first, row.second, _share(row.share), _interval(row.low, row.high)),
                        f"{row.lift:.2f} ×",
                    ]
                    for row in self.interactions
                ],
            ),
        ]


def rule_overview(posterior: Posterior, top: int = 10) -> RuleOverview:
    """Return the most used columns and pairs of a posterior, and the sizes of its rules."""
    rules = Rules(posterior)
    inclusion = variable_inclusion(rules)
    return RuleOverview(
        inclusion[:top],
        loadings(rules)[:top],
        interactions(rules, top=top),
        rule_sparsity(rules),
        len(inclusion),
    )


def labelled_posteriors(model: Any) -> dict[str, Posterior]:
    """Return the posteriors of a model by class; the label is empty if there is only one."""
    posteriors: list[Posterior] = model._fitted.parts
    labels = model._fitted.likelihood.labels(model._fitted.classes)
    return dict(zip(labels, posteriors, strict=True))


def rows_seen(model: Any, X: Any, y: Any) -> SeenRows:
    """Count the rows of a table, with their outcomes, that a model was fitted to."""
    fitted = model._fitted
    table = fitted.encoding.transform(X)
    if fitted.classes is None:
        outcomes: NDArray[Any] = fitted.likelihood.check_observed(y, table.n_rows)
    else:
        outcomes = class_codes(check_labels(y, table.n_rows), fitted.classes)
    return count_seen(fitted.row_keys, row_keys(table, outcomes))


def _share(value: float) -> str:
    return f"{value:.1%}"


def _interval(low: float, high: float) -> str:
    return f"{low:.1%} to {high:.1%}"
