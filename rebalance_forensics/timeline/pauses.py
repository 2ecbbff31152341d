"""Pauses: spans in which a process has no partitions after a revocation or loss, until some are assigned again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import natural
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, Place, place_of
from rebalance_forensics.timeline.facts import Start
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.model import Pause, PauseKind


@dataclass(slots=True)
class _Open:
    at: int
    partitions: tuple[str, ...]
    kind: PauseKind
    rejoined: bool = False


@dataclass(slots=True)
class _Consumer:
    """The current assignment of a consumer by its log; `due` is a revocation that it has not carried out yet."""

    client: str
    step_ms: int
    member: str | None = None
    lost_at: int | None = None
    due: _Open | None = None
    opened: _Open | None = None

    def apply(self, event: Event, at: int) -> Pause | None:
        """Apply a line; return the pause that ends with it, if any."""
        match event:
            case ev.JoinSucceeded(member=m) | ev.SyncSucceeded(member=m) | ev.MemberTransitioned(member=m) if m:
                self.member = m
            case ev.JoinStarted() if self.opened:
                self.opened.rejoined = True
            case ev.ConsumerClosed() | ev.LeaveSent(why="closed"):
                self.opened = self.due = None
            case ev.OwnershipGivenUp():
                self.lost_at = at
            case ev.PartitionsRevoked() | ev.PartitionsLost():
                self._given_up(event, at)
            case ev.PartitionsAssigned():
                opened, self.opened, self.due = self.opened or self.due, None, None
                return self.pause(opened, at) if opened and (event.partitions or event.count) else None
        return None

    def _given_up(self, event: ev.PartitionsRevoked | ev.PartitionsLost, at: int) -> None:
        if isinstance(event, ev.PartitionsRevoked) and event.due:
            self.due = _Open(at, (), "lost" if self.lost_at == at else "revoked")
        elif event.partitions:
            kind: PauseKind = "lost" if isinstance(event, ev.PartitionsLost) else "revoked"
            self.opened = self.opened or _Open(at, event.partitions, kind)
        elif self.due is not None:
            self.opened, self.due = self.opened or replace(self.due, at=at), None

    def pause(self, opened: _Open, ended: int | None) -> Pause:
        """The pause that began with `opened`; `ended` is None if it is ongoing."""
        return Pause(
            client_id=self.client or None,
            member_id=self.member,
            started_at=opened.at,
            ended_at=ended,
            partitions=tuple(sorted(opened.partitions, key=natural)),
            kind=opened.kind,
            step_ms=self.step_ms,
        )


def pauses_of(
    participants: Participants, starts: Sequence[Start], events: Sequence[Event], clocks: Mapping[Place, FileClock]
) -> list[Pause]:
    """The pauses of all processes with a log, oldest first; a pause that is still open has no end.

    `events` are client lines: coordinators do not log partitions.
    """
    found: list[Pause] = []
    consumers: dict[tuple[int, str], _Consumer] = {}
    restarts = {id(e) for s in starts for e in s.events}
    for event in events:
        participant = participants.of_speaker(event)
        if participant is None or event.at is None:
            continue
        if id(event) in restarts and isinstance(event, ev.SettingsReported):
            _forget(consumers, participant, event)
            continue
        client = event.speaker.client_id or ""
        consumer = consumers.get((id(participant), client))
        if consumer is None:
            consumer = consumers[id(participant), client] = _Consumer(client, clocks[place_of(event)].step_ms)
        pause = consumer.apply(event, event.at)
        if pause is not None:
            found.append(pause)
    found += [c.pause(c.opened, None) for c in consumers.values() if c.opened and c.opened.rejoined]
    return sorted(found, key=lambda p: (p.started_at, p.client_id or "", p.member_id or ""))


def _forget(consumers: dict[tuple[int, str], _Consumer], participant: Participant, event: ev.SettingsReported) -> None:
    client = dict(event.settings).get("client.id")
    for (of, name), consumer in consumers.items():
        if of == id(participant) and client in (None, "", name):
            consumer.opened = None
