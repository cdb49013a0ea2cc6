"""The study's real data sets, where they are on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from helpers import ROOT

DATA = Path(os.environ.get("OBLIQUEBART_DATA", ROOT.parent / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not (DATA / "datasets.json").exists(), reason="the data sets are not here (OBLIQUEBART_DATA)"
)


def records() -> dict[str, dict[str, object]]:
    """Return what is known of each data set, by its file."""
    found = json.loads((DATA / "datasets.json").read_text("utf-8"))
    return {record["file"]: record for record in found}
