"""Every incident as CSV, one row each."""

from __future__ import annotations

from rebalance_forensics.diagnosis.model import Blame, Impact, Incident
from rebalance_forensics.report.csv_text import table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.schema import Columns
from rebalance_forensics.report.wording import ranges

SUFFIX = ".incidents.csv"
COLUMNS = Columns(
    (Incident, "id, cluster, group_name as group, severity, started_at, ended_at, ongoing"),
    (Blame, "cause, confidence, culprit_names as culprits"),
    (Impact, "unread_partition_ms, unread_at_least, longest_unread_ms, longest_unread_partition, stopped_ms"),
    (Impact, "pause_ms, members, partitions, rebalances"),
    (Incident, "occurrences, generations, summary"),
)


def export(report: Report) -> str:
    """Write one row an incident, under its most likely cause."""
    rows = ((incident, incident.root_causes[0], incident.impact) for incident in report.incidents)
    return table(COLUMNS, rows, generations=ranges)
