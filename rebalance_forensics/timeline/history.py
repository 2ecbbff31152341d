"""The history of a group for the report, and its swim lanes."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from heapq import merge
from itertools import chain
from operator import attrgetter
from typing import Literal

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import SECOND_MS, natural
from rebalance_forensics.timeline.event_index import by_time_then_origin, merged, time_of
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import broker_name, streams_client, streams_thread
from rebalance_forensics.timeline.identity.participants import Participant, may_be_its_log
from rebalance_forensics.timeline.join_barriers import late_joins
from rebalance_forensics.timeline.model import GroupHistory, Identity, Lane, Mark, RunningVersion, Span, SpanKind
from rebalance_forensics.timeline.orchestration import application_names
from rebalance_forensics.timeline.ownership.losses import loss_of
from rebalance_forensics.timeline.ownership.owners import ownership_of
from rebalance_forensics.timeline.time_index import TimeIndex, grouped, lists_by_key
from rebalance_forensics.timeline.unnamed_groups import is_named
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS, ROUND_TRIP_MS, SESSION_MS

SHOWN_SETTINGS = (
    "group.protocol", "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "max.poll.records",
    "partition.assignment.strategy", "request.timeout.ms", "rebalance.timeout.ms", "scheduled.rebalance.max.delay.ms",
    "num.stream.threads", "num.standby.replicas", "probing.rebalance.interval.ms", "acceptable.recovery.lag",
    "max.warmup.replicas", "group.initial.rebalance.delay.ms", "group.max.size", "offsets.retention.minutes",
)  # fmt: skip


def history_of(timeline: Timeline, *, lanes: bool = True) -> GroupHistory:
    """The history of a group; without swim lanes if `lanes` is False."""
    owners = ownership_of(timeline)
    return GroupHistory(
        group=timeline.group,
        cluster=timeline.cluster,
        kind=timeline.kind,
        protocol=timeline.protocol,
        protocols=timeline.protocols,
        rebalance_mode=timeline.mode,
        coordinators=timeline.coordinators,
        generations=tuple(timeline.generations),
        pauses=tuple(timeline.pauses),
        read=owners.read,
        unread=tuple(owners.spans),
        identities=tuple(
            [
                _identity(timeline, a)
                for a in sorted(timeline.membership.members, key=lambda a: (a.kind, natural(a.name)))
            ]
        ),
        lanes=lanes_of(timeline) if lanes else (),
        settings=tuple((k, timeline.settings[k]) for k in SHOWN_SETTINGS if k in timeline.settings),
        versions=_versions(timeline),
        named=is_named(timeline.group),
    )


def _identity(timeline: Timeline, participant: Participant) -> Identity:
    lines = timeline.events_from(participant, Event)
    times = [e.at for e in (lines.first(1), lines.last(timeline.last)) if e is not None and e.at is not None]
    times += [departure.at for departure in timeline.departures.of(participant)]
    times += [arrival.at for arrival in timeline.arrivals.of(participant)]
    times += [stop.at for stop in timeline.stops.of(participant)]
    plain = sorted(c for c in participant.client_ids if streams_client(c) is None)
    return Identity(
        name=participant.name,
        kind=participant.kind,
        names=participant.every_name(),
        client_id=plain[0] if plain else min(participant.client_ids, default=None),
        worker_clients=tuple(sorted(participant.worker_clients)),
        member_ids=tuple(sorted(participant.member_ids)),
        instance_id=min(participant.instance_ids, default=None),
        process=min(participant.processes, default=None),
        thread=min(participant.threads, default=None),
        host=min(participant.hosts or participant.endpoints, default=None),
        files=tuple(sorted(participant.files)),
        started_at=min(times, default=None),
        ended_at=max(times, default=None),
    )


def _versions(timeline: Timeline) -> tuple[RunningVersion, ...]:
    found = {(e.speaker.host or e.speaker.file, e.version) for e in timeline.versions if e.product == "kafka"}
    return tuple(RunningVersion(name=name, version=version) for name, version in sorted(found))


_LABELS: Mapping[str, str] = {
    "stuck": "did not call poll()",
    "dead": "its process was gone, and the group had not noticed",
    "frozen": "its process was paused, and the group had not noticed",
    "cut-off": "could not reach the brokers, and the group had not noticed",
    "silent": "no heartbeat arrived until its session expired",
    "holding-up": "did not rejoin until the rebalance timeout was over",
}
_SILENT = ("session-expired", "vanished")
Marks = dict[str, list[Mark]]
LEAST_OTHERS = 100


def lanes_of(timeline: Timeline) -> tuple[Lane, ...]:
    """A lane for each member, followed by the lanes of its threads, then a lane for each coordinator."""
    marked = ((event, mark) for event in _events_of_lanes(timeline) if (mark := _mark_of(event)) is not None)
    marks = lists_by_key((name, mark) for event, mark in marked for name in _lane_names(timeline, event, mark))
    for name, mark in (*_marks_of_pods(timeline), *_marks_of_hosts(timeline)):
        marks[name] = sorted([*marks[name], mark], key=attrgetter("at"))
    members = sorted(timeline.membership.members, key=lambda a: natural(a.name))
    lanes = [lane for participant in members for lane in _lanes_of_participant(timeline, participant, marks)]
    return (*lanes, *_coordinator_lanes(timeline, marks))


# At most this many reports per pod, the latest ones: a pod may restart all day.
_MOST_OF_A_POD = 40
_FAULTS_OF_PODS = ("oom-kill", "oom-in-container", "killed-by-probe", "evicted", "preempted", "ended", "signalled")


def _marks_of_pods(timeline: Timeline) -> Iterator[tuple[str, Mark]]:
    """Marks for the orchestrator events about a member's pod, each with the name of the member's lane."""
    for participant in timeline.membership.members if timeline.orchestration else ():
        pods = timeline.orchestration.pods_of(participant)
        names = application_names(timeline.group, participant)
        for event in timeline.orchestration.reports(pods, timeline.first, timeline.last, names)[-_MOST_OF_A_POD:]:
            what = event.what.replace("-", " ")
            severity: Literal["fault", "notice", "plain"] = "fault" if event.what in _FAULTS_OF_PODS else "notice"
            if event.at is not None:
                kind, label = f"pod-{event.what}", f"{event.container or event.name}: {what}"
                yield (
                    participant.name,
                    Mark(at=event.at, kind=kind, label=label, severity=severity, evidence=evidence_of(event)),
                )


# At most this many JVM stops, the longest ones: a GC log may have a stop every second.
_MOST_STOPS = 20


def _marks_of_hosts(timeline: Timeline) -> Iterator[tuple[str, Mark]]:
    """Marks for JVM, kernel and supervisor lines from a host with one member, each with the name of its lane."""
    stops = [e for e in timeline.of(ev.ThreadsStopped) if e.stopped_ms >= ROUND_TRIP_MS]
    longest = sorted(stops, key=lambda e: -e.stopped_ms)[:_MOST_STOPS]
    for event in (*longest, *timeline.of(ev.ProcessKilled, ev.HostDisturbed, ev.UnitStopping)):
        participants = timeline.participants.at_place(event)
        if len(participants) != 1 or event.at is None:
            continue
        if isinstance(event, ev.ThreadsStopped):
            if not may_be_its_log(participants[0], event.speaker.file, event.speaker.pid):
                continue
            label = f"JVM stopped for {event.stopped_ms / SECOND_MS:.1f} s ({event.what})"
        elif isinstance(event, ev.ProcessKilled):
            label = f"on its host: {event.unit or event.command or 'a process'} ended ({event.why}, by {event.by})"
        elif isinstance(event, ev.UnitStopping):
            label = f"on its host: {event.by} stops {event.unit}"
        else:
            assert isinstance(event, ev.HostDisturbed)
            label = f"its host: {event.what}"
        kind = _words(type(event).__name__)[0]
        mark = Mark(at=event.at, kind=kind, label=label, severity="notice", evidence=evidence_of(event))
        yield participants[0].name, mark


def _lane_names(timeline: Timeline, event: Event, mark: Mark) -> set[str]:
    """The lanes of an event: that of its client, or for a broker's line those of the broker and the named members."""
    speaker = event.speaker
    if speaker.role != "broker":
        return _lanes_of(timeline.participants.of_speaker(event), speaker.client_id or speaker.thread, mark)
    named = [getattr(event, "member", None), *getattr(event, "members", ())]
    members = [member for member in named if isinstance(member, str)]
    names = set().union(*(_lanes_of(timeline.participants.of_member(member), member, mark) for member in members))
    return names | {broker_name(speaker.broker)} if speaker.broker is not None else names


