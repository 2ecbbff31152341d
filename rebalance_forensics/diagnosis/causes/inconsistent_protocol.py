"""A member with no common assignor or another protocol (INCONSISTENT_GROUP_PROTOCOL, KIP-848 migration)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, span, times, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of, the_group
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.join_rejections import REJECTED, around_rejection, rejected
from rebalance_forensics.diagnosis.mixed_protocols import Mixture, mixtures
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.timeline.group_timeline import Timeline

MIGRATION_REFUSED = stated(
    "migration-refused", present="the coordinator refused to let members of both group protocols into the group"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame clients whose assignors, or whose group protocol, the group does not accept."""
    yield from rejected(
        timeline,
        frozenset({"INCONSISTENT_GROUP_PROTOCOL"}),
        ("InconsistentGroupProtocolException",),
        "was turned away: it shares no assignor (or not the protocol type) with the members of the group.",
        Advice(
            action=(
                "Give all members one common partition.assignment.strategy and migrate in two rolling restarts; mix "
                "classic and consumer protocol members only as group.consumer.migration.policy allows."
            ),
            why="The coordinator only takes members that support an assignor all others support.",
            cost="Two rolling restarts: each costs a rebalance for every member that goes and comes.",
        ),
    )
    for mixture in mixtures(timeline):
        yield _refused_migration(timeline, mixture)


def _refused_migration(timeline: Timeline, mixture: Mixture) -> Hypothesis:
    facts = [f for actor in mixture.actors for f in around_rejection(timeline, actor, mixture.begin, mixture.end)]
    culprits = culprits_of(timeline, mixture.actors) if mixture.actors else (the_group(timeline),)
    who = ", ".join(c.name for c in culprits) if mixture.actors else "A member"
    group = "classic" if mixture.joined_with == "consumer" else "consumer"
    reason = f" ({mixture.reason})" if mixture.reason else ""
    return Hypothesis(
        because=distinct_events(mixture.lines),
        culprits=culprits,
        answers={MIGRATION_REFUSED: Present(mixture.lines)},
        actors=mixture.actors,
        severity="warning",
        brings=(*facts, *touched(timeline, facts)),
        narrative=(
            f"{who} was turned away: it joins with the {mixture.joined_with} protocol, the group uses the {group} one, "
            f"and the coordinator does not convert it{reason}."
        ),
        advice=(
            Advice(
                action=(
                    "Allow the migration with group.consumer.migration.policy on the brokers, or start all members "
                    "with the same group.protocol."
                ),
                why=f"The coordinator refused it {times(len(mixture.lines))}{span(mixture.lines)}.",
                cost="A group that is converted takes no custom client-side assignors.",
            ),
        ),
    )


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
    signs=(speaks_for(REJECTED, DECISIVE + WEAK), speaks_for(MIGRATION_REFUSED, DECISIVE + WEAK)),
    brings=("member-left", "scale-in", "scale-out", "shutdown"),
    lookalikes=("group-max-size", "authorization-failure"),
    settings=("partition.assignment.strategy", "group.protocol", "group.consumer.migration.policy"),
    kips=("KIP-429", "KIP-848"),
)
