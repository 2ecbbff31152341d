"""A member may not use the group or the topic, or may not log in.

What happened: a client's log or a broker's log has a denial, or every connection fails with an authentication error.
Put forward for each client and, from brokers' logs alone, for each principal. The sentence quotes the brokers' answer;
the advice names the ACL or the credentials.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from heapq import merge

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import (
    DENYING,
    Denial,
    denial_in,
    denial_text,
    denied,
    was_not_readmitted,
)
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, distinct_events, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.clean_exits import VOLUNTARY
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, Row, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, the_group
from rebalance_forensics.diagnosis.wording.durations import how_often, occurrences, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import NodeDisconnected
from rebalance_forensics.events.membership import AccessDenied, TopicReadDenied
from rebalance_forensics.events.process import ExceptionLogged
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.unnamed_groups import in_words
from rebalance_forensics.timeline.windows import AT_ONCE_MS, NEXT_HEARTBEAT_MS, ONE_REBALANCE_MS, ROUND_TRIP_MS

_AUTHENTICATION_ERRORS = ("SaslAuthenticationException", "SslAuthenticationException", "AuthenticationException")
NOT_AUTHENTICATED = clue("not-authenticated", DECISIVE + WEAK, "the brokers did not accept its credentials")
DENIED = clue("denied", DECISIVE + WEAK, "the brokers answered it with an authorization error")
LEFT_WHEN_DENIED = clue(
    "left-when-denied", STRONG, "all members left right after a broker denied somebody READ on a topic"
)
LEFT_AGAIN = clue("left-again", STRONG, "members came back and left right after another such denial")
# So many lines of an authorizer show it; the others say the same.
MOST_DENIALS = 8


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Denials by client, failed logins, and, where only brokers' logs have them, denials by principal."""
    yield from (about_denial(timeline, *refused) for refused in _by_name(denied(timeline)))
    yield from (about_failed_login(timeline, *refused) for refused in _by_name(failed_logins(timeline)))
    yield from (about_denied_principals(timeline, denials) for denials in denied_principals(timeline))
    yield from (about_denied_topics(timeline, denials) for denials in denied_topics(timeline))


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
    implies=(
        *("member-left", "scale-in", "shutdown", "process-pause", "process-crash", "rolling-restart"),
        *("coordinator-failover", "scale-out", "startup"),
    ),
    lookalikes=("group-max-size", "inconsistent-protocol"),
    settings=("allow.everyone.if.no.acl.found",),
)


def failed_logins(timeline: Timeline) -> dict[Participant, list[Event]]:
    """Lines of failed authentication by client."""
    found: dict[Participant, list[Event]] = defaultdict(list)
    thrown = (e for e in timeline.of(ExceptionLogged) if _is_failed_login(e))
    for event in merge(timeline.disconnected("authentication failed"), thrown, key=time_of):
        participant = timeline.participants.of_speaker(event)
        if participant is not None:
            found[participant].append(event)
    return dict(found)


def _is_failed_login(event: ExceptionLogged) -> bool:
    return (event.exception or "").rpartition(".")[2] in _AUTHENTICATION_ERRORS


def logged_answer(events: Sequence[Event]) -> str | None:
    """The brokers' answer, as the client logs it."""
    answers = (e.answer for e in events if isinstance(e, NodeDisconnected))
    thrown = (e.detail for e in events if isinstance(e, ExceptionLogged))
    return next((answer.partition("\n")[0].rstrip(". ") for answer in (*answers, *thrown) if answer), None)


def _by_name(lines: Mapping[Participant, list[Event]]) -> list[tuple[Participant, list[Event]]]:
    return sorted(lines.items(), key=lambda item: item[0].name)


def about_denial(timeline: Timeline, participant: Participant, events: Sequence[Event]) -> Hypothesis:
    """A client was denied the group or its topics."""
    denial, words = denial_in(events), denial_text(events[0]).rstrip(". ")
    number, what = occurrences(denial.of_group) + occurrences(denial.of_others), _denied(timeline, denial)
    effect = f"is not authorized{f' to access {what}' if what else f': {words}'}"
    advice = grant_access(what, f"{times(number)}{span(events) if number > 1 else ''}")
    return _about_client(timeline, participant, events, DENIED, effect, advice)


def about_failed_login(timeline: Timeline, participant: Participant, events: Sequence[Event]) -> Hypothesis:
    """A client could not log in."""
    words = logged_answer(events)
    effect = f"could not log in to the brokers{f': {words}' if words else ''}"
    return _about_client(timeline, participant, events, NOT_AUTHENTICATED, effect, renew_credentials(events))