def _lanes_of(participant: Participant | None, name: str | None, mark: Mark) -> set[str]:
    """The lane of the thread if it is known, otherwise of the participant; faults appear in both lanes."""
    if participant is None:
        return set()
    thread = streams_thread(name or "")
    if thread is None or thread not in participant.threads:
        return {participant.name}
    return {thread, participant.name} if mark.severity == "fault" else {thread}


def _events_of_lanes(timeline: Timeline) -> Sequence[Event]:
    """The group's own lines with a limited number of other lines of its members' processes and its coordinators."""
    most = len(timeline.group_events) + LEAST_OTHERS
    process_events = _near_rebalances(timeline, [log.of_type(*MARKED) for log in timeline.process_events.logs], most)
    names = {term.broker for term in timeline.coordinators}
    by_broker = [
        timeline.ungrouped.from_broker(broker, *MARKED)
        for broker in timeline.ungrouped.brokers
        if broker_name(broker) in names
    ]
    others = _near_rebalances(timeline, by_broker, most + len(process_events))
    return merged(list(merge(timeline.group_events, process_events, key=time_of)), others)


def _near_rebalances(timeline: Timeline, logs: Sequence[TimeIndex[Event]], most: int) -> list[Event]:
    """The lines of these logs; if there are more than `most`, only lines near the group's rebalances, up to `most`."""
    # A broker, or a process with many clients, logs more in a day than a chart can show.
    if sum(map(len, logs)) <= most:
        return sorted(chain.from_iterable(logs), key=by_time_then_origin)
    found: dict[int, Event] = {}
    for rebalance in timeline.rebalances:
        begin, end = rebalance.started_at - ONE_REBALANCE_MS, rebalance.ended_at() + ONE_REBALANCE_MS
        for event in chain.from_iterable(events.between(begin, end) for events in logs):
            if len(found) == most:
                break
            found[id(event)] = event
    return sorted(found.values(), key=by_time_then_origin)


