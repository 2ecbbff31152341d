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
            *(
                incident.id,
                incident.cluster,
                incident.group,
                incident.severity,
                iso(incident.started_at),
                iso(incident.ended_at),
            ),
            *(
                str(incident.ongoing).lower(),
                incident.root_causes[0].cause,
                round(incident.root_causes[0].confidence, 4),
            ),
            " ".join(culprit.name for culprit in incident.root_causes[0].culprits),
            *(incident.impact.unread_partition_ms, _yes_or_no(incident.impact.unread_at_least)),
            *(incident.impact.longest_unread_ms, incident.impact.longest_unread_partition, incident.impact.stopped_ms),
            *(
                incident.impact.pause_ms,
                incident.impact.members,
                incident.impact.partitions,
                incident.impact.rebalances,
            ),
            *(incident.occurrences, ranges(incident.generations), incident.summary),
        )
        for incident in report.incidents
    )
    return table(TITLES, rows)


def _yes_or_no(answer: bool | None) -> str | None:  # noqa: FBT001 - it is the value of a cell
    return None if answer is None else str(answer).lower()
