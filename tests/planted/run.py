"""Show that the exactness tests catch every planted bug: a table of bugs against tests.

Run by `make bugs` in an environment whose core was built with OBLIQUEBART_PLANTED_BUGS=ON; the bug
is then chosen by the environment variable OBLIQUEBART_BUG. Without a bug all tests must pass, with
each bug one must fail. Exit code 1 if any bug escapes.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from bugs import BUGS

ROOT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 900

# A quick part of the tests, by column of the table: test -> its cases.
TESTS = {
    "exact posterior": (
        "tests/exact/test_exact_posterior.py::test_row_partitions",
        [
            "categorical-leaf 1-alpha 0.25-beta 0.0-gaussian-all moves",
            "one column-leaf 1-alpha 0.5-beta 0.0-gaussian-all moves",
            "categorical 2 and 4-leaf 1-alpha 0.5-beta 0.5-gaussian-change",
            "one column-leaf 0-alpha 0.5-beta 0.5-gaussian-perturb",
            "mixed-leaf 1-alpha 0.25-beta 0.5-weighted-all moves",
            "oblique-leaf 1-alpha 0.5-beta 0.0-gaussian-all moves",
            "oblique-leaf 0-alpha 0.25-beta 0.5-gaussian-all moves",
            "mixed-leaf 0-alpha 0.5-beta 0.5-probit-all moves",
            "mixed-leaf 0-alpha 0.5-beta 0.5-weighted_probit-all moves",
            "mixed-leaf 1-alpha 0.5-beta 0.5-student_t, weighted-all moves",
        ],
    ),
    "prior invariance": (
        "tests/exact/test_prior_invariance.py::test_sweeps_keep_the_prior",
        [
            "two columns",
            "two columns, all moves, missing values, empty leaves",
            "categorical only",
            "two columns and a category, all moves, missing values",
            "change: two columns and a category",
            "perturb: two columns and a category, empty leaves",
            "probit, one tree",
            "probit, five trees, both kinds, leaf_sd sampled",
            "weighted probit, five trees, both kinds, leaf_sd sampled",
            "axis rules, leaf_sd sampled",
            "Student's t, one tree",
            "Student's t, five trees, both kinds, weighted, leaf_sd sampled",
        ],
    ),
    "scales of trees": (
        "tests/exact/test_prior_invariance.py::test_sweeps_keep_the_prior",
        [
            "scales of trees, both kinds, weighted",
            "scales of trees, heavy tails, leaf_sd sampled",
        ],
    ),
    "directions": (
        "tests/exact/test_directions.py::test_sweeps_keep_the_prior",
        ["a line", "a smooth plane", "edges", "signs", "groups", "a mixture"],
    ),
    "places": (
        "tests/exact/test_directions.py::test_every_box_is_as_likely_as_any_other",
        ["normal", "difference"],
    ),
    "values": (
        "tests/exact/test_directions.py::test_values_are_uniform_on_the_sphere_once_whitened",
        ["normal", "smooth"],
    ),
    "soft rules": (
        "tests/exact/test_soft.py::test_sweeps_keep_the_prior",
        [
            *("two columns", "perturb: two columns", "change: two columns and a category"),
            "five trees, both kinds, weighted, all moves",
            "scales of trees, two columns",
        ],
    ),
    "prior of soft rules": (
        "tests/exact/test_soft.py::test_prior_of_the_core",
        ["two columns", "perturb: two columns"],
    ),
    "widths": (
        "tests/exact/test_soft.py::test_widths_do_not_depend_on_directions",
        ["all columns", "a line of columns"],
    ),
    "one soft rule": (
        "tests/exact/test_soft.py::test_a_known_posterior",
        ["False-all moves", "True-perturb"],
    ),
    "ordered classes": (
        "tests/exact/test_ordinal.py::test_sweeps_keep_the_prior",
        ["three classes", "five classes, no joint scale", "scales of trees"],
    ),
    "learned tails": (
        "tests/exact/test_learned_t.py::test_sweeps_keep_the_prior",
        ["one scale", "a prior of sigma that weighs", "weights"],
    ),
    "classes": (
        "tests/exact/test_classes.py::test_sweeps_keep_the_prior",
        ["logit", "logit, weights", "three classes", "three classes, weights"],
    ),
    "one leaf": (
        "tests/exact/test_classes.py::test_the_posterior_of_outputs",
        ["two labels that disagree", "weights", "votes", "three classes"],
    ),
    "varying noise": (
        "tests/exact/test_varying_noise.py::test_sweeps_keep_the_prior",
        ["learned scale and tails", "weights", "missing values"],
    ),
    "survival": (
        "tests/exact/test_survival.py::test_sweeps_keep_the_prior",
        ["normal", "logistic"],
    ),
    "one time": (
        "tests/exact/test_survival.py::test_the_posterior_of_one_output",
        ["log_normal-right", "log_normal-between", "log_logistic-observed", "log_logistic-left"],
    ),
    "effects": (
        "tests/exact/test_causal.py::test_sweeps_keep_the_prior",
        ["two arms", "three arms", "varying noise", "labels"],
    ),
    "prior of effects": (
        "tests/exact/test_causal.py::test_the_prior_of_the_coefficients",
        ["arms"],
    ),
    "columns of effects": (
        "tests/exact/test_causal.py::test_rules_of_effects_do_not_see_the_last_column",
        ["0-three arms", "2-three arms"],
    ),
    "one effect": (
        "tests/exact/test_causal_posterior.py::test_the_posterior_of_one_effect",
        ["arms", "weights", "labels with weights"],
    ),
    "partitions of effects": (
        "tests/exact/test_causal_posterior.py::test_row_partitions",
        ["of the effect", "of the outcome"],
    ),
    "core's prior": (
        "tests/exact/test_prior_invariance.py::test_prior_of_the_core",
        ["two columns, all moves, missing values, empty leaves", "categorical only"],
    ),
    "likelihood off": (
        "tests/exact/test_likelihood_off.py::test_sampler_returns_the_prior",
        ["two columns and a category"],
    ),
    "invariants": (
        "tests/exact/test_invariants.py::test_every_draw",
        ["continuous-False", "mixed, missing-True", "paper's prior-False", "categorical-False"],
    ),
    "counts": (
        "tests/exact/test_counts.py::test_sweeps_keep_the_prior",
        [
            *("poisson", "poisson, scaling", "poisson, weights"),
            *("negative binomial", "negative binomial, scaling", "negative binomial, weights"),
        ],
    ),
    "density of counts": (
        "tests/exact/test_counts.py::test_the_posterior_of_one_factor_and_of_the_dispersion",
        ["weights and exposures", "large counts"],
    ),
    "large tables": ("tests/core/test_large_tables.py::test_every_draw", ["moves", "weighted"]),
    "draws of a card": (
        "tests/exact/test_card.py::test_draws_are_those_of_the_processor",
        [
            *("default-plain", "weights-plain", "missing-plain", "categories-plain"),
            *("large table-plain", "large table, weights-plain", "logit-plain"),
            "scales of trees-plain",
        ],
    ),
    "chains of a card": (
        "tests/exact/test_card.py::test_a_state_moves_between_devices",
        ["gaussian-plain", "varying_noise-plain"],
    ),
}

# Bugs of one likelihood, by how their names begin -> the columns with its tests. They need no
# others; and the bugs of what all models share need none of these.
OWN_TESTS = {
    ("patch_", "signs_", "groups_", "direction_"): ("directions", "places", "values"),
    ("soft_", "width_"): (
        "soft rules",
        "prior of soft rules",
        "widths",
        "one soft rule",
    ),
    ("tree_scale_", "leaf_sd_without_"): ("scales of trees",),
    ("gamma_", "precision_", "varying_"): ("varying noise",),
    ("t_height_", "t_prior_", "t_sigma_"): ("learned tails",),
    ("ordinal_",): ("ordered classes",),
    (
        *("polya_", "logistic_kappa_", "logistic_offset_", "logistic_weight_missing"),
        *("logistic_latent_missing", "logistic_scaling_", "softmax_"),
    ): ("classes", "one leaf"),
    ("rate_", "poisson_", "latent_", "dispersion_", "scaling_jacobian_"): (
        "counts",
        "density of counts",
    ),
    ("card_",): ("draws of a card", "chains of a card"),
    ("causal_",): (
        "effects",
        "prior of effects",
        "columns of effects",
        "one effect",
        "partitions of effects",
    ),
    ("censored_", "logistic_sigma_", "logistic_weight_of_", "logistic_latents_"): (
        "survival",
        "one time",
    ),
}


def columns_for(bug: str) -> list[str]:
    """Return the columns of the tests that run with a bug; without one, all of them."""
    if not bug:
        return list(TESTS)
    for beginnings, columns in OWN_TESTS.items():
        if bug.startswith(beginnings):
            return list(columns)
    own = {column for columns in OWN_TESTS.values() for column in columns}
    return [column for column in TESTS if column not in own]


def tests_for(bug: str) -> list[str]:
    tests = [TESTS[column] for column in columns_for(bug)]
    return [f"{test}[{case}]" for test, cases in tests for case in cases]


@dataclass(frozen=True)
class Outcome:
    bug: str
    n_run: int
    failed: dict[str, int]  # column of the table -> failed tests
    note: str = ""  # a crash or a run without end also gives a bug away

    @property
    def caught(self) -> bool:
        return bool(self.failed) or bool(self.note)

    @property
    def complete(self) -> bool:
        return bool(self.note) or self.n_run == len(tests_for(self.bug))


def run_tests(bug: str) -> Outcome:
    environment = {k: v for k, v in os.environ.items() if k != "OBLIQUEBART_BUG"}
    environment["OMP_NUM_THREADS"] = environment["OPENBLAS_NUM_THREADS"] = "1"
    if bug:
        environment["OBLIQUEBART_BUG"] = bug
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", "--timeout=0", "-p", "no:cacheprovider"]
        command += [f"--junitxml={report}", *tests_for(bug)]
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, timeout=TIMEOUT_S
            )
        except subprocess.TimeoutExpired:
            return Outcome(bug, 0, {}, "does not end")
        if not report.exists():
            return Outcome(bug, 0, {}, f"crash ({done.returncode})")
        return read_report(bug, report)


def read_report(bug: str, report: Path) -> Outcome:
    failed: dict[str, int] = {}
    n_run = 0
    for case in ET.parse(report).getroot().iter("testcase"):
        if case.find("skipped") is not None:
            continue
        n_run += 1
        if case.find("failure") is not None or case.find("error") is not None:
            name = f"{case.get('classname')}::{case.get('name')}"
            column = column_of(name)
            failed[column] = failed.get(column, 0) + 1
    return Outcome(bug, n_run, failed)


def column_of(name: str) -> str:
    for column, (test, _) in TESTS.items():
        path, function = test.split("::")
        if Path(path).stem in name and f"::{function}[" in name:
            return column
    return "none"


def planted_in_sources() -> set[str]:
    files = [p for p in (ROOT / "cpp").rglob("*.[hc]*") if p.name != "planted_bugs.h"]
    text = "".join(p.read_text() for p in files)
    return set(re.findall(r"OBART_BUG\((\w+)\)", text))


def print_table(outcomes: list[Outcome]) -> None:
    columns = list(TESTS)
    width = max(map(len, BUGS))
    print(f"\n{'':{width}}  " + "  ".join(columns) + "  verdict")
    for outcome in outcomes:
        cells = "  ".join(f"{outcome.failed.get(c, 0) or '.':>{len(c)}}" for c in columns)
        if not outcome.complete:
            verdict = f"ONLY {outcome.n_run} OF {len(tests_for(outcome.bug))} TESTS RAN"
        elif outcome.bug:
            verdict = "caught" if outcome.caught else "ESCAPED"
        else:
            verdict = "FAILS WITHOUT A BUG" if outcome.caught else f"{outcome.n_run} tests pass"
        name = outcome.bug or "(no bug)"
        print(f"{name:{width}}  {cells}  {verdict} {outcome.note}".rstrip())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bugs", nargs="*", help="names of bugs; all by default")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    arguments = parser.parse_args()

    planted = planted_in_sources()
    if planted != set(BUGS):
        print(f"not in the sources: {sorted(set(BUGS) - planted)}")
        print(f"not in the table: {sorted(planted - set(BUGS))}")
        return 1
    names = ["", *(arguments.bugs or BUGS)]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = []
        for outcome in pool.map(run_tests, names):
            outcomes.append(outcome)
            print(f"{len(outcomes)}/{len(names)} {outcome.bug or '(no bug)'}", flush=True)
    print_table(outcomes)
    clean, *rest = outcomes
    escaped = [o.bug for o in rest if not (o.caught and o.complete)]
    print(f"\n{len(rest) - len(escaped)} of {len(rest)} planted bugs caught")
    return 1 if escaped or clean.caught or not clean.complete else 0


if __name__ == "__main__":
    sys.exit(main())
