"""Threads of a Streams process that stay members while one of them is away."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.events.streams import ThreadRemoved
from rebalance_forensics.timeline.facts import Arrival, Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import streams_thread
from rebalance_forensics.timeline.timeouts import together_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS


def process_survived(timeline: Timeline, away: Absence) -> bool:
    """True if only some threads fell silent while others of their process stayed members."""
    # The threads came back under their names, or stayed away as a thread does that an exception ended.
    if away.participant.kind != "instance":
        return False
    departed, back = _threads(away.departures), _threads(away.arrivals)
    if not departed or not back <= departed:
        return False
    came = timeline.arrivals.of(away.participant).between(0, away.at)
    if not back:
        reach = together_ms(timeline)
        born = max((a.at for a in came if _threads([a]) & departed), default=away.at)
        came = [a for a in came if a.at <= born + reach] if timeline.coverage.end >= away.at + reach else []
    known = _threads(came)
    lost = timeline.departures.of(away.participant).between(
        away.at - together_ms(timeline), (away.back_at or away.at) + together_ms(timeline)
    )
    return bool(known - departed - _threads(lost))


def removed_by_application(timeline: Timeline, away: Absence) -> list[ThreadRemoved]:
    """The lines of KafkaStreams.removeStreamThread (KIP-663) that removed these threads; their process stays."""
    if away.participant.kind != "instance" or away.start is not None:
        return []
    removals = timeline.events_from(away.participant, ThreadRemoved).between(away.at - AT_ONCE_MS, away.at)
    removed = {e.thread: e for e in removals if isinstance(e, ThreadRemoved) and e.phase == "removing"}
    departed = _threads(away.departures)
    return [removed[thread] for thread in sorted(departed)] if departed and departed <= set(removed) else []


def _threads(moves: Iterable[Arrival | Departure]) -> set[str]:
    return {thread for m in moves if m.member and (thread := streams_thread(m.member))}
