"""The models under which prior invariance is tested: every part of the prior at least twice."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np

from .core import CHANGE, MOVES, NAMES, PERTURB
from .invariance import Setup, make_table, twice
from .prior import Prior

SIGMA = (3.0, 0.6)  # nu, lambda
LEAF_SD = (3.0, 1.0)  # shape, rate
MANY_LEAVES = {"n_sweeps": 40, "share": 0.25}

prior = partial(Prior, sigma=SIGMA, leaf_sd=0.7)

SHORT = [
    Setup("two columns", make_table(12, 2), prior(1, 0.5, 1.0, theta=(1.5, 1.5))),
    Setup(
        "two columns, all moves, missing values, empty leaves",
        make_table(8, 2, missing=0.2),
        prior(1, 0.8, 1.0, min_samples_leaf=0, theta=(1.5, 1.5)),
        more=MOVES,
    ),
    Setup(
        "five trees, both kinds, weighted, all moves",
        make_table(25, 1, (3,)),
        prior(5, 0.95, 2.0, leaf_sd=0.4),
        weighted=True,
        more=MOVES,
    ),
    Setup(
        "five trees, three columns, empty leaves",
        make_table(10, 3),
        prior(5, 0.6, 1.0, min_samples_leaf=0, theta=(3.0, 6.0), leaf_sd=0.5),
    ),
    Setup(
        "categorical only, 32 and 40 levels, empty leaves",
        make_table(9, 0, (3, 40, 32)),
        prior(1, 0.8, 0.5, max_depth=6, min_samples_leaf=0),
        more=MOVES,
    ),
    Setup("categorical only", make_table(30, 0, (4, 3)), prior(1, 0.25, 0.0), weighted=True),
    Setup(
        "two columns and a category, all moves, missing values",
        make_table(30, 2, (4,), missing=0.1),
        prior(1, 0.9, 1.0, theta=(2.0, 2.0)),
        weighted=True,
        more=MOVES,
    ),
    Setup(
        "change: two columns and a category",
        make_table(30, 2, (5,)),
        prior(1, 0.7, 1.0, theta=(2.0, 6.0)),
        more=CHANGE,
    ),
    Setup(
        "perturb: two columns and a category, empty leaves",
        make_table(8, 2, (4,)),
        prior(1, 0.7, 1.0, min_samples_leaf=0, theta=(2.0, 2.0)),
        more=PERTURB,
    ),
    Setup(
        "one column",
        make_table(8, 1),
        prior(1, 0.5, 0.5, max_depth=8, min_samples_leaf=0, leaf_sd=0.8),
    ),
    Setup(
        "six columns, three rows a leaf, weighted",
        make_table(40, 6),
        prior(1, 0.8, 0.5, max_depth=2, min_samples_leaf=3, theta=(2.0, 4.0), leaf_sd=1.0),
        weighted=True,
        more=MOVES,
    ),
    Setup(
        "a theta for each column, missing values",
        make_table(30, 3, (3,), missing=0.1),
        prior(2, 0.7, 1.0, theta=(1.0, 1.5), theta_by_column=True, leaf_sd=0.6),
        more=MOVES,
    ),
    Setup(
        "a theta for each column, empty leaves",
        make_table(10, 2),
        prior(1, 0.6, 0.5, 8, 0, theta=(0.5, 1.0), theta_by_column=True, leaf_sd=1.0),
        more=CHANGE,
    ),
    Setup(
        "a weight for each column, axis rules",
        make_table(20, 4, (3,)),
        prior(5, 0.6, 1.0, axis_rules=True, theta=(0.7, 1.0), theta_by_column=True, leaf_sd=0.4),
        more=MOVES,
    ),
    # What only shows in size: codes beyond the narrow table, several blocks of rows.
    Setup(
        "many leaves",
        make_table(70, 1, (30,)),
        prior(2, 0.95, 0.15, max_depth=6, min_samples_leaf=0),
        more=MOVES,
        **MANY_LEAVES,
    ),
    Setup(
        "many leaves, weighted",
        make_table(70, 1),
        prior(1, 0.95, 0.15, max_depth=6, min_samples_leaf=0),
        weighted=True,
        **MANY_LEAVES,
    ),
    Setup(
        "many rows",
        make_table(2_100, 2, (3,)),
        prior(2, 0.7, 1.0, theta=(2.0, 2.0), leaf_sd=0.05),
        more=MOVES,
        share=0.1,
    ),
    Setup(
        "many rows, weighted, missing values",
        make_table(1_300, 1, (3,), missing=0.1),
        prior(2, 0.7, 1.0, leaf_sd=0.05),
        weighted=True,
        more=MOVES,
        share=0.1,
    ),
    Setup(
        "axis rules, leaf_sd sampled",
        make_table(15, 3),
        prior(5, 0.25, 0.5, axis_rules=True, leaf_sd=LEAF_SD),
        more=MOVES,
    ),
    Setup(
        "scales of trees, both kinds, weighted",
        make_table(25, 2, (3,)),
        prior(3, 0.8, 1.0, theta=(4.0, 4.0), leaf_sd=0.5, tree_df=4.0),
        weighted=True,
        more=MOVES,
    ),
    Setup(
        "scales of trees, heavy tails, leaf_sd sampled",
        make_table(15, 3),
        prior(4, 0.6, 1.0, theta=(2.0, 4.0), leaf_sd=LEAF_SD, tree_df=2.0),
    ),
    Setup(
        "probit, five trees, both kinds, leaf_sd sampled",
        make_table(25, 2, (3,)),
        Prior(5, 0.6, 1.0, theta=(4.0, 4.0), leaf_sd=LEAF_SD),
        likelihood="probit",
        offset=0.3,
        more=MOVES,
    ),
    Setup(
        "probit, one tree",
        make_table(10, 1, (3,)),
        Prior(1, 0.9, 1.0, min_samples_leaf=0),
        likelihood="probit",
        offset=-0.4,
    ),
    Setup(
        "weighted probit, five trees, both kinds, leaf_sd sampled",
        twice(make_table(20, 2, (3,))),
        Prior(5, 0.6, 1.0, theta=(4.0, 4.0), leaf_sd=LEAF_SD),
        likelihood="weighted_probit",
        offset=0.3,
        more=MOVES,
    ),
    Setup(
        "weighted probit, one tree",
        twice(make_table(10, 1, (3,))),
        Prior(1, 0.9, 1.0, min_samples_leaf=0),
        likelihood="weighted_probit",
        offset=-0.4,
    ),
    Setup(
        "Student's t, five trees, both kinds, weighted, leaf_sd sampled",
        make_table(25, 2, (3,)),
        prior(5, 0.6, 1.0, theta=(4.0, 4.0), leaf_sd=LEAF_SD),
        weighted=True,
        likelihood="student_t",
        more={**MOVES, "more": {"df": 4.0}},
    ),
    Setup(
        "Student's t, one tree",
        make_table(10, 1, (3,)),
        prior(1, 0.9, 1.0, min_samples_leaf=0),
        likelihood="student_t",
        more={"more": {"df": 10.0}},
    ),
]


def _long() -> list[Setup]:
    out = []
    tables = {
        "continuous 1": (1, ()),
        "continuous 2": (2, ()),
        "continuous 3": (3, ()),
        "categorical 1": (0, (4,)),
        "categorical 2": (0, (3, 40)),
        "mixed 1 + 1": (1, (3,)),
        "mixed 2 + 1": (2, (3,)),
    }
    for (name, (p_cont, n_levels)), n_trees, leaf, alpha in product(
        tables.items(), (1, 5), (0, 1), (0.25, 0.5, 0.95)
    ):
        # The other choices are thrown, so that none goes along with another.
        rng = np.random.default_rng(len(out))
        is_probit, samples_leaf_sd, has_missing, weighted = rng.random(4) < (0.25, 0.3, 0.5, 0.5)
        moves = str(rng.choice(list(NAMES)))
        by_column = bool(p_cont > 1 and rng.random() < 0.5)
        prior = Prior(
            n_trees,
            alpha,
            {0.25: 0.3, 0.5: 0.5, 0.95: 2.0}[alpha],
            min_samples_leaf=leaf,
            theta=(3.0, 2.0) if p_cont > 1 else 1.0,
            theta_by_column=by_column,
            sigma=1.0 if is_probit else SIGMA,
            leaf_sd=LEAF_SD if samples_leaf_sd else 0.6,
        )
        kind = "probit" if is_probit else "gaussian"
        out.append(
            Setup(
                f"{name}, trees {n_trees}, leaf {leaf}, alpha {alpha}, {kind}, {moves}"
                + ", theta by column" * by_column,
                make_table(40 if leaf else 9, p_cont, n_levels, missing=0.1 * has_missing),
                prior,
                n_sweeps=20,
                weighted=bool(weighted and not is_probit),
                likelihood=kind,
                offset=0.3 if is_probit else 0.0,
                more=NAMES[moves],
            )
        )
    return out


LONG = _long()
