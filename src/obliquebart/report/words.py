"""The words of a page that a reader may not know, each with a short explanation."""

from __future__ import annotations

import re
from typing import NamedTuple

from obliquebart.display.tables import escape


class Word(NamedTuple):
    """A term of the glossary."""

    key: str
    """In the address of its explanation."""
    spellings: tuple[str, ...]
    """How it is written on the page; the first one heads its explanation."""
    meaning: str

    @property
    def title(self) -> str:
        """The spellings without plurals."""
        plurals = {f"{spelling}s" for spelling in self.spellings}
        return ", ".join(s for s in self.spellings if s not in plurals)


GLOSSARY = (
    # ---- how good
    Word("mae", ("mean absolute error", "MAE"), "How far predictions are off, on average."),
    Word(
        "rmse",
        ("root mean square error", "RMSE"),
        "Like the mean absolute error, but large misses count more.",
    ),
    Word(
        "r2",
        ("R²",),
        "The share of the differences between rows that the predictions explain: 100% is perfect, "
        "0% is no better than always predicting the average.",
    ),
    Word(
        "interval",
        ("interval", "intervals"),
        "A range that holds the truth with a stated probability, for example 90%.",
    ),
    Word("accuracy", ("accuracy",), "The share of rows whose most probable class is the true one."),
    Word(
        "auc",
        ("AUC",),
        "The probability that, of two rows of different classes, the model gives the higher "
        "probability to the right one. 50% is guessing.",
    ),
    Word(
        "log-loss",
        ("log loss",),
        "The average of minus the logarithm of the probability of the true class: 0 is perfect, "
        "and confident mistakes cost most.",
    ),
    Word(
        "brier",
        ("Brier score",),
        "The average squared distance between probabilities and what happened: 0 is perfect.",
    ),
    Word(
        "calibration",
        ("calibration",),
        "Whether probabilities come true: of rows that get 20%, one in five should have the class.",
    ),
    Word(
        "coverage",
        ("coverage",),
        "How many outcomes lie in their intervals. For 90% intervals it should be 90%.",
    ),
    Word("residual", ("residual", "residuals"), "What is left over: observed minus predicted."),
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
        "The average prediction if all rows had the same value of one column, and kept their "
        "values of all others. It is what the model says, not proof of a cause.",
    ),
    # ---- the model
    Word(
        "tree",
        ("tree", "trees"),
        "A series of yes-or-no questions about a row that ends in a leaf, a small number. A "
        "prediction adds up the leaves of many trees.",
    ),
    Word(
        "rule",
        ("rule", "rules"),
        "A question of a tree. It asks whether a weighted sum of columns is below a cut, or "
        "whether a category is one of a set.",
    ),
    Word("oblique", ("oblique",), "A rule is oblique if its weighted sum has two columns or more."),
    Word(
        "phi",
        ("φ", "loading", "loadings"),
        "φ has the weights of the columns in a rule, for columns that are scaled to [-1, 1]. The "
        "loading of a column is the size of its weight.",
    ),
    Word(
        "f",
        ("f",),
        "The sum of the trees: the prediction, or for classes a score that becomes a probability. "
        "f[7] is that of row 7, counted from 0.",
    ),
    Word(
        "prior",
        ("prior",),
        "What the model assumes before it has seen data, for example that trees are small.",
    ),
    Word("sigma", ("σ", "sigma"), "The noise: how far outcomes typically are from f."),
    Word(
        "df",
        ("df",),
        "Degrees of freedom of the noise: the smaller, the more extreme outcomes are expected.",
    ),
    Word(
        "theta",
        ("θ", "theta"),
        "The probability that a column is in a rule: the larger, the more columns rules have.",
    ),
    Word(
        "leaf-sd",
        ("leaf sd", "leaf_sd"),
        "How much a leaf may add to f: its standard deviation in the prior.",
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
        "How often two columns share a rule, as a multiple of what it would be if each pair did so "
        "equally often.",
    ),
    Word(
        "parameter",
        ("parameter", "parameters"),
        "A setting of the fit. The documentation of obliquebart explains each.",
    ),
    # ---- the calculation
    Word(
        "draw",
        ("draw", "draws"),
        "One of many versions of the model that all fit the data. Predictions are averages over "
        "the draws, and intervals show how far draws differ.",
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
        "One step of a chain, in which every tree may change a little. Only some become draws.",
    ),
    Word(
        "trace", ("trace", "traces"), "A number of the model, draw after draw, one line per chain."
    ),
    Word(
        "r-hat",
        ("R-hat",),
        "Compares the chains: 1 is agreement. For f, up to 1.1 is fine for predictions, and above "
        "1.3 the chains disagree.",
    ),
    Word(
        "ess",
        ("bulk ESS", "tail ESS", "ESS"),
        "Effective sample size: how many independent draws the chains are worth, for averages "
        "(bulk) and for the ends of intervals (tail).",
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
        "Each sweep proposes to grow a tree, to prune it, or to change (or perturb) a rule. Here "
        "is how often that was accepted.",
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
    """Return text as HTML in which each word of the glossary, once, leads to its explanation."""
    seen: set[str] = set()

    def link(match: re.Match[str]) -> str:
        found = match.group(1)
        word = _BY_SPELLING[found.lower()]
        # A capital letter may be another symbol.
        is_symbol = len(found) == 1 and found not in word.spellings
        if word.key in seen or is_symbol:
            return found
        seen.add(word.key)
        meaning = escape(word.meaning)
        return f'<a class="word" href="#word-{word.key}" title="{meaning}">{found}</a>'

    return _PATTERN.sub(link, escape(text))


def used_words(page: str) -> str:
    """Return the glossary of the words that lead to it, as HTML."""
    entries = "".join(
        f'<div id="word-{word.key}"><dt>{escape(word.title)}</dt>'
        f"<dd>{escape(word.meaning)}</dd></div>"
        for word in sorted(GLOSSARY, key=lambda word: word.title.lower())
        if f'href="#word-{word.key}"' in page
    )
    return f'<dl class="words">{entries}</dl>'
