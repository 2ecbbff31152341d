"""A member with no common assignor or another protocol (INCONSISTENT_GROUP_PROTOCOL, KIP-848 migration)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.assignors import share_an_assignor
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import REJECTING, Refusal, rejections
from rebalance_forensics.diagnosis.episodes.coordinator.mixed_protocols import MIXING, mixed_protocols
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals import rejections as refusals
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.events.rebalances import JoinSucceeded
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant

OF_KAFKA = {
    "RangeAssignor": "range",
    "RoundRobinAssignor": "roundrobin",
    "StickyAssignor": "sticky",
    "CooperativeStickyAssignor": "cooperative-sticky",
    "StreamsPartitionAssignor": "stream",
}
"""ConsumerPartitionAssignor.name() of each, which JoinGroup carries."""
ASSIGNORS = "partition.assignment.strategy"
NOTHING_IN_COMMON = Refusal(frozenset({"INCONSISTENT_GROUP_PROTOCOL"}), ("InconsistentGroupProtocolException",))


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame clients whose assignors, or whose group protocol, the group does not accept."""
    for rejection in rejections(timeline, NOTHING_IN_COMMON):
        yield refusals.about_rejection(
            timeline,
            rejection,
            narrative=f"{{who}} was rejected: {nothing_in_common(timeline, rejection.participant)}.",
            advice=share_an_assignor(rejection.events),
        )
    yield from (refusals.about_refused_migration(timeline, mixture) for mixture in mixed_protocols(timeline))


def nothing_in_common(timeline: Timeline, participant: Participant) -> str:
    """What it offered and what the group uses, as far as its configuration and the others' logs show it."""
    offered = {
        assignors
        for dump in timeline.own.of_type(SettingsReported)
        if dict(dump.settings).get("client.id") in participant.client_ids
        and (assignors := _names_of_assignors(dict(dump.settings).get(ASSIGNORS, "")))
    }
    used = {e.protocol for e in timeline.of(JoinSucceeded) if e.protocol}
    if len(offered) != 1 or len(used) != 1:
        return "it has no assignor, or not even the protocol type, in common with the group"
    return f"it offers only {', '.join(offered.pop())}; the group uses {used.pop()}"


def _names_of_assignors(classes: str) -> tuple[str, ...]:
    """`roundrobin` of a list of classes as a configuration prints it; an assignor not of Kafka's by its class."""
    found = re.findall(r"(\w+)(?=[\],\s]|$)", classes)
    return tuple(OF_KAFKA.get(name, name) for name in found)


CAUSE = Cause(
    summary="A member has no assignor, or not even the protocol, in common with the group.",
    mechanism=(
        "The coordinator chooses an assignor that every member supports. A join without a common one fails with "
        "INCONSISTENT_GROUP_PROTOCOL, which is fatal for that client. Members of the classic and the consumer protocol "
        "share a group only while group.consumer.migration.policy lets the coordinator convert it."
    ),
    shows=(
        "INCONSISTENT_GROUP_PROTOCOL in the client's log, where the broker logs nothing at INFO; 'Cannot upgrade "
        "classic group … to consumer group' on the coordinator, 'Group … is not a consumer group' on the client."
    ),
    remedy=(
        "List the old and the new assignor in all members first, then drop the old one; migrate to the consumer "
        "protocol with group.consumer.migration.policy set to allow it."
    ),
    usual="fault",
    propose=propose,
    evidence_types=(*REJECTING, *MIXING),
    signs=(speaks_for(refusals.REJECTED, DECISIVE + WEAK), speaks_for(refusals.MIGRATION_REFUSED, DECISIVE + WEAK)),
    implies=("member-left", "scale-in", "scale-out", "shutdown"),
    lookalikes=("group-max-size", "authorization-failure"),
    settings=("partition.assignment.strategy", "group.protocol", "group.consumer.migration.policy"),
    kips=("KIP-429", "KIP-848"),
)
