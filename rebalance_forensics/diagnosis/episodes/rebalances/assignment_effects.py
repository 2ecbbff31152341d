"""Effects of a leader that does not assign, assigns too late, or has no topics to assign."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED
from rebalance_forensics.diagnosis.episodes.rebalances.failed_assignments import Undelivered
from rebalance_forensics.diagnosis.episodes.rebalances.slow_assignments import SlowAssignment
from rebalance_forensics.diagnosis.episodes.topics.unready_topics import Unready
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import OFFSETS_WRITE, session_timeout_ms, setting_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ROUND_TRIP_MS


def effects_of_exceptions(timeline: Timeline, run: Sequence[Event], leaders: Iterable[Participant]) -> tuple[Fact, ...]:
    """Facts that follow an assignor's exception; where only the exception is logged, the leader may leave as well."""
    begin, end = time_of(run[0]), time_of(run[-1])
    facts = _effects(timeline, begin, end)
    if any(isinstance(e, ExceptionLogged) for e in run):
        until = end + session_timeout_ms(timeline) + setting_ms(timeline, OFFSETS_WRITE)
        touching = timeline.rebalances.touching(begin - ROUND_TRIP_MS, begin)
        facts += [r for r in touching if r.completed_at is None]
        facts += [d for a in leaders for d in timeline.departures.of(a).between(begin, until)]
    return tuple(facts)


def effects_of_waiting(timeline: Timeline, undelivered: Undelivered, *, last: bool) -> tuple[Fact, ...]:
    """Facts that follow while an assignment is missing.

    Arrivals during the wait belong to it; the newcomer that began the rebalance only where it never got in (`last`).
    """
    begin, end = undelivered.begin, undelivered.end
    since = begin - ROUND_TRIP_MS if last else begin + ROUND_TRIP_MS
    return (*_effects(timeline, begin, end), *timeline.arrivals.between(since, end))


def _effects(timeline: Timeline, begin: int, end: int) -> list[Fact]:
    # The leader rejoins at once; the coordinator stores what it got, or restarts the rebalance.
    asked = timeline.requests.between(begin - ROUND_TRIP_MS, end + 2 * ROUND_TRIP_MS)
    facts: list[Fact] = [r for r in asked if r.why in ("member-rejoined", "leader-rejoined", "other")]
    following = timeline.rebalances.between(begin - ROUND_TRIP_MS, end + setting_ms(timeline, OFFSETS_WRITE))
    return facts + [r for r in following if r.completed_at is None]


def effects_of_slowness(timeline: Timeline, late: Sequence[SlowAssignment]) -> tuple[Fact, ...]:
    """The members lost meanwhile, those waiting in SyncGroup included, and their returns."""
    begin, end = time_of(late[0].joined), time_of(late[-1].computed)
    until = end + setting_ms(timeline, OFFSETS_WRITE)
    departures = [d for d in timeline.departures.between(begin, until) if d.why in UNANNOUNCED]
    arrivals = [a for a in timeline.arrivals.between(begin, until) if not a.first]
    return (*departures, *arrivals, *timeline.rebalances.between(begin - ROUND_TRIP_MS, until))


def rebalances_without_topics(timeline: Timeline, unready: Unready) -> tuple[Fact, ...]:
    """The rebalances while topics are missing or do not fit, and the members' moves at the end."""
    rebalances = timeline.rebalances.between(unready.begin - setting_ms(timeline, OFFSETS_WRITE), unready.end)
    return (*rebalances, *timeline.moves(unready.end - ROUND_TRIP_MS, unready.end + AT_ONCE_MS))
