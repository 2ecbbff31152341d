"""What only all lines of a short log show together: two zones, whose a line is, that it lists errors and is no log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.group_attribution import OF_A_MEMBER
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS
from rebalance_forensics.utc_offsets import QUARTER_HOUR_MS

MOST_BYTES = 1 << 18
"""A longer file was not put together by hand; nor is it held as a whole for this."""


def rewritten(events: Iterable[Event], *steps: Callable[[Sequence[Event]], Iterable[Event]]) -> Iterator[Event]:
    """The events of a short file after steps that need all of them; those before an error count, as in a log."""
    read: list[Event] = []
    failure: Exception | None = None
    try:
        read.extend(events)
    except Exception as error:  # noqa: BLE001 - it is raised again behind what was read
        failure = error
    for step in steps:
        read = list(step(read))
    yield from read
    if failure is not None:
        raise failure


def without_a_list_of_errors(events: Sequence[Event]) -> Sequence[Event]:
    """The events; without those of a runbook or a table of errors, that happened at no time and to nobody."""
    # A member is kept out by one answer at a time, and what made it lose its place is logged with a time or a name.
    listed = [event for event in events if _is_of_nobody(event)]
    errors = {_error_in(event) for event in listed} - {None}
    keeping_out = {_error_in(event) for event in listed if isinstance(event, _KEEPING_OUT)}
    is_list = len(errors) >= _MOST_ERRORS or len(keeping_out) > 1
    return [event for event in events if not (is_list and _is_of_nobody(event))]


# No member is told so many different errors without a line that shows when, or of whom.
_MOST_ERRORS = 4
_KEEPING_OUT = (ev.AuthorizationFailed, ev.InstanceFenced, ev.JoinFailed)


def _is_of_nobody(event: Event) -> bool:
    # Documentation puts a placeholder where the name of a group stands.
    named = event.group is not None and event.group[:1] not in "<{"
    speaker = event.speaker
    return not (named or speaker.client_id or speaker.role == "broker") and event.at is None and event.level is None


def _error_in(event: Event) -> str | None:
    if isinstance(event, (ev.AuthorizationFailed, ev.InstanceFenced, ev.PollTimeoutExpired)):
        return type(event).__name__
    return getattr(event, "error", None) or getattr(event, "exception", None)


def on_the_brokers_clock(events: Sequence[Event]) -> Sequence[Event]:
    """The events; what clients say in another zone than their coordinator, with the times it would have written."""
    # Only where the times go there and back between the two by the same quarters of an hour, and are in order once
    # these are taken off: lines that only jump once may be from another hour of the day.
    timed = sorted((e for e in events if e.at is not None and not e.zoned), key=lambda e: e.origin.byte_offset)
    turns = [(first, second) for first, second in pairwise(timed) if _by_broker(first) != _by_broker(second)]
    ahead = {_quarters(second, first) if _by_broker(first) else _quarters(first, second) for first, second in turns}
    (shift, *others) = ahead or {0}
    there_and_back = len({_by_broker(first) for first, _ in turns}) == 2
    if not shift or others or not there_and_back:
        return events
    times = [_moved(event, shift).at or 0 for event in timed]
    in_order = all(later - earlier >= -ROUND_TRIP_MS for earlier, later in pairwise(times))
    return [_moved(event, shift) for event in events] if in_order else events


def _by_broker(event: Event) -> bool:
    return event.speaker.role == "broker"


def _quarters(client: Event, broker: Event) -> int:
    # How far a client's clock is ahead, to the quarter of an hour that zones differ by.
    return round(((client.at or 0) - (broker.at or 0)) / QUARTER_HOUR_MS) * QUARTER_HOUR_MS


def _moved(event: Event, shift_ms: int) -> Event:
    if _by_broker(event) or event.zoned or event.at is None:
        return event
    return replace(event, at=EpochMs(event.at - shift_ms))


def in_their_only_group(events: Sequence[Event]) -> Iterator[Event]:
    """The events; those of clients without any name with the one group that other lines of theirs name."""
    # librdkafka names the group when it asks and not when it is answered (`JoinGroup response: GenerationId 4, …`).
    # Lines with the client's name are tied together by that; a handler may print the message alone.
    groups: dict[str | None, set[str]] = defaultdict(set)
    for event in events:
        if event.group is not None and _is_nameless(event):
            groups[event.speaker.host].add(event.group)
    for event in events:
        named = groups.get(event.speaker.host, set())
        is_theirs = event.group is None and len(named) == 1 and _is_nameless(event)
        yield replace(event, group=min(named)) if is_theirs else event


def _is_nameless(event: Event) -> bool:
    # True if a member logged it whose line lacks the client's name; Java clients name theirs in each line.
    return event.speaker.role == "other" and event.speaker.client_id is None and isinstance(event, OF_A_MEMBER)
