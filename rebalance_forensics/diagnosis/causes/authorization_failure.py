"""A member may not use the group or the topic, or may not log in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import (
    DENYING,
    denial_in,
    denial_text,
    denied,
    was_not_readmitted,
)
from rebalance_forensics.diagnosis.episodes.members.absences import UNANNOUNCED, distinct_events, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.clean_exits import VOLUNTARY
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Advice, Severity
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Answer, Present, Row, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, the_group
from rebalance_forensics.diagnosis.wording.durations import counted, how_often, listed, occurrences, some, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex, lists_by_key
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.unnamed_groups import in_words
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    NEXT_HEARTBEAT_MS,
    ONE_REBALANCE_MS,
    QUIET_MS,
    ROUND_TRIP_MS,
)

_AUTHENTICATION_ERRORS = ("SaslAuthenticationException", "SslAuthenticationException", "AuthenticationException")
NOT_AUTHENTICATED = clue("not-authenticated", DECISIVE + WEAK, "the brokers did not accept its credentials")
DENIED = clue("denied", DECISIVE + WEAK, "the brokers answered it with an authorization error")
LEFT_WHEN_DENIED = clue(
    "left-when-denied", STRONG, "all members left right after a broker denied somebody READ on a topic"
)
LEFT_AGAIN = clue("left-again", STRONG, "members came back and left right after another such denial")
HOST_REFUSED = clue("its-host-refused", DECISIVE, "brokers had just refused logins from its host")
LOGINS_REFUSED = clue("logins-refused", STRONG, "it was lost just after brokers began to refuse connected clients")
NEW_LOGINS_REFUSED = clue("new-logins-refused", WEAK, "it was lost just after brokers began to refuse several hosts")
LOGIN_REFUSED = clue(
    "login-refused", 0, "it was lost just after a broker refused a login, of a client that no line names"
)
# At most this many lines of an authorizer as evidence, because they are alike.
MOST_DENIALS = 8


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Denials and failed logins by client; if only brokers log them, denials by principal and refused logins."""
    yield from (about_denial(timeline, *refused) for refused in _by_name(denied(timeline)))
    yield from (about_failed_login(timeline, *refused) for refused in _by_name(failed_logins(timeline)))
    yield from denied_principals(timeline)
    yield from denied_topics(timeline)
    yield from refused_by_brokers(timeline)


CAUSE = Cause(
    propose=propose,
    evidence_types=(*DENYING, ev.NodeDisconnected, ev.AccessDenied, ev.TopicReadDenied, ev.LoginRefused),
    implies=(
        *("member-left", "scale-in", "shutdown", "process-pause", "process-crash", "rolling-restart"),
        *("coordinator-failover", "scale-out", "startup"),
    ),
    lookalikes=("group-max-size", "inconsistent-protocol"),
)


def failed_logins(timeline: Timeline) -> dict[Participant, list[Event]]:
    """Lines about failed authentication, by client."""
    exceptions = timeline.of(ev.ExceptionLogged)
    thrown = (e for e in exceptions if (e.exception or "").rpartition(".")[2] in _AUTHENTICATION_ERRORS)
    failed = merge(timeline.disconnected("authentication failed"), thrown, key=time_of)
    return lists_by_key((who, e) for e in failed if (who := timeline.participants.of_speaker(e)) is not None)


def _by_name(lines: Mapping[Participant, list[Event]]) -> list[tuple[Participant, list[Event]]]:
    return sorted(lines.items(), key=lambda item: item[0].name)


def about_denial(timeline: Timeline, participant: Participant, events: Sequence[Event]) -> Hypothesis:
    """A client that was denied access to the group or its topics."""
    denial = denial_in(events)
    group = in_words(timeline.group) if denial.of_group else ""
    what = " and ".join(filter(None, (group, _topics(denial.topics) if denial.topics else "")))
    words = denial_text(events[0]).rstrip(". ")
    effect = f"is not authorized to access {what}" if what else f"is not authorized: {words}"
    number = occurrences(denial.of_group) + occurrences(denial.of_others)
    return _about_client(timeline, participant, events, DENIED, effect, grant_access(what, events, number))


