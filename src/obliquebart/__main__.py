"""Run the command line with `python -m obliquebart`."""

from obliquebart.cli import main

main()
