"""What a release says of itself agrees with the package, and workflows run what exists."""

from __future__ import annotations

import datetime as dt
import importlib.util
import itertools
import re
import subprocess

import pytest
import yaml

import obliquebart
from helpers import ROOT

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
VERSION_HEADING = re.compile(r"^## \[(.+?)\](?: - (\d{4}-\d{2}-\d{2}))?$", re.M)


def releases():
    """Return the dated sections of the changelog, the newest first."""
    found = VERSION_HEADING.findall((ROOT / "CHANGELOG.md").read_text("utf-8"))
    return [(version, date) for version, date in found if version != "Unreleased"]


def test_the_changelog_begins_with_this_version():
    (version, date), *_ = releases()
    assert "dev" in obliquebart.__version__ or version == obliquebart.__version__
    assert dt.date.fromisoformat(date)


def test_the_citation_is_of_the_newest_release():
    (version, date), *_ = releases()
    assert CITATION["version"] == version
    assert CITATION["date-released"].isoformat() == date
    assert CITATION["preferred-citation"]["year"] == 2025


def jobs(path):
    return yaml.safe_load(path.read_text("utf-8"))["jobs"].values()


def commands(job):
    """Yield the commands of a job, for every value of its matrix."""
    lines = [step["run"] for step in job["steps"] if "run" in step]
    matrix = job.get("strategy", {}).get("matrix", {})
    for values in itertools.product(*matrix.values()):
        for line in lines:
            for name, value in zip(matrix, values, strict=True):
                line = line.replace(f"${{{{ matrix.{name} }}}}", value)
            yield line


COMMANDS = sorted({line for path in WORKFLOWS for job in jobs(path) for line in commands(job)})


def test_there_are_workflows():
    names = {path.stem for path in WORKFLOWS}
    assert names == {"docs", "lint", "oldest", "release", "test", "wheels"}
    assert {f"make test-3.{minor}" for minor in (10, 11, 12, 13)} <= set(COMMANDS)


def test_workflows_only_run_targets_of_the_makefile():
    names = [re.fullmatch(r"make ([a-z0-9.-]+)", command)[1] for command in COMMANDS]
    # As a dry run: make names a target that does not exist.
    dry_run = ["make", "-n", "PYTHON=python3", *names]
    dry = subprocess.run(dry_run, cwd=ROOT, capture_output=True, text=True)
    assert "No rule to make target" not in dry.stderr
    assert dry.returncode == 0


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_ask_for_few_rights(path):
    """A workflow may read; what may write is one job with a reason."""
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    rights = [job["permissions"] for job in workflow["jobs"].values() if "permissions" in job]
    more = {"docs": [{"contents": "write"}], "release": [{"id-token": "write"}]}
    assert rights == more.get(path.stem, [])


def test_every_target_is_in_the_help():
    text = (ROOT / "Makefile").read_text("utf-8")
    phony = {name for line in re.findall(r"^\.PHONY: (.*)$", text, re.M) for name in line.split()}
    names = {name for name in phony if re.fullmatch(r"[a-z-]+", name)}
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert names == set(re.findall(r"^  make ([a-z-]+) ", shown.stdout, re.M))


@pytest.mark.parametrize(("tag", "code"), [(f"v{obliquebart.__version__}", 0), ("v9.9.9", 2)])
def test_the_tag_is_compared_with_the_version(tag, code):
    made = subprocess.run(["make", "check-tag", f"TAG={tag}"], cwd=ROOT, capture_output=True)
    assert made.returncode == code


def load_oldest():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / ".ci" / "oldest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_oldest_versions_are_the_lower_bounds():
    oldest = load_oldest()
    project = {
        "name": "me",
        "dependencies": ["numpy>=1.26"],
        "optional-dependencies": {
            "test": ["me[more]", "pytest>=8,<10"],
            "more": ["dask[array]>=2024.12; sys_platform == 'linux'"],
            "unused": ["ruff==0.17.*"],
        },
    }
    pyproject = {"project": project, "dependency-groups": {"build": ["ninja>=1.11.1"]}}
    assert sorted(map(oldest.lowest, oldest.requirements(pyproject, "test"))) == [
        'dask==2024.12; sys_platform == "linux"',
        "ninja==1.11.1",
        "numpy==1.26",
        "pytest==8",
    ]
    project["dependencies"].append("scipy")
    with pytest.raises(SystemExit, match="scipy needs one lower bound"):
        list(map(oldest.lowest, oldest.requirements(pyproject, "test")))
