"""The tool that counts killed mutants, on toys: one that a test kills, and one that survives."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from mutation import cpp_write, page, python
from mutation.bench import Bench
from mutation.mutant import Change, Mutant, line_text, one_per_place, shuffled
from mutation.parts import ROOT
from mutation.report import Outcome, Reason, Score, read_reasons, summary

TOY = '''def clip(value, top):
    """Return value, but no more than top."""
    if value > top:
        return top
    return value
'''
TESTS = """from toy import clip

def test_clip():
    assert clip(3, 2) == 2
    assert clip(1, 2) == 1
"""


def toy_mutants(folder: Path) -> list[Mutant]:
    """Write the toy with all its mutants, and its tests."""
    changes = list(enumerate(python.find("toy.py", TOY), 1))
    assert [change.what for _, change in changes] == ["condition negated", "Gt to GtE", "Gt to LtE"]
    kept = changes[:2]  # the third shares its place with the second
    (folder / "toy.py").write_text(python.rewrite(TOY, kept))
    (folder / "obliquebart_mutants.py").write_text(Path(page.__file__).read_text())
    (folder / "test_toy.py").write_text(TESTS)
    return [
        Mutant(number, change.file, change.line, line_text(TOY, change.line), change.what)
        for number, change in kept
    ]


def test_a_toy_has_a_mutant_that_is_killed_and_one_that_survives(tmp_path):
    mutants = toy_mutants(tmp_path)
    bench = Bench(tmp_path, tmp_path, ("test_toy.py",), tmp_path / "work", jobs=1)
    tests, failing = bench.record()
    assert [test.name for test in tests] == ["test_toy.py::test_clip"]
    assert not failing
    assert tests[0].reached == {1, 2}

    score = Score("toy", bench.kill(mutants, tests), {})
    assert [outcome.how for outcome in score.outcomes] == ["failed", ""]
    assert score.survivors == score.unexplained == [mutants[1]]
    told = summary([score])
    assert "toy.py:3: Gt to GtE\n    if value > top:\n    -> NO REASON YET" in told
    assert told.splitlines()[-1] == "mutation score: toy 0.50 (1 of 2)"


def test_an_equivalent_survivor_is_left_out_of_the_second_score_only():
    mutants = [Mutant(i, "a.py", i, f"line {i}", "1 to 2") for i in range(4)]
    outcomes = [Outcome(mutant, "failed" if mutant.number < 2 else "", "", 0) for mutant in mutants]
    reasons = {
        mutants[2].key: Reason("equivalent", "Both are zero."),
        mutants[3].key: Reason("speed", "Only the size of a buffer."),
    }
    score = Score("a", outcomes, reasons)
    assert (score.strict, score.counted, score.unexplained) == (0.5, 2 / 3, [])


def kill_toy(folder: Path, monkeypatch: pytest.MonkeyPatch, *bodies: str) -> Outcome:
    """Run a mutant against tests that do something when it is on, for a second each."""
    (folder / "obliquebart_mutants.py").write_text(Path(page.__file__).read_text())
    (folder / "test_toy.py").write_text(
        "import os, time\nfrom pathlib import Path\nfrom obliquebart_mutants import mutant\n"
        + "".join(
            f"\ndef test_{i}():\n    if mutant(1):\n        {body}\n"
            for i, body in enumerate(bodies)
        )
    )
    bench = Bench(folder, folder, ("test_toy.py",), folder / "work", jobs=1)
    tests, _ = bench.record()
    monkeypatch.setattr("mutation.bench.Test.limit", 1.0)
    tests.sort(key=lambda test: test.name)
    (outcome,) = bench.kill([Mutant(1, "a.py", 1, "", "")], tests)
    return outcome


@pytest.mark.parametrize(("body", "how"), [("while True: pass", "hung"), ("os.abort()", "crashed")])
def test_a_mutant_that_hangs_or_crashes_is_killed(tmp_path, monkeypatch, body, how):
    assert kill_toy(tmp_path, monkeypatch, body).how.startswith(how)


def test_a_mutant_that_hangs_once_goes_on(tmp_path, monkeypatch):
    """A busy machine kills no mutant: the test is tried again, and those after it."""
    once = "f = Path('seen'); old = f.exists(); f.touch(); old or time.sleep(30)"
    assert kill_toy(tmp_path, monkeypatch, "pass", once).how == ""
    (tmp_path / "seen").unlink()
    outcome = kill_toy(tmp_path, monkeypatch, "pass", once, "assert False")
    assert (outcome.how, outcome.test) == ("failed", "test_toy.py::test_2")


CPP = b"""#include <cstdio>
constexpr int twice(int x) { return x * 2; }
static_assert(twice(4) == 8);
int main(int argc, char**) {
  int n = argc - 3;
  if (n < 0) n = -n;
  std::printf("%d\\n", twice(n + 1));
}
"""


def cpp_change(old: str, what: str, new: str, *parts: str, statement: bool = False) -> Change:
    start = CPP.index(old.encode())
    spans = [(start + old.index(part), start + old.index(part) + len(part)) for part in parts]
    end = start + len(old)
    return Change("toy.cpp", 1, start, end, what, new, tuple(spans), statement)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a compiler")
def test_one_build_holds_all_mutants_of_a_program(tmp_path):
    changes = [
        cpp_change("argc - 3", "- to +", "({0}) + ({1})", "argc", "3"),
        cpp_change("n = -n;", "statement dropped", "", statement=True),
        cpp_change("n + 1", "+ to -", "({0}) - ({1})", "n", "1"),
        cpp_change("1", "1 to 1 + 1", "{0} + 1", "1"),
        cpp_change("x * 2", "* to /", "({0}) / ({1})", "x", "2"),
    ]
    (tmp_path / "toy.cpp").write_bytes(cpp_write.rewrite(CPP, list(enumerate(changes, 1))))
    switch = Path(cpp_write.__file__).with_name("switch.h")
    program = tmp_path / "toy"
    command = ["g++", "-std=c++20", "-include", switch, tmp_path / "toy.cpp", "-o", program]
    subprocess.run(command, check=True, timeout=100)
    page.make(tmp_path / "page")
    shared = page.Page(str(tmp_path / "page"))
    environment = {**os.environ, page.VARIABLE: str(tmp_path / "page")}

    def run(number: int) -> int:
        shared.choose(number)
        return int(subprocess.check_output([program], env=environment, timeout=100))

    assert [run(number) for number in range(6)] == [6, 10, -2, 2, 8, 1]
    assert shared.reached() == [1, 2, 3, 4, 5]


def test_statements_and_constants_of_python_are_switched():
    source = (
        "def f(x):\n    x.append(2)\n    if not x:\n        raise ValueError\n    return True\n"
    )
    changes = {change.what: change for change in python.find("f.py", source)}
    assert set(changes) == {
        *("statement dropped", "2 to 3", "condition negated", "Not dropped", "True to False"),
    }
    text = python.rewrite(source, [(1, changes["2 to 3"]), (2, changes["True to False"])])
    assert "x.append(3 if _mutant(1) else 2)" in text
    assert "return False if _mutant(2) else True" in text


def test_the_order_of_mutants_survives_a_line_elsewhere():
    before = python.find("toy.py", TOY)
    longer = "import os\n" + TOY
    after = python.find("toy.py", longer)
    first = [change.what for change in shuffled(before, {"toy.py": TOY}, seed=3)]
    assert first == [change.what for change in shuffled(after, {"toy.py": longer}, seed=3)]
    assert len(one_per_place(before, most=10)) == 2


def test_every_reason_is_about_a_line_that_exists():
    for (file, text, what), reason in read_reasons().items():
        lines = [line.strip() for line in (ROOT / file).read_text().splitlines()]
        assert text in lines, f"{file} has no line {text!r} (change: {what})"
        assert reason.kind in ("equivalent", "speed", "other")
        assert reason.sentence.endswith(".")
