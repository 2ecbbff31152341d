"""Facts that belong together in time, and the events that show them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.group_settings import long_enough_ms, session_timeout_ms, together_ms
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import MemberTransitioned
from rebalance_forensics.events.partitions import PartitionsAssigned
from rebalance_forensics.events.rebalances import (
    AssignmentComputed,
    GenerationStabilized,
    JoinSucceeded,
    SyncSucceeded,
)
from rebalance_forensics.events.streams import StreamThreadStateChanged
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact, Rebalance, Start, Stop, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import name_in_member_id, streams_thread
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import BEHIND_ITS_START_MS, CLOCK_SLACK_MS, ITS_REBALANCE_MS, SAME_STEP_MS

T = TypeVar("T")

SILENT = ("session-expired", "expelled", "vanished")
"""Departures of members that said nothing of leaving."""
_ENDING = ("PENDING_SHUTDOWN", "DEAD")


@dataclass(slots=True, eq=False)
class Absence:
    """One participant's absence: its members' departures, how it closed, how it came back."""

    participant: Participant
    departures: list[Departure]
    arrivals: list[Arrival] = field(default_factory=list)
    start: Start | None = None
    stop: Stop | None = None

    @property
    def at(self) -> int:
        """When the group lost it."""
        gone = self.departures
        return gone[0].at if len(gone) == 1 else min(d.at for d in gone)

    @property
    def back_at(self) -> int | None:
        """When it came back."""
        came = self.arrivals
        return came[0].at if len(came) == 1 else min((a.at for a in came), default=None)

    @property
    def vanished(self) -> bool:
        """Whether only its absence from the next generation tells that it is gone."""
        return all(d.why == "vanished" for d in self.departures)

    @property
    def ended_threads(self) -> list[str]:
        """The stream threads that ended while their instance lived on."""
        ended = self.stop.events if self.stop is not None else ()
        return sorted({e.thread or e.speaker.thread or "" for e in ended if isinstance(e, StreamThreadStateChanged)})

    def facts(self) -> tuple[Fact, ...]:
        """What belongs to it."""
        return (*self.departures, *self.arrivals, *((self.stop,) if self.stop else ()))

    def events(self) -> list[Event]:
        """The lines that show it, departures first."""
        found = [e for d in self.departures for e in d.events]
        found += self.stop.events if self.stop else []
        found += self.start.events[:1] if self.start else []
        return found + [e for a in self.arrivals for e in a.events[:2]]


def only_listed(fact: Arrival | Departure) -> bool:
    """Whether only a leader's list of members tells of it: who is in it was in before, or back, or is new."""
    return bool(fact.events) and all(isinstance(e, AssignmentComputed) for e in fact.events)


def absences(timeline: Timeline, whys: Iterable[str]) -> list[Absence]:
    """Each participant's absences by departures of these kinds, oldest first."""
    wanted = frozenset(whys)
    return list(timeline.once(("absences", wanted), lambda: _absences(timeline, wanted)))


def _absences(timeline: Timeline, wanted: frozenset[str]) -> list[Absence]:
    by_participant: dict[Participant, list[Departure]] = defaultdict(list)
    for departure in timeline.departures:
        by_participant[departure.participant].append(departure)
    found = []
    for participant, departures in by_participant.items():
        groups = runs(departures, lambda d: d.at, together_ms(timeline) if participant.kind == "instance" else 0)
        groups = [part for group in groups for part in _lives_of(timeline, group)]
        for index, group in enumerate(groups):
            if not any(d.why in wanted for d in group):
                continue
            until = groups[index + 1][0].at if index + 1 < len(groups) else None
            before = groups[index - 1][-1].at if index else None
            found.append(_away(timeline, participant, [d for d in group if d.why in wanted], before, until))
    return sorted(found, key=lambda a: (a.at, a.participant.name))


def _lives_of(timeline: Timeline, group: list[Departure]) -> list[list[Departure]]:
    """Who goes after all that went are back has gone again."""
    parts = [group[:1]]
    for departure in group[1:]:
        came = timeline.arrivals.of(departure.participant).between(parts[-1][0].at + 1, departure.at)
        if any(a.member == departure.member for a in came) and len(came) >= len(parts[-1]):
            parts.append([])
        parts[-1].append(departure)
    return parts


