"""The command `obliquebart`: fit, predict, summary, report, demo."""

import signal

from obliquebart.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    try:
        app(prog_name="obliquebart")
    finally:
        # On the way out there is nothing left to interrupt, and Python would write a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
