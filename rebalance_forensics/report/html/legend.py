"""What the colours of one picture mean: an entry for what is drawn in it, and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.report.html.shapes import Row

ENTRIES = (
    ("member", ("member",), "member"),
    ("leading", ("leading",), "leads"),
    ("joining", ("joining", "rebalancing", "superseded"), "rebalancing"),
    ("follow-up", ("follow-up",), "follow-up rebalance"),
    ("restoring", ("restoring",), "restoring state"),
    ("paused", ("paused",), "paused"),
    ("away", ("away",), "away"),
    ("stable", ("stable",), "generation stable"),
    ("broken", ("broken",), "generation failed"),
    ("empty", ("empty",), "generation without members"),
    ("coordinating", ("coordinating",), "broker coordinates"),
    ("fault", ("fault",), "fault"),
    ("notice", ("notice",), "notice"),
    ("plain", ("plain",), "other event"),
)


def legend(rows: tuple[Row, ...]) -> Iterator[tuple[str, str]]:
    """Give how each kind that the rows hold is drawn, and what it means."""
    drawn = {bar.kind for row in rows for bar in row.bars} | {dot.severity for row in rows for dot in row.dots}
    return ((look, meaning) for look, kinds, meaning in ENTRIES if not drawn.isdisjoint(kinds))
