"""Names of wheels, and which one an interpreter installs."""

from __future__ import annotations

import platform
import re
import sysconfig
from pathlib import Path

import pytest
from wheel_targets import (
    ARCHITECTURES,
    BUILT,
    ROOT,
    STABLE_ABI,
    TESTED,
    MissingError,
    Target,
    architectures,
    find_pythons,
    glibc_of,
    target_for,
)


def test_every_python_has_a_wheel():
    for arch in ARCHITECTURES:
        assert {target_for(python, arch).python for python in TESTED} == set(BUILT)
    assert target_for("3.10", "aarch64") == Target("3.10", "aarch64")
    assert target_for("3.14", "x86_64").tags == "cp312-abi3"


def test_names_agree_with_the_project():
    project = (ROOT / "pyproject.toml").read_text()
    assert f'wheel.py-api = "cp{STABLE_ABI.replace(".", "")}"' in project
    assert re.findall(r"Python :: (3\.\d+)", project) == list(TESTED)
    if platform.machine() in ARCHITECTURES and "gnu" in sysconfig.get_config_var("EXT_SUFFIX"):
        here = Target(sysconfig.get_python_version(), platform.machine())
        assert here.extension_suffix == sysconfig.get_config_var("EXT_SUFFIX")
        assert architectures()[0] == platform.machine()


def test_a_wheel_is_found_by_its_name(tmp_path: Path):
    target = Target("3.11", "aarch64")
    with pytest.raises(MissingError, match="make wheels"):
        target.wheel(tmp_path)
    platform_tags = "manylinux2014_aarch64.manylinux_2_17_aarch64"
    for tags in (f"cp311-cp311-{platform_tags}", f"cp312-abi3-{platform_tags}"):
        (tmp_path / f"obliquebart-0.1.0-{tags}.whl").touch()
    found = target.wheel(tmp_path).name
    assert found == f"obliquebart-0.1.0-cp311-cp311-{platform_tags}.whl"
    assert glibc_of(found) == (2, 17)


def test_missing_pythons_are_named():
    with pytest.raises(MissingError, match=r"Python 3\.98, 3\.99 is neither"):
        find_pythons(("3.98", "3.99"))
