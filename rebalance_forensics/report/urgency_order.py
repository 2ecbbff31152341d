"""Which incident a reader should see first."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.diagnosis.model import Incident, Severity
from rebalance_forensics.report.model import Report

UNEXPLAINED = "unexplained"

RANKS: dict[Severity, int] = {"critical": 0, "warning": 1, "info": 2}


def urgency(incident: Incident) -> tuple[int, bool, int, int, int, int, str]:
    """Sort key: the most severe first, then what still lasts, then what kept partitions or the group from reading.

    Where the logs do not tell of that, the longest pauses come first, then the earliest.
    """
    return (
        RANKS[incident.severity],
        not incident.ongoing,
        -(incident.impact.unread_partition_ms or 0),
        -(incident.impact.stopped_ms or 0),
        -(incident.impact.pause_ms or 0),
        incident.started_at,
        incident.id,
    )


def most_urgent_first(incidents: Iterable[Incident]) -> tuple[Incident, ...]:
    """Order incidents for a reader in a hurry."""
    return tuple(sorted(incidents, key=urgency))


def faults(report: Report) -> tuple[Incident, ...]:
    """Pick what needs somebody, most urgent first."""
    return tuple(one for one in most_urgent_first(report.incidents) if one.severity != "info")


def planned(report: Report) -> tuple[Incident, ...]:
    """Pick what was planned or benign, in the order of the report."""
    return tuple(one for one in report.incidents if one.severity == "info" and not is_unexplained(one))


def unexplained(report: Report) -> tuple[Incident, ...]:
    """Pick what has no known cause, though it did no harm: it may be anything, so it is not benign."""
    return tuple(one for one in report.incidents if one.severity == "info" and is_unexplained(one))


def is_unexplained(incident: Incident) -> bool:
    """Whether the logs do not show its cause."""
    return incident.root_causes[0].cause == UNEXPLAINED
