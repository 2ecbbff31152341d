"""The ledger of partition owners during the replay, and the consumers that own partitions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import AssignmentComputed
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.model import WhyUnread
from rebalance_forensics.timeline.time_index import sets_by_key

Owner = tuple[Participant, str]
"""A consumer, as participant and client id: each of several consumers in a process owns partitions."""


class Loss(Struct, frozen=True, kw_only=True):
    """The last time when a member read its partitions, and why it stopped; `why` is None while it reads them.

    `certain`: a line shows that time. Otherwise it is between `earliest` and `missed_at`, when the group noticed the
    absence, and `at` is the best estimate. `bounded` is False if no timeout is known: the member may have stopped
    reading much earlier.
    """

    at: int
    why: WhyUnread | None
    certain: bool = True
    earliest: int | None = None
    missed_at: int | None = None
    bounded: bool = True


class PartitionReading(Struct, frozen=True):
    """A span in which a member read a partition, from `begin` until its loss."""

    partition: str
    owner: Owner
    begin: int
    loss: Loss

    @property
    def end(self) -> int:
        """When it last read the partition, or the end of the logs."""
        return self.loss.at

    @property
    def client(self) -> str:
        """The client that read it."""
        participant, client = self.owner
        return client or participant.name


@dataclass(slots=True)
class Ledger:
    """The current partitions of each consumer, and the readings that have ended."""

    owned: dict[Owner, dict[str, int]] = field(default_factory=dict)
    """Owner -> partition -> time of its assignment."""
    readings: list[PartitionReading] = field(default_factory=list)
    taken: dict[Owner, dict[str, int]] = field(default_factory=dict)
    """Owner -> partition -> time when it was assigned to another consumer before this owner revoked it."""
    holders: dict[str, set[Owner]] = field(default_factory=dict)
    _given_back: dict[Owner, list[int]] = field(default_factory=dict)
    """Indices of the readings that ended since the owner's last assignment; a close that follows explains them."""

    def assign(self, owner: Owner, partitions: Iterable[str], at: int) -> None:
        """Start a reading of each partition that the owner does not read yet."""
        owned = self.owned.setdefault(owner, {})
        for partition in partitions:
            if partition in owned:
                continue
            self._given_back.pop(owner, None)
            for other in self.holders.setdefault(partition, set()):
                self.taken.setdefault(other, {}).setdefault(partition, at)
            self.holders[partition].add(owner)
            owned[partition] = at

    def change(self, owner: Owner, whole: Sequence[str], at: int) -> None:
        """Set the whole assignment of an owner, which has revoked all other partitions."""
        self.release(owner, [p for p in self.owned.get(owner, ()) if p not in whole], Loss(at=at, why="revoked"))
        self.assign(owner, whole, at)

    def release(self, owner: Owner, partitions: Iterable[str], loss: Loss) -> None:
        """End the owner's readings of these partitions."""
        owned = self.owned.get(owner, {})
        for partition in list(partitions):
            since = owned.pop(partition, None)
            if since is None:
                continue
            self.holders[partition].discard(owner)
            taken = self.taken.get(owner, {}).pop(partition, None)
            end = loss.at if taken is None else min(loss.at, taken)
            earliest = None if loss.earliest is None else max(since, min(loss.earliest, end))
            own = replace(loss, at=max(since, end), certain=loss.certain and taken is None, earliest=earliest)
            self._given_back.setdefault(owner, []).append(len(self.readings))
            self.readings.append(PartitionReading(partition, owner, since, own))

    def closed(self, owner: Owner, at: int) -> None:
        """End all readings of the owner; its preceding revocations are part of the close."""
        for place in self._given_back.pop(owner, ()):
            reading = self.readings[place]
            if reading.loss.why == "revoked":
                self.readings[place] = replace(reading, loss=replace(reading.loss, why="stopped"))
        self.release(owner, [*self.owned.get(owner, ())], Loss(at=at, why="stopped"))

    def owners(self, participant: Participant | None) -> list[Owner]:
        """The consumers of a participant that own or owned partitions."""
        return [owner for owner in self.owned if owner[0] is participant]

    def still_read(self, ends: Mapping[Owner, int], end: int) -> Iterator[PartitionReading]:
        """The readings without an end: until `end`, or until the owner was last seen if it is in `ends`."""
        for owner, partitions in self.owned.items():
            until = ends.get(owner, end)
            for partition, since in partitions.items():
                taken = self.taken.get(owner, {}).get(partition)
                over = min(until, taken) if taken is not None else until
                why: WhyUnread | None = None if over >= end else "unknown"
                loss = Loss(at=max(since, over), why=why, certain=over >= end)
                yield PartitionReading(partition, owner, since, loss)


class Consumers:
    """The consumers of one group."""

    def __init__(self, timeline: Timeline, lines: Iterable[Event]) -> None:
        self._timeline = timeline
        self._reach: dict[Participant, range] = {}
        owners = (owner for e in lines if names_partitions(e) and (owner := self.of_speaker(e)) is not None)
        self._of_participant = sets_by_key((owner[0], owner) for owner in owners)

    @property
    def reporting(self) -> list[Owner]:
        """The consumers whose logs name the partitions that they own."""
        return [owner for owners in self._of_participant.values() for owner in owners]

    def reports_at(self, owner: Owner, at: int) -> bool:
        """True if the consumer's log covers that time and names its assignment."""
        if owner not in self._of_participant.get(owner[0], ()):
            return False
        if owner[0] not in self._reach:  # rolled files leave no gap between them
            logs = self._timeline.coverage.detailed(owner[0])
            begin, end = min((log.begin for log in logs), default=1), max((log.end for log in logs), default=0)
            self._reach[owner[0]] = range(begin, end + 1)
        return at in self._reach[owner[0]]

    def of_speaker(self, event: Event) -> Owner | None:
        """The consumer that wrote this line, or None."""
        participant = self._timeline.participants.of_speaker(event) if event.speaker.role != "broker" else None
        if participant is None:
            return None
        return participant, "" if self._timeline.kind == "connect" else event.speaker.client_id or ""

    def of_member(self, member: str) -> Owner | None:
        """The consumer with this member id, or None."""
        # A static member's id starts with its group.instance.id instead of its client id
        # (GroupMetadata.generateMemberId).
        participant = self._timeline.participants.of_member(member)
        if participant is None:
            return None
        client = self._timeline.participants.client_of(member) or ""
        known = self._of_participant.get(participant, set())
        if participant.kind == "instance" or client in participant.client_ids:
            return participant, client
        return next(iter(known)) if len(known) == 1 else (participant, min(participant.client_ids, default=""))


def names_partitions(event: Event) -> bool:
    """True for a line of an owner that names partitions, tasks or connectors."""
    if isinstance(event, AssignmentComputed):
        return False
    return any(getattr(event, name, ()) for name in ("partitions", "active", "tasks", "connectors"))
