"""`__consumer_offsets` cannot be written."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import outages
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.coordinator import REFUSED, TOO_FEW, about_outage
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Assignments or commits that could not be stored, with the shrunk ISR of the offsets topic behind them."""
    yield from (about_outage(timeline, outage) for outage in outages(timeline))


CAUSE = Cause(
    summary="__consumer_offsets cannot be written, so no assignment can be stored.",
    mechanism="SyncGroup ends with a write to __consumer_offsets with acks=all. With fewer replicas in sync than "
    "min.insync.replicas it fails, the coordinator starts the rebalance again, over and over.",
    shows=(
        "'Error … when storing group assignment during SyncGroup', NOT_ENOUGH_REPLICAS on "
        "__consumer_offsets, an ISR shrink before."
    ),
    remedy="Bring the missing broker back; three replicas, min.insync.replicas 2.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(REFUSED, DECISIVE), speaks_for(TOO_FEW, WEAK)),
    implies=(
        "coordinator-failover",
        "network-partition",
        "process-pause",
        "process-crash",
        "rebalance-straggler",
        "scale-out",
        "startup",
        "assignment-failure",
        "unstable-leader",
    ),
    settings=("min.insync.replicas", "offsets.topic.replication.factor", "offsets.commit.required.acks"),
)
