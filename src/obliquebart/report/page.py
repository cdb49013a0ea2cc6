"""The page: its sections in the order in which a reader wants them, put into the template."""

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
from obliquebart.report.markup import Part, folded_section, section
from obliquebart.report.words import used_words

documented = shared_parameters("""\
model : ObliqueBARTRegressor or ObliqueBARTClassifier
    Fitted.
X, y : table and outcomes
    Rows on which to judge the model; best those that it has not seen.
title : str, optional
    Of the page; by default it asks what predicts the outcome.
source : str, optional
    Where the rows come from, for the reader.""")


@documented
def write_report(
    model: Any,
    X: Any,
    y: ArrayLike,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    source: str | None = None,
) -> None:
    """Write the page of `report_html` to a file, whole or not at all.

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
    write_file(path, report_html(model, X, y, title=title, source=source).encode())


@documented
def report_html(
    model: Any, X: Any, y: ArrayLike, *, title: str | None = None, source: str | None = None
) -> str:
    """Return one HTML page about a fitted model.

    How good are its predictions, which columns matter, and how do predictions depend on them? Then
    whether the chains have converged, and the details. Every term is explained on the page.

    The page needs nothing else: pictures are in it, and it has no script. It is made for a screen
    of any width, for print, for dark rooms and for screen readers.

    Returns
    -------
    str
    """
    check_is_fitted(model)
    from obliquebart import __version__

    subject = sections.study(model, X, y)
    parts, analysts = sections.all_parts(subject), sections.for_analysts(subject)
    main = "\n".join([*map(section, parts), folded_section(analysts)])
    words = Part("words", "Glossary", "Glossary", used_words(main))
    contents = "".join(
        f'<li><a href="#{part.key}">{escape(part.short)}</a></li>'
        for part in [*parts, analysts, words]
    )
    template = resources.files("obliquebart.report").joinpath("template.html")
    return Template(template.read_text(encoding="utf-8")).substitute(
        version=__version__,
        title=escape(title or sections.default_title(model)),
        lead=escape(sections.lead(subject, source)),
        contents=contents,
        main=f"{main}\n{section(words)}",
    )
