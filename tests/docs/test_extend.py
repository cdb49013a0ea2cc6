"""The tutorials' changes still fit the sources: every line applies, every new file compiles.

Whether they also do what they should is `make tutorials`.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from helpers import ROOT

EXTEND = ROOT / "docs" / "extend"


def load(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tutorials = load(EXTEND / "build.py")
NEW = [Path(folder) / Path(file).name for folder, files in tutorials.NEW.items() for file in files]
CPP = sorted(str(path) for path in NEW if path.suffix != ".py")


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    copy = tmp_path_factory.mktemp("tutorials")
    tutorials.build(copy)
    return copy


@pytest.mark.parametrize("name", sorted(tutorials.LINES | tutorials.SUM_RULES))
def test_lines_apply(changed, name):
    text = (changed / name).read_text("utf-8")
    assert text != (ROOT / name).read_text("utf-8")
    for new in (tutorials.LINES | tutorials.SUM_RULES)[name].values():
        assert new in text


@pytest.mark.parametrize("path", NEW, ids=str)
def test_new_files_are_there(changed, path):
    assert (changed / path).is_file()
    assert not (ROOT / path).exists(), "the sources have such a file by now"


@pytest.mark.parametrize("name", CPP)
def test_new_files_compile(changed, name):
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if not compiler:
        pytest.skip("there is no C++ compiler")
    warnings = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]
    command = [compiler, "-std=c++20", "-fsyntax-only", *warnings, "-I", "cpp", name]
    result = subprocess.run(command, cwd=changed, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_the_python_side_is_a_whole_likelihood():
    """The class has every abstract method, and a name that the engine's list gets."""
    likelihood = load(EXTEND / "likelihood" / "laplace.py").Laplace()
    assert f"X({likelihood.name})" in str(tutorials.LINES["cpp/likelihood/likelihood.h"])


def test_every_tutorial_is_tested():
    """Each page shows its test, and each test has a page."""
    pages = "".join(page.read_text("utf-8") for page in EXTEND.glob("*.md"))
    for script in EXTEND.glob("*_test.py"):
        assert f"{{literalinclude}} {script.name}" in pages, script.name
    for file in (file for files in tutorials.NEW.values() for file in files):
        assert f"{{literalinclude}} {file}" in pages, file