def _lanes_of_participant(timeline: Timeline, participant: Participant, marks: Marks) -> Iterator[Lane]:
    spans = sorted(_spans(timeline, participant), key=lambda s: (s.started_at, s.kind))
    yield Lane(
        name=participant.name, kind=participant.kind, spans=tuple(spans), marks=tuple(marks.get(participant.name, ()))
    )
    ids = grouped(participant.member_ids if participant.threads else (), timeline.participants.thread_of)
    for thread in sorted(participant.threads, key=natural):
        generations = [*_generation_spans(timeline, ids.get(thread, ()))]
        away = [d for d in timeline.departures.of(participant) if timeline.participants.thread_of(d.member) == thread]
        lost = [span for d in away for span in (*_until_departure(timeline, d), _away(d, generations))]
        if generations or lost or marks.get(thread):
            yield Lane(
                name=thread,
                kind="thread",
                spans=tuple(sorted([*generations, *lost], key=lambda s: (s.started_at, s.kind))),
                marks=tuple(marks.get(thread, ())),
                owner=participant.name,
            )


def _spans(timeline: Timeline, participant: Participant) -> Iterator[Span]:
    yield from _generation_spans(timeline, participant.member_ids)
    by_name, names = _pauses_by_name(timeline), participant.client_ids | participant.member_ids
    for place in sorted({place for name in names for place in by_name.get(name, ())}):
        pause = timeline.pauses[place]
        label = f"{pause.kind}: {len(pause.partitions)} partitions without a reader"
        yield Span(started_at=pause.started_at, ended_at=pause.ended_at, kind="paused", label=label)
    yield from _unavailable_spans(timeline, participant)
    for departure in timeline.departures.of(participant):
        if not _is_of_one_thread(timeline, departure):
            yield _away(departure)


def _away(departure: Departure, generations: Sequence[Span] = ()) -> Span:
    """The span from a departure to the next of these generations, or without any to the participant's return."""
    joined = (span.started_at for span in generations if span.started_at > departure.at)
    back = min(joined, default=None) if generations else departure.returned.at if departure.returned else None
    return Span(started_at=departure.at, ended_at=back, kind="away", label=f"out of the group: {departure.why}")


def _is_of_one_thread(timeline: Timeline, departure: Departure) -> bool:
    """True if other threads of the instance stayed in the group, so that its process kept running."""
    # Threads that fail together are evicted within a session timeout of each other.
    participant, at = departure.participant, departure.at
    if timeline.participants.thread_of(departure.member) not in participant.threads:
        return False
    return all(timeline.membership.is_in(participant, time) for time in (at, at + SESSION_MS))


def _generation_spans(timeline: Timeline, member_ids: Collection[str]) -> Iterator[Span]:
    """A span for each generation with one of these member ids, and a span for the join before it."""
    ordered, by_member = timeline.generations, _generations_by_member(timeline)
    for index in sorted({place for member in member_ids for place in by_member.get(member, ())}):
        generation = ordered[index]
        if generation.started_at is None:
            continue
        label = f"generation {generation.generation}"
        number = generation.generation
        begin = generation.completed_at or generation.started_at
        end = ordered[index + 1].started_at if index + 1 < len(ordered) else None
        if begin > generation.started_at:
            yield Span(
                started_at=generation.started_at,
                ended_at=begin,
                kind="joining",
                label=f"joining {label}",
                generation=number,
            )
        yield Span(started_at=begin, ended_at=end, kind="member", label=label, generation=number)


@cached_answer
def _generations_by_member(timeline: Timeline) -> dict[str | None, list[int]]:
    numbered = enumerate(timeline.generations)
    return lists_by_key((member.member_id, place) for place, generation in numbered for member in generation.members)


