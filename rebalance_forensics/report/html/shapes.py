"""The shapes of a picture in SVG units, and the meaning of its colors. Time runs over 100 000 units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from markupsafe import Markup
from msgspec import Struct

from rebalance_forensics.report.times import DAY, HOUR, MINUTE, SECOND, day, time_of_day

TICKS = 7
# The last ones are for logs with corrupt times: no time is beyond the year 9999.
STEPS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(SECOND * factor for factor in (1, 2, 5, 10, 15, 30)),
    *(MINUTE * factor for factor in (1, 2, 5, 10, 15, 30)),
    *(HOUR * factor for factor in (1, 2, 3, 6, 12)),
    *(DAY * factor for factor in (1, 2, 4, 7, 14, 28, 91)),
    *(DAY * 365 * factor for factor in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)),
)

# The part of a time of day that each format shows.
LENGTHS = {"minutes": 5, "seconds": 8, "clock": 12}


class Tick(Struct, frozen=True, kw_only=True):
    """One label of the axis, at a share of its width."""

    percent: float
    at: int
    label: str
    shape: str
    """The format in which the page shows the time."""


def ticks(start: int, end: int) -> tuple[Tick, ...]:
    """About seven round times between start and end."""
    length = max(end - start, 1)
    step = next((step for step in STEPS if step * TICKS >= length), STEPS[-1])
    first = -(-start // step) * step
    return tuple(
        Tick(percent=round((at - start) / length * 100, 3), at=at, label=_label(at, shape), shape=shape)
        for at in range(first, end + 1, step)
        for shape in (_shape(at, step),)
    )


def _shape(at: int, step: int) -> str:
    if step >= DAY or (at % DAY == 0 and step >= HOUR):
        return "day"
    return "clock" if step < SECOND else "seconds" if step < MINUTE else "minutes"


def _label(at: int, shape: str) -> str:
    return (day(at) or "") if shape == "day" else time_of_day(at)[: LENGTHS[shape]]


REASONS = {
    "stuck": "stuck: did not call poll()",
    "dead": "dead: its process was gone",
    "frozen": "frozen: its process was paused",
    "cut-off": "cut off from the brokers",
    "fenced": "fenced by another member",
    "silent": "silent: no heartbeat arrived",
    "holding-up": "holds up the rebalance",
    "revoked": "revoked, not assigned yet",
    "stopped": "stopped: its member shut down",
    "assignment-failed": "the assignment failed",
    "unassigned": "assigned to nobody",
    "unknown": "no reason was logged",
}
"""The first words are those of the JSON report; each reason has a pattern of its own beside its words."""
UNABLE = ("stuck", "dead", "frozen", "cut-off", "silent", "holding-up")
"""Kinds of bars in the lane of a member that did not read."""
OUT = "out"
"""The kind of bar in the lane of a broker that was down, stood still or could not be reached."""


ENTRIES = (
    ("member", ("member",), "member"),
    ("leading", ("leading",), "leads"),
    ("joining", ("joining", "rebalancing", "superseded"), "rebalancing"),
    ("follow-up", ("follow-up",), "follow-up rebalance"),
    ("restoring", ("restoring",), "restoring state"),
    ("share", ("unread-share", "paused"), "partitions unread (height = count)"),
    ("away", ("away", "absent"), "not in the group"),
    ("stable", ("stable", "coordinating"), "stable; of a broker: coordinates"),
    ("unread out", (OUT,), "broker out of service"),
    ("broken", ("broken",), "generation failed"),
    ("empty", ("empty",), "generation without members"),
    ("perhaps", ("perhaps",), "perhaps unread"),
    *((f"unread {why}", (why,), words) for why, words in REASONS.items()),
    ("fault", ("fault",), "fault"),
    ("notice", ("notice",), "notice"),
    ("plain", ("plain",), "other event"),
)


def legend(picture: Picture, layer: Layer) -> Iterator[tuple[str, str]]:
    """The style and meaning of each kind of bar in a layer."""
    rows = [row for row in picture.rows if row.layer in ("always", layer)]
    drawn = {bar.look if bar.kind == "unread" else bar.kind for row in rows for bar in row.bars}
    drawn |= {dot.severity for row in rows for dot in row.dots}
    return ((look, meaning) for look, kinds, meaning in ENTRIES if not drawn.isdisjoint(kinds))


WIDTH, LANE = 100_000, 26
CLOSE, CROWD = 1_000, 40
"""A mark covers a hundredth of the width; this many occupied hundredths make a band."""


Layer = Literal["always", "members", "partitions"]
"""The rows that a picture shows; its switch selects one of the last two."""


class Bar(Struct, frozen=True, kw_only=True):
    """A period in a lane; its kind determines height and color."""

    kind: str
    x: float
    width: float
    started_at: int
    ended_at: int | None
    label: str
    incident: int | None = None
    look: str = ""
    """The variant of its kind: the number of an owner's color, or why no member read."""
    share: float = 1.0
    """The share of the row's height, for kinds whose height has a meaning."""


class Dot(Struct, frozen=True, kw_only=True):
    """A point in time in a lane and the number of its log line."""

    severity: str
    x: float
    at: int
    label: str
    line: int | None
    incident: int | None


