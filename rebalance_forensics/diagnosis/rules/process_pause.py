"""A whole process stood still beyond session.timeout.ms and came back."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import (
    distinct_events,
    seconds,
    session_setting,
    session_timeout_ms,
    session_told_ms,
    touched,
)
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import Finding, Rule
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.silence import Silence, silences
from rebalance_forensics.timeline.build import Timeline


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Blame members whose session expired and that came back as the same process, with a hole in their log."""
    for silence in silences(timeline):
        if silence.verdict == "pause":
            yield _finding(timeline, silence)


def _finding(timeline: Timeline, silence: Silence) -> Finding:
    away, session = silence.away, session_timeout_ms(timeline)
    told = session_told_ms(timeline)
    long = f" ({told} ms)" if told else ""
    name = culprits_of(timeline, [away.actor])[0].name
    back = f" and was back after {seconds(away.back_at - away.at)}" if away.back_at is not None else ""
    facts = away.facts()
    known = "its own log has a hole and goes on" if silence.own_lines else "no log of its own says more"
    return Finding(
        because=distinct_events([*(e for d in away.departures for e in d.events), *silence.own_lines, *away.events()]),
        culprits=culprits_of(timeline, [away.actor]),
        confidence=silence.confidence,
        severity="warning",
        claims=(*facts, *touched(timeline, facts)),
        core=tuple(away.departures),
        onset=silence.began_at(session_timeout_ms(timeline)),
        struck_at=away.at,
        narrative=f"{name} sent no heartbeat for session.timeout.ms{long}, was evicted{back}; {known}.",
        advice=_advice(session_setting(timeline), session, session + max((away.back_at or 0) - away.at, 0)),
    )


def _advice(setting: str, session: int, silent: int) -> tuple[Advice, ...]:
    above = max(silent, session)
    return (
        Advice(
            action="Look at GC logs, CPU throttling (cgroup nr_throttled) and VM steal of that process at that time.",
            why=f"Nothing of it ran for about {seconds(silent)}; the session timeout allows {seconds(session)}.",
        ),
        Advice(
            action=f"Raise {setting} above {above} if such pauses are normal.",
            why="A pause shorter than the session timeout costs no rebalance.",
            cost=f"A dead member is then noticed after {seconds(above)} rather than {seconds(session)}.",
        ),
    )


RULE = Rule(
    summary="A process stood still (GC, throttling, a suspended VM) longer than session.timeout.ms and then went on.",
    mechanism=(
        "Nothing of the process runs, its heartbeat thread included. The coordinator expires the session "
        "and gives its partitions away. When the process wakes up, its member id is unknown and it joins "
        "as a new member."
    ),
    signs=(
        "Heartbeat expiry on the coordinator; a hole in the client's log, then UNKNOWN_MEMBER_ID and a "
        "rejoin by the same process."
    ),
    remedy=(
        "Find what stops the process: heap and GC, CPU limits, disk waits, VM migration. Static "
        "membership or a longer session timeout hides short pauses."
    ),
    usual="fault",
    rank=42,
    diagnose=diagnose,
    settings=("session.timeout.ms", "heartbeat.interval.ms"),
    kips=("KIP-62", "KIP-735"),
)
