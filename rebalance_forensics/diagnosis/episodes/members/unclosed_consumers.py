"""Consumers that an application makes anew without closing the ones before: the old ones stay members, unpolled.

A consumer that nobody polls keeps sending heartbeats until max.poll.interval.ms has passed (KIP-62).
"""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.departures import settled_after
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import POLL_SLACK_MS


def made_beside(timeline: Timeline, absence: Absence, limit_ms: int) -> Arrival | None:
    """The member that the same process had join while the one that goes was still in; None where there is none.

    Several threads of one client id live side by side, too: they join together, or go on being polled for longer than
    `limit_ms` (max.poll.interval.ms; 0 where it is not known) after the others came.
    """
    participant = absence.participant
    if participant.kind != "client" or not participant.has_log or participant.has_namesakes:
        return None
    gone = {d.member for d in absence.departures}
    arrivals = timeline.arrivals.of(participant)
    joined = min((a.at for a in arrivals if a.member in gone), default=timeline.first)
    since = max(settled_after(timeline, joined + 1), absence.at - limit_ms - POLL_SLACK_MS if limit_ms else joined + 1)
    beside = (a for a in arrivals.between(since, absence.at) if a.member not in gone and a.start is None)
    return next(beside, None)
