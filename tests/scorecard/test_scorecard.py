"""The scorecard itself: what is read, stored and shown, and what runs beside what."""

from __future__ import annotations

import re
import subprocess
import time
from dataclasses import replace

import pytest

from helpers import ROOT
from scorecard import page, results, runner
from scorecard.promises import PROMISES, Promise, chosen, count_of_tests, matching, own_figure
from scorecard.results import Repository, Result

RESULT = Result(
    verdict="passed",
    figure="12 of 12",
    seconds=130.0,
    date="2030-01-02T03:04:05+00:00",
    commit="0123456789abcdef",
    changed=False,
    machine="a machine",
    command="make it",
)


def promise(name="one", command="true", **more):
    return Promise(name, "It works.", command, lambda output: output.strip(), 1, **more)


# ---- the table -----------------------------------------------------------------------------------


def test_names_are_different_and_scripts_exist():
    names = [each.name for each in PROMISES]
    assert len(set(names)) == len(names)
    for each in PROMISES:
        words = each.command.split()
        assert words[0] in ("make", "python")
        assert words[0] == "make" or (ROOT / words[1]).is_file()


def test_choosing():
    assert [each.name for each in chosen(["kill", "fuzz"])] == ["kill", "fuzz"]
    assert chosen([]) == list(PROMISES)
    with pytest.raises(SystemExit, match="No promise 'kil'"):
        chosen(["kil"])


# ---- figures -------------------------------------------------------------------------------------


def test_figures_are_read():
    assert own_figure("FIGURE a\nthen\nFIGURE b c\nend") == "b c"
    assert own_figure("nothing") == ""
    read = matching(r"\d+ of \d+ planted bugs caught")
    assert read("1/2\n\n70 of 70 planted bugs caught\n") == "70 of 70 planted bugs caught"
    assert read("crash") == ""


def test_tests_are_added_up():
    output = """
...
==== 1200 passed, 3 skipped, 2 deselected in 300.51s (0:05:00) ====
1 failed, 20 passed in 3.20s
"""
    assert count_of_tests(output) == "tests: 1,220 passed, 1 failed, 3 skipped in 2 runs"
    assert count_of_tests("5 failed in 1.0s") == ""


@pytest.mark.parametrize(
    ("status", "output", "expected"),
    [
        (0, "12 runs", ("passed", "12 runs")),
        (0, "", ("failed", "no figure in its output")),
        (1, "12 runs", ("failed", "12 runs")),
        (
            2,
            "make: *** No rule to make target 'x'.  Stop.",
            ("not run", "there is no such command yet"),
        ),
        (-11, "", ("failed", "ended with status -11")),
    ],
)
def test_verdicts(status, output, expected):
    assert runner.judge(promise(), status, output) == expected


def test_a_figure_must_be_enough():
    (mutants,) = chosen(["mutants"])
    # The second is rounded up.
    cases = [("a 0.93 (93 of 100), b 0.90 (9 of 10)", "passed")]
    cases += [("a 0.93 (93 of 100), b 0.90 (255 of 284)", "failed"), ("a 0.93", "failed")]
    for text, verdict in cases:
        assert runner.judge(mutants, 0, f"mutation score: {text}\n") == (verdict, text)


# ---- runs ----------------------------------------------------------------------------------------


def run(promises, tmp_path, monkeypatch, n_cores=2):
    monkeypatch.setattr(runner, "LOGS", tmp_path)
    found = {}
    runner.run(promises, n_cores, lambda each, result: found.update({each.name: result}))
    return found


def test_commands_run_and_are_judged(tmp_path, monkeypatch):
    good, bad = promise("good", "echo 7"), promise("bad", "echo 8; exit 3")
    own = promise("own", "python -c 'print(9)'")
    found = run([good, bad, own], tmp_path, monkeypatch)
    assert {name: (r.verdict, r.figure) for name, r in found.items()} == {
        "good": ("passed", "7"),
        "bad": ("failed", "8"),
        "own": ("passed", "9"),
    }
    assert all(result.machine and result.date for result in found.values())


