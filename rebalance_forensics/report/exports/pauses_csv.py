"""Every pause of every member as CSV."""

from __future__ import annotations

from rebalance_forensics.report.csv_text import table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.times import iso

SUFFIX = ".pauses.csv"
TITLES = ("cluster", "group", "client_id", "member_id", "from", "to", "ms", "kind", "partitions")


def export(report: Report) -> str:
    """Write one row a pause."""
    rows = (
        (
            *(history.cluster, history.group, one.client_id, one.member_id, iso(one.started_at), iso(one.ended_at)),
            *(one.lasted_ms, one.kind, " ".join(one.partitions)),
        )
        for history in report.groups
        for one in history.pauses
    )
    return table(TITLES, rows)
