"""The SVG of one lane: its stretches as bars, its moments as marks."""

from __future__ import annotations

from markupsafe import Markup

from rebalance_forensics.report.html.shapes import Bar, Dot, Row

PLACES = {
    "member": (6, 14),
    "leading": (2, 2),
    "joining": (9, 8),
    "paused": (17, 5),
    "away": (12, 2),
    "coordinating": (8, 10),
    "restoring": (9, 8),
    "rebalancing": (9, 8),
    "follow-up": (9, 8),
    "stable": (6, 14),
    "broken": (6, 14),
    "superseded": (9, 8),
    "empty": (12, 2),
}
"""How far below the top of its lane each kind of stretch begins, and how high it is."""
MIDDLE, TICK_TOP, TICK_HEIGHT = 13, 8, 10


def strokes(row: Row) -> Markup:
    """Draw everything of a lane."""
    drawn = [_bar(bar, row.y) for bar in row.bars] + [_dot(dot, row.y) for dot in row.dots]
    # Nothing but numbers and our own words stands in it; a template would take seconds for as many.
    return Markup("".join(drawn))  # noqa: S704


def _bar(bar: Bar, y: int) -> str:
    top, height = PLACES[bar.kind]
    place = f'x="{bar.x}" y="{y + top}" width="{bar.width}" height="{height}"/>'
    if bar.kind != "follow-up":
        return f'<rect class="bar {bar.kind}" {place}'
    # A ring keeps its size where the stretch is too short to show that it is hollow.
    ring = f'd="M{bar.x} {y + MIDDLE}h0"/>'
    return f'<g class="bar follow-up"><rect {place}<path class="ring" {ring}<path class="core" {ring}</g>'


def _dot(dot: Dot, y: int) -> str:
    if dot.severity == "plain":
        return f'<path class="dot plain" d="M{dot.x} {y + TICK_TOP}v{TICK_HEIGHT}"/>'
    return f'<path class="dot {dot.severity}" d="M{dot.x} {y + MIDDLE}h0"/>'
