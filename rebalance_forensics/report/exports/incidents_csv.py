"""Every incident as CSV, one row each."""

from __future__ import annotations

from rebalance_forensics.report.csv_text import table
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.times import iso
from rebalance_forensics.report.wording import ranges

SUFFIX = ".incidents.csv"
TITLES = (
    *("id", "cluster", "group", "severity", "started_at", "ended_at", "ongoing", "cause", "confidence", "culprits"),
    *("unread_partition_ms", "unread_at_least", "longest_unread_ms", "longest_unread_partition", "stopped_ms"),
    *("pause_ms", "members", "partitions", "rebalances", "occurrences", "generations", "summary"),
)


def export(report: Report) -> str:
    """Write one row an incident, under its most likely cause."""
    rows = (
        (
            *(one.id, one.cluster, one.group, one.severity, iso(one.started_at), iso(one.ended_at)),
            *(str(one.ongoing).lower(), one.root_causes[0].cause, round(one.root_causes[0].confidence, 4)),
            " ".join(culprit.name for culprit in one.root_causes[0].culprits),
            *(one.impact.unread_partition_ms, _yes_or_no(one.impact.unread_at_least)),
            *(one.impact.longest_unread_ms, one.impact.longest_unread_partition, one.impact.stopped_ms),
            *(one.impact.pause_ms, one.impact.members, one.impact.partitions, one.impact.rebalances),
            *(one.occurrences, ranges(one.generations), one.summary),
        )
        for one in report.incidents
    )
    return table(TITLES, rows)


def _yes_or_no(told: bool | None) -> str | None:  # noqa: FBT001 - it is the value of a cell
    return None if told is None else str(told).lower()
