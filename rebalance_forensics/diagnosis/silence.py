"""A member that stopped heartbeating died, stood still, or lost the network.

A heartbeat expiry looks the same on the coordinator; the member's own log and what comes back tell the three apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from rebalance_forensics.diagnosis.episodes import Away, absences, session_timeout_ms
from rebalance_forensics.diagnosis.finding import GUESS, LIKELY, PROBABLE
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, NodeDisconnected
from rebalance_forensics.events.rebalancing import SyncFailed
from rebalance_forensics.timeline.build import Timeline

Verdict = Literal["crash", "pause", "partition", "closed", "static"]
SILENT = ("session-expired", "expelled", "vanished")


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """One absence by silence, with its verdict and the lines of the member's own log that decide it."""

    away: Away
    verdict: Verdict
    confidence: float
    own_lines: tuple[Event, ...] = ()


def silences(timeline: Timeline) -> list[Silence]:
    """Every absence by silence, judged."""
    return [_judged(timeline, away) for away in absences(timeline, SILENT)]


def _judged(timeline: Timeline, away: Away) -> Silence:
    if all(isinstance(e, SyncFailed) for d in away.departures for e in d.events):
        # A member that waited for its assignment too long is unknown as well; nothing says that it was silent.
        return Silence(away=away, verdict="pause", confidence=GUESS)
    if away.actor.has_log:
        return _by_its_log(timeline, away)
    if away.actor.instance_ids:
        return Silence(away=away, verdict="static", confidence=PROBABLE)
    if all(d.why == "vanished" for d in away.departures):
        return Silence(away=away, verdict="crash", confidence=GUESS)
    if away.back_at is None:
        # A Streams instance that closes sends no LeaveGroup either; only its own log tells the two apart.
        return Silence(away=away, verdict="crash", confidence=GUESS if away.actor.kind == "instance" else PROBABLE)
    return Silence(away=away, verdict="pause", confidence=GUESS)


def _by_its_log(timeline: Timeline, away: Away) -> Silence:
    session = session_timeout_ms(timeline)
    lines = [e for e in timeline.events if _is_own(timeline, away, e)]
    begin = away.at - session - 2_000
    returned = away.back_at
    closing = away.stop is not None
    if away.start is not None or closing:
        verdict: Verdict = "static" if away.actor.instance_ids else "closed" if closing else "crash"
        told = [*(away.stop.events if away.stop else ()), *(away.start.events[:1] if away.start else ())]
        return Silence(away=away, verdict=verdict, confidence=LIKELY, own_lines=tuple(told))
    until = returned if returned is not None else timeline.last
    troubled = [
        e for e in lines if isinstance(e, NodeDisconnected | CoordinatorLost) and begin <= (e.at or 0) <= until + 500
    ]
    alive = [e for e in lines if (e.at or 0) > away.at]
    if not alive and returned is None:
        verdict = "static" if away.actor.instance_ids else "crash"
        return Silence(away=away, verdict=verdict, confidence=LIKELY, own_lines=tuple(lines[-1:]))
    if troubled and until - (troubled[0].at or 0) > 4_000 and _spread(troubled):
        return Silence(away=away, verdict="partition", confidence=LIKELY, own_lines=tuple(troubled[:6]))
    return Silence(away=away, verdict="pause", confidence=LIKELY, own_lines=tuple(alive[:4]))


def _spread(troubled: Sequence[Event]) -> bool:
    """Disconnects over seconds are a network; all in one burst are a process that woke up."""
    times = [e.at or 0 for e in troubled]
    return max(times) - min(times) > 3_000


def _is_own(timeline: Timeline, away: Away, event: Event) -> bool:
    return event.at is not None and timeline.cast.of_speaker(event) is away.actor
