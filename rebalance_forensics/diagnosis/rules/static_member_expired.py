"""A static member stayed away beyond session.timeout.ms (KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import (
    Absence,
    distinct_events,
    seconds,
    session_timeout_ms,
    session_told_ms,
    touched,
)
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import Finding, Rule
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.silence import silences
from rebalance_forensics.timeline.build import Timeline


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Blame static members whose session expired while their process was down."""
    for silence in silences(timeline):
        if silence.verdict != "static":
            continue
        away, session = silence.away, session_timeout_ms(timeline)
        told = session_told_ms(timeline)
        long = f" ({told} ms)" if told else ""
        facts = away.facts()
        name = culprits_of(timeline, [away.actor], as_instance=True)[0].name
        yield Finding(
            because=distinct_events(
                [*(e for d in away.departures for e in d.events), *silence.own_lines, *away.events()]
            ),
            culprits=culprits_of(timeline, [away.actor], as_instance=True),
            confidence=silence.confidence,
            severity="warning",
            claims=(*facts, *touched(timeline, facts)),
            core=tuple(away.departures),
            onset=silence.began_at(session),
            struck_at=away.at,
            narrative=(f"Static member {name} stayed away longer than session.timeout.ms{long} and was removed."),
            advice=(_advice(away, session),),
        )


def _advice(away: Absence, session: int) -> Advice:
    """How long it was down counts from its own last words, else from its last heartbeat."""
    down_at = away.stop.at if away.stop is not None else away.at - session
    down = away.back_at - down_at if away.back_at is not None else None
    late = f"it took {seconds(down)}" if down is not None else "it was not back when the logs end"
    wait = seconds(down) if down is not None else "longer"
    return Advice(
        action=f"Raise session.timeout.ms above {down if down is not None else 'the longest restart of a member'}.",
        why=f"It had {seconds(session)} to come back, and {late}.",
        cost=(
            f"The partitions of a member that is really gone then wait {wait} for a reader "
            "(group.max.session.timeout.ms bounds it)."
        ),
    )


RULE = Rule(
    summary="A static member stayed away beyond session.timeout.ms and the group rebalanced without it.",
    mechanism=(
        "A static member sends no LeaveGroup when it closes. Its partitions wait for it, without a "
        "reader, until the session expires; then the coordinator removes it and rebalances."
    ),
    signs="Heartbeat expiry of a member with a group.instance.id, no LeaveGroup.",
    remedy=(
        "Restart faster, raise session.timeout.ms, or remove members for good with the admin client's "
        "removeMembersFromConsumerGroup."
    ),
    usual="fault",
    rank=39,
    diagnose=diagnose,
    settings=("group.instance.id", "session.timeout.ms", "group.max.session.timeout.ms"),
    kips=("KIP-345",),
)
