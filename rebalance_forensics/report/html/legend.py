"""What the colours of one picture mean: an entry for what is drawn in it, and for nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.report.html.shapes import Layer, Picture
from rebalance_forensics.report.html.unread_reasons import REASONS

ENTRIES = (
    ("member", ("member",), "member"),
    ("leading", ("leading",), "leads"),
    ("joining", ("joining",), "waits for the rebalance"),
    ("joining", ("rebalancing", "superseded"), "rebalancing"),
    ("follow-up", ("follow-up",), "follow-up rebalance"),
    ("restoring", ("restoring",), "restoring state"),
    ("paused", ("paused",), "paused"),
    ("away", ("away",), "away"),
    ("stable", ("stable",), "generation stable"),
    ("broken", ("broken",), "generation failed"),
    ("empty", ("empty",), "generation without members"),
    ("coordinating", ("coordinating",), "broker coordinates"),
    ("share", ("unread-share",), "partitions unread, the higher the more"),
    ("perhaps", ("perhaps",), "perhaps unread already"),
    *((f"unread {why}", (why,), words) for why, words in REASONS.items()),
    ("fault", ("fault",), "fault"),
    ("notice", ("notice",), "notice"),
    ("plain", ("plain",), "other event"),
)


def legend(picture: Picture, layer: Layer) -> Iterator[tuple[str, str]]:
    """Give how each kind that the rows of a layer hold is drawn, and what it means."""
    rows = [row for row in picture.rows if row.layer in ("always", layer)]
    drawn = {bar.look if bar.kind == "unread" else bar.kind for row in rows for bar in row.bars}
    drawn |= {dot.severity for row in rows for dot in row.dots}
    return ((look, meaning) for look, kinds, meaning in ENTRIES if not drawn.isdisjoint(kinds))
