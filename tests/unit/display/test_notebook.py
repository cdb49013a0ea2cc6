"""Is this a notebook, and output that is replaced."""

from __future__ import annotations

import subprocess
import sys

from helpers.fake_notebook import FakeNotebook
from obliquebart.display.notebook import LiveOutput, in_notebook


def test_only_a_kernel_is_a_notebook(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    FakeNotebook(monkeypatch, has_kernel=False)
    assert not in_notebook()
    FakeNotebook(monkeypatch)
    assert in_notebook()


def test_output_is_replaced(monkeypatch):
    notebook = FakeNotebook(monkeypatch)
    output = LiveOutput()
    output.show("<b>1</b>", "1")
    output.show("<b>2</b>", "2")
    ((first, second),) = notebook.outputs
    assert first == {"text/html": "<b>1</b>", "text/plain": "1"}
    assert second["text/plain"] == "2"


def test_the_package_does_not_import_ipython():
    code = "import sys, obliquebart; assert 'IPython' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
