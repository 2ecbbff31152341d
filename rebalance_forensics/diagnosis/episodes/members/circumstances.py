"""Surrounding lines: without them the lines of a cause, read alone, look like another cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import Subscribed
from rebalance_forensics.events.rebalances import AssignmentComputed, AssignmentReceived, GenerationStabilized
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex

# Lines that count the members of a generation, the shortest first.
_LISTING = (GenerationStabilized, AssignmentReceived, AssignmentComputed)


def surrounding_generations(timeline: Timeline, times: Sequence[int]) -> tuple[Event, ...]:
    """The logged generation before these times, and those that followed."""
    for kind in _LISTING:
        listed = timeline.of(kind)
        if not listed:
            continue
        ungrouped = [listed.last(times[0] - 1), *[listed.first(at + 1) for at in (times[-1], *times[:-1])]]
        generations = tuple([event for event in ungrouped if event is not None])
        if generations:
            return generations
    return ()


def named_as_static(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The last line before its absence that gives the group.instance.id of its member."""
    members = {departure.member for departure in absence.departures}
    lines_by_instance = timeline.cached(_by_instance)
    before = [
        e for i in absence.participant.instance_ids if (e := lines_by_instance.get(i, TimeIndex()).last(absence.at - 1))
    ]
    tied = [e for e in before if getattr(e, "member", None) in members]
    return tuple((tied or before)[:1])


def _by_instance(timeline: Timeline) -> Mapping[str, TimeIndex[Event]]:
    found: dict[str, list[Event]] = defaultdict(list)
    for event in timeline.own:
        instance = getattr(event, "instance_id", None)
        if instance and event.at is not None:
            found[instance].append(event)
    return {instance: TimeIndex(lines, time_of) for instance, lines in found.items()}


def subscription_before(timeline: Timeline, participant: Participant, at: int) -> tuple[Event, ...]:
    """Its last subscription before a rejoin."""
    before = timeline.events_from(participant, Subscribed).last(at)
    return (before,) if before is not None else ()
