"""A process died without leaving."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import (
    Absence,
    distinct_events,
    seconds,
    session_setting,
    session_timeout_ms,
    session_told_ms,
    touched,
)
from rebalance_forensics.diagnosis.comings import successors
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.finding import GUESS, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.silence import Silence, silences
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Arrival


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Blame members whose session expired and of which nothing, or only a new process, came back."""
    replaced = successors(timeline)
    for silence in silences(timeline):
        if silence.verdict == "crash":
            yield _finding(timeline, silence, replaced.get(id(silence.away), ()))


def _finding(timeline: Timeline, silence: Silence, successor: tuple[Arrival, ...]) -> Finding:
    away, session = silence.away, session_told_ms(timeline)
    name = culprits_of(timeline, [away.actor])[0].name
    back = away.back_at is not None or bool(successor)
    after = "a new process of it started afterwards" if away.start else "nothing more came from it"
    after = "a newcomer took its place" if successor else after
    if not back and silence.confidence <= GUESS and not silence.own_lines:
        after = "no line tells whether it came back"
    facts = (*away.facts(), *successor)
    return Finding(
        because=distinct_events([*(e for d in away.departures for e in d.events), *silence.own_lines, *away.events()]),
        culprits=culprits_of(timeline, [away.actor]),
        confidence=silence.confidence,
        severity="critical" if not back and silence.confidence > GUESS else "warning",
        claims=(*facts, *touched(timeline, facts)),
        core=tuple(away.departures),
        onset=silence.began_at(session_timeout_ms(timeline)),
        struck_at=away.at,
        narrative=f"{name} {_how(away, session)} and {after}.",
        advice=(
            Advice(
                action=(
                    "Read the exit of that process: kernel OOM killer, container exit code, hs_err file, "
                    "liveness probe."
                ),
                why="Its log ends without a shutdown."
                if silence.own_lines
                else f"It sent no LeaveGroup and no heartbeat{_for(session)}, and no log of it tells more.",
            ),
            Advice(
                action=f"Lower {session_setting(timeline)}{_below(session)} if takeover must be quicker.",
                why=f"Its partitions had no reader{_for(session)} until its session expired{_back(away)}.",
                cost="A pause longer than the new timeout then costs a rebalance (process-pause).",
            ),
        ),
    )


def _how(away: Absence, session: int | None) -> str:
    if all(d.why == "vanished" for d in away.departures):
        return "was missing from the next generation"
    return f"stopped without leaving the group: its session expired{_after(session)}"


def _after(session: int | None) -> str:
    return f" after {seconds(session)}" if session else ""


def _for(session: int | None) -> str:
    return f" for {seconds(session)}" if session else ""


def _below(session: int | None) -> str:
    return f" below {session}" if session else ""


def _back(away: Absence) -> str:
    if away.back_at is None:
        return ""
    return f"; a new process was back {seconds(max(away.back_at - away.at, 0))} after that"


RULE = Rule(
    summary="A process died (kill -9, OOM, node loss) without leaving the group.",
    mechanism=(
        "No LeaveGroup is sent. The coordinator waits session.timeout.ms, removes the member and "
        "rebalances; meanwhile its partitions have no reader. A restarted process joins as a new member "
        "and causes another rebalance."
    ),
    signs=(
        "Heartbeat expiry on the coordinator and nothing more from the member, or a new process start "
        "under the same name; a log that stops in mid-sentence."
    ),
    remedy=(
        "Find why the process died; restart it faster than session.timeout.ms with static membership to "
        "avoid the rebalance."
    ),
    usual="fault",
    rank=41,
    diagnose=diagnose,
    settings=("session.timeout.ms",),
    kips=("KIP-62", "KIP-345"),
)
