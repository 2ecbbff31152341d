"""Two zones in one paste: whoever put the lines together kept them in order, which tells how far clocks differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.windows import CLOCK_SLACK_MS, QUARTER_HOUR_MS


def on_the_brokers_clock(events: Sequence[Event]) -> Sequence[Event]:
    """The events; what clients say in another zone than their coordinator, with the times that it would have written.

    Only where the times go there and back between the two by the same quarters of an hour, and are in order once these
    are taken off: lines that only jump once may be from another hour of the day.
    """
    timed = sorted((e for e in events if e.at is not None and not e.zoned), key=lambda e: e.origin.byte_offset)
    turns = [(one, other) for one, other in pairwise(timed) if _by_broker(one) != _by_broker(other)]
    ahead = {_quarters(other, one) if _by_broker(one) else _quarters(one, other) for one, other in turns}
    (shift, *others) = ahead or {0}
    there_and_back = len({_by_broker(one) for one, _ in turns}) == 2
    if not shift or others or not there_and_back:
        return events
    times = [_moved(event, shift).at or 0 for event in timed]
    in_order = all(later - one >= -CLOCK_SLACK_MS for one, later in pairwise(times))
    return [_moved(event, shift) for event in events] if in_order else events


def _by_broker(event: Event) -> bool:
    return event.speaker.role == "broker"


def _quarters(client: Event, broker: Event) -> int:
    """How far a client's clock is ahead, to the quarter of an hour that zones differ by."""
    return round(((client.at or 0) - (broker.at or 0)) / QUARTER_HOUR_MS) * QUARTER_HOUR_MS


def _moved(event: Event, shift_ms: int) -> Event:
    if _by_broker(event) or event.zoned or event.at is None:
        return event
    return replace(event, at=EpochMs(event.at - shift_ms))
