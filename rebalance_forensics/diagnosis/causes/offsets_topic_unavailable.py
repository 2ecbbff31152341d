"""`__consumer_offsets` cannot be written."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.brokers import replicate_offsets
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import OFFSETS, outages
from rebalance_forensics.diagnosis.episodes.coordinator.outage_effects import moves_in_outage, rebalances_in_outage
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import broker
from rebalance_forensics.timeline.group_timeline import Timeline

REFUSED = stated("offsets-write-refused", present=f"writes to {OFFSETS} were refused again and again")
TOO_FEW = stated("too-few-replicas", present=f"a broker logged too few in-sync replicas of {OFFSETS}")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Assignments or commits that could not be stored, with the shrunk ISR of the offsets topic behind them."""
    for outage in outages(timeline):
        short = (*outage.shrunk, *outage.insufficient)
        culprits = tuple(broker(number) for number in outage.missing)
        gone = f"; {', '.join(c.name for c in culprits)} was missing from its replicas." if culprits else "."
        moves = with_rebalances(timeline, moves_in_outage(timeline, outage))
        yield Hypothesis(
            because=outage.lines,
            culprits=culprits,
            answers={REFUSED: Present(outage.refused)} | ({TOO_FEW: Present(short)} if short else {}),
            severity="critical",
            onset=outage.begin,
            brings=(*moves, *rebalances_in_outage(timeline, outage)),
            narrative=(
                f"The coordinator could not write the group's assignment to {OFFSETS}: every rebalance failed and "
                f"began again{gone}"
            ),
            advice=replicate_offsets(outage.refused),
        )


CAUSE = Cause(
    summary="__consumer_offsets cannot be written, so no assignment can be stored.",
    mechanism="SyncGroup ends with a write to __consumer_offsets with acks=all. With fewer replicas in sync than "
    "min.insync.replicas it fails, the coordinator starts the rebalance again, and so on.",
    shows=(
        "'Error … when storing group assignment during SyncGroup', NOT_ENOUGH_REPLICAS on "
        "__consumer_offsets, an ISR shrink before."
    ),
    remedy="Bring the missing broker back; three replicas, min.insync.replicas 2.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(REFUSED, DECISIVE), speaks_for(TOO_FEW, WEAK)),
    brings=(
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
