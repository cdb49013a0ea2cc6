"""The scorecard: every promise of the package, run as a whole (`make scorecard`).

`promises.py` is the table of promises. Those without a make target of their own are scripts in this
folder. `results.py` stores what came out, `page.py` writes docs/scorecard.md from that.
"""
