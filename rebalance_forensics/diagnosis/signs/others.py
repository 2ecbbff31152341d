"""Signs of the other members at the time of a departure: whether they stayed, and whether a log would show it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from math import inf

from rebalance_forensics.diagnosis.episodes.members.departures import emptied_after, one_shutdown_ms, with_members
from rebalance_forensics.diagnosis.seen import client_log, coordinator_log
from rebalance_forensics.diagnosis.sign import Absent, Answer, Need, Present, Subject, Unobservable, sign
from rebalance_forensics.events.coordinator import GroupLoaded
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant


@sign("other members stayed in the group after it", "nobody stayed: the group was empty after it")
def others_stayed(timeline: Timeline, subject: Subject) -> Answer:
    """Another member was still in the group after all of these had left."""
    if not subject.absences:
        return Unobservable()
    last = max(d.at for a in subject.absences for d in a.departures)
    again = timeline.arrivals.first(last + 1)
    until = again.at if again is not None else None
    listed = any(d.why == "vanished" and d.at == last for a in subject.absences for d in a.departures)
    if listed or with_members(timeline).any_between(last, until or timeline.last):
        return Present()  # even if only a later list of the members shows it
    leaving = {a.participant for a in subject.absences}
    if any(_stayed(timeline, other, last) for other in _remaining_members(timeline, last) if other not in leaving):
        return Present()
    if (emptied := emptied_after(timeline, last)) is not None:
        return Absent(lines=(emptied,))
    end = last + timeouts.session_timeout_ms(timeline)
    others = (other for other in _remaining_members(timeline, last) if other not in leaving)
    needs: list[Need] = [coordinator_log(last, end), *(client_log(other, last, end) for other in others)]
    return Unobservable(tuple(needs))


def _remaining_members(timeline: Timeline, last: int) -> Iterator[Participant]:
    """The members that had not left for good by then."""
    over = last + one_shutdown_ms(timeline)
    ends = _members_by_final_departure(timeline)
    return (member for gone_at, member in takewhile(lambda end: end[0] is None or end[0] > over, ends))


@cached_answer
def _members_by_final_departure(timeline: Timeline) -> list[tuple[int | None, Participant]]:
    """Each member and when it left for good: first the members that never did (None), then the latest departures."""
    ends = [(timeline.membership.final_departure(member), member) for member in timeline.membership.members]
    last_seen = [(None if left is None else left.at, member) for left, member in ends]
    return sorted(last_seen, key=lambda end: -inf if end[0] is None else -end[0])


def _stayed(timeline: Timeline, other: Participant, last: int) -> bool:
    """True if its log continues, or the log of a coordinator continues that would have logged its departure."""
    left = timeline.membership.final_departure(other)
    stop = timeline.stops.of(other).first(last - one_shutdown_ms(timeline))
    went_at = min((fact.at for fact in (left, stop) if fact is not None), default=None)
    if went_at is not None:
        return went_at > last + one_shutdown_ms(timeline)
    if (timeline.coverage.ends(other) or 0) > last + windows.HEARTBEAT_MS:
        return True
    return bool(covering(timeline.coverage.brokers, last, _eviction_deadline(timeline, other, last)))


def _eviction_deadline(timeline: Timeline, other: Participant, last: int) -> int:
    """The time up to which the coordinator's log must reach to show that a member stayed."""
    # A member that sends LeaveGroup on close, and has not sent it, is still in the group. Static members (KIP-345) and
    # Streams before KIP-1071 may have closed and are evicted when their sessions expire; a coordinator that loads the
    # group restarts every session (GroupCoordinator.onGroupLoaded).
    if not other.instance_ids and (other.kind != "instance" or not timeline.is_classic):
        return last
    load = timeline.of(GroupLoaded).last(timeline.last)
    loaded = last if load is None else time_of(load)
    return max(last + one_shutdown_ms(timeline), loaded) + timeouts.session_timeout_ms(timeline) + windows.ROUND_TRIP_MS


@sign("no log at hand shows whether the other members stayed")
def others_unheard(timeline: Timeline, subject: Subject) -> Answer:
    """No log shows whether the other members stayed."""
    # A single member that closes may be the first of a shutdown or a deployment.
    known = others_stayed.answer(timeline, subject)
    return Present() if isinstance(known, Unobservable) and subject.absences else Absent()


@sign(
    "the coordinator soon counts as many members again as before it: another member took its place",
    "the coordinator counts fewer members after it",
)
def as_many_as_before(timeline: Timeline, subject: Subject) -> Answer:
    """New members replaced those that left, even if no line connects them."""
    if not subject.absences:
        return Unobservable()
    first = min(min(a.at, a.stop.at if a.stop is not None else a.at) for a in subject.absences)
    last = max(a.at for a in subject.absences)
    counts = timeline.membership.counts
    before, after = counts.last(first - 1), counts.between(last, last + timeouts.patience_ms(timeline))
    if before is None or not before.members or not after:
        return Unobservable()
    most = max(after, key=lambda count: count.members)
    return Present((most.line,)) if most.members >= before.members else Absent(lines=(most.line,))
