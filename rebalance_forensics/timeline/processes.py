"""Starts and stops of processes, from their own logs: configuration dumps, versions, subscriptions, closes, deaths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter, itemgetter

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import Origin
from rebalance_forensics.timeline.coverage import Coverage
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.facts import Start, Stop, numbered
from rebalance_forensics.timeline.identity.own_process import ended_with
from rebalance_forensics.timeline.identity.participants import (
    BY_PROCESS,
    Participant,
    Participants,
    own_member_id,
)
from rebalance_forensics.timeline.process_logs import ProcessEvents, of_groupless_clients
from rebalance_forensics.timeline.time_index import TimeIndex, grouped, united
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    NEXT_HEARTBEAT_MS,
    ONE_REBALANCE_MS,
    ROUND_TRIP_MS,
    SESSION_MS,
    SUCCESSION_MS,
)

_START_KINDS = {
    "consumer": ("ConsumerConfig",),
    "share": ("ConsumerConfig",),
    "streams": ("StreamsConfig",),
    "connect": ("DistributedConfig",),
}


# Kinds of groups whose members close with their own client ids; a Streams process closes many other clients.
_CLOSE_BY_NAME = ("consumer", "share", "connect", "schema-registry")


class Processes(Struct, frozen=True):
    """The starts and stops of a group's processes that they logged themselves, oldest first."""

    starts: tuple[Start, ...]
    stops: tuple[Stop, ...]


def processes_of(participants: Participants, lines: EventIndex, process_events: ProcessEvents) -> Processes:
    """The starts and stops of the participants, numbered as facts."""
    if not lines.by_clients:
        return Processes((), ())
    stops = sorted(stops_of(participants, lines.by_clients), key=lambda s: s.at)
    starts = _starts_of(participants, _with_starts_of_processes(participants, lines, process_events))
    # If several members share a log and a client id, no line shows which of them started or stopped.
    starts = [start for start in starts if not start.participant.is_several]
    stops = [stop for stop in stops if not stop.participant.is_several]
    return Processes(numbered("start", starts), numbered("stop", stops))


def _with_starts_of_processes(
    participants: Participants, lines: EventIndex, process_events: ProcessEvents
) -> EventIndex:
    if not process_events:
        return lines
    banners = process_events.starts(lines)
    subscribed = lines.of_type(ev.Subscribed)
    if {participants.of_speaker(event) for event in subscribed}.issuperset(participants.everybody):
        # If all members log subscriptions, a version counts only if a subscription follows it, which shows within a
        # round trip whose version it is (`_without_client_versions`).
        spans = ((time_of(e) - SESSION_MS - ROUND_TRIP_MS, time_of(e) + ROUND_TRIP_MS) for e in subscribed)
        return EventIndex(chain(lines, *(banners.between(*span) for span in united(spans))))
    return EventIndex(chain(lines, banners))


def _starts_of(participants: Participants, lines: EventIndex) -> list[Start]:
    processes: dict[Participant, _Process] = defaultdict(lambda: _Process(participants.kind))
    spoken: set[Participant | None] = set()
    nameless = dict(_nameless_starts(participants, lines))
    readers = dict(_starts_of_readers(participants, lines))
    subscriptions = lines.of_type(ev.Subscribed, ev.CoordinatorFound, ev.CoordinatorLost, ev.JoinStarted)
    anew = _subscribed_anew(participants, subscriptions)
    groupless = of_groupless_clients(lines)
    events = lines.by_clients
    for place, event in enumerate(events):
        if event.at is None or event.origin in groupless:
            continue
        speaker = participants.of_speaker(event) if event.group is not None else None
        if isinstance(event, ev.ClientHeldTwice):
            for participant in (a for a in participants.at_place(event) if event.speaker.client_id in a.client_ids):
                processes[participant].doubled.append(event.at)
        of_reader = readers.get(event.origin)
        starting = _starting(participants, event) or nameless.get(event.origin, ()) if of_reader is None else of_reader
        for participant in starting:
            process = processes[participant]
            if not isinstance(event, ev.Subscribed) or participant not in spoken or event.origin in anew:
                process.signs.append(event)
            if isinstance(event, ev.WorkerStarted):
                process.began[event] = _began(participants, participant, events[:place], event.at)
        spoken.add(speaker)
        member = own_member_id(event) if speaker is not None else None
        if speaker is not None and member is not None:
            ids = processes[speaker].member_ids
            ids[member] = (ids.get(member, (event.at, 0))[0], event.at)
    subscribing = {participants.of_speaker(event) for event in lines.of_type(ev.Subscribed)}
    for subscriber in subscribing:
        if subscriber is not None:
            processes[subscriber].drop_client_versions()
    starts = [start for participant, process in processes.items() for start in process.starts(participant)]
    return sorted(starts, key=lambda s: (s.at, s.participant.name))


