"""Which incident a reader should see first."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rebalance_forensics.diagnosis.model import RANKS, Headline, Incident, Severity
from rebalance_forensics.records import is_timed
from rebalance_forensics.report.lazy_list import LazyList
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.times import DAY
from rebalance_forensics.timeline.time_index import grouped

UNEXPLAINED = "unexplained"

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")


def severities_from(lowest: str) -> tuple[str, ...]:
    """A severity and all that are worse."""
    names: tuple[str, ...] = SEVERITIES
    return names[names.index(lowest) :]


def urgency(incident: Headline) -> tuple[bool, int, bool, int, int, int, int, str]:
    """Sort key: what disturbed a whole cluster first, then the most severe, what still lasts, what stopped reading."""
    # Where the logs do not tell of that, the longest pauses come first, then the earliest.
    return (
        incident.scope != "cluster" or incident.severity == "info",
        RANKS[incident.severity],
        not incident.ongoing,
        -(incident.impact.unread_partition_ms or 0),
        -(incident.impact.stopped_ms or 0),
        -(incident.impact.pause_ms or 0),
        incident.started_at,
        incident.id,
    )


Incidents = LazyList[Incident, Headline]


def most_urgent_first(incidents: Incidents) -> Incidents:
    """Order incidents for a reader in a hurry."""
    return incidents.at(sorted(range(len(incidents)), key=lambda place: urgency(incidents.outlines[place])))


def by_day(incidents: Iterable[Headline]) -> dict[int, list[Headline]]:
    """Incidents by the day, in UTC, on which they began, each day by its first ms; empty where all began on one day."""
    found = grouped((i for i in incidents if is_timed(i.started_at)), lambda i: i.started_at // DAY * DAY)
    return dict(sorted(found.items())) if len(found) > 1 else {}


def faults(report: Report) -> Incidents:
    """Pick what needs attention, most urgent first."""
    return most_urgent_first(_incidents_where(report, lambda incident: incident.severity != "info"))


def planned(report: Report) -> Incidents:
    """Pick what was planned or benign, in the order of the report."""
    return _incidents_where(report, lambda incident: incident.severity == "info" and not is_unexplained(incident))


def unexplained(report: Report) -> Incidents:
    """Pick what has no known cause, though it did no harm: it may be anything, so it is not benign."""
    return _incidents_where(report, lambda incident: incident.severity == "info" and is_unexplained(incident))


def _incidents_where(report: Report, are_meant: Callable[[Headline], bool]) -> Incidents:
    incidents = report.lazy_incidents
    return incidents.at([place for place, incident in enumerate(incidents.outlines) if are_meant(incident)])


def is_unexplained(incident: Headline) -> bool:
    """True if the logs do not show its cause."""
    return incident.root_causes[0].cause == UNEXPLAINED
