"""Commands in this process, the tables they write, and options that make a fit quick."""

from __future__ import annotations

import csv
import io

from typer.testing import CliRunner

from obliquebart.cli import app

QUICK = ["--n-trees", "10", "--n-burn", "30", "--n-draws", "20", "--n-chains", "2", "--seed", "1"]


def run(*words, code=0, stdin=None):
    result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
    assert result.exit_code == code, result.output + str(result.exception)
    assert "Traceback" not in result.output
    return result


def rows_of(text):
    """Return the rows of a CSV file as dictionaries."""
    return list(csv.DictReader(io.StringIO(text)))
