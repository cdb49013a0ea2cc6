"""Shared fixtures: every random test has a seed of its own, fixed by its name."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")


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
