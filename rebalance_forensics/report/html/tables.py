"""The tables below a group's picture: generations, unread partitions, pauses by member, identities."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from statistics import median

from msgspec import Struct

from rebalance_forensics.records import elapsed, is_timed
from rebalance_forensics.report.html.budget import ROWS_A_TABLE, TERMS, UNREAD_ROWS_A_TABLE, Budget
from rebalance_forensics.report.html.incident_links import Links
from rebalance_forensics.report.html.names import called
from rebalance_forensics.report.html.picture import SEVERITIES
from rebalance_forensics.report.html.shapes import REASONS
from rebalance_forensics.report.lanes import lanes_by_mark, member_name, period_of, stable_until
from rebalance_forensics.report.member_names import short_names
from rebalance_forensics.report.plain_text import lines_of
from rebalance_forensics.report.rebalance_patterns import BUSIEST, FEW_HOURS, over_hours
from rebalance_forensics.report.times import DAY, HOUR, duration
from rebalance_forensics.report.wording import count
from rebalance_forensics.timeline.evidence import abridged
from rebalance_forensics.timeline.model import (
    CoordinatorTerm,
    Generation,
    GroupHistory,
    Identity,
    Mark,
    Pause,
    UnreadSpan,
)
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.windows import SHORTEST_UNREAD_MS


class GenerationRow(Struct, frozen=True, kw_only=True):
    """One generation, with short names of its members."""

    generation: Generation
    leader: str | None
    members: tuple[str, ...]
    joined: tuple[str, ...]
    left: tuple[str, ...]


class PausedMember(Struct, frozen=True, kw_only=True):
    """The number and total length of a member's pauses."""

    name: str
    pauses: tuple[Pause, ...]
    total_ms: int | None
    """None if pauses ended but no line has a time."""
    longest_ms: int | None
    unfinished: int


class GroupTables(Struct, frozen=True, kw_only=True):
    """All tables of one group, limited to the budget of the page."""

    generations: tuple[GenerationRow, ...]
    unread: tuple[UnreadRow, ...]
    paused: tuple[PausedMember, ...]
    identities: tuple[Identity, ...]
    events: tuple[EventRow, ...]
    coordinators: tuple[CoordinatorTerm, ...]
    left_out: Mapping[str, int]
    """Table -> the number of rows left out."""
    hours: tuple[tuple[int, tuple[int, ...]], ...]
    """The number of rebalances in each hour of each day."""
    figures: tuple[tuple[str, str], ...]
    """Figures about the whole time as labels and values, as far as the logs show them."""


def tables_of(history: GroupHistory, budget: Budget, links: Links) -> GroupTables:
    """The tables of a group."""
    names = {
        member.member_id: member_name(member) for generation in history.generations for member in generation.members
    }
    left_out: dict[str, int] = {}
    generations, left_out["generations"] = budget.take_rows(history.generations, ROWS_A_TABLE, "rows of generations")
    identities, left_out["identities"] = budget.take_rows(history.identities, ROWS_A_TABLE, "rows of identities")
    terms, left_out["coordinators"] = budget.take_rows(history.coordinators, TERMS, "terms of coordinators")
    unread, left_out["unread"] = unread_rows(history, budget, links)
    events, left_out["events"] = events_of(history, budget)
    hours, left_out["hours"] = budget.take_rows([*hours_of(history)], TERMS, "days of the table of hours")
    return GroupTables(
        events=events,
        generations=tuple(_generation_row(generation, names) for generation in generations),
        unread=unread,
        paused=_paused(history)[:ROWS_A_TABLE],
        identities=identities,
        coordinators=terms,
        left_out=left_out,
        hours=hours,
        figures=tuple(figures_of(history)),
    )


def figures_of(history: GroupHistory) -> Iterator[tuple[str, str]]:
    """The share of time that it was stable, number and length of rebalances, and unread partitions with members."""
    period = period_of(history)
    if period is None or not is_timed(period[0]) or period[0] == period[1]:
        return
    whole = period[1] - period[0]
    made = [g for g in history.generations if g.reached_at is not None]
    if stable := [(g.completed_at, until) for g, until in stable_until(history) if g.outcome == "stable"]:
        ms = sum((period[1] if until is None else until) - at for at, until in stable if at is not None)
        yield "Stable", f"{100 * ms / whole:.1f} % of {duration(whole)}"
    if made:
        an_hour = f", {len(made) * HOUR / whole:.1f} an hour" if whole > FEW_HOURS * HOUR else ""
        yield "Rebalances", f"{count(len(made), 'rebalance')} in {duration(whole)}{an_hour}"
    if took := sorted(g.took_ms for g in made if g.took_ms is not None):
        slowest = f", 95 % within {duration(took[-(-len(took) * 19 // 20) - 1])}" if len(took) > 1 else ""
        yield "A rebalance took", f"{duration(round(median(took)))} (median){slowest}" if slowest else duration(took[0])
    spans = [(span.client_id, span.lasted_ms) for span in history.unread]
    if history.read or spans:
        least = "at least " if any(ms is None for _, ms in spans) else ""
        yield "Partition time unread", f"{least}{duration(sum(ms or 0 for _, ms in spans))}" if spans else "none"
    by_member: dict[str, int] = defaultdict(int)
    for name, lasted in spans:
        if name:
            by_member[name] += lasted or 0
    if (most := max(by_member.values(), default=0)) > 0:
        worst = min(name for name, ms in by_member.items() if ms == most)
        yield "Worst member", f"{called(worst, short_names(history))}, {duration(most)}"
    # The table of hours shows the busiest.
    yield from (figure for figure in over_hours(history) if figure[0] != BUSIEST)


