"""Notebook output that updates in place, by messages that every front end supports.

It needs no widgets: Jupyter, VS Code and Colab can all replace output that has an identifier.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def in_notebook() -> bool:
    """Return whether this process is a notebook's kernel."""
    # A kernel has always imported IPython.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class LiveOutput:
    """Output of the current cell: the first `show` creates it, later ones replace it."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, html: str, text: str) -> None:
        """Show HTML, or the text if the front end has no HTML."""
        data = {"text/html": html, "text/plain": text}
        if self._handle is None:
            display: Any = import_module("IPython.display")
            self._handle = display.display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
