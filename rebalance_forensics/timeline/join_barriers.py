"""The members that a join barrier waited for, and the members that had sent JoinGroup.

The coordinator responds to JoinGroup when all members have rejoined (GroupCoordinator.onCompleteJoin), so the member
with the last JoinGroup delays all others. Used for swim lanes, unread time, the cause `rebalance-straggler` and
what-if.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import GroupLoaded
from rebalance_forensics.events.rebalances import HeartbeatFailed, JoinRequested, JoinStarted, LeaderReplaced
from rebalance_forensics.timeline.facts import Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import is_rebalance_notice
from rebalance_forensics.timeline.time_index import grouped, lists_by_key
from rebalance_forensics.timeline.timeouts import all_have_heard_ms, heartbeat_interval_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, NEXT_HEARTBEAT_MS, ROUND_TRIP_MS, TICK_MS


class LateJoin(Struct, frozen=True):
    """A member that rejoined after all others, and later than a polling member would have."""

    participant: Participant
    rebalance: Rebalance
    joined_at: int


def _last_to_rejoin(timeline: Timeline, rebalance: Rebalance) -> tuple[Participant, int] | None:
    """The member with the last JoinGroup and its time, or None; the barrier does not wait for newcomers."""
    # A newcomer joined for the first time, or its process started, since just before the rebalance began.
    begin = rebalance.started_at - all_have_heard_ms(timeline)
    joins = sorted(rebalance.join_sent_at.items(), key=lambda join: (-join[1], join[0].name))
    return next((join for join in joins if not _is_newcomer(timeline, join[0], begin, join[1])), None)


def _is_newcomer(timeline: Timeline, participant: Participant, begin: int, joined: int) -> bool:
    arrivals = timeline.arrivals.of(participant).between(begin, joined + ROUND_TRIP_MS)
    return any(a.first for a in arrivals) or timeline.starts.of(participant).any_between(begin, joined)


def late_join(timeline: Timeline, rebalance: Rebalance) -> LateJoin | None:
    """The member that delayed a rebalance for longer than polling members need to rejoin, or None."""
    # A member that joins after the generation is complete delayed no other member; neither did a member that had to
    # wait until another broker coordinated the group.
    last = _last_to_rejoin(timeline, rebalance)
    if last is None:
        return None
    (participant, joined), begin, closed = last, rebalance.started_at, rebalance.stabilized_at
    # It learns about the rebalance with its next heartbeat, which depends on heartbeat.interval.ms.
    answered_by = begin + NEXT_HEARTBEAT_MS + max(heartbeat_interval_ms(timeline) - HEARTBEAT_MS, 0)
    if joined <= answered_by or (closed is not None and joined > closed + ROUND_TRIP_MS):
        return None
    if timeline.of(GroupLoaded).any_between(begin, joined):
        return None
    return LateJoin(participant, rebalance, joined)


@cached_answer
def late_joins(timeline: Timeline) -> Mapping[Participant, Sequence[LateJoin]]:
    """The late joins of each member, oldest first."""
    found = (late for rebalance in timeline.rebalances if (late := late_join(timeline, rebalance)) is not None)
    return grouped(found, attrgetter("participant"))


def awaited(timeline: Timeline, rebalance: Rebalance) -> tuple[Participant, ...]:
    """The members that a barrier waited for until it ended; empty if no line shows one.

    A leader that was replaced, members that were removed at the rebalance timeout or did not rejoin according to their
    logs, else the last member to rejoin, else the only member that did not join and has no log.
    """
    begin, end = rebalance.started_at, rebalance.barrier_end()
    replaced = timeline.of(LeaderReplaced).between(begin, end + TICK_MS)
    if leaders := [who for e in replaced if (who := timeline.participants.of_member(e.member)) is not None]:
        return tuple(dict.fromkeys(leaders))
    if removed := removed_at_timeout(timeline, rebalance):
        return tuple(dict.fromkeys(d.participant for d in removed))
    if absent := notices_of_absent(timeline, rebalance):
        return tuple(absent)
    late = late_join(timeline, rebalance)
    if late is not None and end - late.joined_at < ROUND_TRIP_MS:
        return (late.participant,)
    reach = all_have_heard_ms(timeline) - 1
    new = (a.participant for a in timeline.arrivals.between(begin - reach, begin + reach) if a.first)
    joined = {*rebalance.join_sent_at, *new}
    members = tuple(m for m in timeline.membership.members if m not in joined and not m.has_log)
    return members if len(members) == 1 and rebalance.join_sent_at else ()


def removed_at_timeout(timeline: Timeline, rebalance: Rebalance) -> list[Departure]:
    """The members that the coordinator removed when the barrier ended, because they had not rejoined."""
    expired = timeline.departures.between(rebalance.started_at, rebalance.barrier_end() + TICK_MS)
    return [departure for departure in expired if departure.why == "rebalance-timeout"]


def notices_of_absent(timeline: Timeline, rebalance: Rebalance) -> dict[Participant, tuple[Event, ...]]:
    """The members whose logs show that they knew of a rebalance and did not rejoin, and their rebalance notices.

    Only members get a notice, so they were in the group until the coordinator removed them at the rebalance timeout.
    """
    begin, end = rebalance.started_at, rebalance.barrier_end()
    if timeline.has_coordinator_log:
        return {}
    answers = timeline.of(HeartbeatFailed, JoinRequested).between(begin, end)
    noticed = lists_by_key((timeline.participants.of_speaker(e), e) for e in answers if is_rebalance_notice(e))
    left = {d.participant for d in timeline.departures.between(begin + 1, end)}
    return {
        who: tuple(events)
        for who, events in noticed.items()
        if who is not None
        and who not in left
        and len(events) > 1
        and not timeline.events_from(who, JoinStarted).any_between(begin, end)
    }


def joins_are_logged(rebalance: Rebalance) -> bool:
    """True if the log of some member shows its JoinGroup for this rebalance."""
    return bool(rebalance.join_sent_at)


def joined_at(rebalance: Rebalance, participant: Participant) -> int | None:
    """When a member sent its last JoinGroup for this rebalance; None if its log does not show it."""
    return rebalance.join_sent_at.get(participant)


def was_first_to_join(rebalance: Rebalance, participant: Participant) -> bool:
    """True if no log shows a JoinGroup for this rebalance before the member's."""
    return joined_at(rebalance, participant) == min(rebalance.join_sent_at.values(), default=None)
