"""Times of day within sentences, as moments that the page can tell in another zone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from markupsafe import Markup, escape

from rebalance_forensics.records import EpochMs
from rebalance_forensics.report.html.budget import LINE_CHARACTERS
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.times import iso, time_of_day
from rebalance_forensics.timeline.model import Reading

CLOCK = re.compile(r"(\b\d{2}:\d{2}:\d{2}\.\d{3}\b)")


def clocks_of(reading: Reading) -> dict[str, EpochMs | None]:
    """Map each time of day that sentences on a group may tell to its moment; None where it was on several days."""
    clocks: dict[str, EpochMs | None] = {}
    for at in _moments(reading):
        clock = time_of_day(at)
        clocks[clock] = at if clocks.get(clock, at) == at else None
    return clocks


def timed(text: str, clocks: Mapping[str, EpochMs | None]) -> Markup:
    """Make the times of a sentence elements of their own; one that could be of several days is told as UTC."""
    return Markup().join(_part(part, clocks) for part in CLOCK.split(line_of(text, LINE_CHARACTERS)))


def _part(part: str, clocks: Mapping[str, EpochMs | None]) -> Markup:
    if part not in clocks:
        return escape(part)
    at = clocks[part]
    if at is None:
        return escape(f"{part} UTC")
    return Markup('<time datetime="{}" data-shape="clock">{}</time>').format(iso(at), part)


def _moments(reading: Reading) -> Iterator[EpochMs]:
    yield from (one.at for one in reading.participants)
    yield from (one.at for one in reading.spacings)
    for burst in reading.close_together:
        yield burst.started_at
        yield from (one.at for one in burst.failures)
