"""Writes the tables and pictures of docs/performance.md from benchmarks/results/*.json.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; the prose around it is untouched.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
from table import markdown, show

mpl.use("svg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
PICTURES = ROOT / "docs" / "images"
RESULTS = Path(__file__).parent / "results"
LABELS = {
    "obliquebart_core": "obliquebart, 1 thread",
    "stochtree_bart": "stochtree, 1 thread",
    "bartz_bart": "bartz, all cores",
}

QUESTIONS = ("sweep", "rows", "rules", "threads", "probit", "predict", "fit")
QUESTIONS += ("paper_regression", "paper_classification")

Rows = list[dict[str, Any]]


def result(question: str) -> dict[str, Any]:
    return json.loads((RESULTS / f"{question}.json").read_text())


def machine_table() -> str:
    seen = {}
    for question in QUESTIONS:
        about = result(question)["machine"]
        key = json.dumps([about[k] for k in ("cpu", "family_model", "cores", "versions")])
        seen.setdefault(key, (about, []))[1].append(question)
    lines = []
    for about, questions in seen.values():
        versions = ", ".join(f"{name} {v}" for name, v in about["versions"].items())
        caches = ", ".join(f"{level} {size}" for level, size in about["caches"].items())
        loads = [result(question)["machine"]["load_before"] for question in questions]
        lines.append(
            f"- {', '.join(questions)}: {about['cpu']} (family/model {about['family_model']}), "
            f"{about['cores']} cores, {caches}, {about['memory_gib']} GiB, "
            f"{', '.join(about['flags'])}; kernels: {about['simd_level']}; "
            f"load when a run began: {show(min(loads))} to {show(max(loads))}; "
            f"Python {about['python']}, {versions}; {about['date'][:10]}."
        )
        if max(loads) > 0.5:
            lines.append(
                "- **Other jobs shared the cores of this run**: milliseconds are too large, and of "
                "the ratios those of CPU times say most. Figures of a quiet machine will follow."
            )
    return "\n".join(lines)


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
    columns |= {"ns": "ns a row and tree, ours"}
    return markdown(lines, columns)


def plain_table(question: str, columns: dict[str, str]) -> Callable[[], str]:
    return lambda: markdown(result(question)["rows"], columns)


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


def draw_sweeps() -> None:
    rows: Rows = result("sweep")["rows"]
    figure, axes = plt.subplots(figsize=(5, 3.4), layout="constrained")
    for name, label in LABELS.items():
        own = [row for row in rows if row["library"] == name]
        axes.loglog([r["n"] for r in own], [r["best_ms"] for r in own], "o-", label=label)
    axes.set(xlabel="rows", ylabel="milliseconds a sweep of 200 trees")
    axes.legend(frameon=False)
    save(figure, "sweep.svg")


def draw_rows() -> None:
    rows: Rows = result("rows")["rows"]
    figure, axes = plt.subplots(figsize=(5, 3), layout="constrained")
    axes.loglog([r["n"] for r in rows], [r["ns_per_row_tree"] for r in rows], "o-")
    axes.set(xlabel="rows", ylabel="ns a row and tree")
    save(figure, "rows.svg")


def save(figure: Any, name: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "obliquebart"}):
        figure.savefig(PICTURES / name, metadata={"Date": None})
    plt.close(figure)


TABLES: dict[str, Callable[[], str]] = {
    "machine": machine_table,
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
            "ms": "ms a sweep",
            "us_per_tree": "µs a tree",
            "ns_per_row_tree": "ns a row and tree",
            "leaves": "leaves a tree",
            "over_reference": "over that at 10,000",
            "same_trees_ns": "ns, the same trees",
            "same_trees_over_reference": "over that at 10,000 ",
        },
    ),
    "threads": plain_table(
        "threads",
        {
            "n": "n",
            "one_thread_ms": "one thread (ms)",
            "two_threads_ms": "two threads (ms)",
            "speedup": "speed-up",
            "same_bits": "same bits",
        },
    ),
    "probit": plain_table(
        "probit",
        {
            "n": "n",
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


def main() -> None:
    PAGE.write_text(fill(PAGE.read_text()))
    draw_sweeps()
    draw_rows()


if __name__ == "__main__":
    main()