def about_failed_login(timeline: Timeline, participant: Participant, events: Sequence[Event]) -> Hypothesis:
    """A client that could not log in, with the brokers' error as the client logs it."""
    answers = [e.answer for e in events if isinstance(e, ev.NodeDisconnected)]
    answers += [e.detail for e in events if isinstance(e, ev.ExceptionLogged)]
    words = next((answer.partition("\n")[0].rstrip(". ") for answer in answers if answer), None)
    # The heartbeat thread and the application log the error of the connection to a node again.
    connections = [e for e in events if isinstance(e, ev.NodeDisconnected) and e.node is not None]
    renew = Advice(
        action="Compare the credentials of {who} (sasl.jaas.config, keystore) with those the brokers know.",
        why=f"The brokers refused the connection {how_often(connections or events)}; poll() throws that error to the "
        "application.",
    )
    effect = f"could not log in to the brokers{f': {words}' if words else ''}"
    return _about_client(timeline, participant, events, NOT_AUTHENTICATED, effect, renew)


def _about_client(
    timeline: Timeline, participant: Participant, events: Sequence[Event], shown: Row, effect: str, advice: Advice
) -> Hypothesis:
    """A client that the brokers refused; critical if it was not readmitted."""
    first, last = time_of(events[0]), time_of(events[-1])
    culprits = culprits_of(timeline, [participant])
    moves = timeline.moves(first - AT_ONCE_MS, last + ONE_REBALANCE_MS, participant)
    return Hypothesis(
        because=events,
        culprits=culprits,
        clues={shown: Present(distinct_events(events))},
        participants=(participant,),
        severity=_severity(timeline, (participant,), last),
        implies=with_rebalances(timeline, moves),
        hit_at=first,
        narrative=f"{culprits[0].name} {effect}.",
        advice=(advice,),
    )


def _severity(timeline: Timeline, participants: Iterable[Participant], at: int) -> Severity:
    """Critical if one of the participants was not readmitted afterwards."""
    return "critical" if any(was_not_readmitted(timeline, p, at) for p in participants) else "warning"


def _topics(names: Sequence[str]) -> str:
    return f"topic{'s' if len(names) > 1 else ''} {listed(names)}"


def _distinct(values: Iterable[str | None]) -> list[str]:
    return sorted({value for value in values if value})


def grant_access(denied: str, events: Sequence[Event], number: int) -> Advice:
    """Advice to grant READ; `denied` names the group or topics, and is empty if the lines do not name them."""
    whom = some(_distinct(getattr(e, "principal", None) for e in events)) or "the principal of {who}"
    return Advice(
        action=f"Grant {whom} READ on {denied or 'the group and on the topics'}.",
        why=f"READ implies DESCRIBE. The broker denied it {times(number)}{span(events) if number > 1 else ''}.",
        cost="Make sure that the client is meant to read them.",
    )


def denied_principals(timeline: Timeline) -> Iterator[Hypothesis]:
    """Principals that brokers denied operations that members need, without a client's log that shows it."""
    # A Java member does not fail when its heartbeats are denied: the heartbeat thread retries until the session expires
    # (AbstractCoordinator.HeartbeatResponseHandler), and only the authorizer's log shows the reason.
    client_lines = [e for events in denied(timeline).values() for e in events]
    for run in runs(timeline.of(ev.AccessDenied), time_of, ONE_REBALANCE_MS):
        begin, end = time_of(run[0]), time_of(run[-1])
        if any(begin - AT_ONCE_MS <= time_of(e) <= end + AT_ONCE_MS for e in client_lines):
            continue
        departures = timeline.departures.between(begin, end + session_timeout_ms(timeline))
        lost = tuple(dict.fromkeys(d.participant for d in departures if d.why in UNANNOUNCED))
        moves = [f for p in lost for f in timeline.moves(begin, end + ONE_REBALANCE_MS, p)]
        operations = listed(_distinct(e.operation.upper() for e in run if e.operation))
        what, requests = in_words(timeline.group), listed(_distinct(e.request for e in run))
        yield Hypothesis(
            because=run,
            culprits=culprits_of(timeline, lost) or (the_group(timeline),),
            clues={DENIED: Present(tuple(run[:MOST_DENIALS]))},
            participants=lost,
            severity=_severity(timeline, lost, end),
            implies=with_rebalances(timeline, moves),
            hit_at=begin,
            narrative=f"The brokers denied {' and '.join(_distinct(e.principal for e in run))} {operations} on {what} "
            f"({requests}).",
            advice=(grant_access(what, run, occurrences(run)),),
        )


