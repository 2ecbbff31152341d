"""Faults of the members' processes, independent of the group protocol: the input of a simulation.

Times are epoch ms on the group's clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Literal

from msgspec import Struct

from rebalance_forensics.records import natural
from rebalance_forensics.timeline.facts import Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.join_barriers import late_join
from rebalance_forensics.timeline.ownership.losses import loss_of
from rebalance_forensics.timeline.ownership.owners import ownership_of
from rebalance_forensics.timeline.timeouts import shown_session_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, NEXT_HEARTBEAT_MS, ROUND_TRIP_MS


class ProcessStarted(Struct, frozen=True, kw_only=True):
    """A process started; `at` is when its consumer asks to join."""

    member: str
    at: int


class ProcessEnded(Struct, frozen=True, kw_only=True):
    """A process ended: it closed its consumer, or died without LeaveGroup."""

    member: str
    at: int
    how: Literal["closed", "died"]
    last_heartbeat: float | None = None
    """Time of its last heartbeat, if its eviction shows that."""


class ProcessStalled(Struct, frozen=True, kw_only=True):
    """A running process made no progress: it was frozen, or its polling thread was stuck in a batch."""

    member: str
    begin: int
    end: int
    how: Literal["frozen", "stuck"]
    last_heartbeat: float | None = None
    """Time of its last heartbeat, if its eviction shows that."""


Fault = ProcessStarted | ProcessEnded | ProcessStalled


def began(fault: Fault) -> int:
    """Return when a fault started."""
    return fault.begin if isinstance(fault, ProcessStalled) else fault.at


class FaultSequence(Struct, frozen=True, kw_only=True):
    """The faults of an incident in a group that was stable at `begin`; the simulation ends at `until`."""

    members: tuple[str, ...]
    """Members at `begin`."""
    partitions: tuple[str, ...]
    faults: tuple[Fault, ...]
    begin: int
    until: int
    steady_for: int
    """Time in ms between the end of the previous rebalance and `begin`."""

    @property
    def work(self) -> int:
        """The effort of a simulation: each fault may move every member and every partition."""
        return (len(self.members) + len(self.partitions)) * len(self.faults)


class Pace(Struct, frozen=True, kw_only=True):
    """The timing of members, in ms."""

    between_polls: tuple[float, float]
    """Range of the average time that a member takes for a batch."""
    heartbeat: int
    session: int
    poll_interval: int
    commits_first: bool = True
    """With enable.auto.commit, a cooperative member commits before it joins: one more poll (KAFKA-13310)."""


# A process that is cut off, or that its coordinator rejects, reads no more than a frozen one.
_RUNNING = frozenset({"frozen", "cut-off", "fenced", "stuck"})
_CLOSED = frozenset({"closed", "left", "unsubscribed", "removed-by-admin"})
# Maximum effort: a larger simulation would take too long.
MOST_WORK = 12_000


def fault_sequence(
    timeline: Timeline, started: int, ended: int, rebalances: Sequence[Rebalance]
) -> FaultSequence | None:
    """Return the faults between two times; None if the logs do not show how a member left, or the initial members."""
    window = (started - HEARTBEAT_MS, ended + ROUND_TRIP_MS)
    departures = timeline.departures.between(*window)
    faults: list[Fault] = []
    for departure in departures:
        seen = _departure(timeline, departure, ended)
        if seen is None:
            return None
        faults += seen
    came_back = {d.returned.id for d in departures if d.returned is not None and d.returned.start is None}
    faults += [
        ProcessStarted(member=a.participant.name, at=a.at)
        for a in timeline.arrivals.between(*window)
        if a.id not in came_back or _closed(a.ends)
    ]
    faults += _stragglers(timeline, rebalances, {f.member for f in faults})
    return _sequence(timeline, sorted(faults, key=began), ended)


def _closed(departure: Departure | None) -> bool:
    return departure is not None and departure.why in _CLOSED


def _departure(timeline: Timeline, departure: Departure, ended: int) -> list[Fault] | None:
    name, at, back = departure.participant.name, departure.at, departure.returned
    if departure.why in _CLOSED:
        return [ProcessEnded(member=name, at=at, how="closed")]
    loss, session = loss_of(timeline, departure), shown_session_ms(timeline, departure.participant)
    if departure.why == "poll-timeout" and loss.bounded and (back is None or back.start is None):
        until = back.at if back is not None else max(ended, at)
        return [ProcessStalled(member=name, begin=loss.at, end=until, how="stuck")]
    if departure.why != "session-expired" or session is None:
        return None
    if back is not None and back.start is None and loss.why in _RUNNING:
        return [ProcessStalled(member=name, begin=loss.at, end=back.at, how="frozen", last_heartbeat=at - session)]
    return [ProcessEnded(member=name, at=loss.at, how="died", last_heartbeat=at - session)]


def _stragglers(timeline: Timeline, rebalances: Sequence[Rebalance], known: set[str]) -> Iterator[ProcessStalled]:
    """Yield a stall for each member that joined long after a rebalance started: it was stuck in a batch."""
    for rebalance in rebalances if timeline.mode == "eager" else ():
        late = late_join(timeline, rebalance)
        if late is not None and late.participant.name not in known:
            yield ProcessStalled(
                member=late.participant.name, begin=rebalance.started_at, end=late.joined_at, how="stuck"
            )


def _sequence(timeline: Timeline, faults: list[Fault], ended: int) -> FaultSequence | None:
    partitions = ownership_of(timeline).partitions
    if not faults or not partitions:
        return None
    begin = began(faults[0])
    known = ((g.reached_at, g.members) for g in timeline.generations)
    steady_since, there_before = max(
        ((at, members) for at, members in known if at is not None and at <= begin),
        key=itemgetter(0),
        default=(begin, ()),
    )
    there = (timeline.participants.of_member(member.member_id) for member in there_before)
    members = sorted({who.name for who in there if who is not None})
    if not members or not _any_member_left(members, faults):
        return None
    last = max(fault.end if isinstance(fault, ProcessStalled) else fault.at for fault in faults)
    settles = (shown_session_ms(timeline) or 0) + 2 * NEXT_HEARTBEAT_MS
    found = FaultSequence(
        members=tuple(members),
        partitions=tuple(sorted(partitions, key=natural)),
        faults=tuple(faults),
        begin=begin,
        until=max(last, ended) + settles,
        steady_for=begin - steady_since,
    )
    return found if found.work <= MOST_WORK else None


def _any_member_left(members: Sequence[str], faults: Sequence[Fault]) -> bool:
    """True if a member survives: if all shut down or died, no protocol saves anything."""
    alive = {*members}
    for fault in faults:
        if isinstance(fault, ProcessEnded):
            alive.discard(fault.member)
        elif isinstance(fault, ProcessStarted):
            alive.add(fault.member)
    return bool(alive)
