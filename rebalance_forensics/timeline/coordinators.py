"""The coordinators of a group over time: their terms, the handovers, and lines of former coordinators."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.brokers import affected_broker, starts_of, stopped_around, stops_and_starts
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import broker_name
from rebalance_forensics.timeline.model import CoordinatorTerm


def coordinators_of(events: EventIndex, starts: Iterable[ev.BrokerStarted] = ()) -> tuple[CoordinatorTerm, ...]:
    """The terms of the coordinators in order, by broker lines, and by clients' lookups that these do not contradict.

    A term lasts until another one begins, or until its broker unloads the group or starts again, if nothing shows which
    broker coordinates the group next. `starts` are the brokers' own lines.
    """
    terms: list[CoordinatorTerm] = []
    speaker, last = None, None
    late = lines_of_former_coordinators(events).all
    of_group = (event for event in events if event.group is not None)
    for event in merge(of_group, starts, key=time_of):
        if event.at is None:
            continue
        if isinstance(event, ev.GroupUnloaded | ev.BrokerStarted):
            if last is not None and event.speaker.broker is not None and broker_name(event.speaker.broker) == last:
                terms[-1] = replace(terms[-1], ended_at=event.at)
                speaker, last = None, None
            continue
        if event.speaker is speaker:
            continue  # the same coordinator as before
        broker = _broker(event)
        if broker is None or id(event) in late:
            continue
        speaker = event.speaker if event.speaker.role == "broker" and event.group is not None else None
        if broker != last:
            if terms and terms[-1].broker != broker:
                terms[-1] = replace(terms[-1], ended_at=event.at)
            terms.append(CoordinatorTerm(broker=broker, started_at=event.at, ended_at=None))
            last = broker
    return tuple(terms)


def starts_in_own_logs(ungrouped: EventIndex) -> Iterator[ev.BrokerStarted]:
    """The lines with which brokers begin to start; they may load groups before they log that they have started."""
    for start in ungrouped.of_type(ev.BrokerStarted):
        if start.phase == "starting" and start.broker in (None, start.speaker.broker):
            yield start


def _broker(event: Event) -> str | None:
    if event.speaker.role == "broker" and event.group is not None and event.speaker.broker is not None:
        return broker_name(event.speaker.broker)
    if isinstance(event, ev.CoordinatorFound) and event.coordinator is not None:
        return broker_name(event.coordinator)
    return None


class FormerCoordinatorLines(Struct, frozen=True):
    """The lines of former coordinators, as `id`s of events."""

    evicting: frozenset[int] = frozenset()
    """Evictions by a broker that did not know yet that another broker had loaded the group."""
    too_late: frozenset[int] = frozenset()
    """Lines that a broker logged after it unloaded the group: they no longer affect any member."""

    @property
    def all(self) -> frozenset[int]:
        """All lines of former coordinators."""
        return self.evicting | self.too_late


# A broker that was paused expires all sessions when it resumes, before it learns that it no longer coordinates the
# group (GroupCoordinator.onExpireHeartbeat, onResignation). Its timers are not cancelled either: a join phase may time
# out after the broker unloaded the group, so that it removes the members that have not rejoined (onCompleteJoin). The
# members remain in the group at the new coordinator.
def lines_of_former_coordinators(events: EventIndex) -> FormerCoordinatorLines:
    """The lines of brokers about a group that they no longer coordinate."""
    # A broker is considered a former coordinator only if it unloads the group later, without a load or a new generation
    # in between: the line about a load may be missing.
    if not events.has_type(ev.GroupUnloaded):
        return FormerCoordinatorLines()
    void: set[int] = set()
    evictions: dict[int, list[tuple[Event, bool]]] = {}
    unloaded: set[int] = set()
    too_late: set[int] = set()
    holder: int | None = None
    for event in events:
        broker = event.speaker.broker
        if broker is None or event.group is None:
            continue
        match event:
            case ev.GroupLoaded():
                holder = broker
                evictions.pop(broker, None)
                unloaded.discard(broker)
            case ev.GroupUnloaded():
                void |= {id(e) for e, late in evictions.pop(broker, ()) if late or _was_unwritten(e, event)}
                unloaded.add(broker)
            case ev.MemberFailed() | ev.RebalanceAbandoned() if broker in unloaded:
                too_late.add(id(event))
            case ev.GenerationStabilized() | ev.GroupEmptied() | ev.RebalanceStarted(generation=0):
                evictions.pop(broker, None)
                unloaded.discard(broker)
            case ev.MemberFailed() | ev.RebalanceStarted(trigger="heartbeat-expired"):
                evictions.setdefault(broker, []).append((event, holder not in (None, broker)))
    return FormerCoordinatorLines(frozenset(void), frozenset(too_late))


def _was_unwritten(evicting: Event, unloading: Event) -> bool:
    # True for an eviction just before the group was unloaded: the next coordinator loads the member again, because an
    # eviction is written to __consumer_offsets only with the next generation (GroupMetadataManager.storeGroup), and
    # none was created since. The next coordinator does not know a member that was evicted earlier.
    return time_of(unloading) - time_of(evicting) <= windows.HEARTBEAT_MS


class Handover(Struct, frozen=True, kw_only=True):
    """The end of a broker's term as coordinator, by the lines of brokers and controllers."""

    at: int
    """The time of its first line."""
    former: int | None
    """The broker that lost the group, or loaded it again after a restart; None if no line names it."""
    shown_by: Literal["loaded", "unloaded", "succeeded"]
    """`loaded`: the next coordinator logs that it loads the group. Otherwise no load is logged: the former coordinator
    `unloaded` it, or another broker logs about the group later (`succeeded`)."""
    lines: tuple[Event, ...]
    until: int
    """When the group was loaded; `at` if no line shows it."""