def denied_topics(timeline: Timeline) -> Iterator[Hypothesis]:
    """Topics that brokers denied just before all members left, without a client's log that shows the reason."""
    # TopicAuthorizationException ends poll() of a Java consumer, and the application closes it. The authorizer names
    # the principal and the topic, not the group. The denials concern this group if all members leave right after them
    # and there are no denials while the members are away.
    client_times = [time_of(e) for events in denied(timeline).values() for e in events]
    # By principal and topic, because denials of other applications differ in at least one of them.
    for denials in timeline.of(ev.TopicReadDenied).by(lambda e: (e.principal, e.topic)).values():
        left = [
            d
            for d in timeline.departures
            if d.why in VOLUNTARY and denials.any_between(d.at - NEXT_HEARTBEAT_MS, d.at + ROUND_TRIP_MS)
        ]
        for run in runs(left, lambda d: d.at, ONE_REBALANCE_MS):
            begin, end = run[0].at - NEXT_HEARTBEAT_MS, run[-1].at + NEXT_HEARTBEAT_MS
            clients = any(begin - AT_ONCE_MS <= at <= end + AT_ONCE_MS for at in client_times)
            if not clients and _all_left(timeline, run) and _only_at_departures(denials, run):
                yield about_denied_topics(timeline, denials.between(begin, end), run)


def about_denied_topics(
    timeline: Timeline, lines: Sequence[ev.TopicReadDenied], departures: Sequence[Departure]
) -> Hypothesis:
    """Members that all left right after denials of a topic."""
    what, shown = _topics(_distinct(e.topic for e in lines)), lines[:MOST_DENIALS]
    clues: dict[Row, Answer] = {LEFT_WHEN_DENIED: Present(tuple(shown))}
    if len(departures) > len({d.participant for d in departures}):
        # Members that came back and left again after another denial cannot be a coincidence.
        clues[LEFT_AGAIN] = Present(tuple(lines[-MOST_DENIALS:]))
    narrative = (
        f"The brokers denied {' and '.join(_distinct(e.principal for e in lines))} READ on {what}, and all members "
        "left at once."
    )
    advice = grant_access(what, lines, occurrences(lines))
    at = time_of(lines[0])
    return _about_departures(timeline, departures, shown, at, clues=clues, narrative=narrative, advice=advice)


def _about_departures(
    timeline: Timeline,
    departures: Sequence[Departure],
    refusals: Sequence[Event],
    refused_at: int,
    *,
    clues: Mapping[Row, Answer],
    narrative: str,
    advice: Advice,
) -> Hypothesis:
    """Members that left or were lost after refusals that only brokers logged."""
    participants, last = tuple(dict.fromkeys(d.participant for d in departures)), departures[-1].at
    return Hypothesis(
        because=[*refusals, *(e for d in departures for e in d.events[:1])],
        culprits=culprits_of(timeline, participants),
        clues=clues,
        participants=participants,
        severity=_severity(timeline, participants, last),
        explains=tuple(departures),
        implies=with_rebalances(timeline, timeline.moves(departures[0].at, last + ONE_REBALANCE_MS)),
        hit_at=refused_at,
        narrative=narrative,
        advice=(advice,),
    )


