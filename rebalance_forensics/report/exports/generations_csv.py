"""Every generation of every group as CSV."""

from __future__ import annotations

from rebalance_forensics.report.csv_text import table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.times import iso

SUFFIX = ".generations.csv"
TITLES = (
    *("cluster", "group", "generation", "started_at", "completed_at", "ms", "trigger", "followup", "outcome", "leader"),
    *("members", "joined", "left", "reason"),
)


def export(report: Report) -> str:
    """Write one row a generation."""
    rows = (
        (
            *(history.cluster, history.group, one.generation, iso(one.started_at), iso(one.completed_at)),
            *(one.took_ms, one.trigger, one.followup, one.outcome, one.leader, one.size),
            *(" ".join(one.joined), " ".join(one.left), one.reason),
        )
        for history in report.groups
        for one in history.generations
    )
    return table(TITLES, rows)