def _away(
    timeline: Timeline, participant: Participant, group: list[Departure], before: int | None, until: int | None
) -> Absence:
    away = Absence(participant, group)
    begin, last = away.at, max(d.at for d in group)
    gone = {d.member: d.at for d in sorted(group, key=lambda d: d.at)}
    arrivals = timeline.arrivals.of(participant)
    came = arrivals.since(begin + 1) if until is None else arrivals.between(begin + 1, until - 1)
    away.arrivals = [a for a in came if a.at >= gone.get(a.member, a.at)]
    early = arrivals.between(max(begin - together_ms(timeline), before or 0) + 1, begin)
    early = [a for a in early if _is_new_process(timeline, a, group) and a.at >= gone.get(a.member, a.at)]
    came_at = timeline.remembered(_first_arrivals)
    joined = min((came_at[m] for m in gone if m in came_at), default=0)
    early = [a for a in early if a.start is None or a.start.at > joined]
    if early and any(not _same_life(a, group) for a in early):
        away.arrivals = [a for a in early if not _same_life(a, group)] + away.arrivals
    reach = session_timeout_ms(timeline) + BEHIND_ITS_START_MS
    start = timeline.starts.of(participant).first(max(begin - reach, joined, before or 0) + 1)
    away.start = start if start is not None and (until is None or start.at < until) else None
    stop = timeline.stops.of(participant).last(last + ITS_REBALANCE_MS)
    stopped = stop is not None and stop.at > joined and not _went_on(timeline, participant, stop, begin)
    away.stop = stop if stopped else _end_of_threads(timeline, away)
    return away


def _end_of_threads(timeline: Timeline, away: Absence) -> Stop | None:
    """Where an instance lives on without some of its threads, their own end is why their members fell silent."""
    if away.participant.kind != "instance":
        return None
    ended: dict[str | None, list[Event]] = defaultdict(list)
    for event in timeline.said_by(away.participant, StreamThreadStateChanged).between(0, away.at + ITS_REBALANCE_MS):
        assert isinstance(event, StreamThreadStateChanged)
        thread = event.thread or event.speaker.thread
        ended[thread] = [*ended[thread], event] if event.after in _ENDING else []
    gone = {streams_thread(timeline.participants.client_of(d.member or "") or "") for d in away.departures}
    told = [e for thread in sorted(t or "" for t in gone) for e in ended.get(thread, ())]
    if None in gone or not all(ended.get(thread) for thread in gone):
        return None
    return Stop(away.participant, min(e.at or 0 for e in told), tuple(told), id=f"stop-at-{away.departures[0].id}")


def _is_new_process(timeline: Timeline, arrival: Arrival, group: Sequence[Departure]) -> bool:
    """A process start stands behind it; without a log, a new id of the same client while the old one is still in."""
    if arrival.start is not None or timeline.coverage.of(arrival.participant):
        return arrival.start is not None
    name = name_in_member_id(arrival.member or "")
    return name is not None and any(name_in_member_id(d.member or "") == name for d in group)


def _first_arrivals(timeline: Timeline) -> dict[str | None, int]:
    """When each member id came first."""
    return {a.member: a.at for a in reversed(timeline.arrivals)}


def _went_on(timeline: Timeline, participant: Participant, stop: Stop, until: int) -> bool:
    """Whether the participant was a working member again between that stop and its departure."""
    after = stop.events[-1].at or stop.at
    said = timeline.said_by(participant, JoinSucceeded, SyncSucceeded, PartitionsAssigned, MemberTransitioned)
    return said.any_between(after + CLOCK_SLACK_MS + 1, until - 1)


def is_missing(timeline: Timeline, absences: Iterable[Absence]) -> bool:
    """Whether somebody did not come back while the logs last, and they last long enough to show a return."""
    latest = timeline.coverage.end - long_enough_ms(timeline)
    return any(away.back_at is None and away.start is None and away.at <= latest for away in absences)


def members_counted(timeline: Timeline, before: int) -> int:
    """The size of the last generation before, as the coordinator counts it; by name it knows only those who move.

    Of a Streams application it counts threads, not instances: then nothing is told.
    """
    last = timeline.of(GenerationStabilized).last(before) if timeline.kind == "consumer" else None
    return (last.member_count or 0) if last is not None else 0


def formed_at(timeline: Timeline) -> int:
    """When the group's first generation in these logs was created; wishes before that are part of its start."""
    first = next((r for r in timeline.rebalances if r.stabilized_at is not None), None)
    return (first.stabilized_at or 0) if first is not None and first.generation == 1 else 0


def _same_life(arrival: Arrival, group: Sequence[Departure]) -> bool:
    return arrival.member in {d.member for d in group}


def touched(timeline: Timeline, facts: Iterable[Fact], slack_ms: int = ITS_REBALANCE_MS) -> tuple[Rebalance, ...]:
    """The rebalances that these facts fall into or begin."""
    times = {fact_at(f) for f in facts}
    known = timeline.rebalances
    places = {i for t in times for i in known.places_touching(t - SAME_STEP_MS, t + slack_ms)}
    return tuple(known[i] for i in sorted(places))


def with_rebalances(timeline: Timeline, facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """These facts, and the rebalances that they fall into or begin."""
    known = tuple(facts)
    return (*known, *touched(timeline, known))


def distinct_events(events: Iterable[Event]) -> tuple[Event, ...]:
    """Each event once, in the given order."""
    return tuple({(e.origin.path, e.origin.byte_offset): e for e in events}.values())
