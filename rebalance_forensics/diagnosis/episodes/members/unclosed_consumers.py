"""Consumers that an application makes anew without closing the ones before: the old ones stay members, unpolled.

A consumer that nobody polls keeps sending heartbeats until max.poll.interval.ms has passed (KIP-62).
"""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline


def made_beside(timeline: Timeline, absence: Absence) -> Arrival | None:
    """The member that the same process had join while the one that goes was still in; None where there is none."""
    participant = absence.participant
    if participant.kind != "client" or not participant.has_log or participant.has_namesakes:
        return None
    gone = {d.member for d in absence.departures}
    arrivals = timeline.arrivals.of(participant)
    joined = min((a.at for a in arrivals if a.member in gone), default=timeline.first)
    beside = (a for a in arrivals.between(joined + 1, absence.at) if a.member not in gone and a.start is None)
    return next(beside, None)
