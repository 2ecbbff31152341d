"""Every stretch in which nobody could read a partition, as CSV."""

from __future__ import annotations

from rebalance_forensics.report.csv_text import table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.times import iso

SUFFIX = ".unread.csv"
TITLES = (
    "cluster",
    "group",
    "partition",
    "client_id",
    "from",
    "to",
    "ms",
    "why",
    "certain",
    "from_earliest",
    "incident",
)


def export(report: Report) -> str:
    """Write one row a stretch; `client_id` is whose the partition was before."""
    rows = (
        (
            *(history.cluster, history.group, one.partition, one.client_id, iso(one.started_at), iso(one.ended_at)),
            *(one.lasted_ms, one.why, str(one.certain).lower(), iso(one.from_earliest), one.incident),
        )
        for history in report.groups
        for one in history.unread
    )
    return table(TITLES, rows)
