"""Processes start and stop: what their own logs say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import WorkerStarted, WorkerStopped
from rebalance_forensics.events.epochs import MemberTransitioned
from rebalance_forensics.events.membership import LeaveSent, Subscribed
from rebalance_forensics.events.process import (
    ConsumerClosed,
    ProcessStopping,
    SettingsReported,
    StartTimeReported,
    VersionReported,
)
from rebalance_forensics.events.rebalancing import JoinStarted, JoinSucceeded, SyncSucceeded
from rebalance_forensics.events.streams import StreamsStateChanged
from rebalance_forensics.timeline.facts import Start, Stop, numbered
from rebalance_forensics.timeline.identity.actors import Actor, Cast
from rebalance_forensics.timeline.identity.names import connector_of

ONE_START_MS = 45_000
"""Lines of one start come within this time: a slow machine takes seconds between config dump and subscription."""

QUIET_MS = 10_000
"""A process that starts is not silent for as long."""

_START_KINDS = {
    "consumer": ("ConsumerConfig",),
    "share": ("ConsumerConfig",),
    "streams": ("StreamsConfig",),
    "connect": ("DistributedConfig",),
}


@dataclass(frozen=True, slots=True)
class Processes:
    """When the processes of a group started and stopped, as their own logs say."""

    starts: tuple[Start, ...]
    stops: tuple[Stop, ...]


def processes_of(cast: Cast, events: Sequence[Event]) -> Processes:
    """Every start and every stop, oldest first."""
    stops = sorted(stops_of(cast, events), key=lambda s: s.at)
    return Processes(numbered("start", starts_of(cast, events)), numbered("stop", stops))


def starts_of(cast: Cast, events: Sequence[Event]) -> list[Start]:
    """Every start of every actor with a log, oldest first."""
    by_actor: dict[Actor, list[Event]] = defaultdict(list)
    spoken: set[Actor | None] = set()
    began: dict[Event, int] = {}
    for place, event in enumerate(events):
        if event.at is None or event.speaker.role == "broker":
            continue
        speaker = cast.of_speaker(event) if event.group is not None else None
        for actor in _starting(cast, event):
            if not isinstance(event, Subscribed) or actor not in spoken:
                by_actor[actor].append(event)
            if isinstance(event, WorkerStarted):
                began[event] = _began(cast, actor, events[:place], event.at)
        spoken.add(speaker)
    starts = [start for actor, told in by_actor.items() for start in _starts(cast.kind, actor, told, began)]
    return sorted(starts, key=lambda s: (s.at, s.actor.name))


def _began(cast: Cast, actor: Actor, before: Sequence[Event], at: int) -> int:
    """When the lines of a process began that end, closely following each other, with the word that it has started."""
    since = at
    for event in reversed(before):
        if event.at is None or event.speaker.role == "broker":
            continue
        speaks = cast.of_speaker(event) is actor if event.group is not None else actor in _starting(cast, event)
        if speaks and since - event.at > QUIET_MS:
            break
        if speaks:
            since = min(since, event.at)
        if at - event.at > ONE_START_MS:
            break
    return max(since, at - ONE_START_MS)


def _starting(cast: Cast, event: Event) -> list[Actor]:
    match event:
        case SettingsReported():
            settings = dict(event.settings)
            here = cast.at_place(event)
            if cast.kind in ("streams", "connect", "schema-registry"):
                return here
            client = settings.get("client.id")
            named = [a for a in here if client and client in a.client_ids]
            return named or (here if len(here) == 1 and not client else [])
        case VersionReported() | StartTimeReported() if event.speaker.task is not None:
            return []
        case VersionReported() | StartTimeReported() | WorkerStarted():
            here = cast.at_place(event)
            return here if len(here) == 1 else []
        case StreamsStateChanged(before="CREATED"):
            # Where several instances share a file, nothing else of a start names the one that starts.
            actor = cast.of_speaker(event)
            return [actor] if actor is not None and actor.lives_once else []
        case Subscribed():
            # A subscription begins a process only as its first word: threads and applications subscribe again.
            actor = cast.of_speaker(event)
            return [actor] if actor else []
    return []


def _starts(kind: str, actor: Actor, told: list[Event], began: dict[Event, int]) -> list[Start]:
    wanted = _START_KINDS.get(kind, ("ConsumerConfig",))
    signs: list[Event] = [e for e in told if isinstance(e, SettingsReported) and e.kind in wanted]
    if not signs:
        signs = [e for e in told if isinstance(e, VersionReported | WorkerStarted | StreamsStateChanged)]
    if not signs:
        first: list[Event] = [e for e in told if isinstance(e, Subscribed)]
        signs = first[:1]
    starts: list[Start] = []
    for sign in signs:
        assert sign.at is not None
        last = starts[-1] if starts else None
        since = began.get(sign, sign.at)  # a worker says that it has started when it may have joined long since
        if last is not None and since - (last.events[-1].at or 0) < 1500:
            starts[-1] = replace(last, events=(*last.events, sign))
        else:
            starts.append(Start(actor, since, (sign,)))
    return starts


def stops_of(cast: Cast, events: Sequence[Event]) -> list[Stop]:
    """Every time an actor's own log says that it closes."""
    stops: list[tuple[Actor, list[Event]]] = []
    latest: dict[Actor, list[Event]] = {}
    for event in events:
        if event.at is None or event.speaker.role == "broker" or not _is_stop(event):
            continue
        for actor in _stopping(cast, event):
            last = latest.get(actor)
            if last is not None and event.at - (last[-1].at or 0) < 5000:
                last.append(event)
            else:
                latest[actor] = [event]
                stops.append((actor, latest[actor]))
    return [Stop(actor, told[0].at or 0, tuple(told)) for actor, told in stops]


def closed_at_last(cast: Cast, stops: Sequence[Stop], events: Sequence[Event]) -> list[Stop]:
    """The last stop of each Streams instance that took part in nothing afterwards."""
    last = {stop.actor: stop for stop in stops if stop.actor.kind == "instance" and _of_the_process(stop)}
    for event in reversed(events) if last else ():
        if isinstance(event, JoinStarted | JoinSucceeded | SyncSucceeded | MemberTransitioned):
            actor = cast.of_speaker(event)
            if actor in last and (event.at or 0) > (last[actor].events[-1].at or 0):
                del last[actor]
    return sorted(last.values(), key=lambda s: (s.at, s.actor.name))


def _of_the_process(stop: Stop) -> bool:
    return any(isinstance(e, StreamsStateChanged) for e in stop.events)


def _stopping(cast: Cast, event: Event) -> list[Actor]:
    """Who stops: a process takes all its clients with it, a client that closes only itself."""
    if event.group is not None:
        actor = cast.of_speaker(event)
        return [actor] if actor is not None else []
    here, client = cast.at_place(event), event.speaker.client_id
    if isinstance(event, ConsumerClosed) and client is not None and cast.kind in ("consumer", "share"):
        return [a for a in here if client in a.client_ids]
    # A worker closes the consumer of a sink task whenever it moves the task; it goes on itself.
    of_a_task = isinstance(event, ConsumerClosed) and client is not None and connector_of(client) is not None
    return [] if of_a_task else here


def _is_stop(event: Event) -> bool:
    match event:
        case ConsumerClosed() | ProcessStopping() | WorkerStopped():
            return True
        case LeaveSent(why="closed"):
            return True
        case StreamsStateChanged(after=after):
            return after in ("PENDING_SHUTDOWN", "NOT_RUNNING")
    return False
