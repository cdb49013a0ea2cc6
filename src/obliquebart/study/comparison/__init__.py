"""The report: tables and figures of the paper from our results, with the paper's numbers."""

from obliquebart.study.comparison.writing import write_report

__all__ = ["write_report"]