@dataclass(slots=True)
class _Process:
    """The lines of a participant that may show when its process started."""

    kind: str
    signs: list[Event] = field(default_factory=list)
    began: dict[Event, int] = field(default_factory=dict)
    """A worker's line that it has started, which it logs after its join -> when it began to start."""
    member_ids: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Member id -> the times of its first and last line."""
    doubled: list[int] = field(default_factory=list)
    """When it logged that its client id is already used in this process."""

    def drop_client_versions(self) -> None:
        """Drop the versions without a subscription that follows, if the log shows subscriptions."""
        # A new consumer subscribes before it joins; an AdminClient whose configuration is not logged logs the same
        # version. librdkafka logs its handle with the version (rd_kafka_new).
        subscribed = TimeIndex((e for e in self.signs if isinstance(e, ev.Subscribed)), time_of)
        self.signs = [
            e
            for e in self.signs
            if not isinstance(e, ev.VersionReported)
            or "#consumer-" in (e.speaker.thread or "")
            or subscribed.any_between(time_of(e), time_of(e) + SESSION_MS)
        ]

    def starts(self, participant: Participant) -> Iterator[Start]:
        """Its starts, oldest first; lines within a round trip of each other are about the same start."""
        signs = self._starting() or [e for e in self.signs if isinstance(e, ev.Subscribed)]
        last: Start | None = None
        for sign in signs:
            since = self.began.get(sign, time_of(sign))
            if last is not None and since - time_of(last.events[-1]) < ROUND_TRIP_MS:
                last = replace(last, events=(*last.events, sign))
                continue
            if last is not None:
                yield last
            last = Start(participant, since, (sign,))
        if last is not None:
            yield last

    def _starting(self) -> list[Event]:
        wanted = _START_KINDS.get(self.kind, ("ConsumerConfig",))
        dumps: list[Event] = [e for e in self.signs if isinstance(e, ev.SettingsReported) and e.kind in wanted]
        workers = [e for e in self.signs if isinstance(e, ev.WorkerStarted)]
        if dumps:
            settings = TimeIndex([e for e in dumps if not self._is_second_consumer(time_of(e))], time_of)
            workers = [e for e in workers if self._was_member(self.began.get(e, time_of(e)), settings)]
            unconfigured = self._without_settings(TimeIndex(dumps, time_of))
            return sorted([*settings, *unconfigured, *workers], key=time_of)
        sure = [
            e for e in self.signs if isinstance(e, ev.WorkerStarted | ev.StreamsStateChanged) or _starts_a_member(e)
        ]
        others = [e for e in self.signs if isinstance(e, ev.VersionReported | ev.ClientStarted)]
        new = [e for e in others if not _starts_a_member(e) and not self._runs_already(time_of(e))]
        return sorted([*new, *sure], key=time_of)

    def _without_settings(self, dumps: TimeIndex[Event]) -> Iterator[Event]:
        """Starts without a configuration dump: a version, soon followed by the first line of a member id."""
        for version in (e for e in self.signs if isinstance(e, ev.VersionReported)):
            at = time_of(version)
            joined = any(at <= first <= at + ROUND_TRIP_MS for first, _ in self.member_ids.values())
            if joined and not dumps.any_between(at - ROUND_TRIP_MS, at + ROUND_TRIP_MS) and not self._runs_already(at):
                yield version

    def _was_member(self, at: int, settings: TimeIndex[Event]) -> bool:
        """True for a Connect worker that was a member since its last start with a configuration dump."""
        before = settings.last(at)
        if before is None or at - time_of(before) <= SESSION_MS:
            return False
        return any(time_of(before) < first < at for first, _ in self.member_ids.values())

    def _is_second_consumer(self, at: int) -> bool:
        # True for a second consumer of that client id in a running process, which therefore did not start again.
        doubled = any(at <= doubled <= at + ROUND_TRIP_MS for doubled in self.doubled)
        return self.kind in ("consumer", "share") and (doubled or self._keeps_running(at))

    def _runs_already(self, at: int) -> bool:
        # True for the version of an additional client in a running process. A Connect worker creates clients for each
        # task, and logs its start separately.
        return self.kind == "connect" or self._keeps_running(at)

    def _keeps_running(self, at: int) -> bool:
        """True if the same member id before and after shows that the process kept running."""
        return any(first < at < last for first, last in self.member_ids.values())


def _subscribed_anew(participants: Participants, events: Iterable[Event]) -> set[Origin]:
    # Subscriptions of new consumers: they look up the coordinator next, although none was lost.
    found: set[Origin] = set()
    waiting: dict[Participant, Event] = {}
    lost: set[Participant] = set()
    for event in events:
        participant = participants.of_speaker(event)
        if participant is None:
            continue
        subscribed = waiting.pop(participant, None)
        if isinstance(event, ev.Subscribed):
            waiting[participant] = event
        elif isinstance(event, ev.CoordinatorLost):
            lost.add(participant)
        elif isinstance(event, ev.CoordinatorFound):
            if subscribed is not None and participant not in lost:
                found.add(subscribed.origin)
            lost.discard(participant)
    return found


def _nameless_starts(participants: Participants, lines: EventIndex) -> Iterator[tuple[Origin, tuple[Participant, ...]]]:
    # Starts of an unnamed process in a file of several processes, with their participant: the next one to join, else
    # the last one that stopped, or if a paste cut off the name in the join, the only one that was evicted before.
    wanted = _START_KINDS.get(participants.kind, ()) if participants.kind in BY_PROCESS else ()
    starting = lines.of_type(ev.SettingsReported, ev.WorkerStarted)
    banners = [
        e
        for e in starting
        if isinstance(e, ev.WorkerStarted) or (isinstance(e, ev.SettingsReported) and e.kind in wanted)
        if e.speaker.role != "broker" and e.at is not None and not participants.at_place(e)
    ]
    gathered = {e.speaker.file for e in lines if e.speaker.role == "broker"} if banners else ()
    banners = [e for e in banners if e.speaker.file in gathered]
    if not banners:
        return
    issued = [(e.at, e) for e in lines.of_type(ev.MemberIdIssued) if e.at]
    joined = [(at, participants.of_member(e.member)) for at, e in issued]
    stopped = [(stop.at, stop.participant) for stop in stops_of(participants, lines.by_clients)]
    without_member_id = [at for at, e in issued if e.member is None]
    failed = [(e.at, participants.of_member(m)) for e in lines.of_type(ev.MemberFailed) for m in e.members]
    for banner in banners:
        at = banner.at or 0
        after = [who for when, who in joined if at < when <= at + SESSION_MS and who is not None]
        before = [who for when, who in stopped if at - SUCCESSION_MS <= when < at]
        lost = {member for when, member in failed if at - SUCCESSION_MS <= (when or 0) < at and member is not None}
        came_back = len(lost) == 1 and any(at < when <= at + SESSION_MS for when in without_member_id)
        if who := (after[:1] or before[-1:] or (list(lost) if came_back else [])):
            yield banner.origin, tuple(who)


def _starts_of_readers(
    participants: Participants, lines: EventIndex
) -> Iterator[tuple[Origin, tuple[Participant, ...]]]:
    # Clients in other languages name no member when they start: in a log of several members, it is the one that gets a
    # member id next.
    started = [e for e in lines.of_type(ev.ClientStarted) if e.at is not None and e.speaker.client_id is None]
    if not started:
        return
    issued: dict[str, int] = {}
    writers: dict[str, set[Participant | None]] = defaultdict(set)
    for event in lines:
        own = own_member_id(event)
        member = event.member if isinstance(event, ev.MemberIdIssued) else own
        if member is not None and event.at is not None:
            issued.setdefault(member, event.at)
        if own is not None:
            writers[event.speaker.file].add(participants.of_member(own))
    ids = TimeIndex(issued.items(), itemgetter(1))
    for file, of_file in grouped(started, attrgetter("speaker.file")).items():
        if len(writers[file]) < 2:
            continue
        starts = TimeIndex(of_file, time_of)
        for event in of_file:
            span = time_of(event) - ROUND_TRIP_MS, time_of(event) + ONE_REBALANCE_MS
            came = {participants.of_member(member) for member, _ in ids.between(*span)} - {None}
            sure = len(came) == len(starts.between(*span)) == 1
            yield event.origin, tuple(who for who in came if who is not None) if sure else ()


def _began(participants: Participants, participant: Participant, before: Sequence[Event], at: int) -> int:
    """When a worker began to start: the first of the consecutive lines before it logs that it has started."""
    since = at
    for event in reversed(before):
        if event.at is None:
            continue
        speaks = (
            participants.of_speaker(event) is participant
            if event.group is not None
            else participant in _starting(participants, event)
        )
        if speaks and since - event.at > AT_ONCE_MS:
            break
        if speaks:
            since = min(since, event.at)
        if at - event.at > SESSION_MS:
            break
    return max(since, at - SESSION_MS)


def _starting(participants: Participants, event: Event) -> Sequence[Participant]:
    match event:
        case ev.SettingsReported():
            settings = dict(event.settings)
            present = participants.at_place(event)
            if participants.kind in BY_PROCESS:
                return present
            client = settings.get("client.id")
            named = [a for a in present if client and client in a.client_ids]
            return named or (present if len(present) == 1 and not client else _client_without_log(participants, client))
        case ev.ClientStarted(group=str()) | ev.Subscribed():
            # A subscription shows a start only if it is the first line, since threads and applications may subscribe
            # again.
            return _speaking(participants, event)
        case ev.VersionReported() | ev.StartTimeReported() | ev.WorkerStarted() | ev.ClientStarted():
            # Tasks and stream threads create clients while the process runs: a producer after fencing, or the clients
            # of a new thread. When a process starts, the thread that creates the KafkaStreams object creates the
            # clients.
            of_task = event.speaker.task is not None or "StreamThread-" in (event.speaker.thread or "")
            present = participants.at_place(event)
            is_client = isinstance(event, ev.VersionReported | ev.StartTimeReported)
            return present if len(present) == 1 and not (of_task and is_client) else []
        case ev.StreamsStateChanged(before="CREATED"):
            # If several instances share a file, no other line of a start names the instance.
            return [participant for participant in _speaking(participants, event) if participant.has_one_process]
    return []


def _speaking(participants: Participants, event: Event) -> Sequence[Participant]:
    participant = participants.of_speaker(event)
    return () if participant is None else (participant,)


def _client_without_log(participants: Participants, client: str | None) -> list[Participant]:
    """The participant with this client id, if it has no other lines."""
    found = participants.by_name.get(client or "")
    return [found] if found is not None and not found.has_log and not found.has_namesakes else []


def _starts_a_member(event: Event) -> bool:
    """True for a client that logs its group at start; Sarama logs neither the group nor the client's purpose."""
    return isinstance(event, ev.ClientStarted) and event.group is not None


