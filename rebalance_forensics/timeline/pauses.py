"""Pauses: partitions of one process without a reader, revoked or lost until some are assigned again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import MemberTransitioned
from rebalance_forensics.events.membership import LeaveSent
from rebalance_forensics.events.partitions import PartitionsAssigned, PartitionsLost, PartitionsRevoked
from rebalance_forensics.events.process import ConsumerClosed, SettingsReported
from rebalance_forensics.events.rebalancing import JoinStarted, JoinSucceeded, SyncSucceeded
from rebalance_forensics.timeline.actors import Actor, Cast
from rebalance_forensics.timeline.facts import Start
from rebalance_forensics.timeline.model import Pause, PauseKind


@dataclass(slots=True)
class _Open:
    at: int
    partitions: tuple[str, ...]
    kind: PauseKind
    rejoined: bool = False


def pauses_of(cast: Cast, starts: Sequence[Start], events: Sequence[Event]) -> list[Pause]:
    """All pauses of all processes with a log, oldest first; one still open at the end has no end."""
    found: list[Pause] = []
    open_by: dict[tuple[int, str], _Open] = {}
    members: dict[tuple[int, str], str] = {}
    restarts = {id(e) for s in starts for e in s.events}
    for event in events:
        actor = cast.of_speaker(event)
        if actor is None or event.at is None:
            continue
        key = (id(actor), event.speaker.client_id or "")
        if id(event) in restarts and isinstance(event, SettingsReported):
            _forget(open_by, actor, event)
            continue
        match event:
            case JoinSucceeded(member=m) | SyncSucceeded(member=m) | MemberTransitioned(member=m) if m:
                members[key] = m
            case JoinStarted():
                if key in open_by:
                    open_by[key].rejoined = True
            case ConsumerClosed() | LeaveSent(why="closed"):
                open_by.pop(key, None)
            case PartitionsRevoked(partitions=p) | PartitionsLost(partitions=p) if p:
                kind: PauseKind = "lost" if isinstance(event, PartitionsLost) else "revoked"
                open_by.setdefault(key, _Open(event.at, p, kind))
            case PartitionsAssigned(partitions=p):
                opened = open_by.pop(key, None)
                if opened is not None and p:
                    found.append(_pause(event.speaker.client_id, members.get(key), opened, event.at))
    for (_, client), opened in open_by.items():
        if opened.rejoined:
            found.append(_pause(client or None, members.get((_, client)), opened, None))
    return sorted(found, key=lambda p: (p.started_at, p.client_id or "", p.member_id or ""))


def _forget(open_by: dict[tuple[int, str], _Open], actor: Actor, event: SettingsReported) -> None:
    client = dict(event.settings).get("client.id")
    for key in [k for k in open_by if k[0] == id(actor) and client in (None, "", k[1])]:
        del open_by[key]


def _pause(client: str | None, member: str | None, opened: _Open, ended: int | None) -> Pause:
    return Pause(
        client_id=client,
        member_id=member,
        started_at=opened.at,
        ended_at=ended,
        partitions=tuple(sorted(opened.partitions)),
        kind=opened.kind,
    )