class Row(Struct, frozen=True, kw_only=True):
    """One lane of the picture; `marked` if it belongs to a culprit."""

    name: str
    """The member, thread, worker or broker of the lane."""
    label: str
    """The label of the row: for a thread only its own part of the name."""
    kind: str
    y: int
    bars: tuple[Bar, ...]
    dots: tuple[Dot, ...]
    marked: bool = False
    layer: Layer = "members"
    owner: int | None = None
    """The number of the color of this member's partitions."""

    @property
    def dense(self) -> bool:
        """True if its marks would hide each other and the bars below them."""
        return len({round(dot.x / CLOSE) for dot in self.dots if dot.severity != "plain"}) > CROWD


class Number(Struct, frozen=True, kw_only=True):
    """The number of a generation, above the point at which it becomes stable."""

    percent: float
    text: str


class Owner(Struct, frozen=True, kw_only=True):
    """A member whose partitions are drawn, and the number of its color."""

    name: str
    label: str
    color: int


class Arrow(Struct, frozen=True, kw_only=True):
    """An arrow from a disturbance in a row to the rebalance that it caused."""

    row: int
    at: int
    to_row: int
    to: int


class Picture(Struct, frozen=True, kw_only=True):
    """Swim lanes over a period."""

    id: str
    group: str
    started_at: int
    ended_at: int
    rows: tuple[Row, ...]
    ticks: tuple[Tick, ...]
    numbers: tuple[Number, ...]
    shade: tuple[float, float] | None
    """The period of the incident, in units."""
    owners: tuple[Owner, ...] = ()
    """The members whose partitions are drawn, in the order of their first appearance."""
    left_out: tuple[str, ...] = ()
    arrows: tuple[Arrow, ...] = ()

    @property
    def height(self) -> int:
        """The height of the rows that are shown at first."""
        return LANE * sum(row.layer != "partitions" for row in self.rows)

    @property
    def has_partitions(self) -> bool:
        """True if the logs show which member read which partition."""
        return any(row.layer == "partitions" for row in self.rows)


class Window(Struct, frozen=True, kw_only=True):
    """The period that a picture shows."""

    start: int
    end: int

    def x(self, at: int) -> float:
        """The x coordinate of a time."""
        return round((at - self.start) / (self.end - self.start) * WIDTH, 1)

    def shows(self, start: int, end: int | None) -> bool:
        """True if a span overlaps the window."""
        return start <= self.end and (end is None or end >= self.start)

    def cut(self, start: int, end: int | None) -> tuple[float, float]:
        """The x coordinate and width of a span, clipped to the window."""
        left = self.x(max(start, self.start))
        right = self.x(self.end if end is None else min(end, self.end))
        return left, round(max(right - left, 0), 1)

    def bar(
        self,
        kind: str,
        start: int,
        end: int | None,
        label: str,
        incident: int | None = None,
        *,
        look: str = "",
        share: float = 1.0,
    ) -> Bar:
        """A bar for a span."""
        x, width = self.cut(start, end)
        return Bar(
            kind=kind, x=x, width=width, started_at=start, ended_at=end, label=label, incident=incident,
            look=look, share=share,
        )  # fmt: skip


# The offset from the top of the lane and the height of each kind of bar.
PLACES = {
    "member": (6, 14),
    "leading": (2, 2),
    "joining": (9, 8),
    "paused": (17, 5),
    "away": (12, 2),
    "absent": (12, 2),
    "coordinating": (8, 10),
    OUT: (5, 16),
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
    """The SVG of a lane."""
    drawn = [_bar(bar, row.y) for bar in row.bars] + [_dot(dot, row.y) for dot in row.dots]
    # It contains only numbers and our own words; a template would take seconds for this many.
    return Markup("".join(drawn))  # noqa: S704


def _bar(bar: Bar, y: int) -> str:
    if bar.kind == "unread-share":
        height = max(round(SHARE_HEIGHT * bar.share), SHARE_LEAST)
        top = SHARE_FOOT - height
        return f'<rect class="bar share" x="{bar.x}" y="{y + top}" width="{bar.width}" height="{height}"/>'
    top, height = PLACES[bar.kind]
    place = f'x="{bar.x}" y="{y + top}" width="{bar.width}" height="{height}"/>'
    if bar.kind in ("unread", OUT) or bar.kind in UNABLE:
        look = bar.look or bar.kind
        # A stroke keeps the width of its dashes however far the picture is zoomed; a pattern would not.
        hatch = f'<path class="hatch" d="M{bar.x} {y + MIDDLE}h{bar.width}"/>'
        return f'<g class="bar unread {look}"><rect {place}{hatch}</g>'
    if bar.kind != "follow-up":
        return f'<rect class="bar {bar.kind}{bar.look and f" {bar.look}"}" {place}'
    # A ring keeps its size if the bar is too short to look hollow.
    ring = f'd="M{bar.x} {y + MIDDLE}h0"/>'
    return f'<g class="bar follow-up"><rect {place}<path class="ring" {ring}<path class="core" {ring}</g>'


def _dot(dot: Dot, y: int) -> str:
    if dot.severity == "plain":
        return f'<path class="dot plain" d="M{dot.x} {y + TICK_TOP}v{TICK_HEIGHT}"/>'
    return f'<path class="dot {dot.severity}" d="M{dot.x} {y + MIDDLE}h0"/>'
