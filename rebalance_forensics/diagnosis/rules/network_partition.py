"""A member lived but could not reach the brokers."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import (
    distinct_events,
    seconds,
    session_setting,
    session_timeout_ms,
    span,
    touched,
)
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import Finding, Rule
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.silence import Silence, silences
from rebalance_forensics.events.coordinator import CoordinatorLost, NodeDisconnected
from rebalance_forensics.timeline.build import Timeline


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Blame members whose session expired while their own log went on with disconnects."""
    for silence in silences(timeline):
        if silence.verdict == "partition":
            yield _finding(timeline, silence)


def _finding(timeline: Timeline, silence: Silence) -> Finding:
    away = silence.away
    name = culprits_of(timeline, [away.actor])[0].name
    facts = away.facts()
    return Finding(
        because=distinct_events([*(e for d in away.departures for e in d.events), *silence.own_lines, *away.events()]),
        culprits=culprits_of(timeline, [away.actor]),
        confidence=silence.confidence,
        severity="warning" if away.back_at is not None else "critical",
        claims=(*facts, *touched(timeline, facts)),
        core=tuple(away.departures),
        onset=silence.began_at(session_timeout_ms(timeline)),
        struck_at=away.at,
        narrative=(
            f"{name} was evicted for want of heartbeats while it lived: "
            f"its log goes on with disconnects from the brokers."
        ),
        advice=_advice(timeline, silence),
    )


def _advice(timeline: Timeline, silence: Silence) -> tuple[Advice, ...]:
    away, session = silence.away, session_timeout_ms(timeline)
    cut_off = session + max((away.back_at if away.back_at is not None else timeline.last) - away.at, 0)
    lost = timeline.said_by(away.actor, NodeDisconnected, CoordinatorLost).between(away.at - session, away.at + cut_off)
    check = Advice(
        action=(
            "Check the network between that host and the brokers at that time: links, security groups, conntrack, DNS."
        ),
        why=f"It logged {len(lost)} lost connections{span(lost)} and was cut off for about {seconds(cut_off)}.",
    )
    if away.back_at is None:
        return (check,)
    patience = Advice(
        action=f"Raise {session_setting(timeline)} above {cut_off} if such outages are to be sat out.",
        why=f"It allows {seconds(session)}; a shorter outage costs no rebalance.",
        cost=f"A dead member is then noticed after {seconds(cut_off)}, and its partitions stand unread as long.",
    )
    return check, patience


RULE = Rule(
    summary="A member lived but could not reach the brokers for longer than session.timeout.ms.",
    mechanism=(
        "Heartbeats do not arrive; the coordinator expires the session. The member keeps trying, finds "
        "its coordinator again when the network is back, learns UNKNOWN_MEMBER_ID and joins anew."
    ),
    signs=(
        "Heartbeat expiry on the coordinator while the client's own log goes on with disconnects, request"
        " timeouts and lost coordinators."
    ),
    remedy="Mend the network path; session.timeout.ms decides how long an interruption may last.",
    usual="fault",
    rank=40,
    diagnose=diagnose,
    settings=("session.timeout.ms", "request.timeout.ms"),
    kips=("KIP-62",),
)
