"""Threads of a Streams process that live on while one of them is away."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.group_settings import together_ms
from rebalance_forensics.timeline.facts import Arrival, Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import streams_thread


def process_lived(timeline: Timeline, away: Absence) -> bool:
    """Only some threads fell silent and came back under their names, while others of their process stayed members."""
    gone, back = _threads(away.departures), _threads(away.arrivals)
    if away.participant.kind != "instance" or not gone or not back or not back <= gone:
        return False
    known = _threads(timeline.arrivals.of(away.participant).between(0, away.at))
    lost = timeline.departures.of(away.participant).between(
        away.at - together_ms(timeline), (away.back_at or away.at) + together_ms(timeline)
    )
    return bool(known - gone - _threads(lost))


def _threads(moves: Iterable[Arrival | Departure]) -> set[str]:
    return {thread for m in moves if m.member and (thread := streams_thread(m.member))}
