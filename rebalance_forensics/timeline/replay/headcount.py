"""Arrivals that no line names, by the coordinator's count of members.

Before 3.0 a coordinator logs no newcomer that joins while its barrier is open; from 2.7 on it counts the members of
every generation. A count higher than the members that stayed or were named shows that one that left shortly before is
back.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import MemberIdIssued, MemberJoined
from rebalance_forensics.events.rebalances import AssignmentReceived, GenerationStabilized, GroupEmptied
from rebalance_forensics.timeline.replay.drafts import ArrivalDraft, DepartureDraft
from rebalance_forensics.timeline.windows import SUCCESSION_MS

COUNTING = (GenerationStabilized, AssignmentReceived)
"""Lines that count members and name none."""
_NAMING = (MemberIdIssued, MemberJoined)


class Headcount:
    """The size of the last generation as its coordinator counted it."""

    def __init__(self) -> None:
        self._size: int | None = None
        self._at = 0
        self._names_everybody = False

    def apply(self, event: Event) -> None:
        """Note the count of members, or that this coordinator names newcomers."""
        if isinstance(event, GenerationStabilized):
            self._size, self._at = event.member_count, event.at or 0
        elif isinstance(event, GroupEmptied):
            self._size, self._at = 0, event.at or 0
        elif isinstance(event, _NAMING):
            self._names_everybody = True

    def unlogged_returns(
        self, event: GenerationStabilized, departures: Iterable[DepartureDraft], arrivals: Iterable[ArrivalDraft]
    ) -> list[DepartureDraft]:
        """The departures that ended unlogged with this generation; both lists are latest first."""
        if self._size is None or event.member_count is None or self._names_everybody:
            return []
        recent = list(takewhile(lambda d: d.at > self._at - SUCCESSION_MS, departures))
        departed = sum(d.at > self._at for d in recent)
        arrived = sum(1 for _ in takewhile(lambda a: a.at > self._at, arrivals))
        extra = max(event.member_count - (self._size - departed + arrived), 0)
        absences = [d for d in reversed(recent) if d.returned is None and not d.participant.has_log]
        return absences[:extra]
