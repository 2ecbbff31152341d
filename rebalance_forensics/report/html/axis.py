"""The time axis: where its labels stand and what they say."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.report.times import DAY, HOUR, MINUTE, SECOND, day, time_of_day

TICKS = 7
# The last are for logs some of whose times have lost their digits: no log goes beyond the year 9999.
STEPS = (
    *(1, 2, 5, 10, 20, 50, 100, 200, 500),
    *(SECOND * factor for factor in (1, 2, 5, 10, 15, 30)),
    *(MINUTE * factor for factor in (1, 2, 5, 10, 15, 30)),
    *(HOUR * factor for factor in (1, 2, 3, 6, 12)),
    *(DAY * factor for factor in (1, 2, 7, 14, 28, 91)),
    *(DAY * 365 * factor for factor in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)),
)

# How much of a time of day each way of writing it shows.
LENGTHS = {"minutes": 5, "seconds": 8, "clock": 12}


class Tick(Struct, frozen=True, kw_only=True):
    """One label of the axis, at a share of its width."""

    percent: float
    at: int
    label: str
    shape: str
    """In which of the page's ways a time is written."""


def ticks(start: int, end: int) -> tuple[Tick, ...]:
    """Choose round moments between start and end, about seven."""
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
