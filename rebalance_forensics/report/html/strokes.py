"""The SVG of one lane: its stretches as bars, its moments as marks."""

from __future__ import annotations

from markupsafe import Markup

from rebalance_forensics.report.html.shapes import UNABLE, Bar, Dot, Row

# How far below the top of its lane each kind of stretch begins, and how high it is.
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
    "read": (5, 16),
    "unread": (5, 16),
    "perhaps": (11, 4),
    **dict.fromkeys(UNABLE, (5, 16)),
}
SHARE_FOOT, SHARE_HEIGHT, SHARE_LEAST = 22, 18, 3
MIDDLE, TICK_TOP, TICK_HEIGHT = 13, 8, 10


def strokes(row: Row) -> Markup:
    """Draw everything of a lane."""
    drawn = [_bar(bar, row.y) for bar in row.bars] + [_dot(dot, row.y) for dot in row.dots]
    # Nothing but numbers and our own words stands in it; a template would take seconds for as many.
    return Markup("".join(drawn))  # noqa: S704


def _bar(bar: Bar, y: int) -> str:
    if bar.kind == "unread-share":
        height = max(round(SHARE_HEIGHT * bar.share), SHARE_LEAST)
        top = SHARE_FOOT - height
        return f'<rect class="bar share" x="{bar.x}" y="{y + top}" width="{bar.width}" height="{height}"/>'
    top, height = PLACES[bar.kind]
    place = f'x="{bar.x}" y="{y + top}" width="{bar.width}" height="{height}"/>'
    if bar.kind == "unread" or bar.kind in UNABLE:
        look = bar.look or bar.kind
        # A stroke keeps the width of its dashes however far the picture is zoomed; a pattern would not.
        hatch = f'<path class="hatch" d="M{bar.x} {y + MIDDLE}h{bar.width}"/>'
        return f'<g class="bar unread {look}"><rect {place}{hatch}</g>'
    if bar.kind != "follow-up":
        return f'<rect class="bar {bar.kind}{bar.look and f" {bar.look}"}" {place}'
    # A ring keeps its size where the stretch is too short to show that it is hollow.
    ring = f'd="M{bar.x} {y + MIDDLE}h0"/>'
    return f'<g class="bar follow-up"><rect {place}<path class="ring" {ring}<path class="core" {ring}</g>'


def _dot(dot: Dot, y: int) -> str:
    if dot.severity == "plain":
        return f'<path class="dot plain" d="M{dot.x} {y + TICK_TOP}v{TICK_HEIGHT}"/>'
    return f'<path class="dot {dot.severity}" d="M{dot.x} {y + MIDDLE}h0"/>'