def stops_of(participants: Participants, events: Sequence[Event]) -> list[Stop]:
    """The stops that participants logged themselves; `events` are client lines."""
    stops: list[tuple[Participant, list[Event]]] = []
    latest: dict[Participant, list[Event]] = {}
    for event in events:
        if event.at is None or not _is_stop(event):
            continue
        for participant in _stopping(participants, event):
            last = latest.get(participant)
            if last is not None and event.at - (last[-1].at or 0) < NEXT_HEARTBEAT_MS:
                last.append(event)
            else:
                latest[participant] = [event]
                stops.append((participant, latest[participant]))
    return [Stop(participant, stop_events[0].at or 0, tuple(stop_events)) for participant, stop_events in stops]


def closed_at_last(participants: Participants, stops: Sequence[Stop], events: Sequence[Event]) -> list[Stop]:
    """The last stop of each Streams instance that did not take part in a rebalance afterwards."""
    of_instances = (stop for stop in stops if stop.participant.kind == "instance")
    last = {s.participant: s for s in of_instances if any(isinstance(e, ev.StreamsStateChanged) for e in s.events)}
    for event in reversed(events) if last else ():
        if isinstance(
            event, ev.JoinRequested | ev.JoinStarted | ev.JoinSucceeded | ev.SyncSucceeded | ev.MemberTransitioned
        ):
            participant = participants.of_speaker(event)
        elif isinstance(event, ev.MemberIdIssued):
            participant = participants.of_member(event.member)
        else:
            continue
        if participant in last and (event.at or 0) > (last[participant].events[-1].at or 0):
            del last[participant]
    return sorted(last.values(), key=lambda s: (s.at, s.participant.name))


