"""Moves of the coordinator whose other half is not in the logs: nobody is seen to load the group.

Whoever unloads a group has lost the partition of `__consumer_offsets` that it lives in, and a broker that is restarted
loads its groups at once or not at all: in both cases another broker coordinates the group from then on. A group has one
coordinator at a time, so of two that speak for it one after the other, the first let go of it in between.
"""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.episodes.coordinator.coordinator_move import (
    UNNAMED,
    CoordinatorMove,
    ShownBy,
    spoken_of,
)
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorElected, GroupLoaded, GroupUnloaded
from rebalance_forensics.events.membership import MemberLoaded
from rebalance_forensics.events.process import BrokerStarted, BrokerStopped
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import InTime
from rebalance_forensics.timeline.windows import CLOCK_SLACK_MS, HAND_OVER_MS, STOP_TO_LOAD_MS


def unfollowed_moves(timeline: Timeline) -> Iterator[CoordinatorMove]:
    """Every move that only the former coordinator shows, or only the next one, or that another broker speaks later."""
    loads = timeline.of(GroupLoaded)
    last: Event | None = None
    for event in _told_in_order(timeline):
        broker = spoken_of(event)
        match event:
            case MemberLoaded():
                continue
            case GroupUnloaded() | BrokerStarted() | BrokerStopped():
                if last is None or broker != last.speaker.broker:
                    continue
                if not _is_followed(timeline, loads, event, broker):
                    yield _move(event, broker, (event, last), "unload")
                last = None
                continue
            case GroupLoaded():
                if last is None and event.member_count != 0 and _was_up(timeline, event):
                    yield CoordinatorMove(time_of(event), UNNAMED, (event,), "load", until=time_of(event))
            case _ if last is not None and broker != last.speaker.broker and _keeps_it(timeline, event):
                yield _move(event, last.speaker.broker, (event, last), "succession")
        last = event


def _was_up(timeline: Timeline, load: GroupLoaded) -> bool:
    """Whether the broker had run for a while: at its start it loads what it led before as well."""
    begin, end = time_of(load) - STOP_TO_LOAD_MS, time_of(load)
    heard = [g for g in timeline.coverage.brokers if g.path == load.origin.path and g.begin <= begin]
    started = timeline.of(BrokerStarted).between(begin, end)
    return bool(heard) and not any(spoken_of(e) == load.speaker.broker for e in started)


def loaded_long_after_start(timeline: Timeline, load: GroupLoaded) -> bool:
    """Whether a broker that was restarted became the coordinator later: another one was, in between."""
    mine = load.speaker.broker
    starts = [e for e in timeline.of(BrokerStarted) if spoken_of(e) == mine and time_of(e) <= time_of(load)]
    elected = [e for e in timeline.of(CoordinatorElected) if e.speaker.broker == mine and time_of(e) <= time_of(load)]
    if not starts or not elected:
        return False
    return time_of(elected[-1]) - time_of(starts[-1]) > STOP_TO_LOAD_MS


def _told_in_order(timeline: Timeline) -> InTime[Event]:
    spoken = [e for e in timeline.said_of_it_by_brokers if e.speaker.broker is not None]
    return InTime([*spoken, *timeline.of(BrokerStarted, BrokerStopped)], time_of)


def _is_followed(timeline: Timeline, loads: InTime[GroupLoaded], event: Event, broker: int | None) -> bool:
    """Whether the loading that follows tells of this move: by another broker, or by the same when it is back."""
    load = loads.first(time_of(event) - CLOCK_SLACK_MS)
    if load is None:
        return False
    return load.speaker.broker != broker or not loaded_long_after_start(timeline, load)


def _keeps_it(timeline: Timeline, event: Event) -> bool:
    """Whether no other broker speaks for the group soon after: clocks that differ mix what two of them say."""
    after = timeline.said_of_it_by_brokers.between(time_of(event), time_of(event) + HAND_OVER_MS)
    return all(e.speaker.broker in (None, event.speaker.broker) for e in after)


def _move(event: Event, broker: int | None, events: tuple[Event, ...], shown_by: ShownBy) -> CoordinatorMove:
    at = time_of(event)
    return CoordinatorMove(at, f"broker-{broker}", events, shown_by, until=at)
