"""Every stretch in which nobody could read a partition, as CSV."""

from __future__ import annotations

from rebalance_forensics.report.csv_text import table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.schema import Columns
from rebalance_forensics.timeline.model import GroupHistory, UnreadSpan

SUFFIX = ".unread.csv"
COLUMNS = Columns(
    (GroupHistory, "cluster, group"),
    (UnreadSpan, "partition, client_id, started_at as from, ended_at as to, lasted_ms as ms"),
    (UnreadSpan, "why, certain, from_earliest, incident"),
)


def export(report: Report) -> str:
    """Write one row a stretch; `client_id` is whose the partition was before."""
    return table(COLUMNS, ((history, span) for history in report.groups for span in history.unread))
