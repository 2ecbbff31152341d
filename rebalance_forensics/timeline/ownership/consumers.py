"""The consumers of a group: which one a line or member id belongs to, and which of them log their own assignment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import AssignmentComputed
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.ownership.readings import Owner


class Consumers:
    """The consumers of one group."""

    def __init__(self, timeline: Timeline, lines: Iterable[Event]) -> None:
        self._timeline = timeline
        self._of_participant: dict[Participant, set[Owner]] = defaultdict(set)
        self._reach: dict[Participant, tuple[int, int]] = {}
        for event in lines:
            if names_partitions(event) and (owner := self.of_speaker(event)) is not None:
                self._of_participant[owner[0]].add(owner)

    @property
    def reporting(self) -> list[Owner]:
        """The consumers whose own log names what they own."""
        return [owner for owners in self._of_participant.values() for owner in owners]

    def reports_at(self, owner: Owner, at: int) -> bool:
        """True where the consumer's own log covers that time and names its assignment."""
        if owner not in self._of_participant.get(owner[0], ()):
            return False
        begin, end = self._log_span(owner[0])
        return begin <= at <= end

    def _log_span(self, participant: Participant) -> tuple[int, int]:
        """The begin of its first log and the end of its last: rolled files leave no gap between them."""
        if participant not in self._reach:
            logs = [log for log in self._timeline.coverage.of(participant) if log.detailed]
            begin, end = min((log.begin for log in logs), default=1), max((log.end for log in logs), default=0)
            self._reach[participant] = begin, end
        return self._reach[participant]

    def of_speaker(self, event: Event) -> Owner | None:
        """The consumer whose log this line is in."""
        participant = self._timeline.participants.of_speaker(event) if event.speaker.role != "broker" else None
        if participant is None:
            return None
        return participant, "" if self._timeline.kind == "connect" else event.speaker.client_id or ""

    def of_member(self, member: str) -> Owner | None:
        """The consumer behind a member id.

        A static member's id begins with its group.instance.id, not with its client id (GroupMetadata.generateMemberId).
        """
        participant = self._timeline.participants.of_member(member)
        if participant is None:
            return None
        client = self._timeline.participants.client_of(member) or ""
        known = self._of_participant.get(participant, set())
        if participant.kind == "instance" or client in participant.client_ids:
            return participant, client
        return next(iter(known)) if len(known) == 1 else (participant, min(participant.client_ids, default=""))


def names_partitions(event: Event) -> bool:
    """True for a line of an owner with partitions, tasks or connectors in it."""
    if isinstance(event, AssignmentComputed):
        return False
    return any(getattr(event, name, ()) for name in ("partitions", "active", "tasks", "connectors"))
