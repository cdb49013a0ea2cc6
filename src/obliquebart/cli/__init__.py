"""The command `obliquebart`: fit, predict, summary, report, demo."""

import signal

from obliquebart.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    try:
        app(prog_name="obliquebart")
    finally:
        # Nothing is left to interrupt at exit, and Python would print a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
