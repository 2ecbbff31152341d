"""Departures and arrivals during the replay: later lines may still add to them or undo them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import Arrival, Departure, DepartureWhy, Start
from rebalance_forensics.timeline.identity.participants import Participant


@dataclass(slots=True, eq=False)
class DepartureDraft:
    """A departure as far as the lines read so far show it."""

    participant: Participant
    member: str | None
    at: int
    why: DepartureWhy = "left"
    events: list[Event] = field(default_factory=list)
    returned: ArrivalDraft | None = None
    reason: str | None = None
    stayed: bool = False


@dataclass(slots=True, eq=False)
class ArrivalDraft:
    """An arrival as far as the lines read so far show it."""

    participant: Participant
    member: str | None
    at: int
    events: list[Event] = field(default_factory=list)
    first: bool = True
    after: DepartureDraft | None = None
    start: Start | None = None
    while_empty: bool = False


def finished(
    departures: Iterable[DepartureDraft], arrivals: Iterable[ArrivalDraft]
) -> tuple[tuple[Departure, ...], tuple[Arrival, ...]]:
    """The departures and arrivals as facts with ids, by time; the references between them are kept."""
    left = sorted(departures, key=lambda d: d.at)
    names = {draft: f"departure-{number}" for number, draft in enumerate(left, 1)}
    came = {
        draft: _arrival(draft, f"arrival-{number}", names)
        for number, draft in enumerate(sorted(arrivals, key=lambda a: a.at), 1)
    }
    # A member that asked to rejoin and gave up before it was admitted is in no list, but its departure refers to it.
    gave_up = {d.returned: f"{names[d]}-returned" for d in left if d.returned is not None and d.returned not in came}
    back = came | {draft: _arrival(draft, name, names) for draft, name in gave_up.items()}
    return tuple(_departure(draft, names[draft], back) for draft in left), tuple(came.values())


def _arrival(draft: ArrivalDraft, name: str, departures: dict[DepartureDraft, str]) -> Arrival:
    return Arrival(
        participant=draft.participant,
        member=draft.member,
        at=draft.at,
        events=tuple(draft.events),
        first=draft.first,
        after=departures.get(draft.after) if draft.after is not None else None,
        start=draft.start,
        while_empty=draft.while_empty,
        id=name,
    )


def _departure(draft: DepartureDraft, name: str, arrivals: dict[ArrivalDraft, Arrival]) -> Departure:
    return Departure(
        participant=draft.participant,
        member=draft.member,
        at=draft.at,
        why=draft.why,
        events=tuple(draft.events),
        returned=arrivals[draft.returned] if draft.returned is not None else None,
        reason=draft.reason,
        stayed=draft.stayed,
        id=name,
    )
