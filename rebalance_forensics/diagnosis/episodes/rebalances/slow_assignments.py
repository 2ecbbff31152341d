"""Leaders whose assignor took so long that the group lost them before they could deliver the assignment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import AssignmentComputed, JoinSucceeded
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import OFFSETS_WRITE, session_timeout_ms, setting_ms
from rebalance_forensics.timeline.windows import QUIET_MS, ROUND_TRIP_MS


class SlowAssignment(Struct, frozen=True, kw_only=True):
    """From the answer to the leader's JoinGroup to its assignment: the client does nothing else in between."""

    leader: Participant
    joined: JoinSucceeded
    computed: AssignmentComputed
    lost: tuple[Departure, ...]

    @property
    def took_ms(self) -> int:
        """How long the assignor took."""
        return (self.computed.at or 0) - (self.joined.at or 0)

    @property
    def lines(self) -> tuple[Event, ...]:
        """The lines that show it."""
        return (self.joined, self.computed, *(e for d in self.lost for e in d.events))


def slow_assignments(timeline: Timeline) -> list[list[SlowAssignment]]:
    """Assignments later than the session timeout, with their leader expelled; one list for each stretch of time."""
    return runs(_slow_assignments(timeline), lambda slow: time_of(slow.computed), QUIET_MS)


def effects_of_slowness(timeline: Timeline, late: Sequence[SlowAssignment]) -> tuple[Fact, ...]:
    """The members lost meanwhile, those waiting in SyncGroup included, and their returns."""
    begin, end = time_of(late[0].joined), time_of(late[-1].computed)
    until = end + setting_ms(timeline, OFFSETS_WRITE)
    departures = [d for d in timeline.departures.between(begin, until) if d.why in UNANNOUNCED]
    arrivals = [a for a in timeline.arrivals.between(begin, until) if not a.first]
    return (*departures, *arrivals, *timeline.rebalances.between(begin - ROUND_TRIP_MS, until))


def _slow_assignments(timeline: Timeline) -> Iterator[SlowAssignment]:
    for computed in timeline.of(AssignmentComputed):
        leader = timeline.participants.of_speaker(computed)
        if leader is None or leader.kind == "instance":
            continue
        joins = timeline.events_from(leader, JoinSucceeded).between(timeline.first, computed.at or 0)
        joined = next((j for j in reversed(joins) if j.generation == computed.generation and not j.after_sync), None)
        if joined is None or (computed.at or 0) - (joined.at or 0) < session_timeout_ms(timeline) - ROUND_TRIP_MS:
            continue
        departures = timeline.departures.of(leader).between(joined.at or 0, (computed.at or 0) + ROUND_TRIP_MS)
        lost = tuple(d for d in departures if d.why in UNANNOUNCED)
        if lost:
            yield SlowAssignment(leader=leader, joined=joined, computed=computed, lost=lost)
