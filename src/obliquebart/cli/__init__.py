"""The command `obliquebart`: fit, predict, summary, report, demo."""

from obliquebart.cli.commands import app

__all__ = ["app", "main"]


def main() -> None:
    """Run the command line."""
    app(prog_name="obliquebart")
