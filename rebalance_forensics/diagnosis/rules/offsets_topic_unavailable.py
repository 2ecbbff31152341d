"""`__consumer_offsets` cannot be written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.absences import distinct_events, runs, span, times, touched
from rebalance_forensics.diagnosis.culprits import broker
from rebalance_forensics.diagnosis.finding import CERTAIN, LIKELY, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, IsrChanged, NodeDisconnected, ReplicasInsufficient
from rebalance_forensics.events.partitions import OffsetCommitFailed
from rebalance_forensics.events.process import BrokerStopped
from rebalance_forensics.events.rebalancing import AssignmentNotStored, RebalanceStarted, SyncFailed
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.told import time_of

ONE_OUTAGE_MS = 300_000
AROUND_MS = 5_000
AGAIN = 5
LASTING_MS = 10_000
OFFSETS = "__consumer_offsets"
MOVED = ("NOT_COORDINATOR", "NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_FOR_PARTITION")
"""A broker that stood still writes for groups it has lost: the topic is there, with another leader."""


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Assignments that could not be stored, with the shrunk ISR of the offsets topic behind them."""
    for run in runs(_refused_writes(timeline), time_of, ONE_OUTAGE_MS):
        yield _finding(timeline, sorted(run, key=time_of))


def _refused_writes(timeline: Timeline) -> list[Event]:
    """Assignments that were not stored; where none is told, the commits that were not."""
    told = timeline.of(AssignmentNotStored, RebalanceStarted)
    own: list[Event] = [e for e in told if _is_refused(timeline, e)] or _again_and_again(timeline)
    syncs = [e for e in timeline.of(SyncFailed) if e.error in ("COORDINATOR_NOT_AVAILABLE", "NOT_ENOUGH_REPLICAS")]
    if own or len(syncs) > 2:
        return [*own, *syncs]
    commits = _refused_commits(timeline)
    return [*syncs, *commits] if commits else []


def _refused_commits(timeline: Timeline) -> list[Event]:
    """A coordinator that answers commits with COORDINATOR_NOT_AVAILABLE for long is there, and cannot write."""
    told: list[Event] = [e for e in timeline.of(OffsetCommitFailed) if e.error == "COORDINATOR_NOT_AVAILABLE"]
    lasting = len(told) >= AGAIN and time_of(told[-1]) - time_of(told[0]) >= LASTING_MS
    return told if lasting else []


def _again_and_again(timeline: Timeline) -> list[Event]:
    """Before 2.1 no coordinator says why it begins again: many rebalances while the topic refuses writes tell it."""
    refused = [e for e in timeline.of(ReplicasInsufficient) if (e.partition or "").startswith(OFFSETS)]
    if not refused:
        return []
    rebalances = timeline.rebalances.between(time_of(refused[0]) - AROUND_MS, time_of(refused[-1]) + AROUND_MS)
    return [e for r in rebalances for e in r.events[:1]] if len(rebalances) >= AGAIN else []


def _is_refused(timeline: Timeline, event: Event) -> bool:
    match event:
        case AssignmentNotStored():
            return event.group == timeline.group and event.error not in MOVED
        case RebalanceStarted(trigger="assignment-not-stored"):
            return True
    return False


def _finding(timeline: Timeline, run: Sequence[Event]) -> Finding:
    begin, end = time_of(run[0]), time_of(run[-1])
    shrunk = [
        e
        for e in timeline.of(IsrChanged).between(begin - 180_000, end)
        if e.direction == "shrunk" and e.partition.startswith(OFFSETS)
    ]
    stopped = timeline.of(BrokerStopped).between(begin - 180_000, end)
    culprits = _culprits(timeline, shrunk, stopped, begin)
    facts: list[Fact] = [*timeline.requests.between(begin - 1_000, end + 5_000)]
    facts += timeline.arrivals.between(begin - 30_000, end + 5_000)
    gone = timeline.departures.between(begin - 1_000, end + 5_000)
    facts += [d for d in gone if d.why not in ("closed", "unsubscribed")]
    rebalances = timeline.rebalances.between(begin - 5_000, end + 10_000)
    insufficient = timeline.of(ReplicasInsufficient).between(begin - 30_000, end + 30_000)
    near = [e for e in insufficient if e.partition is not None and e.partition.startswith(OFFSETS)]
    return Finding(
        because=distinct_events([*run[:6], *shrunk[:4], *near[:3], *stopped[:2], *run[6:]]),
        culprits=culprits,
        confidence=CERTAIN if shrunk or near else LIKELY,
        severity="critical",
        onset=begin,
        claims=(*facts, *rebalances, *touched(timeline, facts)),
        narrative=f"The coordinator could not write the group's assignment to {OFFSETS}: "
        "every rebalance failed and began again"
        + (f"; {', '.join(c.name for c in culprits)} was missing from its replicas." if culprits else "."),
        advice=(
            Advice(
                action=f"Bring the missing replica back, or lower min.insync.replicas of {OFFSETS} until it is.",
                why=(
                    "The write needs min.insync.replicas replicas in sync; "
                    f"it was refused {times(len(run))}{span(run)}."
                ),
                cost="Fewer replicas mean that one more failure may lose committed offsets.",
            ),
            Advice(
                action=f"Give {OFFSETS} three replicas and min.insync.replicas=2.",
                why="One broker may then be away.",
                cost="Each commit then waits for a second broker.",
            ),
        ),
    )


def _culprits(
    timeline: Timeline, shrunk: Sequence[IsrChanged], stopped: Sequence[BrokerStopped], begin: int
) -> tuple[Culprit, ...]:
    gone = sorted({b for e in shrunk for b in set(e.before) - set(e.after)})
    down = sorted({b for e in stopped if (b := e.broker if e.broker is not None else e.speaker.broker) is not None})
    both = [b for b in gone if b in down] or gone or down
    if both:
        return tuple(broker(b) for b in both)
    nodes = [e.node for e in timeline.of(NodeDisconnected).since(begin - 60_000)]
    lost = [e.coordinator for e in timeline.of(CoordinatorLost).since(begin - 60_000)]
    refusing = {e.speaker.broker for e in timeline.of(ReplicasInsufficient).since(begin - 60_000)}
    refusing |= set(lost) if _refused_commits(timeline) else set()
    known = [n for n in (*lost, *nodes) if n is not None and 0 <= n < 2**30 and n not in refusing]
    return (broker(max(set(known), key=known.count)),) if known else ()


RULE = Rule(
    summary="__consumer_offsets cannot be written, so no assignment can be stored.",
    mechanism="SyncGroup ends with a write to __consumer_offsets with acks=all. With fewer replicas in sync than "
    "min.insync.replicas it fails, the coordinator starts the rebalance again, and so on.",
    signs=(
        "'Error … when storing group assignment during SyncGroup', NOT_ENOUGH_REPLICAS on "
        "__consumer_offsets, an ISR shrink before."
    ),
    remedy="Bring the missing broker back; three replicas, min.insync.replicas 2.",
    usual="fault",
    rank=11,
    diagnose=diagnose,
    settings=("min.insync.replicas", "offsets.topic.replication.factor", "offsets.commit.required.acks"),
)
