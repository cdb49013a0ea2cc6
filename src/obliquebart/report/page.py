"""The page: its sections, filled into the template."""

from __future__ import annotations

import os
from importlib import resources
from string import Template
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from obliquebart.display.tables import escape
from obliquebart.documentation import shared_parameters
from obliquebart.files.container import write_file
from obliquebart.report import sections
from obliquebart.report.causal import causal_content
from obliquebart.report.markup import Part, folded_section, section
from obliquebart.report.words import about_treatments, used_words

documented = shared_parameters("""\
model : estimator
    A fitted model.
X, y : table and outcomes
    Data to evaluate the model on, preferably held out from training. For a causal model the rows
    over which effects are averaged, best those of training; y may be None.
title : str, optional
    Title of the page; by default a question, such as "What predicts ...?".
source : str, optional
    Where the data come from, to show on the page.
treatment : array-like or str, optional
    For a causal model the treatments of the rows, unless X has the column that `fit` used.
propensity : array-like, optional
    For a causal model the propensities of the rows, if `fit` was given such.
exposure : array-like, optional
    For counts the exposures of the rows, unless X has the column that `fit` used.""")


@documented
def write_report(
    model: Any,
    X: Any,
    y: ArrayLike | None,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    source: str | None = None,
    treatment: ArrayLike | str | None = None,
    propensity: ArrayLike | None = None,
    exposure: ArrayLike | None = None,
) -> None:
    """Save the page of `report_html` to a file.

    An existing file is replaced only after the new one is complete.

    Parameters
    ----------
    path : str or path
        The file.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from obliquebart import ObliqueBARTRegressor
    >>> from obliquebart.report import write_report
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> model = ObliqueBARTRegressor(n_trees=20, n_burn=50, n_draws=50, random_state=0).fit(X, y)
    >>> path = os.path.join(tempfile.mkdtemp(), "report.html")
    >>> write_report(model, X, y, path, title="Diabetes")
    >>> os.path.getsize(path) > 50_000
    True
    """
    page = report_html(
        model,
        X,
        y,
        title=title,
        source=source,
        treatment=treatment,
        propensity=propensity,
        exposure=exposure,
    )
    write_file(path, page.encode())


@documented
def report_html(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    *,
    title: str | None = None,
    source: str | None = None,
    treatment: ArrayLike | str | None = None,
    propensity: ArrayLike | None = None,
    exposure: ArrayLike | None = None,
) -> str:
    """Return one HTML page about a fitted model.

    The page shows how good the predictions are, which columns matter and how predictions depend
    on them, whether the chains have converged, and details. For a causal model it shows the
    average effect, who benefits, whether the arms overlap, and how far to trust it. A glossary
    explains every term.

    The page is self-contained: it includes all plots and has no scripts. It works on screens of
    any width, in print, in dark mode and with screen readers.

    Returns
    -------
    str
    """
    check_is_fitted(model)
    from obliquebart import __version__

    is_causal = model._fitted.design is not None
    if is_causal:
        content = causal_content(model, X, treatment, propensity, source)
    elif y is None:
        raise ValueError("The page of this model needs outcomes: pass y.")
    else:
        content = sections.plain_content(model, X, y, source, exposure)
    main = "\n".join([*map(section, content.parts), folded_section(content.analysts)])
    if is_causal:
        main = about_treatments(main)
    words = Part("words", "Glossary", "Glossary", used_words(main))
    contents = "".join(
        f'<li><a href="#{part.key}">{escape(part.short)}</a></li>'
        for part in [*content.parts, content.analysts, words]
    )
    template = resources.files("obliquebart.report").joinpath("template.html")
    return Template(template.read_text(encoding="utf-8")).substitute(
        version=__version__,
        title=escape(title or content.title),
        lead=escape(content.lead),
        contents=contents,
        main=f"{main}\n{section(words)}",
    )