def _stopping(participants: Participants, event: Event) -> Sequence[Participant]:
    """The participants that stop: all clients of a process that stops, or the client that closes."""
    if event.group is not None:
        return _speaking(participants, event)
    present, client = participants.at_place(event), event.speaker.client_id
    # A worker, also of MirrorMaker, closes the clients of a task when the task is moved, and stays in the group.
    if isinstance(event, ev.ConsumerClosed) and client is not None and participants.kind in _CLOSE_BY_NAME:
        return [a for a in present if client in a.client_ids]
    return present


def _is_stop(event: Event) -> bool:
    match event:
        case ev.ConsumerClosed() | ev.ProcessStopping() | ev.WorkerStopped() | ev.LeaveSent(why="closed"):
            return True
        case ev.StreamsStateChanged(after="PENDING_SHUTDOWN" | "NOT_RUNNING" | "ERROR"):
            return True  # in state ERROR all threads have ended, and so have its members
    return False


def final_deaths(
    participants: Participants, events: EventIndex, process_events: ProcessEvents, coverage: Coverage
) -> Iterator[tuple[Participant, ev.ProcessDied]]:
    """The deaths after which neither the participant nor another process writes to the same log."""
    # If the log continues, several processes share it, and the JVM does not log which of them ended.
    heard: set[Participant] = set()
    group = next((e.group for e in events if e.group is not None), "")
    for event in reversed(events) if events.has_type(ev.ProcessDied) else ():
        if isinstance(event, ev.ProcessDied) and event.at is not None:
            for participant in ended_with(group, participants, event) if not coverage.goes_on_after(event) else ():
                after = (part.first(event.at + 1) for part in process_events.spoken(participants).get(participant, ()))
                if participant not in heard and not any(after):
                    heard.add(participant)
                    yield participant, event
        elif event.speaker.role != "broker" and (speaker := participants.of_speaker(event)) is not None:
            heard.add(speaker)
