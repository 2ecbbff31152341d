"""Leaders whose assignor took so long that the group lost them before they could deliver."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_forensics.diagnosis.absences import SILENT, session_timeout_ms
from rebalance_forensics.events.rebalancing import AssignmentComputed, JoinSucceeded
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.windows import ASSIGNED_LATE_MS


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowAssignment:
    """From the answer to the leader's JoinGroup to its assignment: a client does nothing else in between."""

    leader: Actor
    joined: JoinSucceeded
    computed: AssignmentComputed
    lost: tuple[Departure, ...]

    @property
    def took_ms(self) -> int:
        """How long the assignor took."""
        return (self.computed.at or 0) - (self.joined.at or 0)


def slow_assignments(timeline: Timeline) -> list[SlowAssignment]:
    """Every assignment that came later than the session timeout and whose leader was expelled meanwhile."""
    found = []
    for computed in timeline.of(AssignmentComputed):
        leader = timeline.cast.of_speaker(computed)
        if leader is None or leader.kind == "instance":
            continue
        joins = timeline.said_by(leader, JoinSucceeded).between(timeline.first, computed.at or 0)
        joined = next((j for j in reversed(joins) if j.generation == computed.generation and not j.after_sync), None)
        if joined is None or (computed.at or 0) - (joined.at or 0) < session_timeout_ms(timeline) - ASSIGNED_LATE_MS:
            continue
        gone = timeline.departures.of(leader).between(joined.at or 0, (computed.at or 0) + ASSIGNED_LATE_MS)
        lost = tuple(d for d in gone if d.why in SILENT)
        if lost:
            found.append(SlowAssignment(leader=leader, joined=joined, computed=computed, lost=lost))
    return found
