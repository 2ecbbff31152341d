"""A static member came back in time: no rebalance (KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.static_returns import RETURNS, static_returns
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.static_returns import (
    FORMER_UNHEARD,
    REPLACED,
    SAME_GENERATION,
    about_returns,
)
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Static members replaced by themselves, told by the coordinator or by a rejoin of the same generation."""
    yield from (about_returns(timeline, group) for group in static_returns(timeline))


CAUSE = Cause(
    summary="A static member came back in time; the group did not rebalance.",
    mechanism=(
        "A static member (group.instance.id) sends no LeaveGroup. When it joins again within "
        "session.timeout.ms the coordinator replaces its member id and returns the cached assignment."
    ),
    shows=(
        "'Static member … Replacing previously mapped member', 'will not trigger rebalance', the same "
        "generation as before."
    ),
    remedy="Nothing to do: this is what static membership is for.",
    usual="planned",
    propose=propose,
    told_by=RETURNS,
    signs=(
        speaks_for(REPLACED, DECISIVE + WEAK),
        speaks_for(SAME_GENERATION, DECISIVE),
        speaks_against(FORMER_UNHEARD, STRONG + WEAK),
    ),
    brings=("rolling-restart", "scale-out", "member-left", "static-member-expired"),
    lookalikes=("static-member-fenced", "rolling-restart"),
    settings=("group.instance.id", "session.timeout.ms"),
    kips=("KIP-345",),
)
