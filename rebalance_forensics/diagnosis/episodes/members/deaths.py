"""The logged death of a member's process."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.events.process import ProcessDied
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.processes import ended_with
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS


def death_of(timeline: Timeline, absence: Absence) -> ProcessDied | None:
    """The death that ended a member's heartbeats: the last one within a session before the group lost it."""
    deaths = timeline.of(ProcessDied)
    if not deaths:
        return None
    begin = absence.at - session_timeout_ms(timeline) - ROUND_TRIP_MS
    near = deaths.between(begin, absence.at + ROUND_TRIP_MS)
    own_deaths = [e for e in near if absence.participant in ended_with(timeline.participants, e)]
    return own_deaths[-1] if own_deaths else None