def _about_client(
    timeline: Timeline,
    participant: Participant,
    events: Sequence[Event],
    shown: Row,
    effect: str,
    advice: tuple[Advice, ...],
) -> Hypothesis:
    """The brokers refused a client: critical if it was not readmitted."""
    first, last = time_of(events[0]), time_of(events[-1])
    culprits = culprits_of(timeline, [participant])
    moves = timeline.moves(first - AT_ONCE_MS, last + ONE_REBALANCE_MS, participant)
    return Hypothesis(
        because=events,
        culprits=culprits,
        clues={shown: Present(distinct_events(events))},
        participants=(participant,),
        severity="critical" if was_not_readmitted(timeline, participant, last) else "warning",
        implies=with_rebalances(timeline, moves),
        struck_at=first,
        narrative=f"{culprits[0].name} {effect}.",
        advice=advice,
    )


def about_denied_principals(timeline: Timeline, denials: DeniedPrincipals) -> Hypothesis:
    """Brokers denied a principal what a member needs, and no client's log shows it."""
    first, last = denials.begin, denials.end
    moves = [f for p in denials.lost for f in timeline.moves(first, last + ONE_REBALANCE_MS, p)]
    out = any(was_not_readmitted(timeline, p, last) for p in denials.lost)
    what, number = in_words(timeline.group), occurrences(denials.events)
    denied = f"{', '.join(denials.operations)} on {what} ({', '.join(denials.requests)})"
    return Hypothesis(
        because=denials.events,
        culprits=culprits_of(timeline, denials.lost) or (the_group(timeline),),
        clues={DENIED: Present(denials.events[:MOST_DENIALS])},
        participants=denials.lost,
        severity="critical" if out else "warning",
        implies=with_rebalances(timeline, moves),
        struck_at=first,
        narrative=f"The brokers denied {' and '.join(denials.principals)} {denied}.",
        advice=grant_access(what, f"{times(number)}{span(denials.events) if number > 1 else ''}"),
    )


def about_denied_topics(timeline: Timeline, denials: DeniedTopics) -> Hypothesis:
    """Brokers denied a topic, and all members left at once without a client's log that gives the reason."""
    lines, departures = denials.events, denials.departures
    what = f"topic{'s' if len(denials.topics) > 1 else ''} {', '.join(denials.topics)}"
    moves = timeline.moves(departures[0].at, departures[-1].at + ONE_REBALANCE_MS)
    out = any(was_not_readmitted(timeline, p, departures[-1].at) for p in denials.participants)
    who = " and ".join(denials.principals)
    return Hypothesis(
        because=[*lines[:MOST_DENIALS], *(e for d in departures for e in d.events[:1])],
        culprits=culprits_of(timeline, denials.participants),
        clues={
            LEFT_WHEN_DENIED: Present(lines[:MOST_DENIALS]),
            **({LEFT_AGAIN: Present(lines[-MOST_DENIALS:])} if denials.repeated else {}),
        },
        participants=denials.participants,
        severity="critical" if out else "warning",
        explains=departures,
        implies=with_rebalances(timeline, moves),
        struck_at=time_of(lines[0]),
        narrative=f"The brokers denied {who} READ on {what}, and all members left at once.",
        advice=grant_access(what, f"{times(occurrences(lines))}{span(lines) if len(lines) > 1 else ''}"),
    )


def _denied(timeline: Timeline, denial: Denial) -> str:
    """`group payments and topics orders, returns`; empty if no line names them."""
    topics = f"topic{'s' if len(denial.topics) > 1 else ''} {', '.join(denial.topics)}" if denial.topics else ""
    return " and ".join(filter(None, (in_words(timeline.group) if denial.of_group else "", topics)))


def grant_access(denied: str, denials: str) -> tuple[Advice, ...]:
    """A client without the permissions that it needs; `denied` names what on, where lines do, `denials` how often."""
    grant = Advice(
        action=f"Grant its principal READ on {denied or 'the group and on the topics'}.",
        why=f"READ implies DESCRIBE. The broker denied it {denials}.",
        cost="The client can then read those topics: check that it should.",
    )
    return (grant,)


def renew_credentials(events: Sequence[Event]) -> tuple[Advice, ...]:
    """A client that the brokers do not let in."""
    renew = Advice(
        action="Compare the credentials it was started with (sasl.jaas.config, keystore) with those the brokers know.",
        why=f"The brokers refused its connection {how_often(events)}; poll() throws that error to the application.",
    )
    return (renew,)


class DeniedPrincipals(Struct, frozen=True):
    """Denials of the group close in time, and the members whose sessions ended meanwhile."""

    events: tuple[AccessDenied, ...]
    lost: tuple[Participant, ...]

    @property
    def begin(self) -> int:
        """The first denial."""
        return time_of(self.events[0])

    @property
    def end(self) -> int:
        """The last denial."""
        return time_of(self.events[-1])

    @property
    def principals(self) -> list[str]:
        """The principals that were denied."""
        return sorted({e.principal for e in self.events if e.principal})

    @property
    def operations(self) -> list[str]:
        """The denied operations, as ACLs name them."""
        return sorted({e.operation.upper() for e in self.events if e.operation})

    @property
    def requests(self) -> list[str]:
        """The requests that needed these operations."""
        return sorted({e.request for e in self.events if e.request})


