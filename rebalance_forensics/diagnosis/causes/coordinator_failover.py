"""The coordinator broker died, froze, restarted or handed the group over."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_moves import chains_of_moves
from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_silences import coordinator_silences
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.coordinator import STOOD_STILL, about_moves, about_silence
from rebalance_forensics.diagnosis.signs.coordinator import (
    ANSWERED,
    FOUND_ANOTHER,
    LOADED,
    LOST_BY_MOST,
    REFUSED_A_STARTER,
    REFUSED_AGAIN,
    SUCCEEDED,
    UNLOADED,
    offsets_outage_meanwhile,
)
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Moves of the coordinator after the first generation, in a chain where brokers go in turn, and its silences."""
    yield from (about_moves(timeline, chain) for chain in chains_of_moves(timeline))
    yield from (about_silence(timeline, silence) for silence in coordinator_silences(timeline))


CAUSE = Cause(
    summary="The coordinator broker died, froze, restarted or handed the group over.",
    mechanism=(
        "A group lives on the leader of one __consumer_offsets partition. When that moves, the new leader"
        " loads the group's metadata and the members find it again; generations continue where they were "
        "unless sessions expire meanwhile."
    ),
    shows="Load and unload lines, Resigned/Elected, 'coordinator unavailable' at many members, in many groups at once.",
    remedy=(
        "Find out why the broker stopped; keep __consumer_offsets replicated and small, and session.timeout.ms above"
        " the duration of a failover."
    ),
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(LOADED, DECISIVE + WEAK),
        speaks_for(LOST_BY_MOST, DECISIVE),
        speaks_for(FOUND_ANOTHER, DECISIVE),
        speaks_for(UNLOADED, DECISIVE),
        speaks_for(SUCCEEDED, DECISIVE),
        speaks_for(ANSWERED, STRONG),
        speaks_for(STOOD_STILL, STRONG),
        speaks_for(REFUSED_A_STARTER, 0),
        speaks_for(REFUSED_AGAIN, WEAK),
        speaks_against(offsets_outage_meanwhile, 2 * DECISIVE),
    ),
    implies=(
        *("network-partition", "process-pause", "process-crash", "slow-processing", "rebalance-straggler"),
        *("scale-out", "startup", "unstable-leader", "enforced-rebalance", "member-left"),
    ),
    lookalikes=("network-partition",),
    settings=("offsets.topic.replication.factor", "session.timeout.ms", "controlled.shutdown.enable"),
)
