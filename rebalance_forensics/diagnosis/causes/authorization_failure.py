"""A member may not use the group or topic."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.denied_principals import denied_principals
from rebalance_forensics.diagnosis.episodes.coordinator.denied_topics import denied_topics
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import DENYING, denied
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals import rejections
from rebalance_forensics.diagnosis.proposals.logins import NOT_AUTHENTICATED, about_failed_logins
from rebalance_forensics.events.coordinator import NodeDisconnected
from rebalance_forensics.events.membership import AccessDenied, TopicReadDenied
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Blame clients that were denied the group or its topics, or that could not log in.

    Where only brokers tell, name their principals.
    """
    for participant, events in sorted(denied(timeline).items(), key=lambda item: item[0].name):
        yield rejections.about_denial(timeline, participant, events)
    yield from about_failed_logins(timeline)
    yield from (rejections.about_denied_principals(timeline, denials) for denials in denied_principals(timeline))
    yield from (rejections.about_denied_topics(timeline, denials) for denials in denied_topics(timeline))


CAUSE = Cause(
    summary="A member may not use the group or the topic, or may not log in at all.",
    mechanism=(
        "FindCoordinator needs DESCRIBE on the group and is the first request to fail; JoinGroup then needs READ on "
        "the group, Metadata DESCRIBE and Fetch READ on the topics. An authorization error is fatal for the consumer, "
        "as is one of authentication before it; the application closes it or retries in a loop."
    ),
    shows="GROUP_AUTHORIZATION_FAILED, TOPIC_AUTHORIZATION_FAILED; 'failed authentication' on every connection.",
    remedy=(
        "Fix the ACLs of the client's principal: READ (it implies DESCRIBE) on the group and on the topics; or its "
        "credentials."
    ),
    usual="fault",
    propose=propose,
    told_by=(*DENYING, NodeDisconnected, AccessDenied, TopicReadDenied),
    signs=(
        speaks_for(rejections.DENIED, DECISIVE + WEAK),
        speaks_for(NOT_AUTHENTICATED, DECISIVE + WEAK),
        speaks_for(rejections.LEFT_WHEN_DENIED, STRONG),
        speaks_for(rejections.LEFT_AGAIN, STRONG),
    ),
    brings=(
        *("member-left", "scale-in", "shutdown", "process-pause", "process-crash", "rolling-restart"),
        *("coordinator-failover", "scale-out", "startup"),
    ),
    lookalikes=("group-max-size", "inconsistent-protocol"),
    settings=("allow.everyone.if.no.acl.found",),
)