def denied_principals(timeline: Timeline) -> Iterator[DeniedPrincipals]:
    """Every time brokers denied members the group and no client logged it."""
    # A Java member does not fail when its heartbeats are denied: the heartbeat thread retries until the session is over
    # (AbstractCoordinator.HeartbeatResponseHandler), and only the authorizer names the reason.
    client_lines = [e for events in denied(timeline).values() for e in events]
    for run in runs(timeline.of(AccessDenied), time_of, ONE_REBALANCE_MS):
        begin, end = time_of(run[0]), time_of(run[-1])
        if any(begin - AT_ONCE_MS <= time_of(e) <= end + AT_ONCE_MS for e in client_lines):
            continue
        departures = timeline.departures.between(begin, end + session_timeout_ms(timeline))
        lost = dict.fromkeys(d.participant for d in departures if d.why in UNANNOUNCED)
        yield DeniedPrincipals(tuple(run), tuple(lost))


class DeniedTopics(Struct, frozen=True):
    """Departures right after denials of a topic, and these denials."""

    events: tuple[TopicReadDenied, ...]
    departures: tuple[Departure, ...]

    @property
    def principals(self) -> list[str]:
        """The principals that were denied."""
        return sorted({e.principal for e in self.events if e.principal})

    @property
    def topics(self) -> list[str]:
        """The topics that were denied."""
        return sorted({e.topic for e in self.events if e.topic})

    @property
    def participants(self) -> tuple[Participant, ...]:
        """The members that left."""
        return tuple(dict.fromkeys(d.participant for d in self.departures))

    @property
    def repeated(self) -> bool:
        """True if a member came back and left right after a denial again, which chance does not explain."""
        return len(self.departures) > len(self.participants)


def denied_topics(timeline: Timeline) -> Iterator[DeniedTopics]:
    """Every time all members left right after denials and no client logged them."""
    # TopicAuthorizationException ends poll() of a Java consumer, and the application closes it. The authorizer names
    # the principal and the topic, not the group: what connects them is that all members leave right after denials, and
    # that there are no denials while they are away.
    client_times = [time_of(e) for events in denied(timeline).values() for e in events]
    for denials in _by_rights(timeline):
        left = [d for d in timeline.departures if d.why in VOLUNTARY and denials.any_between(*_just_before(d))]
        for run in runs(left, lambda d: d.at, ONE_REBALANCE_MS):
            begin, end = run[0].at - NEXT_HEARTBEAT_MS, run[-1].at + NEXT_HEARTBEAT_MS
            clients = any(begin - AT_ONCE_MS <= at <= end + AT_ONCE_MS for at in client_times)
            if not clients and _all_left(timeline, run) and _only_at_departures(denials, run):
                yield DeniedTopics(tuple(denials.between(begin, end)), tuple(run))


def _by_rights(timeline: Timeline) -> list[TimeIndex[TopicReadDenied]]:
    # Denials of one principal and one topic belong together: another application is denied separately.
    found: dict[tuple[str | None, str | None], list[TopicReadDenied]] = defaultdict(list)
    for event in timeline.of(TopicReadDenied):
        found[event.principal, event.topic].append(event)
    return [TimeIndex(events, time_of, ordered=True) for events in found.values()]


def _just_before(departure: Departure) -> tuple[int, int]:
    return departure.at - NEXT_HEARTBEAT_MS, departure.at + ROUND_TRIP_MS


def _all_left(timeline: Timeline, run: Sequence[Departure]) -> bool:
    # Members share a principal, so a denial reaches all of them: a member that stays refutes it.
    known = [
        g for g in timeline.generations if g.members and (g.completed_at or g.started_at or run[0].at + 1) <= run[0].at
    ]
    before = known[-1] if known else None
    departed = {d.participant for d in run}
    members = [] if before is None else [timeline.participants.of_member(m.member_id or "") for m in before.members]
    return bool(members) and all(m in departed for m in members)


def _only_at_departures(denials: TimeIndex[TopicReadDenied], run: Sequence[Departure]) -> bool:
    # Denials that go on while nobody leaves, or while these members are away, belong to another application.
    ungrouped = denials.between(run[0].at - ONE_REBALANCE_MS, run[-1].at + ONE_REBALANCE_MS)
    near = [e for e in ungrouped if any(abs(time_of(e) - d.at) <= NEXT_HEARTBEAT_MS for d in run)]
    return 2 * len(near) > len(ungrouped)