def hours_of(history: GroupHistory) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The number of rebalances in each hour, for each day with any, in UTC, for logs of more than a few hours."""
    reached = [g.reached_at for g in history.generations if is_timed(g.reached_at)]
    times = sorted(at for at in reached if at is not None)
    if times and times[-1] - times[0] > FEW_HOURS * HOUR:
        for day, of_day in sorted(grouped(times, lambda at: at // DAY).items()):
            hours = Counter(at % DAY // HOUR for at in of_day)
            yield day * DAY, tuple(hours[hour] for hour in range(24))


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


TEXT_CHARACTERS = 200


class EventRow(Struct, frozen=True, kw_only=True):
    """One event with the lanes that show it."""

    mark: Mark
    who: tuple[str, ...]
    text: str


def events_of(history: GroupHistory, budget: Budget) -> tuple[tuple[EventRow, ...], int]:
    """The events of a group by time, faults first if not all fit, and the number of events left out."""
    lanes = lanes_by_mark(history)
    kept = budget.events.take(sorted(lanes, key=lambda mark: (SEVERITIES[mark.severity], mark.at)))
    budget.omit("rows of events", len(lanes) - len(kept))
    rows = (
        EventRow(
            mark=mark,
            who=lanes[mark],
            text=" ".join(lines_of(abridged(mark.evidence.text, TEXT_CHARACTERS), TEXT_CHARACTERS)),
        )
        for mark in sorted(kept, key=lambda mark: (mark.at, mark.evidence.path, mark.evidence.byte_offset))
    )
    return tuple(rows), len(lanes) - len(kept)


class UnreadRow(Struct, frozen=True, kw_only=True):
    """Partitions of a member that no member read from one time to another; `ended_at` is None if it lasts."""

    partitions: tuple[str, ...]
    whose: str | None
    started_at: int
    earliest: int | None
    ended_at: int | None
    latest: int | None
    """The latest time at which they were read again; None if unbounded."""
    why: str

    @property
    def lasted_ms(self) -> int | None:
        """The duration in ms; None if it lasts or no line has a time."""
        return elapsed(self.started_at, self.ended_at)


def unread_rows(history: GroupHistory, budget: Budget, links: Links) -> tuple[tuple[UnreadRow, ...], int]:
    """The longest unread periods in order of time, as many as fit, and the number of those left out."""
    rows = [row for together in _by_member(history.unread) for row in _merged(together, links)]
    ordered = sorted(rows, key=_longest_first)
    shown, left_out = budget.take_rows(ordered, UNREAD_ROWS_A_TABLE, "rows of unread partitions")
    return tuple(sorted(shown, key=lambda row: (row.started_at, row.partitions))), left_out


def _longest_first(row: UnreadRow) -> tuple[bool, int, int, tuple[str, ...]]:
    lasted = row.lasted_ms
    return lasted is not None, -(lasted or 0), row.started_at, row.partitions


def _by_member(spans: Sequence[UnreadSpan]) -> list[list[UnreadSpan]]:
    def alike(span: UnreadSpan) -> tuple[str, str]:
        return span.client_id or "", span.why

    ordered = sorted(spans, key=lambda span: (*alike(span), span.started_at, span.ended_at or 0, span.partition))
    return [[*together] for _, together in groupby(ordered, key=alike)]


def _merged(spans: Sequence[UnreadSpan], links: Links) -> list[UnreadRow]:
    # Members log one partition after another, so spans that are very close are merged.
    found: list[list[UnreadSpan]] = []
    for span in spans:
        if found and _together(found[-1][0], span):
            found[-1].append(span)
        else:
            found.append([span])
    return [_row(together, links) for together in found]


def _together(span: UnreadSpan, next_span: UnreadSpan) -> bool:
    pairs = ((getattr(span, name), getattr(next_span, name)) for name in ("started_at", "ended_at", "to_latest"))
    return all((a is None) == (b is None) and abs((a or 0) - (b or 0)) <= SHORTEST_UNREAD_MS for a, b in pairs)


def _row(spans: Sequence[UnreadSpan], links: Links) -> UnreadRow:
    first = spans[0]
    ends = [span.ended_at for span in spans if span.ended_at is not None]
    earliest = [span.from_earliest for span in spans if span.from_earliest is not None]
    return UnreadRow(
        partitions=tuple(span.partition for span in spans),
        whose=first.client_id,
        started_at=first.started_at,
        earliest=min(earliest, default=None),
        ended_at=max(ends, default=None),
        latest=max([span.to_latest for span in spans if span.to_latest is not None], default=None),
        why=REASONS[links.shown_as(first.why, first.incident)],
    )
