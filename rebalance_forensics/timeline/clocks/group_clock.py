"""The lines of a group on one clock: each line gets a time, and lines of the same whole second a likely order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import LeaveSent
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.clocks.file_clocks import (
    FileClock,
    Place,
    in_order,
    on_one_clock,
    place_of,
    read_clocks,
    with_times,
)
from rebalance_forensics.timeline.clocks.shared_facts import SharedFacts, fact_in, facts_of
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.process_logs import NO_LINES, ProcessEvents, ProcessLog
from rebalance_forensics.timeline.time_index import lists_by_key

E = TypeVar("E", bound=Event)
Times = dict[int, int]
"""By the place in a list of events."""


class TimedLines(Struct, frozen=True):
    """`group_events` name the group or are its members'; `ungrouped` are broker lines that name no group.

    `process_events` are the process logs of its members.
    """

    group_events: EventIndex
    ungrouped: EventIndex
    clocks: Mapping[Place, FileClock]
    process_events: ProcessEvents

    def of_the_group(self) -> tuple[Event, ...]:
        """The lines that name the group."""
        return tuple([event for event in self.group_events if event.group is not None])


def timed(lines: Sequence[Event], logs: Sequence[ProcessLog], ungrouped: UngroupedEvents) -> TimedLines:
    """The lines by time; a line without a time gets that of the previous line in its log, or only a position."""
    outlines = [event for log in logs for event in (*log.outline, *_versions_before(lines, log))]
    clients = {log.place: log.clients for log in logs}
    clocks = read_clocks([*lines, *outlines, *ungrouped.witnesses], ungrouped.broker_skews, clients)
    if logs and _has_whole_seconds(lines, clocks):  # the order within a second is that of all lines in the file
        lines, logs = [*lines, *(event for log in logs for event in log.lines)], ()
    filled = with_times(lines, ungrouped.by_brokers_in_logs_of(e for e in lines if e.at is None))
    if all(event.at is None for event in filled):
        return _by_order(filled, ungrouped, clocks)
    group_events = _within_their_seconds(on_one_clock(filled, clocks), clocks)
    process_events = ProcessEvents([log.on_clock(clocks[log.place]) for log in logs]) if logs else NO_LINES
    return TimedLines(EventIndex(group_events), ungrouped.brokers(clocks, lines), clocks, process_events)


def _versions_before(lines: Sequence[Event], log: ProcessLog) -> list[Event]:
    # The last version in a log before each line of a static member, which shows whether the member restarted.
    static = (e for e in lines if e.speaker.instance_id is not None and e.at is not None and place_of(e) == log.place)
    found = (log.versions.last(e.at) for e in static if e.at is not None)
    return list({id(e): e for e in found if e is not None}.values())


def _has_whole_seconds(events: Sequence[Event], clocks: Mapping[Place, FileClock]) -> bool:
    # True if lines are put in a likely order within their second: only a coordinator's log shows that.
    return any(c.step_ms > 1 for c in clocks.values()) and any(e.speaker.role == "broker" for e in events)


def _by_order(lines: Sequence[Event], ungrouped: UngroupedEvents, clocks: dict[Place, FileClock]) -> TimedLines:
    """Lines without any times, in the order of their files, with the broker lines between them."""
    group_events = {event.origin for event in lines}
    by_brokers = (e for e in ungrouped.by_brokers_in_logs_of(lines) if e.at is None and e.origin not in group_events)
    ordered = on_one_clock(in_order([*lines, *by_brokers]), clocks)
    of_group, others = (
        EventIndex([e for e in ordered if (e.origin in group_events) is own_line]) for own_line in (True, False)
    )
    return TimedLines(of_group, others, clocks, NO_LINES)


def _within_their_seconds(events: Sequence[E], clocks: Mapping[Place, FileClock]) -> list[E]:
    if not _has_whole_seconds(events, clocks):
        return list(events)
    coarse = _by_second(events, clocks)
    found: Times = {}
    for numbers, second in coarse:
        if events[numbers[0]].speaker.role == "broker":
            # A millisecond between two lines of a coordinator leaves room for client lines in between.
            found |= {number: second[min(2 * place, len(second) - 1)] for place, number in enumerate(numbers)}
    facts = facts_of((e, found.get(n, e.at or 0)) for n, e in enumerate(events) if e.at and e.speaker.role == "broker")
    for numbers, second in coarse:
        if events[numbers[0]].speaker.role != "broker":
            found |= _spread(events, numbers, second, facts)
    moved = ((event, found.get(number)) for number, event in enumerate(events))
    return [event if at is None else replace(event, at=EpochMs(at)) for event, at in moved]


def _by_second(events: Sequence[Event], clocks: Mapping[Place, FileClock]) -> list[tuple[list[int], range]]:
    """For each log and second, the indices of its lines in the order written, and the milliseconds of that second."""
    dated = ((number, place_of(event), event.at) for number, event in enumerate(events) if event.at is not None)
    coarse = lists_by_key(((place, at), number) for number, place, at in dated if clocks[place].step_ms > 1)
    for numbers in coarse.values():
        numbers.sort(key=lambda number: events[number].origin.byte_offset)
    return [(numbers, range(at, at + clocks[place].step_ms)) for (place, at), numbers in coarse.items()]


def _spread(events: Sequence[Event], numbers: Sequence[int], second: range, facts: SharedFacts) -> Times:
    """Times for the lines of a log within one second: increasing, and after the coordinator's responses."""
    known = [_known(events[number], second, facts) for number in numbers]
    # For each line the last known time before it, and the next behind it.
    earliest = accumulate((None, *known), _latter)
    latest = [*accumulate((None, *reversed(known)), _latter)][-2::-1]
    middle = second[len(second) // 2]
    found: Times = {}
    for number, at, low, high in zip(numbers, known, earliest, latest, strict=False):
        usual = middle if low is None else low  # a client acts at once on an answer of the coordinator
        found[number] = at if at is not None else usual if high is None else min(usual, high - 1)
    return found


def _latter(before: int | None, at: int | None) -> int | None:
    return before if at is None else at


def _known(event: Event, second: range, facts: SharedFacts) -> int | None:
    # When the coordinator logged the same step; a LeaveGroup is sent before it arrives there.
    if isinstance(event, LeaveSent):
        left = facts.left.get(event.member or "")
        return left - 1 if left is not None and left in second else None
    fact = fact_in(event)
    return next((at for at in facts.times_of(fact.shared) if at in second), None) if fact is not None else None
