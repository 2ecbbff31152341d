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
            *(
                history.cluster,
                history.group,
                pause.client_id,
                pause.member_id,
                iso(pause.started_at),
                iso(pause.ended_at),
            ),
            *(pause.lasted_ms, pause.kind, " ".join(pause.partitions)),
        )
        for history in report.groups
        for pause in history.pauses
    )
    return table(TITLES, rows)
