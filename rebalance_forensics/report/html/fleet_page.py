"""The fleet report as a single HTML file without scripts or external resources."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.diagnosis.model import RANKS
from rebalance_forensics.report.fleet import SHOWN, Fleet
from rebalance_forensics.report.html.page import rendered

HEIGHT = 90
DAY_WIDTH = 14
FIRST = 10
"""Number of changes shown above the tables before they are folded."""


class Bar(Struct, frozen=True, kw_only=True):
    """The incidents of one severity on one day, in the units of the chart."""

    severity: str
    x: int
    y: float
    height: float
    label: str


def fleet_page(fleet: Fleet, tool_version: str) -> str:
    """Render the fleet report; the same tables give the same bytes."""
    return rendered(
        "fleet.html.j2",
        "",
        fleet=fleet,
        bars=_bars(fleet),
        severities=RANKS,
        width=DAY_WIDTH * len(fleet.days),
        height=HEIGHT,
        most=_most(fleet),
        FIRST=FIRST,
        SHOWN=SHOWN,
        tool_version=tool_version,
    )


def _most(fleet: Fleet) -> int:
    return max((sum(counts) for _, counts in fleet.days), default=0)


def _bars(fleet: Fleet) -> list[Bar]:
    """A stack of bars for each day, the worst severity at the bottom."""
    bars = []
    for index, (day, counts) in enumerate(fleet.days):
        y = float(HEIGHT)
        for severity, number in zip(RANKS, counts, strict=True):
            if number:
                height = HEIGHT * number / _most(fleet)
                y -= height
                bars.append(
                    Bar(
                        severity=severity,
                        x=index * DAY_WIDTH,
                        y=round(y, 2),
                        height=round(height, 2),
                        label=f"{day}: {number} {severity}",
                    )
                )
    return bars
