"""Every pause of every member as CSV."""

from __future__ import annotations

from rebalance_forensics.report.csv_text import table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.schema import Columns
from rebalance_forensics.timeline.model import GroupHistory, Pause

SUFFIX = ".pauses.csv"
COLUMNS = Columns(
    (GroupHistory, "cluster, group"),
    (Pause, "client_id, member_id, started_at as from, ended_at as to, lasted_ms as ms, kind, partitions"),
)


def export(report: Report) -> str:
    """Write one row a pause."""
    return table(COLUMNS, ((history, pause) for history in report.groups for pause in history.pauses))
