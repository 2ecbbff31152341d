"""The report as one self-contained HTML file."""

from rebalance_forensics.report.html.page import to_html

__all__ = ["to_html"]
