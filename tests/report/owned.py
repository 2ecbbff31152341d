"""The crash of group payments with who read which of its partitions."""

from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.report.model import Report
from rebalance_forensics.timeline.model import ReadSpan, UnreadSpan
from tests.report.building import at, crash_report, payments


def read(member: int, numbers: range, start: float, end: float | None) -> ReadSpan:
    """Consumer payments-`member` reads some partitions of orders."""
    return ReadSpan(
        partitions=tuple(f"orders-{number}" for number in numbers),
        member=f"payments-{member}",
        started_at=at(start),
        ended_at=None if end is None else at(end),
    )


def unread(number: int, start: float, end: float | None, *, earliest: float | None = None) -> UnreadSpan:
    """Nobody reads a partition of orders that was payments-2's, which is dead."""
    return UnreadSpan(
        partition=f"orders-{number}",
        started_at=at(start),
        ended_at=None if end is None else at(end),
        client_id="payments-2",
        why="dead",
        certain=earliest is None,
        from_earliest=None if earliest is None else at(earliest),
        to_latest=None if end is None else at(end),
    )


def owned_report() -> Report:
    """Twelve partitions: payments-2 dies with orders 4-7, of which payments-1 and payments-3 get two each."""
    history = replace(
        payments(),
        read=(
            *(read(1, range(4), 5, None), read(3, range(8, 12), 5, None), read(2, range(4, 8), 5, 88)),
            *(read(1, range(4, 6), 134, None), read(3, range(6, 8), 134, None)),
        ),
        unread=tuple(unread(number, 88, 134, earliest=86) for number in range(4, 8)),
    )
    return replace(crash_report(), groups=(history,))


def many_partitions(number: int) -> Report:
    """So many partitions, no two of them alike; the later ones are unread for longer."""
    history = replace(
        payments(),
        read=tuple(read(1, range(one, one + 1), 5, 100) for one in range(number)),
        unread=tuple(unread(one, 100, 101 + one / 10) for one in range(number)),
    )
    return replace(crash_report(), groups=(history,))
