"""Who took part in each rebalance, who was missing, who was new; who led it, and whether leadership was stable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from rebalance_forensics.diagnosis.rounds import Round, distinct_names, rounds_of
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.build import Timeline


@dataclass(frozen=True, slots=True, kw_only=True)
class Participation:
    """Who took part in one rebalance, against the one before whose members are known.

    `members` is None where no line tells; `renewed` took part both times, under another member id.
    `consumers` and `clients` are the numbers that the Streams leader counted.
    """

    generation: int | None
    at: EpochMs
    members: tuple[str, ...] | None
    missing: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    renewed: tuple[str, ...] = ()
    consumers: int | None = None
    clients: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Led:
    """Who led one rebalance; None where no line tells, and always under KIP-848."""

    generation: int | None
    at: EpochMs
    leader: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderChange:
    """Leadership moved. `former_took_part`: the former leader was still there, which Kafka does not do by itself."""

    generation: int | None
    at: EpochMs
    before: str
    after: str
    former_took_part: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Leadership:
    """Who led each rebalance. `stable` is None when fewer than two leaders are known."""

    led: tuple[Led, ...]
    changes: tuple[LeaderChange, ...]
    stable: bool | None


def participants(timeline: Timeline) -> tuple[Participation, ...]:
    """Every rebalance with its members."""
    return participants_of(rounds_of(timeline))


def leadership(timeline: Timeline) -> Leadership:
    """Every rebalance with its leader."""
    return leadership_of(rounds_of(timeline))


def participants_of(rounds: Sequence[Round]) -> tuple[Participation, ...]:
    """The same, of rounds already known."""
    found = []
    before: dict[str, str | None] | None = None
    for each in rounds:
        now = None if each.members is None else distinct_names(each.members)
        found.append(_compared(each, now, before))
        before = before if now is None else now
    return tuple(found)


def _compared(each: Round, now: dict[str, str | None] | None, before: dict[str, str | None] | None) -> Participation:
    return Participation(
        generation=each.generation,
        at=each.started_at,
        members=None if now is None else tuple(sorted(now)),
        missing=tuple(sorted(before.keys() - now.keys())) if now is not None and before is not None else (),
        new=tuple(sorted(now.keys() - before.keys())) if now is not None and before is not None else (),
        renewed=_renewed(now, before) if now and before else (),
        consumers=each.consumers,
        clients=each.clients,
    )


def _renewed(now: dict[str, str | None], before: dict[str, str | None]) -> tuple[str, ...]:
    both = now.keys() & before.keys()
    return tuple(sorted(n for n in both if now[n] and before[n] and now[n] != before[n]))


def leadership_of(rounds: Sequence[Round]) -> Leadership:
    """The same, of rounds already known."""
    led = tuple(Led(generation=r.generation, at=r.started_at, leader=r.leader) for r in rounds)
    known = [r for r in rounds if r.leader is not None]
    changes = tuple(
        LeaderChange(
            generation=after.generation,
            at=after.started_at,
            before=before.leader,
            after=after.leader,
            former_took_part=_took_part(before.leader, after),
        )
        for before, after in pairwise(known)
        if before.leader is not None and after.leader is not None and before.leader != after.leader
    )
    return Leadership(led=led, changes=changes, stable=not changes if len(known) > 1 else None)


def _took_part(name: str, each: Round) -> bool | None:
    return None if each.members is None else name in {n for n, _ in each.members}
