"""One member held up the join barrier."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.barriers import (
    HEARD,
    LAST,
    LONG,
    REMOVED,
    REMOVED_AGAIN,
    WAITED_ALONE,
    about_barriers,
)
from rebalance_forensics.diagnosis.signs import barriers
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Join barriers open longer than heartbeats and the initial delay explain; members removed at the timeout."""
    yield from about_barriers(timeline)


CAUSE = Cause(
    summary="One member held up a rebalance; the whole group waited for it.",
    mechanism=(
        "The coordinator creates a generation only when every known member has sent JoinGroup, or when the rebalance "
        "timeout (max.poll.interval.ms) expires. Under eager rebalancing no member reads meanwhile."
    ),
    shows=(
        "A long time between 'Preparing to rebalance' and 'Stabilized'; one member rejoins last, or 'removed … "
        "who haven't joined'; a client whose own log repeats 'group is already rebalancing' and does not rejoin."
    ),
    remedy="Make that member poll: a rebalance is only as fast as its slowest member.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(LONG, STRONG),
        speaks_for(LAST, STRONG),
        speaks_for(REMOVED, STRONG),
        speaks_for(REMOVED_AGAIN, STRONG),
        speaks_for(HEARD, STRONG),
        speaks_against(WAITED_ALONE, WEAK),
        speaks_against(barriers.heartbeats_may_explain, STRONG + WEAK),
        speaks_against(barriers.session_expiry_ended_it, DECISIVE),
        speaks_against(barriers.member_lost_meanwhile, DECISIVE - WEAK),
        speaks_against(barriers.coordinator_out_of_reach, DECISIVE),
        speaks_against(barriers.coordinator_moved_meanwhile, DECISIVE),
    ),
    brings=("scale-out", "subscription-change", "unstable-leader"),
    lookalikes=("coordinator-failover",),
    settings=("max.poll.interval.ms", "heartbeat.interval.ms", "group.initial.rebalance.delay.ms", "group.protocol"),
    kips=("KIP-62", "KIP-848"),
)
