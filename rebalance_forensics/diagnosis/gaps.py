"""What the logs do not show: which log, of whom, at which level, would decide more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rebalance_forensics import defects
from rebalance_forensics.diagnosis.model import Gap, Incident
from rebalance_forensics.timeline.build import Timeline

UNSURE = 0.75
"""Below this confidence an incident is worth another log."""


def gaps_of(timeline: Timeline, incidents: Sequence[Incident]) -> tuple[Gap, ...]:
    """The gaps that matter to this group, widest first."""
    return (*_no_coordinator(timeline), *_no_client(timeline, incidents), *_unknown_zones(timeline))


def broken_off(timeline: Timeline, broken: Mapping[str, str]) -> list[Gap]:
    """The causes whose rules broke off on this group's lines."""
    return [
        Gap(
            what=f"Whether group {timeline.group} had a case of {cause} could not be asked: {error}",
            started_at=timeline.first,
            ended_at=timeline.last,
            consequence=f"{cause} is neither found nor ruled out; {defects.ASK}",
        )
        for cause, error in broken.items()
    ]


def _no_coordinator(timeline: Timeline) -> list[Gap]:
    if timeline.has_coordinator_log:
        return []
    return [
        Gap(
            what=f"No broker log speaks of group {timeline.group}.",
            started_at=timeline.first,
            ended_at=timeline.last,
            consequence="Evictions by session timeout and members without a log are not seen: "
            "server.log of the group's coordinator at INFO would show them.",
        )
    ]


def _no_client(timeline: Timeline, incidents: Sequence[Incident]) -> list[Gap]:
    without = [a for a in timeline.actors() if not a.has_log]
    unsure = [i for i in incidents if i.root_causes[0].confidence < UNSURE and i.severity != "info"]
    if not without or not (unsure or len(without) < len(timeline.actors())):
        return []
    names = ", ".join(sorted(a.name for a in without)[:5]) + (" …" if len(without) > 5 else "")
    return [
        Gap(
            what=f"No log of {names} (group {timeline.group}).",
            started_at=timeline.first,
            ended_at=timeline.last,
            consequence="Whether a silent member crashed, stood still or was cut off is told only by its own log "
            "(org.apache.kafka.clients.consumer at INFO). Clients that are not Java log nothing of this by default.",
        )
    ]


def _unknown_zones(timeline: Timeline) -> list[Gap]:
    unknown = [c for c in timeline.clocks if c.zone is None]
    if not unknown or all(c.zone is None for c in timeline.clocks):
        return []
    files = ", ".join(sorted({c.path for c in unknown})[:5])
    return [
        Gap(
            what=f"The time zone of {files} is not known.",
            started_at=None,
            ended_at=None,
            consequence="Its times are read as UTC and may be off against the other files; --tz HOST=ZONE sets it."
            if len({c.path for c in unknown}) == 1
            else "Their times are read as UTC and may be off against the other files; --tz HOST=ZONE sets it.",
        )
    ]
