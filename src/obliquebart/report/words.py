"""The glossary of the page."""

from __future__ import annotations

import re
from typing import NamedTuple

from obliquebart.display.tables import escape


class Word(NamedTuple):
    """A term of the glossary."""

    key: str
    """Used in the link to its explanation."""
    spellings: tuple[str, ...]
    """Its spellings on the page; the first one is the heading of its explanation."""
    meaning: str

    @property
    def title(self) -> str:
        """The spellings without plurals."""
        plurals = {f"{spelling}s" for spelling in self.spellings}
        return ", ".join(s for s in self.spellings if s not in plurals)


GLOSSARY = (
    # ---- how good
    Word("mae", ("mean absolute error", "MAE"), "How far off predictions are on average."),
    Word(
        "rmse",
        ("root mean square error", "RMSE"),
        "Like the mean absolute error, but large errors count more.",
    ),
    Word(
        "r2",
        ("R²",),
        "The share of the variance of the outcomes that the predictions explain: 100% is perfect, "
        "0% is no better than always predicting the average.",
    ),
    Word(
        "d2",
        ("D²",),
        "Like R², for counts: 100% is perfect, 0% is no better than one rate for all rows. Errors "
        "count by the Poisson deviance, so that large counts may be further off than small ones.",
    ),
    Word(
        "log-score",
        ("log score",),
        "The average logarithm of the probability, or density, that was predicted for what was "
        "observed. Higher is better.",
    ),
    Word(
        "interval",
        ("interval", "intervals"),
        "A range that contains the true value with a given probability, for example 90%.",
    ),
    Word(
        "concordance",
        ("concordance",),
        "For two rows of which one is known to have the earlier event: how often the model gives "
        "it the higher risk. Guessing gives 50%.",
    ),
    Word(
        "censored",
        ("censored",),
        "Of a censored row only limits of the time are known, for example that there was no event "
        "until the end of observation.",
    ),
    Word("accuracy", ("accuracy",), "The share of rows whose most probable class is the true one."),
    Word(
        "auc",
        ("AUC",),
        "For two rows of different classes: how often the model gives the higher probability to "
        "the correct one. Guessing gives 50%.",
    ),
    Word(
        "log-loss",
        ("log loss",),
        "The average negative logarithm of the probability of the true class. 0 is perfect; "
        "confident errors count most.",
    ),
    Word(
        "brier",
        ("Brier score",),
        "The average squared distance between probabilities and outcomes: 0 is perfect.",
    ),
    Word(
        "calibration",
        ("calibration",),
        "Whether probabilities match frequencies: of rows predicted at 20%, one in five should "
        "have the class.",
    ),
    Word(
        "coverage",
        ("coverage",),
        "The share of outcomes inside their intervals. For 90% intervals it should be 90%.",
    ),
    Word("residual", ("residual", "residuals"), "The observed minus the predicted value."),
    # ---- what matters
    Word(
        "importance",
        ("importance",),
        "How much predictions change when a column is shuffled among the rows, as a share of how "
        "much predictions differ. A joint effect counts for each column involved.",
    ),
    Word(
        "effect",
        ("effect", "effects"),
        "The average prediction if all rows had the same value in one column and kept their "
        "values in all others. It describes the model and is not proof of a cause.",
    ),
    # ---- what a treatment changes
    Word(
        "treatment-effect",
        ("treatment effect", "average effect"),
        "How much the outcome differs with the treatment from what it would have been without. An "
        "average effect is the mean over rows.",
    ),
    Word(
        "propensity",
        ("propensity", "propensities"),
        "The probability that a row gets the treatment, given its columns.",
    ),
    Word(
        "counterparts",
        ("counterparts",),
        "Rows with another treatment and a similar propensity. Without them, the effect on a row "
        "is a guess of the model.",
    ),
    Word(
        "confounder",
        ("confounder",),
        "Something that affects both the treatment and the outcome. Measured confounders are among "
        "the columns and are allowed for.",
    ),
    Word("posterior", ("posterior",), "What the model knows after seeing the data."),
    # ---- the model
    Word(
        "tree",
        ("tree", "trees"),
        "A series of yes-or-no questions about a row that ends in a leaf, which is a number. A "
        "prediction adds up the leaves of many trees.",
    ),
    Word(
        "rule",
        ("rule", "rules"),
        "A question in a tree: whether a weighted sum of columns is below a cut, or whether a "
        "categorical column has one of a set of levels.",
    ),
    Word(
        "soft",
        ("soft",),
        "A soft rule sends a row near its cut both ways, in shares that change smoothly, so that "
        "predictions have no steps. Its two numbers are where it begins and ends.",
    ),
    Word("oblique", ("oblique",), "A rule is oblique if its weighted sum has two or more columns."),
    Word(
        "phi",
        ("φ", "loading", "loadings"),
        "φ contains the weights of the columns in a rule, with columns scaled to [-1, 1]. The "
        "loading of a column is the size of its weight.",
    ),
    Word(
        "f",
        ("f",),
        "The sum of the trees: the prediction or, for classes, a score that is converted to a "
        "probability, or for counts the logarithm of the rate. f[7] is the value for row 7, "
        "counting from 0.",
    ),
    Word(
        "prior",
        ("prior",),
        "What the model assumes before seeing any data, for example that trees are small.",
    ),
    Word(
        "sigma",
        ("σ", "sigma"),
        "The noise: how far outcomes typically are from f, as a standard deviation.",
    ),
    Word(
        "df",
        ("df",),
        "Degrees of freedom of the noise: the smaller they are, the more outliers are expected.",
    ),
    Word(
        "dispersion",
        ("dispersion",),
        "How much counts vary beyond a Poisson distribution: the variance of a count with mean m "
        "is m + dispersion m².",
    ),
    Word(
        "theta",
        ("θ", "theta"),
        "The probability that a rule uses a column: the larger it is, the more columns rules have.",
    ),
    Word(
        "leaf-sd",
        ("leaf sd", "leaf_sd"),
        "How much a leaf can add to f: its prior standard deviation (times the scale of its tree, "
        "if trees have scales of their own).",
    ),
    Word(
        "kind",
        ("kind", "taken as"),
        "Continuous columns are numbers, categorical ones names such as those of places. Dates "
        "count in days.",
    ),
    Word("level", ("level", "levels"), "One of the values of a categorical column."),
    Word(
        "chance",
        ("against chance",),
        "How often two columns share a rule, compared with all pairs sharing rules equally often. "
        "Where the directions of rules are given, some pairs belong together from the beginning, "
        "and the comparison is with their share before seeing any data.",
    ),
    Word(
        "parameter",
        ("parameter", "parameters"),
        "A setting of the fit, explained in the documentation of obliquebart.",
    ),
    # ---- the calculation
    Word(
        "draw",
        ("draw", "draws"),
        "One of many versions of the model that all fit the data. Predictions are averages over "
        "the draws; intervals show how much the draws differ.",
    ),
    Word(
        "chain",
        ("chain", "chains"),
        "A series of draws, each made from the one before. Several chains with different random "
        "numbers should tell the same story.",
    ),
    Word(
        "sweep",
        ("sweep", "sweeps"),
        "One step of a chain, in which every tree can change a little. Only some are kept as "
        "draws.",
    ),
    Word(
        "trace", ("trace", "traces"), "A parameter of the model, draw by draw, one line per chain."
    ),
    Word(
        "r-hat",
        ("R-hat",),
        "Compares the chains: 1 means that they agree. For f, up to 1.1 is fine for predictions, "
        "and above 1.3 the chains disagree.",
    ),
    Word(
        "ess",
        ("bulk ESS", "tail ESS", "ESS"),
        "Effective sample size: the equivalent number of independent draws, for averages (bulk) "
        "and for the ends of intervals (tail).",
    ),
    Word(
        "mcse",
        ("MCSE",),
        "Monte Carlo standard error: how far an average may be from that of an infinitely long "
        "run.",
    ),
    Word(
        "moves",
        ("accepted moves", "accepted"),
        "Each sweep proposes to grow a tree, to prune it, or to change (or perturb) a rule. This "
        "is how often each proposal was accepted.",
    ),
    Word("sd", ("sd",), "Standard deviation: how far values typically are from their average."),
)

