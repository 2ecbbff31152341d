"""`__consumer_offsets` cannot be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.absences import distinct_events, span, times, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import broker
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.offsets_outages import OFFSETS, Outage, outages
from rebalance_forensics.diagnosis.setting_spans import offsets_write_ms
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import CLOCK_SLACK_MS, REQUEST_TIMEOUT_MS

REFUSED = stated("offsets-write-refused", present=f"writes to {OFFSETS} were refused again and again")
TOO_FEW = stated("too-few-replicas", present=f"a broker logged too few in-sync replicas of {OFFSETS}")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Assignments or commits that could not be stored, with the shrunk ISR of the offsets topic behind them."""
    for outage in outages(timeline):
        yield _hypothesis(timeline, outage)


def _hypothesis(timeline: Timeline, outage: Outage) -> Hypothesis:
    short = (*outage.shrunk, *outage.insufficient)
    culprits = tuple(broker(number) for number in outage.missing)
    gone = f"; {', '.join(c.name for c in culprits)} was missing from its replicas." if culprits else "."
    facts = _effects(timeline, outage)
    return Hypothesis(
        because=distinct_events(
            [
                *outage.refused[:6],
                *outage.shrunk[:4],
                *outage.insufficient[:3],
                *outage.stopped[:2],
                *outage.refused[6:],
            ]
        ),
        culprits=culprits,
        answers={REFUSED: Present(outage.refused)} | ({TOO_FEW: Present(short)} if short else {}),
        severity="critical",
        onset=outage.begin,
        brings=(*facts, *_rebalances(timeline, outage), *touched(timeline, facts)),
        narrative=f"The coordinator could not write the group's assignment to {OFFSETS}: "
        f"every rebalance failed and began again{gone}",
        advice=_advice(outage.refused),
    )


def _effects(timeline: Timeline, outage: Outage) -> list[Fact]:
    """Who asked, came or was lost while nothing could be written."""
    begin, end = outage.begin - CLOCK_SLACK_MS, outage.end + offsets_write_ms(timeline)
    facts: list[Fact] = [*timeline.requests.between(begin, end)]
    facts += timeline.arrivals.between(outage.begin - REQUEST_TIMEOUT_MS, end)
    gone = timeline.departures.between(begin, end)
    return facts + [d for d in gone if d.why not in ("closed", "unsubscribed")]


def _rebalances(timeline: Timeline, outage: Outage) -> list[Fact]:
    write = offsets_write_ms(timeline)
    return [*timeline.rebalances.between(outage.begin - write, outage.end + 2 * write)]


def _advice(refused: Sequence[Event]) -> tuple[Advice, ...]:
    return (
        Advice(
            action=f"Bring the missing replica back, or lower min.insync.replicas of {OFFSETS} until it is.",
            why=(
                "The write needs min.insync.replicas replicas in sync; "
                f"it was refused {times(len(refused))}{span(refused)}."
            ),
            cost="Fewer replicas mean that one more failure may lose committed offsets.",
        ),
        Advice(
            action=f"Give {OFFSETS} three replicas (kafka-reassign-partitions.sh) and min.insync.replicas=2.",
            why="One broker may then be away; offsets.topic.replication.factor does not change a topic that exists.",
            cost="Each commit then waits for a second broker.",
        ),
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
