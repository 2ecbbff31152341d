"""Join barriers that stood open longer than heartbeats and the initial delay explain, and the last members to join."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.members.departures import startup_arrivals, waits_for_newcomers
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import MemberFailed
from rebalance_forensics.events.rebalances import (
    GenerationStabilized,
    JoinStarted,
    JoinSucceeded,
    LeaderReplaced,
    RebalanceStarted,
)
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.join_barriers import last_to_rejoin
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import (
    DEFAULT_MS,
    INITIAL_DELAY,
    all_have_heard_ms,
    heartbeat_interval_ms,
    setting_ms,
)
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, ONE_REBALANCE_MS, ROUND_TRIP_MS, TICK_MS

_MAX_JOINS = 6


class LongBarrier(Struct, frozen=True):
    """One barrier: the members it waited for, the members removed at its end, its trigger, and its lines."""

    rebalance: Rebalance
    open_ms: int
    last: tuple[Participant, ...]
    removed: tuple[Departure, ...]
    began_by: tuple[Fact, ...]
    lines: tuple[Event, ...]


def long_barriers(timeline: Timeline) -> Iterator[LongBarrier]:
    """Every long barrier, oldest first."""
    for rebalance in timeline.rebalances:
        open_ms = _open_ms(rebalance)
        if rebalance.generation is None or open_ms is None or waits_for_newcomers(rebalance):
            continue
        if open_ms <= _explained_ms(timeline, rebalance):
            continue
        removed = _removed(timeline, rebalance)
        joined_last = _last_to_join(timeline, rebalance)
        last = _replaced_leaders(timeline, rebalance) or [d.participant for d in removed] or joined_last
        lines = _lines(timeline, rebalance, removed, last)
        if lines and (rebalance.stabilized_at is not None or joined_last):
            began_by = _triggers(timeline, rebalance, open_ms)
            participants = tuple(dict.fromkeys(last))
            yield LongBarrier(rebalance, open_ms, participants, tuple(removed), tuple(began_by), tuple(lines))


def allowed_ms(timeline: Timeline) -> int:
    """The longest barrier that heartbeats and the initial delay explain, in ms."""
    # Contract: three seconds beyond the longer of twice the heartbeat interval and the initial delay.
    delay = setting_ms(timeline, INITIAL_DELAY)
    return max(2 * heartbeat_interval_ms(timeline), delay) + HEARTBEAT_MS


def barrier_end(rebalance: Rebalance) -> int:
    """When the coordinator completed the join phase; without that line, when the rebalance ended."""
    return rebalance.stabilized_at or rebalance.ended_at()


def _open_ms(rebalance: Rebalance) -> int | None:
    # Clients before 2.6.1 log no end of the join phase, only the assignment.
    end = rebalance.stabilized_at if rebalance.stabilized_at is not None else rebalance.completed_at
    return end - rebalance.started_at if end is not None else None


def _explained_ms(timeline: Timeline, rebalance: Rebalance) -> int:
    # While the group's first processes start, each newcomer keeps the barrier open (GroupCoordinator's
    # InitialDelayedJoin).
    near, at = DEFAULT_MS[INITIAL_DELAY] + 2 * ROUND_TRIP_MS - 1, rebalance.started_at
    if rebalance.generation == 1 or timeline.cached(_starting).any_between(at - near, at + near):
        return max(ONE_REBALANCE_MS + HEARTBEAT_MS, allowed_ms(timeline))
    return allowed_ms(timeline)


def _starting(timeline: Timeline) -> TimeIndex[Arrival]:
    return TimeIndex(chain.from_iterable(startup_arrivals(timeline)))


def _removed(timeline: Timeline, rebalance: Rebalance) -> list[Departure]:
    end = barrier_end(rebalance) + TICK_MS
    return [d for d in timeline.departures.between(rebalance.started_at, end) if d.why == "rebalance-timeout"]


def _replaced_leaders(timeline: Timeline, rebalance: Rebalance) -> list[Participant]:
    """A leader that missed the rebalance timeout."""
    replaced = timeline.of(LeaderReplaced).between(rebalance.started_at, barrier_end(rebalance) + TICK_MS)
    found = [timeline.participants.of_member(e.member) for e in replaced]
    return [participant for participant in found if participant is not None]


def _last_to_join(timeline: Timeline, rebalance: Rebalance) -> list[Participant]:
    """The member whose JoinGroup ended the barrier, well after all others."""
    last, end, begin = last_to_rejoin(timeline, rebalance), barrier_end(rebalance), rebalance.started_at
    if last is not None and last[1] - begin > HEARTBEAT_MS and end - last[1] < ROUND_TRIP_MS:
        return [last[0]]
    return _without_a_log(timeline, rebalance)


def _without_a_log(timeline: Timeline, rebalance: Rebalance) -> list[Participant]:
    """The only member without a log, where every log shows an early join."""
    reach = all_have_heard_ms(timeline) - 1
    near = timeline.arrivals.between(rebalance.started_at - reach, rebalance.started_at + reach)
    newcomers = {a.participant for a in near if a.first}
    members = [
        a for a in timeline.membership.members if a not in rebalance.joined_at and a not in newcomers and not a.has_log
    ]
    return members if len(members) == 1 and rebalance.joined_at else []


def _lines(timeline: Timeline, rebalance: Rebalance, removed: list[Departure], last: list[Participant]) -> list[Event]:
    lines = [e for e in rebalance.events if isinstance(e, RebalanceStarted | GenerationStabilized)]
    near = timeline.of(JoinStarted, MemberFailed).between(rebalance.started_at, barrier_end(rebalance) + TICK_MS)
    joins = [e for e in near if isinstance(e, MemberFailed) or timeline.participants.of_speaker(e) in last][:_MAX_JOINS]
    waited = [] if lines or joins or removed else _joins_of_newcomers(timeline, rebalance)
    return [*lines, *(e for d in removed for e in d.events), *joins, *waited] if lines or joins or waited else []


def _joins_of_newcomers(timeline: Timeline, rebalance: Rebalance) -> list[Event]:
    """A newcomer's lines from its JoinGroup to the answer, where no other member has a log."""
    joins = timeline.of(JoinStarted, JoinSucceeded).between(rebalance.started_at, barrier_end(rebalance) + TICK_MS)
    return [e for e in joins if e.speaker.role != "broker"][:_MAX_JOINS] if rebalance.joined_at else []


def _triggers(timeline: Timeline, rebalance: Rebalance, open_ms: int) -> list[Fact]:
    """The joins and requests that opened the barrier: its trigger, not a cause of its own."""
    begin = rebalance.started_at
    near: list[Fact] = [*timeline.arrivals.between(begin - ROUND_TRIP_MS, begin + open_ms)]
    return near + timeline.requests.between(begin - ROUND_TRIP_MS + 1, begin + ROUND_TRIP_MS - 1)
