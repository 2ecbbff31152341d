"""The tables below a group's picture: generations, unread partitions, pauses by member, who is who."""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct

from rebalance_forensics.report.html.budget import ROWS_A_TABLE, TERMS, Budget
from rebalance_forensics.report.html.event_table import EventRow, events_of
from rebalance_forensics.report.html.unread_table import UnreadRow, unread_rows
from rebalance_forensics.report.lanes import member_name
from rebalance_forensics.timeline.model import CoordinatorTerm, Generation, GroupHistory, Identity, Pause


class GenerationRow(Struct, frozen=True, kw_only=True):
    """One generation, its members by the names operators use."""

    generation: Generation
    leader: str | None
    members: tuple[str, ...]
    joined: tuple[str, ...]
    left: tuple[str, ...]


class PausedMember(Struct, frozen=True, kw_only=True):
    """How often and how long one member stood still."""

    name: str
    pauses: tuple[Pause, ...]
    total_ms: int | None
    """None where pauses ended, and no line has a time."""
    longest_ms: int | None
    unfinished: int


class GroupTables(Struct, frozen=True, kw_only=True):
    """All tables of one group, cut to what the page may hold."""

    generations: tuple[GenerationRow, ...]
    generations_left_out: int
    unread: tuple[UnreadRow, ...]
    unread_left_out: int
    paused: tuple[PausedMember, ...]
    identities: tuple[Identity, ...]
    identities_left_out: int
    events: tuple[EventRow, ...]
    events_left_out: int
    coordinators: tuple[CoordinatorTerm, ...]
    coordinators_left_out: int


def tables_of(history: GroupHistory, budget: Budget) -> GroupTables:
    """Fill the tables of a group."""
    names = {
        member.member_id: member_name(member) for generation in history.generations for member in generation.members
    }
    room = max(min(budget.rows, ROWS_A_TABLE), 0)
    shown = history.generations[:room]
    budget.rows -= len(shown)
    identities = history.identities[: max(min(budget.rows, ROWS_A_TABLE), 0)]
    budget.rows -= len(identities)
    budget.omit("rows of generations", len(history.generations) - len(shown))
    budget.omit("rows of identities", len(history.identities) - len(identities))
    terms = history.coordinators[: max(min(budget.rows, TERMS), 0)]
    budget.rows -= len(terms)
    budget.omit("terms of coordinators", len(history.coordinators) - len(terms))
    unread, unread_left_out = unread_rows(history, budget)
    events, events_left_out = events_of(history, budget)
    return GroupTables(
        events=events,
        events_left_out=events_left_out,
        generations=tuple(_generation_row(generation, names) for generation in shown),
        generations_left_out=len(history.generations) - len(shown),
        unread=unread,
        unread_left_out=unread_left_out,
        paused=_paused(history)[:ROWS_A_TABLE],
        identities=identities,
        identities_left_out=len(history.identities) - len(identities),
        coordinators=terms,
        coordinators_left_out=len(history.coordinators) - len(terms),
    )


def _generation_row(generation: Generation, names: dict[str | None, str]) -> GenerationRow:
    return GenerationRow(
        generation=generation,
        leader=None if generation.leader is None else names.get(generation.leader, generation.leader),
        members=tuple(member_name(member) for member in generation.members),
        joined=tuple(names.get(member, member) for member in generation.joined),
        left=tuple(names.get(member, member) for member in generation.left),
    )


def _paused(history: GroupHistory) -> tuple[PausedMember, ...]:
    by_member: dict[str, list[Pause]] = defaultdict(list)
    for pause in history.pauses:
        by_member[pause.client_id or pause.member_id or "unnamed member"].append(pause)
    return tuple(
        sorted(
            (_member(*item) for item in by_member.items()), key=lambda member: (-(member.total_ms or 0), member.name)
        )
    )


def _member(name: str, pauses: list[Pause]) -> PausedMember:
    ended = [pause.lasted_ms for pause in pauses if pause.ended_at is not None]
    lengths = [length for length in ended if length is not None]
    known = bool(lengths) or not ended
    return PausedMember(
        name=name,
        pauses=tuple(pauses),
        total_ms=sum(lengths) if known else None,
        longest_ms=max(lengths, default=0) if known else None,
        unfinished=len(pauses) - len(ended),
    )
