"""Corrections of a short log that need all of its lines: mixed time zones, unnamed groups, lists of errors."""

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
"""Longer files were not compiled by hand, and their events are not kept in memory for this."""


def rewritten(events: Iterable[Event], *steps: Callable[[Sequence[Event]], Iterable[Event]]) -> Iterator[Event]:
    """The events of a short file after steps that need all of them; an error is raised after the events before it."""
    read: list[Event] = []
    failure: Exception | None = None
    try:
        read.extend(events)
    except Exception as error:  # noqa: BLE001 - it is raised again after the events
        failure = error
    for step in steps:
        read = list(step(read))
    yield from read
    if failure is not None:
        raise failure


def without_a_list_of_errors(events: Sequence[Event]) -> Sequence[Event]:
    """The events, without those of a runbook or a list of errors, which have neither a time nor a client or group."""
    # A member fails to join with one error at a time, and real errors are logged with a time or a name.
    listed = [event for event in events if _is_anonymous(event)]
    errors = {_error_in(event) for event in listed} - {None}
    join_errors = {_error_in(event) for event in listed if isinstance(event, _JOIN_ERRORS)}
    is_list = len(errors) >= _MIN_LISTED_ERRORS or len(join_errors) > 1
    return [event for event in events if not (is_list and _is_anonymous(event))]


# Distinct errors that make a list: a real member's lines would also show a time or a name.
_MIN_LISTED_ERRORS = 4
_JOIN_ERRORS = (ev.AuthorizationFailed, ev.InstanceFenced, ev.JoinFailed)


def _is_anonymous(event: Event) -> bool:
    # Documentation uses a placeholder for the name of the group.
    named = event.group is not None and event.group[:1] not in "<{"
    speaker = event.speaker
    return not (named or speaker.client_id or speaker.role == "broker") and event.at is None and event.level is None


def _error_in(event: Event) -> str | None:
    if isinstance(event, (ev.AuthorizationFailed, ev.InstanceFenced, ev.PollTimeoutExpired)):
        return type(event).__name__
    return getattr(event, "error", None) or getattr(event, "exception", None)


def on_the_brokers_clock(events: Sequence[Event]) -> Sequence[Event]:
    """The events; if clients log in another time zone than the coordinator, with times in the coordinator's zone."""
    # Only if the times alternate between the two by the same number of quarter hours, and are in order without that
    # shift: lines that jump only once may be from another hour of the day.
    timed = sorted((e for e in events if e.at is not None and not e.zoned), key=lambda e: e.origin.byte_offset)
    turns = [(first, second) for first, second in pairwise(timed) if _by_broker(first) != _by_broker(second)]
    shifts = {_quarters(second, first) if _by_broker(first) else _quarters(first, second) for first, second in turns}
    (shift, *others) = shifts or {0}
    there_and_back = len({_by_broker(first) for first, _ in turns}) == 2
    if not shift or others or not there_and_back:
        return events
    times = [_moved(event, shift).at or 0 for event in timed]
    in_order = all(later - earlier >= -ROUND_TRIP_MS for earlier, later in pairwise(times))
    return [_moved(event, shift) for event in events] if in_order else events


def _by_broker(event: Event) -> bool:
    return event.speaker.role == "broker"


def _quarters(client: Event, broker: Event) -> int:
    # How far a client's clock is ahead in ms, rounded to quarter hours, by which zones differ.
    return round(((client.at or 0) - (broker.at or 0)) / QUARTER_HOUR_MS) * QUARTER_HOUR_MS


def _moved(event: Event, shift_ms: int) -> Event:
    if _by_broker(event) or event.zoned or event.at is None:
        return event
    return replace(event, at=EpochMs(event.at - shift_ms))


def in_their_only_group(events: Sequence[Event]) -> Iterator[Event]:
    """The events; those of unnamed clients with the only group that other unnamed clients of the host name."""
    # librdkafka names the group in requests and not in responses (`JoinGroup response: GenerationId 4, …`).
    # Lines with a client id are associated by it, but a log handler may print the message alone.
    groups: dict[str | None, set[str]] = defaultdict(set)
    for event in events:
        if event.group is not None and _is_nameless(event):
            groups[event.speaker.host].add(event.group)
    for event in events:
        named = groups.get(event.speaker.host, set())
        lacks_group = event.group is None and len(named) == 1 and _is_nameless(event)
        yield replace(event, group=min(named)) if lacks_group else event


def _is_nameless(event: Event) -> bool:
    # True if a member logged it without a client id; Java clients name theirs in every line.
    return event.speaker.role == "other" and event.speaker.client_id is None and isinstance(event, OF_A_MEMBER)
