"""Writes the tables and pictures of docs/performance.md from benchmarks/results/*.json.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; the prose around it is untouched.
With --check nothing is written: the exit status says whether the page is up to date.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import targets
from pictures import Rows, draw_rows, draw_small_n, draw_sweeps
from table import markdown, show

from obliquebart.model.parameters import Schedule

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
RESULTS = Path(__file__).parent / "results"
LABELS = {
    "obliquebart_core": "obliquebart, 1 thread",
    "stochtree_bart": "stochtree, 1 thread",
    "bartz_bart": "bartz, all cores",
}

INSTRUCTIONS = Path(__file__).parent / "instructions.json"
QUIET_CORES = 0.1

QUESTIONS = ("tables", "sweep", "pymc", "small_n", "rows", "columns", "rules", "threads", "probit")
QUESTIONS += ("predict", "fit", "memory", "simd", "accuracy", "mixing")
QUESTIONS += ("paper_regression", "paper_classification")


def result(question: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{question}.json").read_text())


def target_table() -> str:
    # Counts repeat for one compiler; the first of the file is what the others are compared with.
    recorded = json.loads(INSTRUCTIONS.read_text())
    counts = next(iter(recorded.values()), {})
    columns = {
        "what": "what",
        "asked": "target",
        "measured": "measured",
        "met": "met",
        "limit": "what limits it",
    }
    return markdown(targets.table(lambda question: result(question)["rows"], counts), columns)


def machine_table() -> str:
    seen: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for question in QUESTIONS:
        about = result(question)["machine"]
        key = json.dumps([about[k] for k in ("cpu", "family_model", "cores", "versions")])
        seen.setdefault(key, (about, []))[1].append(question)
    lines = []
    for about, questions in seen.values():
        versions = ", ".join(f"{name} {v}" for name, v in about["versions"].items())
        caches = ", ".join(f"{level} {size}" for level, size in about["caches"].items())
        lines.append(
            f"- {', '.join(questions)}: {about['cpu']} (family/model {about['family_model']}), "
            f"{about['cores']} cores, {caches}, {about['memory_gib']} GiB, "
            f"{', '.join(about['flags'])}; kernels: {about['simd_level']}; "
            f"Python {about['python']}, {versions}; {about['date'][:10]}."
        )
    return "\n".join(lines + _quietness())


def _quietness() -> list[str]:
    """Names the runs that other jobs disturbed."""
    busy = []
    for question in QUESTIONS:
        if question.startswith("paper"):
            continue
        about = result(question)["machine"]
        others = about.get("other_cores", about["load_before"]) + about.get("stolen_cores", 0.0)
        if others > QUIET_CORES:
            busy.append(f"{question} ({others:.1f})")
    if not busy:
        return []
    return [
        "- **Other jobs shared the cores** with these runs (in parentheses the cores they used on "
        f"average): {', '.join(busy)}. Wall times of these runs are too large; trust their CPU "
        "times and the ratios of CPU times."
    ]


def fits_table() -> str:
    """Seconds and scores on well-known tables, a line per table."""
    lines: dict[str, dict[str, Any]] = {}
    for row in result("tables")["rows"]:
        size = f"{row['rows']:,} rows, {row['columns']} columns, {row['repeats']} splits"
        line = lines.setdefault(row["table"], {"table": f"{row['table']}: {size}"})
        score = f"{row['score_is']} {row['score']:.3f} ± {row['score_se']:.2g}"
        line[row["library"]] = f"{show(row['cpu_s'])} s, {score}"
    return markdown(list(lines.values()))


def shortest_fits() -> str:
    """What the first round of a default fit costs, from the time of a sweep."""
    sweeps = Schedule.n_chains * (Schedule.n_burn + Schedule.n_draws)
    lines = [
        {"n": row["n"], "sweep": row["default_ms"], "fit": row["default_ms"] * sweeps / 1e3}
        for row in result("rules")["rows"]
    ]
    return markdown(lines, {"n": "rows", "sweep": "ms per sweep", "fit": "seconds per fit"})


def sweep_table() -> str:
    rows: Rows = result("sweep")["rows"]
    lines = []
    for n in sorted({row["n"] for row in rows}):
        by = {row["library"]: row for row in rows if row["n"] == n}
        line: dict[str, Any] = {"n": n}
        for name, row in by.items():
            line[name] = row["best_ms"]
            if "ratio_best" in row:
                ratios = (row[key] for key in ("ratio_best", "ratio_median", "ratio_cpu"))
                line[f"{name} ratio"] = "{:.1f} ({:.1f}, {:.1f})".format(*ratios)
        line["ns"] = by["obliquebart_core"]["ns_per_row_tree"]
        lines.append(line)
    names = [name for name in LABELS if any(name in line for line in lines)]
    columns = {"n": "n"} | {name: f"{LABELS[name]} (ms)" for name in names}
    columns |= {f"{name} ratio": f"{name.split('_')[0]} / ours" for name in names[1:]}
    columns |= {"ns": "ns per row and tree, ours"}
    return markdown(lines, columns)


def bandwidth_table() -> str:
    """One core, `a += b` in float32, from the run that answered "rows"."""
    row = result("rows")["rows"][0]
    names = {"L2": "second level", "L3": "third level", "memory": "memory"}
    lines = [{"where": label, "speed": row[f"{key}_gb_s"]} for key, label in names.items()]
    return markdown(lines, {"where": "arrays in", "speed": "GB/s"})


def plain_table(question: str, columns: dict[str, str], **chosen: Any) -> Callable[[], str]:
    """All rows of a question, or those with the chosen values."""

    def table() -> str:
        rows = result(question)["rows"]
        return markdown([r for r in rows if all(r[k] == v for k, v in chosen.items())], columns)

    return table


def thread_scaling_table() -> str:
    """Milliseconds per sweep and speed-ups of one chain, a line per number of rows."""
    lines: dict[int, dict[str, Any]] = {}
    for row in optional_rows("thread_scaling"):
        line = lines.setdefault(row["n"], {"n": row["n"]})
        name = f"{row['threads']} (ms)" if row["threads"] != "1" else "1 thread (ms)"
        line[name] = row["ms"]
        if row["threads"] == "chosen":
            line["threads chosen"] = row["used"]
            line["speed-up"] = row["speedup"]
    return markdown(list(lines.values())) if lines else ""


def thread_jobs_table() -> str:
    """Seconds by number of jobs, a line per number of rows and chains."""
    lines: dict[tuple[int, int], dict[str, Any]] = {}
    for row in optional_rows("thread_jobs"):
        key = row["n"], row["chains"]
        line = lines.setdefault(key, {"n": row["n"], "chains": row["chains"]})
        line[f"n_jobs = {row['n_jobs']}"] = row["s"]
    for (n, chains), line in lines.items():
        ratios = [
            row["over_fewer_jobs"]
            for row in optional_rows("thread_jobs")
            if (row["n"], row["chains"]) == (n, chains)
        ]
        line["worst against fewer jobs"] = max(ratios)
    return markdown(list(lines.values())) if lines else ""


def optional_rows(question: str) -> Rows:
    """Those of a question that needs a large machine, if it has been asked."""
    return result(question)["rows"] if (RESULTS / f"{question}.json").exists() else []


MIXING = {
    "table": "data",
    "moves": "moves",
    "ess_of_1000": "ESS of 1000 draws",
    "ess_a_second": "ESS a second",
    "over_grow_and_prune": "over grow and prune",
}


def mixing_table() -> str:
    found = [row for row in result("mixing")["rows"] if not row["of_the_paper"]]
    return markdown(found, MIXING)


def mixing_of_the_paper() -> str:
    """How many sets gain how much."""
    found = [row for row in result("mixing")["rows"] if row["of_the_paper"]]
    lines = []
    tasks = {"all": (False, True), "regression": (False,), "classification": (True,)}
    for task, kinds in tasks.items():
        pairs: dict[str, dict[str, Any]] = {}
        for row in found:
            if row["classes"] in kinds:
                pairs.setdefault(row["table"], {})[row["moves"]] = row
        ours = [pair["all moves"] for pair in pairs.values()]
        reference = [pair["grow and prune"] for pair in pairs.values()]
        ratios = [row["over_grow_and_prune"] for row in ours]
        per_draw = [
            a["ess_of_1000"] / b["ess_of_1000"] for a, b in zip(ours, reference, strict=True)
        ]
        lines.append(
            {
                "sets": f"{task} ({len(ours)})",
                "draw": float(np.median(per_draw)),
                "second": float(np.median(ratios)),
                "range": " to ".join(f"{x:.2f}" for x in np.quantile(ratios, (0.25, 0.75))),
                "twice": sum(ratio >= 2 for ratio in ratios),
            }
        )
    columns = {
        "sets": "sets",
        "draw": "ESS a draw, median",
        "second": "ESS a second, median",
        "range": "middle half",
        "twice": "sets with twice as many or more",
    }
    return markdown(lines, columns)


def paper_table(task: str) -> Callable[[], str]:
    columns = {
        "set": "data set",
        "scaling": "scaling",
        "min_samples_leaf": "min_samples_leaf",
        "ours": "ours",
        "paper": "paper",
        "difference": "difference",
        "split_se": "s.e. over splits",
        "within": "within",
        "t": "t",
    }

    def table() -> str:
        rows = [dict(row) for row in result(f"paper_{task}")["rows"]]
        for row in rows:
            for key in ("ours", "paper", "difference", "split_se"):
                if key in row:
                    row[key] = f"{row[key]:.4f}" if key != "paper" else f"{row[key]:.3f}"
            if "t" in row:
                row["t"] = f"{row['t']:.1f}"
        return markdown(rows, {k: v for k, v in columns.items() if any(k in row for row in rows)})

    return table


TABLES: dict[str, Callable[[], str]] = {
    "machine": machine_table,
    "targets": target_table,
    "tables": fits_table,
    "shortest": shortest_fits,
    "sweep": sweep_table,
    "rules": plain_table(
        "rules",
        {
            "n": "n",
            "oblique_ms": "oblique (ms)",
            "axis_ms": "axis-aligned (ms)",
            "ratio": "ratio",
            "ratio_cpu": "ratio of CPU times",
            "default_ms": "oblique, default prior (ms)",
            "ratio_default": "default / paper's prior",
        },
    ),
    "rows": plain_table(
        "rows",
        {
            "n": "n",
            "ms": "ms per sweep",
            "us_per_tree": "µs per tree",
            "leaves": "leaves per tree",
            "ns_per_row_tree": "ns per row and tree",
            "over_reference": "over that at 10,000",
            "same_trees_leaves": "leaves, the same trees",
            "same_trees_ns": "ns, the same trees",
            "same_trees_over_reference": "over that at 10,000 ",
        },
    ),
    "traffic": plain_table(
        "rows",
        {
            "n": "n",
            "codes_mb": "codes (MB)",
            "columns_a_rule": "columns per rule",
            "accepted": "moves accepted",
            "bytes_per_row_tree": "bytes per row and tree",
            "code_bytes_per_row_tree": "of these codes and bits",
            "gb_s": "GB/s",
        },
    ),
    "bandwidth": bandwidth_table,
    "threads": plain_table(
        "threads",
        {
            "n": "n",
            "one_thread_ms": "one thread (ms)",
            "two_threads_ms": "two threads (ms)",
            "speedup": "speed-up",
            "speedup_best": "best against best",
            "cpu_ratio": "ratio of CPU times",
            "same_bits": "same bits",
            "pairs": "pairs of sweeps",
            "load_before": "load before",
            "load_after": "load after",
        },
    ),
    "thread_scaling": thread_scaling_table,
    "thread_jobs": thread_jobs_table,
    "pymc": plain_table(
        "pymc",
        {
            "n": "n",
            "n_burn": "sweeps before",
            "ours_ms": "obliquebart (ms)",
            "pymc_ms": "pymc-bart (ms)",
            "ratio": "pymc-bart / ours",
            "ratio_cpu": "ratio of CPU times",
            "pymc_sweeps": "its sweeps timed",
            "repeats": "repeats",
        },
        what="sweep",
    ),
    "pymc_fit": plain_table(
        "pymc",
        {"library": "who", "cpu_s": "seconds", "rmse": "RMSE", "repeats": "data sets"},
        what="fit",
    ),
    "small_n": plain_table(
        "small_n",
        {
            "n": "n",
            "oblique_us": "oblique (µs)",
            "axis_us": "axis-aligned (µs)",
            "default_us": "oblique, default prior (µs)",
            "oblique_cpu_us": "oblique, CPU (µs)",
            "axis_cpu_us": "axis-aligned, CPU (µs)",
            "ratio": "oblique / axis-aligned",
        },
    ),
    "columns": plain_table(
        "columns",
        {
            "kind": "what",
            "size": "how many",
            "ms": "ms per sweep",
            "ratio": "over the first",
            "ratio_cpu": "ratio of CPU times",
            "leaves": "leaves per tree",
            "extra_ms": "ms more",
            "data_ms": "ms to read the columns once",
        },
    ),
    "memory": plain_table(
        "memory",
        {
            "kind": "what",
            "n": "n",
            "peak_mb": "peak (MB)",
            "bound_mb": "bound (MB)",
            "bytes_a_row": "bytes per row",
            "bound_bytes_a_row": "4 p + 2 M + 32",
            "of_bound": "share of the bound",
        },
    ),
    "simd": plain_table(
        "simd",
        {
            "what": "what",
            "n": "n",
            "level": "kernels",
            "ms": "ms",
            "faster": "times the speed of baseline",
            "faster_cpu": "the same, CPU times",
            "same_bits": "same bits",
        },
    ),
    "accuracy": plain_table(
        "accuracy",
        {
            "p": "p",
            "library": "who",
            "repeats": "data sets",
            "rmse": "RMSE",
            "se": "s.e.",
            "over_ours": "over ours, one chain",
            "difference": "difference on the same data",
            "difference_se": "s.e. of it",
            "seconds": "seconds, fit and predict",
        },
    ),
    "mixing": mixing_table,
    "mixing_paper": mixing_of_the_paper,
    "probit": plain_table(
        "probit",
        {
            "n": "n",
            "prior": "prior",
            "regression_ms": "regression (ms)",
            "probit_ms": "probit (ms)",
            "ratio": "ratio",
            "ratio_cpu": "ratio of CPU times",
        },
    ),
    "predict": plain_table(
        "predict",
        {"library": "library", "best_s": "seconds", "cpu_s": "CPU seconds", "ratio": "ratio"},
    ),
    "fit": plain_table(
        "fit", {"library": "library", "best_s": "seconds", "cpu_s": "CPU seconds", "ratio": "ratio"}
    ),
    "paper_regression": paper_table("regression"),
    "paper_classification": paper_table("classification"),
}


def fill(page: str) -> str:
    def table(match: re.Match[str]) -> str:
        name = match[1]
        return f"<!-- table: {name} -->\n{TABLES[name]()}\n<!-- end -->"

    return re.sub(r"<!-- table: (\w+) -->.*?<!-- end -->", table, page, flags=re.DOTALL)


def main() -> int:
    page = PAGE.read_text("utf-8")
    new = fill(page)
    if "--check" in sys.argv:
        return int(new != page)
    PAGE.write_text(new, "utf-8")
    draw_sweeps(result("sweep")["rows"], LABELS)
    draw_rows(result("rows")["rows"])
    draw_small_n(result("small_n")["rows"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
