"""Shared fixtures: every random test has a seed of its own, fixed by its name."""

from __future__ import annotations

import hashlib
import os

import numpy as np
import pytest

os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Give a seed in [0, 2**31), from the test's id: stable, and different for every test."""
    digest = hashlib.sha256(request.node.nodeid.encode()).digest()
    return int.from_bytes(digest[:4], "little") >> 1


@pytest.fixture
def rng(seed: int) -> np.random.Generator:
    """Give a generator seeded by the test's id."""
    return np.random.default_rng(seed)
