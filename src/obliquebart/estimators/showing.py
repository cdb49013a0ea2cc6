"""HTML of the estimators for notebooks: scikit-learn's diagram and a table of the fitted model."""

from __future__ import annotations

from typing import Any

from obliquebart.display.tables import TextTable, notebook_html
from obliquebart.estimators.fitted import Fitted

# With more classes, only these are listed.
SHOWN_CLASSES = 10


class Showing:
    """Base class that adds a table of the fitted model to scikit-learn's diagram."""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._fitted_html()  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_html()
        return bundle

    def _fitted_html(self) -> str:
        fitted: Fitted | None = getattr(self, "_fitted", None)
        if fitted is None:
            return ""
        rows = [["outcome", self._outcome_in_words(fitted)], ["columns", _columns_in_words(fitted)]]
        if fitted.n_rows is not None:
            rows.append(["rows", f"{fitted.n_rows:,}"])
        if fitted.posteriors:
            rows.append(["kept", fitted.posteriors[0].in_words()])
        verdict = self.summary(rows=0).verdict if fitted.training is not None else None  # type: ignore[attr-defined]
        if verdict is not None:
            rows.append(["verdict", str(verdict)])
        return notebook_html([TextTable("Fitted model", ["property", "value"], rows)])

    def _outcome_in_words(self, fitted: Fitted) -> str:
        name = fitted.target_name or "y"
        if fitted.classes is None:
            return f"{name}, {fitted.likelihood.outcome_in_words(None)}"
        labels = [str(label) for label in fitted.classes.tolist()]
        more = ", …" if len(labels) > SHOWN_CLASSES else ""
        kind = fitted.likelihood.classes_in_words
        return f"{name}, {len(labels)} {kind}: {', '.join(labels[:SHOWN_CLASSES])}{more}"


def _columns_in_words(fitted: Fitted) -> str:
    encoding = fitted.encoding
    return f"{encoding.p_cont} continuous, {encoding.p_cat} categorical"
