"""A member may not use the group or the topic, or may not log in.

What happened: a client's log or a broker's log has a denial, or every connection fails with an authentication error.
Put forward for each client (proposals/rejections.py for denials, about_failed_logins here) and, from brokers' logs
alone, for each principal. The sentence quotes the brokers' answer; the advice names the ACL or the credentials.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.brokers import renew_credentials
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.coordinator.denied_principals import denied_principals
from rebalance_forensics.diagnosis.episodes.coordinator.denied_topics import denied_topics
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import DENYING, denied, was_not_readmitted
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals import rejections
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import NodeDisconnected
from rebalance_forensics.events.membership import AccessDenied, TopicReadDenied
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_REBALANCE_MS

_AUTHENTICATION_ERRORS = ("SaslAuthenticationException", "SslAuthenticationException", "AuthenticationException")
NOT_AUTHENTICATED = stated("not-authenticated", present="the brokers did not accept its credentials")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Denials by client, failed logins, and, where only brokers' logs have them, denials by principal."""
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
    evidence_types=(*DENYING, NodeDisconnected, AccessDenied, TopicReadDenied),
    signs=(
        speaks_for(rejections.DENIED, DECISIVE + WEAK),
        speaks_for(NOT_AUTHENTICATED, DECISIVE + WEAK),
        speaks_for(rejections.LEFT_WHEN_DENIED, STRONG),
        speaks_for(rejections.LEFT_AGAIN, STRONG),
    ),
    implies=(
        *("member-left", "scale-in", "shutdown", "process-pause", "process-crash", "rolling-restart"),
        *("coordinator-failover", "scale-out", "startup"),
    ),
    lookalikes=("group-max-size", "inconsistent-protocol"),
    settings=("allow.everyone.if.no.acl.found",),
)


def about_failed_logins(timeline: Timeline) -> Iterator[Hypothesis]:
    """One hypothesis for each client that could not log in."""
    for participant, events in sorted(failed_logins(timeline).items(), key=lambda item: item[0].name):
        first, last = time_of(events[0]), time_of(events[-1])
        culprits, words = culprits_of(timeline, [participant]), logged_answer(events)
        moves = timeline.moves(first - AT_ONCE_MS, last + ONE_REBALANCE_MS, participant)
        yield Hypothesis(
            because=events,
            culprits=culprits,
            answers={NOT_AUTHENTICATED: Present(distinct_events(events))},
            participants=(participant,),
            severity="critical" if was_not_readmitted(timeline, participant, last) else "warning",
            implies=with_rebalances(timeline, moves),
            struck_at=first,
            narrative=f"{culprits[0].name} could not log in to the brokers{f': {words}' if words else ''}.",
            advice=renew_credentials(events),
        )


def failed_logins(timeline: Timeline) -> dict[Participant, list[Event]]:
    """Lines of failed authentication by client."""
    found: dict[Participant, list[Event]] = defaultdict(list)
    for event in timeline.of(NodeDisconnected, ExceptionLogged):
        participant = timeline.participants.of_speaker(event)
        if participant is not None and _is_failed_login(event):
            found[participant].append(event)
    return dict(found)


def _is_failed_login(event: Event) -> bool:
    if isinstance(event, NodeDisconnected):
        return event.cause == "authentication failed"
    return isinstance(event, ExceptionLogged) and (event.exception or "").rpartition(".")[2] in _AUTHENTICATION_ERRORS


def logged_answer(events: list[Event]) -> str | None:
    """The brokers' answer, as the client logs it."""
    answers = (e.answer for e in events if isinstance(e, NodeDisconnected))
    thrown = (e.detail for e in events if isinstance(e, ExceptionLogged))
    return next((answer.partition("\n")[0].rstrip(". ") for answer in (*answers, *thrown) if answer), None)