def refused_by_brokers(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members without a log that were lost just after brokers refused logins (from their hosts, if known)."""
    refusals = _refusals_by_address(timeline)
    if not refusals:
        return
    session_ms = session_timeout_ms(timeline)
    lost = [
        d for d in timeline.departures if d.why in (*UNANNOUNCED, *VOLUNTARY) and not d.participant.has_log
    ]  # a member's own log would show that it was refused
    for run in runs(lost, lambda d: d.at, ONE_REBALANCE_MS):
        # A member sends heartbeats until its connection to the coordinator must authenticate again.
        begin, end = run[0].at - session_ms - NEXT_HEARTBEAT_MS, run[-1].at + ROUND_TRIP_MS
        since = {address: known.between(begin, end) for address, known in refusals.items() if _begins(known, begin)}
        affected = {d.participant: lines for d in run if (lines := _of_its_host(d.participant, since))}
        all_refusals = [e for events in since.values() for e in events]
        if all_refusals and any(d.why in UNANNOUNCED for d in run):  # LeaveGroup requires a working connection
            affected |= {d.participant: all_refusals for d in run if not d.participant.hosts}
        lines = sorted({id(e): e for of_member in affected.values() for e in of_member}.values(), key=time_of)
        # Each member has its own connection, so there must be a refusal for each.
        if affected and len(lines) >= len(affected):
            yield _about_refused_logins(timeline, [d for d in run if d.participant in affected], lines)


def _refusals_by_address(timeline: Timeline) -> dict[str, TimeIndex[ev.LoginRefused]]:
    # Not those on a controller's listener, where the client is a broker.
    of_clients = (e for e in timeline.of(ev.LoginRefused) if e.speaker.broker is not None and e.at is not None)
    return TimeIndex(of_clients, time_of, ordered=True).by(lambda e: (e.address or "").rpartition("/")[2])


def _begins(refusals: TimeIndex[ev.LoginRefused], begin: int) -> bool:
    # Health checks and port scans connect every few minutes without valid credentials and are refused all day long.
    return not refusals.any_between(begin - 12 * QUIET_MS, begin - 1)


def _of_its_host(
    participant: Participant, refusals: Mapping[str, Sequence[ev.LoginRefused]]
) -> Sequence[ev.LoginRefused]:
    hosts = {host.rpartition("/")[2] for host in participant.hosts}
    return [e for address, events in refusals.items() if address in hosts for e in events]


def _about_refused_logins(
    timeline: Timeline, departures: Sequence[Departure], lines: Sequence[ev.LoginRefused]
) -> Hypothesis:
    participants = tuple(dict.fromkeys(d.participant for d in departures))
    again = [e for e in lines if e.again]
    shown = tuple([*again, *(e for e in lines if not e.again)][:MOST_DENIALS])
    row = HOST_REFUSED if all(p.hosts for p in participants) else LOGIN_REFUSED
    # A single member whose host is unknown may have been lost by coincidence when a producer or probe was refused. That
    # is implausible for several members if established connections were refused. New connections, even from several
    # hosts, may be those of another application.
    if row is LOGIN_REFUSED and len(participants) > 1:
        several = len({e.address for e in lines}) > 1
        row = LOGINS_REFUSED if again else NEW_LOGINS_REFUSED if several else LOGIN_REFUSED
    answers = _distinct(e.answer for e in lines)
    words = f": {answers[0]}" if len(answers) == 1 else ""
    narrative = (
        f"Brokers refused logins from {some(_distinct(e.address for e in lines), MOST_DENIALS)}{words}; the group lost "
        f"{counted(len(participants), 'member')} just after that."
    )
    advice = Advice(
        action="Check whether the credentials of these clients have expired or were changed.",
        why=f"Brokers refused {counted(len(lines), 'login')}{span(lines) if len(lines) > 1 else ''}.",
    )
    clues = {row: Present(shown)}
    at = time_of(lines[0])
    return _about_departures(timeline, departures, shown, at, clues=clues, narrative=narrative, advice=advice)


def _all_left(timeline: Timeline, run: Sequence[Departure]) -> bool:
    # Members share a principal, so that a denial affects all of them: not if a member stayed.
    began = run[0].at
    known = [g for g in timeline.generations if g.members and (g.reached_at or began + 1) <= began]
    departed = {d.participant for d in run}
    return bool(known) and all(
        timeline.participants.of_member(m.member_id or "") in departed for m in known[-1].members
    )


def _only_at_departures(denials: TimeIndex[ev.TopicReadDenied], run: Sequence[Departure]) -> bool:
    # Denials that continue while no member leaves, or while these members are away, concern another application.
    denied = denials.between(run[0].at - ONE_REBALANCE_MS, run[-1].at + ONE_REBALANCE_MS)
    near = [e for e in denied if any(abs(time_of(e) - d.at) <= NEXT_HEARTBEAT_MS for d in run)]
    return 2 * len(near) > len(denied)
