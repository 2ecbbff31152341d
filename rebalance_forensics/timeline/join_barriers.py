"""Which member a join barrier waited for.

The coordinator answers JoinGroup once every member has rejoined (GroupCoordinator.onCompleteJoin), so the member whose
JoinGroup came last held up all others. Lanes, unread time, the cause `rebalance-straggler` and what-if all ask here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from msgspec import Struct

from rebalance_forensics.events.coordinator import GroupLoaded
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, answered_once
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.timeouts import all_have_heard_ms, heartbeat_interval_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, NEXT_HEARTBEAT_MS, ROUND_TRIP_MS


class LateJoin(Struct, frozen=True):
    """A member that rejoined after all others, and later than one that polls does."""

    participant: Participant
    rebalance: Rebalance
    joined_at: int


def last_to_rejoin(timeline: Timeline, rebalance: Rebalance) -> tuple[Participant, int] | None:
    """The member whose JoinGroup came last, and when; newcomers keep nobody waiting."""
    # A newcomer is one that joined the group for the first time, or whose process started, since the rebalance began or
    # just before.
    begin = rebalance.started_at - all_have_heard_ms(timeline)
    joins = sorted(rebalance.joined_at.items(), key=lambda join: (-join[1], join[0].name))
    return next((join for join in joins if not _is_newcomer(timeline, join[0], begin, join[1])), None)


def _is_newcomer(timeline: Timeline, participant: Participant, begin: int, joined: int) -> bool:
    arrivals = timeline.arrivals.of(participant).between(begin, joined + ROUND_TRIP_MS)
    return any(a.first for a in arrivals) or timeline.starts.of(participant).any_between(begin, joined)


def late_join(timeline: Timeline, rebalance: Rebalance) -> LateJoin | None:
    """The member that kept a rebalance open for longer than members need that poll."""
    # A member that joins once the generation is complete kept nobody waiting; nor does one that has to wait itself
    # until another broker coordinates the group.
    last = last_to_rejoin(timeline, rebalance)
    if last is None:
        return None
    (participant, joined), begin, closed = last, rebalance.started_at, rebalance.stabilized_at
    # It hears of the rebalance at its next heartbeat: with a longer heartbeat.interval.ms that much later.
    answered_by = begin + NEXT_HEARTBEAT_MS + max(heartbeat_interval_ms(timeline) - HEARTBEAT_MS, 0)
    if joined <= answered_by or (closed is not None and joined > closed + ROUND_TRIP_MS):
        return None
    if timeline.of(GroupLoaded).any_between(begin, joined):
        return None
    return LateJoin(participant, rebalance, joined)


@answered_once
def late_joins(timeline: Timeline) -> Mapping[Participant, Sequence[LateJoin]]:
    """Every late join of each member, oldest first."""
    found = (late for rebalance in timeline.rebalances if (late := late_join(timeline, rebalance)) is not None)
    return grouped(found, attrgetter("participant"))