@cached_answer
def _pauses_by_name(timeline: Timeline) -> dict[str | None, list[int]]:
    numbered = enumerate(timeline.pauses)
    return lists_by_key((name, place) for place, pause in numbered for name in (pause.client_id, pause.member_id))


def _unavailable_spans(timeline: Timeline, participant: Participant) -> Iterator[Span]:
    """The spans in which a member could not read before the group removed it, or held up a join barrier."""
    for departure in timeline.departures.of(participant):
        if not _is_of_one_thread(timeline, departure):
            yield from _until_departure(timeline, departure)
    for join in late_joins(timeline).get(participant, ()):
        begin = join.rebalance.started_at
        yield Span(
            started_at=begin,
            ended_at=join.joined_at,
            kind="holding-up",
            label=f"joined {(join.joined_at - begin) / 1000:.1f} s after the rebalance began",
            generation=join.rebalance.generation,
        )


def _until_departure(timeline: Timeline, departure: Departure) -> Iterator[Span]:
    """The span before a departure in which the member could not read, if there was one."""
    kind: SpanKind | None
    if departure.why == "rebalance-timeout":
        rebalance = next(iter(timeline.rebalances.touching(departure.at, departure.at)), None)
        kind, began = "holding-up", departure.at if rebalance is None else rebalance.started_at
    else:
        loss = loss_of(timeline, departure)
        kind = loss.why if loss.why in ("stuck", "dead", "frozen", "cut-off") else None
        kind, began = kind or ("silent" if departure.why in _SILENT and loss.why == "unknown" else None), loss.at
    if kind is not None and began < departure.at:
        yield Span(started_at=began, ended_at=departure.at, kind=kind, label=_LABELS[kind])


def _coordinator_lanes(timeline: Timeline, marks: Marks) -> list[Lane]:
    spans: dict[str, list[Span]] = defaultdict(list)
    for term in timeline.coordinators:
        if (at := term.started_at) is not None:
            label = f"{term.broker} coordinates"
            spans[term.broker].append(Span(started_at=at, ended_at=term.ended_at, kind="coordinating", label=label))
    return [
        Lane(name=broker, kind="broker", spans=tuple(spans[broker]), marks=tuple(marks.get(broker, ())))
        for broker in sorted(spans, key=natural)
    ]


_FAULTS = (
    ev.PollTimeoutExpired, ev.MemberFailed, ev.InstanceFenced, ev.StaticMemberFenced, ev.AuthorizationFailed,
    ev.ExceptionLogged, ev.ProcessDied, ev.ThreadFailed, ev.ShutdownRequested, ev.AssignmentFailed,
    ev.AssignmentNotStored, ev.ReplicasInsufficient,
)  # fmt: skip
_NOTICES = (
    ev.RebalanceStarted, ev.MemberLeft, ev.LeaveSent, ev.JoinFailed, ev.SyncFailed, ev.HeartbeatFailed,
    ev.GroupHeartbeatFailed, ev.GenerationReset, ev.CoordinatorLost, ev.NodeDisconnected, ev.GroupLoaded,
    ev.GroupUnloaded, ev.GroupEmptied, ev.GroupEpochBumped, ev.OffsetsExpired, ev.TopicChanged,
    ev.StaticMemberReplaced, ev.Unsubscribed, ev.PartitionsLost, ev.FollowUpTriggered, ev.ThreadAdded,
    ev.StreamsStateChanged, ev.ConnectorConfigChanged, ev.DelayedRebalance, ev.WorkerStopped, ev.ConsumerClosed,
    ev.ProcessStopping, ev.BrokerStarted, ev.BrokerStopped,
)  # fmt: skip
_PLAIN = (
    ev.GenerationStabilized, ev.AssignmentReceived, ev.SettingsReported, ev.PartitionsRevoked, ev.PartitionsAssigned,
    ev.MemberReconciled,
)  # fmt: skip
_SEVERITIES: dict[type[Event], Literal["fault", "notice", "plain"]] = {
    **dict.fromkeys(_FAULTS, "fault"),
    **dict.fromkeys(_NOTICES, "notice"),
    **dict.fromkeys(_PLAIN, "plain"),
}
MARKED = tuple(_SEVERITIES)


@cache
def _words(event: str) -> tuple[str, str]:
    """The name of an event type in kebab case and in words: `member-failed`, `member failed`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", event).lower()
    return words, words.replace("-", " ")


def _mark_of(event: Event) -> Mark | None:
    """The mark of an event; None if it has no time or its type is not shown in lanes."""
    replaces = isinstance(event, ev.ThreadAdded) and event.replacing
    severity = "fault" if replaces else _SEVERITIES.get(type(event))
    if event.at is None or severity is None:
        return None
    kind, label = _words(type(event).__name__)
    return Mark(
        at=event.at,
        kind=kind,
        label=label,
        severity=severity,
        evidence=evidence_of(event),
    )
