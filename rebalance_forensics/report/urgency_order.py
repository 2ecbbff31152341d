"""The order in which incidents are shown."""

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
    """A severity and all worse ones."""
    names: tuple[str, ...] = SEVERITIES
    return names[names.index(lowest) :]


def urgency(incident: Headline) -> tuple[bool, int, bool, int, int, int, int, str]:
    """Sort key: incidents of a whole cluster first, then by severity, ongoing ones, and unread time."""
    # If the unread time is unknown, the longest pauses come first, then the earliest.
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
    """The incidents, the most urgent first."""
    return incidents.at(sorted(range(len(incidents)), key=lambda place: urgency(incidents.outlines[place])))


def by_day(incidents: Iterable[Headline]) -> dict[int, list[Headline]]:
    """First ms of a day in UTC -> the incidents that began on it; empty if all began on one day."""
    found = grouped((i for i in incidents if is_timed(i.started_at)), lambda i: i.started_at // DAY * DAY)
    return dict(sorted(found.items())) if len(found) > 1 else {}


def faults(report: Report) -> Incidents:
    """The incidents that need attention, most urgent first."""
    return most_urgent_first(_incidents_where(report, lambda incident: incident.severity != "info"))


def planned(report: Report) -> Incidents:
    """The planned or benign incidents, in the order of the report."""
    return _incidents_where(report, lambda incident: incident.severity == "info" and not is_unexplained(incident))


def unexplained(report: Report) -> Incidents:
    """The harmless incidents without a known cause, which are not called benign."""
    return _incidents_where(report, lambda incident: incident.severity == "info" and is_unexplained(incident))


def _incidents_where(report: Report, are_meant: Callable[[Headline], bool]) -> Incidents:
    incidents = report.lazy_incidents
    return incidents.at([place for place, incident in enumerate(incidents.outlines) if are_meant(incident)])


def is_unexplained(incident: Headline) -> bool:
    """True if the logs do not show its cause."""
    return incident.root_causes[0].cause == UNEXPLAINED
