"""Clients that were turned away, and what they were told."""

from __future__ import annotations

from rebalance_forensics.diagnosis.advice.brokers import allow_migration
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import Rejection, around_rejection
from rebalance_forensics.diagnosis.episodes.coordinator.mixed_protocols import Mixture
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, the_group
from rebalance_forensics.timeline.group_timeline import Timeline

REJECTED = stated("rejected", present="the coordinator turned it away with this error")
MIGRATION_REFUSED = stated(
    "migration-refused", present="the coordinator refused to let members of both group protocols into the group"
)


def about_rejection(
    timeline: Timeline, rejection: Rejection, *, narrative: str, advice: tuple[Advice, ...]
) -> Hypothesis:
    """A client was turned away, for one reason."""
    culprits = culprits_of(timeline, [rejection.participant])
    return Hypothesis(
        because=rejection.events,
        culprits=culprits,
        answers={REJECTED: Present(distinct_events(rejection.events))},
        participants=(rejection.participant,),
        severity="warning",
        brings=with_rebalances(timeline, rejection.facts(timeline)),
        narrative=narrative.replace("{who}", culprits[0].name),
        advice=advice,
    )


def about_refused_migration(timeline: Timeline, mixture: Mixture) -> Hypothesis:
    """Members of one group protocol were turned away from a group of the other."""
    whose = mixture.participants
    facts = [f for p in whose for f in around_rejection(timeline, p, mixture.begin, mixture.end)]
    culprits = culprits_of(timeline, whose) if whose else (the_group(timeline),)
    who = ", ".join(c.name for c in culprits) if whose else "A member"
    group = "classic" if mixture.joined_with == "consumer" else "consumer"
    return Hypothesis(
        because=mixture.lines,
        culprits=culprits,
        answers={MIGRATION_REFUSED: Present(mixture.lines)},
        participants=whose,
        severity="warning",
        brings=with_rebalances(timeline, facts),
        narrative=(
            f"{who} was turned away: it joins with the {mixture.joined_with} protocol, the group uses the {group} one, "
            f"and the coordinator does not convert it{f' ({mixture.reason})' if mixture.reason else ''}."
        ),
        advice=allow_migration(mixture.lines),
    )