def handovers(timeline: Timeline, since: int) -> Iterator[Handover]:
    """The handovers of the group; those that only a load shows must be at `since` or later."""
    # The last broker that logged as the coordinator, and the one that has neither unloaded the group nor stopped.
    spoke: Event | None = None
    holder: Event | None = None
    late = lines_of_former_coordinators(timeline.group_events).all
    spoken = (e for e in timeline.coordinator_events if e.speaker.broker is not None and id(e) not in late)
    for event in sorted([*spoken, *stops_and_starts(timeline)], key=time_of):
        match event:
            case ev.MemberLoaded():
                continue  # a broker that loads the group logs its members before it coordinates it
            case ev.GroupUnloaded() | ev.BrokerStarted() | ev.BrokerStopped():
                if holder is None or affected_broker(event) != holder.speaker.broker:
                    continue
                # If no log covers the time until a broker starts, nothing shows when it stopped coordinating.
                heard = not isinstance(event, ev.BrokerStarted) or time_of(event) <= timeline.coverage.end
                if heard and not _is_followed(timeline, event, holder.speaker.broker):
                    yield _unfollowed("unloaded", event, holder)
                holder = None
                continue
            case ev.GroupLoaded():
                if time_of(event) <= since:
                    pass
                elif (former := _former_coordinator(timeline, event, spoke)) is not None:
                    yield _loaded(timeline, event, former, since)
                elif holder is None and event.member_count != 0 and _was_up(timeline, event):
                    at = time_of(event)
                    yield Handover(at=at, former=None, shown_by="loaded", lines=(event,), until=at)
            case _ if holder is not None and event.speaker.broker != holder.speaker.broker:
                if _keeps_it(timeline, event):
                    yield _unfollowed("succeeded", event, holder)
        spoke = holder = event


def _unfollowed(shown_by: Literal["unloaded", "succeeded"], event: Event, holder: Event) -> Handover:
    at = time_of(event)
    return Handover(at=at, former=holder.speaker.broker, shown_by=shown_by, lines=(event, holder), until=at)


def _loaded(timeline: Timeline, load: ev.GroupLoaded, former: int, since: int) -> Handover:
    at = time_of(load)
    span = max(since, at - windows.ONE_REBALANCE_MS), at + 2 * windows.ROUND_TRIP_MS
    changes = [*stops_and_starts(timeline).between(*span), *timeline.of(ev.GroupUnloaded).between(*span)]
    behind = [e for e in sorted(changes, key=time_of) if e.group == timeline.group or affected_broker(e) == former]
    begun = (time_of(e) for e in behind if time_of(e) > at - windows.REQUEST_TIMEOUT_MS)
    return Handover(at=min([at, *begun]), former=former, shown_by="loaded", lines=(load, *behind[:4]), until=at)


def _former_coordinator(timeline: Timeline, load: ev.GroupLoaded, spoke: Event | None) -> int | None:
    """The last broker that logged about the group before a load; the loading broker itself if it restarted."""
    at, loading = time_of(load), load.speaker.broker
    # If the logs begin with the move, the unload is the only line of the former coordinator.
    spoke = spoke or timeline.of(ev.GroupUnloaded).last(at - 1)
    if spoke is not None and spoke.speaker.broker == loading and _loaded_long_after_start(timeline, load):
        return None
    if spoke is not None and spoke.speaker.broker is not None:
        return spoke.speaker.broker
    lost = timeline.of(ev.CoordinatorLost).between(at - windows.ONE_REBALANCE_MS + 1, at + windows.ONE_REBALANCE_MS - 1)
    known = [e.coordinator for e in lost if e.coordinator is not None]
    if not known:
        return stopped_around(timeline, lost)
    return next((broker for broker in known if broker != loading), known[0])


def _was_up(timeline: Timeline, load: ev.GroupLoaded) -> bool:
    # A broker that starts also loads the groups it coordinated before.
    begin, end = time_of(load) - windows.REQUEST_TIMEOUT_MS, time_of(load)
    heard = any(log.path == load.origin.path and log.begin <= begin for log in timeline.coverage.brokers)
    return heard and not starts_of(timeline, load.speaker.broker, begin, end)


def _loaded_long_after_start(timeline: Timeline, load: ev.GroupLoaded) -> bool:
    # A broker loads groups when it starts. If it loads this one later, another broker coordinated it in between.
    broker, at = load.speaker.broker, time_of(load)
    starts = starts_of(timeline, broker, 0, at)
    elected = [e for e in timeline.of(ev.CoordinatorElected).between(0, at) if e.speaker.broker == broker]
    return bool(starts and elected) and time_of(elected[-1]) - time_of(starts[-1]) > windows.REQUEST_TIMEOUT_MS


def _is_followed(timeline: Timeline, event: Event, broker: int | None) -> bool:
    """True if the next load shows the same move: by another broker, or by the same one soon after its restart."""
    load = timeline.of(ev.GroupLoaded).first(time_of(event) - windows.ROUND_TRIP_MS)
    if load is None:
        return False
    return load.speaker.broker != broker or not _loaded_long_after_start(timeline, load)


def _keeps_it(timeline: Timeline, event: Event) -> bool:
    # Clock skew may interleave the lines of two brokers: only the broker that logs alone afterwards has the group.
    after = timeline.coordinator_events.between(time_of(event), time_of(event) + windows.ONE_REBALANCE_MS)
    return all(e.speaker.broker in (None, event.speaker.broker) for e in after)