def test_two_run_at_a_time_and_others_alone(tmp_path, monkeypatch):
    line = "echo begin {0} >> {1}; sleep 0.4; echo end {0} >> {1}; echo 1"
    order = tmp_path / "order"
    names = {"a": {}, "b": {}, "c": {"alone": True}, "d": {"builds": "x"}, "e": {"builds": "x"}}
    promises = [promise(name, line.format(name, order), **more) for name, more in names.items()]
    run(promises, tmp_path, monkeypatch)
    at_once, together = set(), set()
    for words in map(str.split, order.read_text().splitlines()):
        if words[0] == "end":
            at_once.remove(words[1])
        else:
            together |= {frozenset((words[1], other)) for other in at_once}
            at_once.add(words[1])
            assert len(at_once) <= 2
    assert frozenset("ab") in together
    assert frozenset("de") not in together
    assert not any("c" in pair for pair in together)


def test_an_interrupt_ends_what_is_running(tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "LOGS", tmp_path)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        runner.run([promise("quick", "echo 1"), promise("slow", "sleep 60")], 2, stop)
    assert time.monotonic() - began < 30


# ---- what is stored and shown --------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    (folder / "code").write_text("1")
    commit(folder)
    return folder


def git(folder, *words):
    user = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(["git", *user, *words], cwd=folder, check=True, capture_output=True)
    return done.stdout.decode().strip()


def commit(folder):
    if not (folder / ".git").exists():
        git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "A change", "--no-verify")
    return git(folder, "rev-parse", "HEAD")


def test_results_are_replaced_one_by_one(tmp_path):
    store = tmp_path / "scorecard.json"
    assert results.read(store) == {}
    results.add("b", RESULT, store)
    results.add("a", RESULT, store)
    results.add("b", replace(RESULT, verdict="failed"), store)
    assert list(results.read(store)) == ["a", "b"]
    assert results.read(store)["b"].verdict == "failed"


def test_a_result_is_of_a_commit(repository):
    first = replace(RESULT, commit=Repository(repository).commit)
    assert Repository(repository).is_present(first)
    assert not Repository(repository).is_present(replace(first, changed=True))
    assert not Repository(repository).is_present(RESULT)  # of a commit that is not there
    # The page itself does not count.
    (repository / "docs").mkdir()
    (repository / "docs" / "scorecard.md").write_text("new")
    assert not Repository(repository).has_changes
    commit(repository)
    assert Repository(repository).is_present(first)
    (repository / "code").write_text("2")
    assert Repository(repository).has_changes
    commit(repository)
    assert not Repository(repository).is_present(first)


def test_the_page(repository, tmp_path):
    now = replace(RESULT, commit=Repository(repository).commit)
    known = {
        "good": now,
        "bad": replace(now, verdict="failed", figure="1 | 2"),
        "old": RESULT,
        "dirty": replace(now, changed=True),
    }
    promises = [promise(name) for name in (*known, "new")]
    path = tmp_path / "page.md"
    page.write(promises, known, Repository(repository), path)
    text = path.read_text()
    assert "Of 5 promises, 3 passed, 1 failed and 1 was not run." in text
    lines = {match[1]: match[0] for match in re.finditer(r"^\| \*\*(\w+)\*\*.*$", text, re.M)}
    assert f"| passed | 12 of 12 | 2 min | 2030-01-02, `{now.commit[:8]}` |" in lines["good"]
    assert "| **failed** | 1 \\| 2 |" in lines["bad"]
    assert "`01234567`, an earlier commit" in lines["old"]
    assert "with uncommitted changes" in lines["dirty"]
    assert "| not run |" in lines["new"]
    assert "- a machine" in text
    assert "| good | `make it` |" in text


def test_the_page_in_the_documentation_is_that_of_the_results():
    """Apart from the commits, which change after the page."""

    def without_commits(text):
        return re.sub(r"`[0-9a-f]{8}`[^|]*", "", text)

    path = results.PAGE.with_suffix(".test")
    try:
        page.write(PROMISES, results.read(), Repository(), path)
        assert without_commits(path.read_text()) == without_commits(results.PAGE.read_text())
    finally:
        path.unlink()
