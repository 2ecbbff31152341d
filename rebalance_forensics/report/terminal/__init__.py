"""Renders the report for a terminal: text of a fixed width, the same on every machine."""

from rebalance_forensics.report.terminal.compare import render_compare
from rebalance_forensics.report.terminal.coverage import render_coverage
from rebalance_forensics.report.terminal.explain import Explanation, render_explain
from rebalance_forensics.report.terminal.screens import at_this_moment, render, render_incident
from rebalance_forensics.report.terminal.timeline import render_timeline
from rebalance_forensics.report.terminal.whois import all_names, is_known, render_whois

__all__ = [
    "Explanation",
    "all_names",
    "at_this_moment",
    "is_known",
    "render",
    "render_compare",
    "render_coverage",
    "render_explain",
    "render_incident",
    "render_timeline",
    "render_whois",
]
