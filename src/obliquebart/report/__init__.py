"""One self-contained HTML page about a fitted model."""

from obliquebart.report.page import report_html, write_report

__all__ = ["report_html", "write_report"]
