"""Shared fixtures: every random test has a seed of its own, fixed by its name."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from helpers.processes import hear_interrupts

os.environ.setdefault("MPLBACKEND", "Agg")
hear_interrupts()


@pytest.fixture(scope="session", autouse=True)
def _forget_models() -> Iterator[None]:
    """Let go of the fitted models that helpers keep, before Python takes its modules apart."""
    yield
    for name, module in list(sys.modules.items()):
        if name.startswith("helpers."):
            for thing in vars(module).values():
                if hasattr(thing, "cache_clear"):
                    thing.cache_clear()


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Close the pictures of a test; matplotlib warns of many that are open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Give a seed in [0, 2**31) from the names of the file and the test: stable, one for each test.

    The folder does not count, so that a file can move without other numbers.
    """
    name = request.node.nodeid.partition("::")[2]
    digest = hashlib.sha256(f"tests/{request.path.name}::{name}".encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """Give a generator seeded by the test's id."""
    return np.random.default_rng(seed)
