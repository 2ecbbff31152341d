"""A member may not use the group or topic."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.brokers import grant_access
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import denied, is_out, words_of_denial
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import DENIED_BEFORE_MS, REJECTED_AWAY_MS

DENIED = stated("denied", present="the brokers answered it with an authorization error")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame clients that were denied the group or its topics."""
    for participant, events in sorted(denied(timeline).items(), key=lambda item: item[0].name):
        first, last = events[0].at or 0, events[-1].at or 0
        culprits = culprits_of(timeline, [participant])
        moves = timeline.moves(first - DENIED_BEFORE_MS, last + REJECTED_AWAY_MS, participant)
        yield Hypothesis(
            because=events,
            culprits=culprits,
            answers={DENIED: Present(distinct_events(events))},
            participants=(participant,),
            severity="critical" if is_out(timeline, participant, last) else "warning",
            brings=with_rebalances(timeline, moves),
            struck_at=first,
            narrative=f"{culprits[0].name} is not authorized: {words_of_denial(events[0]).rstrip('. ')}.",
            advice=grant_access(events),
        )


CAUSE = Cause(
    summary="A member may not use the group or the topic.",
    mechanism=(
        "FindCoordinator needs DESCRIBE on the group and is the first request to fail; JoinGroup then needs READ on "
        "the group, Metadata DESCRIBE and Fetch READ on the topics. An authorization error is fatal for the consumer; "
        "it closes or tries again in a loop."
    ),
    shows="GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED.",
    remedy="Fix the ACLs of the client's principal: READ (it implies DESCRIBE) on the group and on the topics.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(DENIED, DECISIVE + WEAK),),
    brings=(
        "member-left",
        "scale-in",
        "shutdown",
        "process-pause",
        "process-crash",
        "rolling-restart",
        "coordinator-failover",
        "scale-out",
    ),
    lookalikes=("group-max-size", "inconsistent-protocol"),
    settings=("allow.everyone.if.no.acl.found",),
)
