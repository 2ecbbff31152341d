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
            *(history.cluster, history.group, span.partition, span.client_id, iso(span.started_at), iso(span.ended_at)),
            *(span.lasted_ms, span.why, str(span.certain).lower(), iso(span.from_earliest), span.incident),
        )
        for history in report.groups
        for span in history.unread
    )
    return table(TITLES, rows)
