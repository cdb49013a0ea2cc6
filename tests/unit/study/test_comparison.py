"""`obliquebart study run` and its report, on two small data sets."""

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from helpers import ROOT
from helpers.study_library import write_library
from obliquebart.cli import app
from obliquebart.study.comparison import write_report
from obliquebart.study.comparison.parts import Cell, Section, Table, to_html, to_markdown
from obliquebart.study.comparison.results import Results, Variant
from obliquebart.study.comparison.statistics import (
    critical_difference,
    is_better,
    mean_ranks,
    one_sided_p,
)
from obliquebart.study.comparison.tables import axis_table, duel_table, rotations_needed
from obliquebart.study.store import read_table

QUICK = (("n_burn", 5), ("n_draws", 5), ("n_trees", 5))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a tiny run."""
    folder = tmp_path_factory.mktemp("study")
    data = write_library(folder / "data")
    words = ["study", "run", "--plan", "tiny", "--data", str(data), "-r", str(folder / "results")]
    words += ["--backend", "processes", "-w", "1", "--no-report"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    assert "44 units done" in answer.output
    answer = CliRunner().invoke(app, words)
    assert "44 were there" in answer.output
    return folder / "results"


def test_a_tiny_run_has_a_report(finished: Path):
    page = write_report(finished / "results.jsonl.gz", finished / "report", QUICK)
    html = page.read_text(encoding="utf-8")
    text = (finished / "report" / "report.md").read_text(encoding="utf-8")
    for heading in ("Table 2", "Table 3", "Table 4", "Table 5", "Table 6", "Table 7", "Figure 2"):
        assert heading in html
        assert heading in text
    assert "servo" in text
    # The paper's number for obliqueBART on servo stands beside ours.
    assert "0.167," in text
    for name in ("figure2.png", "figure5.png", "figure6.png"):
        assert (finished / "report" / name).stat().st_size > 1000


def test_failed_units_are_counted_and_can_be_repeated(tmp_path: Path):
    data = write_library(tmp_path / "data")
    words = ["study", "run", "--plan", "tiny", "--data", str(data), "-r", str(tmp_path / "r")]
    words += ["--backend", "processes", "-w", "1", "--no-report", "--time-limit", "0"]
    answer = CliRunner().invoke(app, words)
    assert "44 left for later" in answer.output


def test_a_wrong_folder_is_a_sentence(tmp_path: Path):
    answer = CliRunner().invoke(app, ["study", "run", "--data", str(tmp_path)])
    assert answer.exit_code == 1
    assert "study fetch" in " ".join(answer.output.split())


def line(data: str, split: int, method: str, score: float, rotations: int = 0) -> dict:
    unit = {"data": data, "split": split, "method": method, "rotations": rotations}
    return {
        "key": f"{data}{split}{method}{rotations}",
        "status": "done",
        "unit": unit | {"inputs": "correct", "settings": []},
        "metrics": {"score": score, "cpu_seconds": 1.0},
        "memory_mb": 1.0,
    }


def test_marks_and_bold_of_a_table():
    lines = []
    for split in range(5):
        lines.append(line("servo", split, "obliqueBART", 0.2 + 0.01 * split))
        lines.append(line("servo", split, "obliqueBART-paper", 0.4 + 0.02 * split))
        lines.append(line("servo", split, "RF", 0.3 + 0.01 * split))
    table = axis_table(Results(lines), "regression")
    row = dict(zip(table.heading, table.rows[0], strict=True))
    ours, prior, forest = (
        row[name] for name in ("obliqueBART, our defaults", "obliqueBART, paper's prior", "RF")
    )
    assert (ours.text, ours.bold) == ("0.220", True)
    assert (prior.text, prior.bold) == ("0.440†", False)
    assert forest.text == "0.320†"
    assert forest.paper == "0.302, +0.018"


def test_wins_ties_and_losses():
    lines = []
    for split in range(5):
        wiggle = 0.01 * (-1) ** split
        lines += [line(name, split, "obliqueBART", 0.5) for name in ("servo", "mpg", "ilpd")]
        lines += [
            line("servo", split, "RF", 0.7 + wiggle),  # an error: ours is better
            line("mpg", split, "RF", 0.5 + wiggle),
            line("ilpd", split, "RF", 0.7 + wiggle),  # an accuracy: ours is worse
        ]
    table = duel_table(Results(lines))
    (row,) = (row for row in table.rows if row[0] == "RF")
    assert row[1:] == ["1 / 1 / 0", "", "0 / 0 / 1", "ilpd"]


def test_rotations_needed():
    lines = [line("servo", s, "obliqueBART", 0.2 + 0.01 * s) for s in range(5)]
    for rotations, penalty in ((1, 0.1), (4, 0.02), (16, 0.0)):
        lines += [
            line("servo", s, "rotRF", 0.2 + 0.01 * s + penalty * (1 + 0.01 * s), rotations)
            for s in range(5)
        ]
    found = Results(lines)
    assert rotations_needed(found, "servo", "rotRF", Variant("obliqueBART"), True) == 16
    assert rotations_needed(found, "servo", "rotERT", Variant("obliqueBART"), True) is None


def test_statistics():
    from scipy import stats

    rng = np.random.default_rng(0)
    a = rng.normal(size=20)
    b = a + 0.3 + 0.5 * rng.normal(size=20)
    expected = stats.ttest_rel(a, b, alternative="less").pvalue
    assert one_sided_p(a, b) == pytest.approx(expected)
    assert is_better(a, b, lower_is_better=True) == (expected < 0.05)
    assert is_better(b, a, lower_is_better=False) == (expected < 0.05)
    assert one_sided_p(a, a) == 0.5
    assert np.isnan(one_sided_p(a[:2], b[:2]))
    ranks = mean_ranks(np.array([[1.0, 2, 2], [3, 1, 2]]), lower_is_better=True)
    np.testing.assert_allclose(ranks, [2.0, 1.75, 2.25])
    # Demšar (2006), table 5: q = 2.850 for six methods at 5%.
    assert critical_difference(6, 40) == pytest.approx(2.850 * np.sqrt(42 / 240), rel=1e-3)


def test_markdown_and_html_escape():
    table = Table(["a", "b"], [["x<y", Cell("0.1*†", bold=True, paper="0.2")]], "A \\* *note*.")
    text = to_markdown("T", [Section("S", [table])])
    assert r"| x<y | **0.1\*†** (0.2) |" in text
    html = to_html("T", [Section("S", [table])])
    assert "<td>x&lt;y</td><td><b>0.1*†</b><small>0.2</small></td>" in html
    assert "A &#42; <i>note</i>." in html


def test_the_committed_table_makes_the_committed_report():
    folder = ROOT / "docs" / "study"
    if not (folder / "results.jsonl.gz").exists():
        pytest.skip("no results are committed")
    lines = read_table(folder / "results.jsonl.gz")
    assert len(lines) > 10_000
    table = axis_table(Results(lines), "regression")
    text = (folder / "report.md").read_text(encoding="utf-8")
    cell = table.rows[0][1]
    assert isinstance(cell, Cell)
    assert cell.markdown() in text