_BY_SPELLING = {spelling.lower(): word for word in GLOSSARY for spelling in word.spellings}
_PATTERN = re.compile(
    r"(?<![\w&#])("
    + "|".join(map(re.escape, sorted(_BY_SPELLING, key=len, reverse=True)))
    + r")(?!\w)",
    re.IGNORECASE,
)


def explained(text: str) -> str:
    """Return text as HTML; the first use of each glossary term links to its explanation."""
    seen: set[str] = set()

    def link(match: re.Match[str]) -> str:
        found = match.group(1)
        word = _BY_SPELLING[found.lower()]
        # A single letter in another case may be a different symbol.
        is_symbol = len(found) == 1 and found not in word.spellings
        if word.key in seen or is_symbol:
            return found
        seen.add(word.key)
        return f'<a class="word" {_link(word)}>{found}</a>'

    return _PATTERN.sub(link, escape(text))


def about_treatments(page: str) -> str:
    """Let effects on a page be those of a treatment, not those of a column."""
    column, treatment = (_link(_BY_SPELLING[name]) for name in ("effect", "treatment effect"))
    return page.replace(column, treatment)


def _link(word: Word) -> str:
    """Return the attributes of a link to a word."""
    return f'href="#word-{word.key}" title="{escape(word.meaning)}"'


def used_words(page: str) -> str:
    """Return the glossary as HTML, with the terms that the page links to."""
    entries = "".join(
        f'<div id="word-{word.key}"><dt>{escape(word.title)}</dt>'
        f"<dd>{escape(word.meaning)}</dd></div>"
        for word in sorted(GLOSSARY, key=lambda word: word.title.lower())
        if f'href="#word-{word.key}"' in page
    )
    return f'<dl class="words">{entries}</dl>'
