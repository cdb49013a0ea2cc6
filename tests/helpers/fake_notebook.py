"""IPython's part in a notebook, for environments without it: it records what cells show."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace


class FakeNotebook:
    """`outputs` has what each output of the cell was, from first to last."""

    def __init__(self, monkeypatch, *, has_kernel=True):
        self.outputs = []
        shell = SimpleNamespace(kernel=object()) if has_kernel else SimpleNamespace()
        ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
        ipython.get_ipython = lambda: shell
        ipython.display = display
        display.display = self._display
        monkeypatch.setitem(sys.modules, "IPython", ipython)
        monkeypatch.setitem(sys.modules, "IPython.display", display)

    def _display(self, data, *, raw, display_id):
        assert raw
        assert display_id
        versions = [data]
        self.outputs.append(versions)

        def update(data, *, raw):
            assert raw
            versions.append(data)

        return SimpleNamespace(update=update)
