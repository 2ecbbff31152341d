"""The members were restarted one after another."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.restart_walks import restart_walks
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.restarts import about_walk
from rebalance_forensics.diagnosis.signs import closings
from rebalance_forensics.diagnosis.signs.walks import ALL_BACK, CUT, EXPIRED_IN_TURN, ONLY_LISTED, WALKED
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Restarts that walk over at least two members and most of the group."""
    yield from (about_walk(timeline, walk) for walk in restart_walks(timeline))


CAUSE = Cause(
    summary="The members were restarted one after another, as a deployment does.",
    mechanism="Each restart is a leave and a join: two rebalances per member, more when restarts overlap.",
    shows="One member after another leaves (or expires) and joins again, at a steady pace.",
    remedy=(
        "Static membership with a session timeout above the restart "
        "time; with cooperative rebalancing or KIP-848 the others keep reading."
    ),
    usual="planned",
    propose=propose,
    signs=(
        speaks_for(WALKED, STRONG),
        speaks_for(ALL_BACK, STRONG),
        speaks_against(ONLY_LISTED, STRONG + WEAK),
        speaks_against(EXPIRED_IN_TURN, STRONG + WEAK),
        speaks_against(CUT, STRONG),
        speaks_against(closings.why_unheard, STRONG),
    ),
    implies=(
        "member-left",
        "process-crash",
        "scale-in",
        "scale-out",
        "startup",
        "static-member-expired",
        "unsubscribe",
    ),
    lookalikes=("scaling-flap", "slow-processing", "member-left", "process-crash"),
    settings=("group.instance.id", "session.timeout.ms"),
    kips=("KIP-345", "KIP-429"),
)
