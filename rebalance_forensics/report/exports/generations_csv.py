"""Every generation of every group as CSV."""

from __future__ import annotations

from rebalance_forensics.report.csv_text import table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.schema import Columns
from rebalance_forensics.timeline.model import Generation, GroupHistory

SUFFIX = ".generations.csv"
COLUMNS = Columns(
    (GroupHistory, "cluster, group"),
    (Generation, "generation, started_at, completed_at, took_ms as ms, trigger, followup, outcome, leader"),
    (Generation, "size as members, joined, left, reason"),
)


def export(report: Report) -> str:
    """Write one row a generation."""
    return table(COLUMNS, ((history, generation) for history in report.groups for generation in history.generations))
