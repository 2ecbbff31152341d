"""The table of partitions that nobody read: each stretch, whose it was, how long it lasted, and why."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from msgspec import Struct

from rebalance_forensics.records import elapsed
from rebalance_forensics.report.html.budget import UNREAD_ROWS_A_TABLE, Budget
from rebalance_forensics.report.html.unread_reasons import REASONS
from rebalance_forensics.timeline.model import GroupHistory, UnreadSpan
from rebalance_forensics.timeline.windows import SHORTEST_UNREAD_MS


class UnreadRow(Struct, frozen=True, kw_only=True):
    """Partitions of one member that nobody read from one moment to another; `ended_at` is None while it lasts."""

    partitions: tuple[str, ...]
    whose: str | None
    started_at: int
    earliest: int | None
    ended_at: int | None
    why: str

    @property
    def lasted_ms(self) -> int | None:
        """For how long; None where it lasts, or no line has a time."""
        return elapsed(self.started_at, self.ended_at)


def unread_rows(history: GroupHistory, budget: Budget) -> tuple[tuple[UnreadRow, ...], int]:
    """The longest stretches in the order of time, as many as the page holds, and how many it leaves out."""
    rows = [row for together in _by_member(history.unread) for row in _merged(together)]
    room = max(min(budget.rows, UNREAD_ROWS_A_TABLE), 0)
    shown = sorted(rows, key=_longest_first)[:room]
    budget.rows -= len(shown)
    budget.omit("rows of unread partitions", len(rows) - len(shown))
    return tuple(sorted(shown, key=lambda row: (row.started_at, row.partitions))), len(rows) - len(shown)


def _longest_first(row: UnreadRow) -> tuple[bool, int, int, tuple[str, ...]]:
    lasted = row.lasted_ms
    return lasted is not None, -(lasted or 0), row.started_at, row.partitions


def _by_member(spans: Sequence[UnreadSpan]) -> list[list[UnreadSpan]]:
    def alike(span: UnreadSpan) -> tuple[str, str]:
        return span.client_id or "", span.why

    ordered = sorted(spans, key=lambda span: (*alike(span), span.started_at, span.ended_at or 0, span.partition))
    return [[*together] for _, together in groupby(ordered, key=alike)]


def _merged(spans: Sequence[UnreadSpan]) -> list[UnreadRow]:
    """Members print a partition after the other: what lies closer than what is worth telling is one stretch."""
    found: list[list[UnreadSpan]] = []
    for span in spans:
        if found and _together(found[-1][0], span):
            found[-1].append(span)
        else:
            found.append([span])
    return [_row(together) for together in found]


def _together(span: UnreadSpan, next_span: UnreadSpan) -> bool:
    if (span.ended_at is None) != (
        next_span.ended_at is None
    ) or next_span.started_at - span.started_at > SHORTEST_UNREAD_MS:
        return False
    return abs((span.ended_at or 0) - (next_span.ended_at or 0)) <= SHORTEST_UNREAD_MS


def _row(spans: Sequence[UnreadSpan]) -> UnreadRow:
    first = spans[0]
    ends = [span.ended_at for span in spans if span.ended_at is not None]
    earliest = [span.from_earliest for span in spans if span.from_earliest is not None]
    return UnreadRow(
        partitions=tuple(span.partition for span in spans),
        whose=first.client_id,
        started_at=first.started_at,
        earliest=min(earliest, default=None),
        ended_at=max(ends, default=None),
        why=REASONS[first.why],
    )
