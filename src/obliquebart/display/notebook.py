"""A part of a notebook's output that can be replaced, by the messages that every front end knows.

It needs no widgets: Jupyter, VS Code and Colab all replace output that has a name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def in_notebook() -> bool:
    """Say whether this process is the kernel of a notebook, and not a terminal."""
    # Whoever runs in a kernel has imported it.
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


class LiveOutput:
    """Output of the present cell, shown at the first `show` and replaced by every other."""

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, html: str, text: str) -> None:
        """Show HTML, or the text where there is no HTML."""
        data = {"text/html": html, "text/plain": text}
        if self._handle is None:
            display: Any = import_module("IPython.display")
            self._handle = display.display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
