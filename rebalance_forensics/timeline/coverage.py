"""Coverage: whose logs are available, for which time and at which level. A missing line proves nothing outside it."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import merge
from operator import attrgetter
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, Place, on_one_clock, place_of
from rebalance_forensics.timeline.event_index import EventIndex, time_of
from rebalance_forensics.timeline.identity.names import broker_name
from rebalance_forensics.timeline.identity.participants import Participant, Participants, place_name
from rebalance_forensics.timeline.missing_lines import Reported, Span, missing_lines, reported_losses
from rebalance_forensics.timeline.model import CoordinatorTerm
from rebalance_forensics.timeline.process_logs import NO_LINES, ProcessEvents
from rebalance_forensics.timeline.time_index import grouped, lists_by_key, united
from rebalance_forensics.timeline.windows import ANOTHER_LIFE_MS, NEXT_HEARTBEAT_MS, QUIET_MS

DETAILED = frozenset({"INFO", "DEBUG", "TRACE"})
"""The levels of logs in which members log joins and leaves."""


WayIn = Literal["collected", "plain", "marked", "pasted"]
"""How the lines got into the file: by a collector, as written by the process, marked up by a person, or pasted."""


class LogSpan(Struct, frozen=True, kw_only=True):
    """The extent of a log or a part of it: the times of its first and last record, from Kafka or not.

    The first and last record are those in file order, since one line with a wrong time would otherwise extend the log
    by years. `start` is the offset of the part in the file. Times are on the log's own clock; None if it has no times.
    """

    path: str
    host: str | None
    opening: EpochMs | None
    closing: EpochMs | None
    start: int = 0
    lines: WayIn = "collected"
    records: int = 0
    about_groups: int = 0
    """Number of records about groups or their members."""
    brokers: int = 0
    """Number of those records that a broker wrote."""
    cut_short: int = 0
    """Number of additional records about groups that are truncated and cannot be parsed."""
    of_a_jvm: bool = False
    """True for a GC log."""


class LogRead(NamedTuple):
    """The extent of a log on its own clock; both times are None if no line has a time.

    An `excerpt` contains only lines that a person selected.
    """

    first: EpochMs | None
    last: EpochMs | None
    excerpt: bool = False
    is_short: bool = False
    """True if it may have been cut out of a longer log: it is short, and nearly all records are about groups."""
    of_a_jvm: bool = False


LogsRead = Mapping[Place, LogRead]


def logs_read(spans: Iterable[LogSpan]) -> LogsRead:
    """The extent of each log, combined from its parts; an export may be newest first."""
    found: dict[Place, LogRead] = {}
    for place, of_one in grouped(spans, lambda span: (span.path, span.host)).items():
        opened = ((part.start, part.opening) for part in of_one if part.opening is not None)
        closed = ((part.start, part.closing) for part in of_one if part.closing is not None)
        edges = [at for _, at in (*sorted(opened)[:1], *sorted(closed)[-1:])]
        first, last = min(edges, default=None), max(edges, default=None)
        of_a_jvm = all(part.of_a_jvm for part in of_one)
        found[place] = LogRead(first, last, is_excerpt(of_one), _is_short(of_one), of_a_jvm)
    return found


# A person does not select more lines than this by hand.
_PICKED_BY_HAND = 200
_NEARLY_ALL, _OF_EACH_SIDE = 0.8, 0.1


def is_excerpt(parts: Sequence[LogSpan]) -> bool:
    """True for a log whose lines a person selected: a paste, or few lines without times or from broker and client."""
    # A coordinator and members do not write to the same file. A client's log with lines about its group only is
    # complete, unless it has the marks of a paste. Hundreds of lines in a code block are complete if many of them are
    # not about groups, and so is a collector's stream. An excerpt proves nothing about missing lines, and neither does
    # a log with truncated lines.
    if any(part.cut_short for part in parts):
        return True
    ways = {part.lines for part in parts}
    records, about_groups = sum(part.records for part in parts), sum(part.about_groups for part in parts)
    few, chosen = 0 < records <= _PICKED_BY_HAND, about_groups >= records * _NEARLY_ALL
    if "pasted" in ways:
        return ways == {"pasted"} and (few or chosen)
    if not few or not chosen:
        return False
    brokers = sum(part.brokers for part in parts)
    of_both_sides = min(brokers, about_groups - brokers) >= records * _OF_EACH_SIDE
    if "collected" in ways:
        return of_both_sides and about_groups == records
    # Loggers print times. A person may copy the messages without them; nothing then shows that the log is complete.
    timeless = all(part.opening is None and part.closing is None for part in parts)
    return "marked" in ways or of_both_sides or timeless


def _is_short(parts: Sequence[LogSpan]) -> bool:
    records, about_groups = sum(part.records for part in parts), sum(part.about_groups for part in parts)
    return 0 < records <= _PICKED_BY_HAND and about_groups >= records * _NEARLY_ALL


class CoveredLog(Struct, frozen=True, kw_only=True):
    """The extent of a log with lines of the group or its members, on the group's clock.

    `detailed`: it contains lines at INFO; a log at WARN lacks nearly all actions of a member.
    An `excerpt` contains only lines that a person selected.
    """

    path: str
    begin: int
    end: int
    detailed: bool
    excerpt: bool = False
    resumes: bool = False
    """True for the part of a log after missing lines or another broker's term."""


class Coverage:
    """The coverage of a group by the logs of its members and coordinators."""

    def __init__(
        self,
        by_participant: Mapping[Participant, tuple[CoveredLog, ...]],
        brokers: tuple[CoveredLog, ...],
        coordinating: Iterable[CoveredLog],
        extents: Mapping[Place, tuple[int, int]] | None = None,
        of_jvms: Mapping[Participant, tuple[CoveredLog, ...]] | None = None,
        missing: Mapping[Place, Sequence[Span]] | None = None,
        reported: Mapping[Place, Sequence[Reported]] | None = None,
    ) -> None:
        """`extents` are the first and last time of each log, including shared logs; `of_jvms` are GC logs."""
        self._of_jvms = of_jvms or {}
        self.missing = {path: spans for (path, _), spans in (missing or {}).items()}
        """Path -> the spans of that log with missing lines."""
        self.dropped = {path: [notice for _, notice in losses] for (path, _), losses in (reported or {}).items()}
        """Path -> the notices that lines of that log were dropped."""
        everything = [*brokers, *(log for own in by_participant.values() for log in own)]
        self._by_participant = {
            participant: tuple(g for g in own if not g.excerpt) for participant, own in by_participant.items()
        }
        self._picked = {
            who
            for who, own in by_participant.items()
            if all(log.excerpt for log in own) and any(log.detailed for log in own)
        }
        self.brokers = tuple(log for log in coordinating if not log.excerpt)
        """The broker logs about the group, without the times when another broker coordinated it."""
        self.begin = min((log.begin for log in everything if not log.excerpt), default=None)
        """When the first log about the group begins; None if all logs are excerpts."""
        self.end = max((log.end for log in everything), default=0)
        self._stretches = united((log.begin, log.end + ANOTHER_LIFE_MS) for log in everything if not log.excerpt)
        self._extents = extents or {}
        self.end = max(self.end, *(end for _, end in self._extents.values()), 0)
        """When the last log about the group ends, including excerpts."""
        self.is_excerpt = bool(everything) and all(log.excerpt for log in everything)
        """True if all logs about the group are excerpts, so that a missing line proves nothing."""

    def shown_since(self, at: int) -> int | None:
        """Since when logs at hand show the group until `at`; None if they do so since the first of them begins.

        Logs of two days, for example, do not show the night between: what happened to the group then is unknown.
        """
        begins = [begin for begin, _ in self._stretches[1:] if begin <= at]
        return begins[-1] if begins else None

    def of(self, participant: Participant | None) -> tuple[CoveredLog, ...]:
        """A participant's logs in the order of their paths, without excerpts."""
        return self._by_participant.get(participant, ()) if participant is not None else ()

    def detailed(self, participant: Participant) -> list[CoveredLog]:
        """A participant's logs with lines at INFO; without such a log, missing lines prove nothing."""
        return [log for log in self.of(participant) if log.detailed]

    def shows_picked_lines(self, participant: Participant) -> bool:
        """True if all logs of a participant are excerpts, and one of them has lines at INFO."""
        return participant in self._picked

    def of_its_jvm(self, participant: Participant) -> tuple[CoveredLog, ...]:
        """The GC logs on the host of a participant."""
        return self._of_jvms.get(participant, ())

    def missing_from(self, participant: Participant, begin: int, end: int) -> Sequence[Span]:
        """The spans with missing lines in a participant's logs between `begin` and `end`."""
        paths = {log.path for log in self.of(participant)} & self.missing.keys() if self.missing else ()
        return [(a, b) for path in sorted(paths) for a, b in self.missing[path] if a < end and b > begin]

    def ends(self, participant: Participant) -> int | None:
        """When the last of a participant's logs ends; None if it has no log."""
        logs = self.of(participant)
        return max([log.end for log in logs]) if logs else None

    def goes_on_after(self, event: Event) -> bool:
        """True if the log of an event has lines of any process for some time after the event."""
        return event.at is not None and self._extents.get(place_of(event), (0, 0))[1] > event.at + NEXT_HEARTBEAT_MS

    def began_before(self, event: Event, at: int) -> bool:
        """True if the log of an event has lines of any process at `at` or before."""
        return place_of(event) in self._extents and self._extents[place_of(event)][0] <= at


def covering(logs: Iterable[CoveredLog], begin: int, end: int) -> tuple[CoveredLog, ...]:
    """The logs that cover a span together: one log, or consecutive rolled files; empty if the span is not covered."""
    touching = [log for log in logs if log.detailed and log.end >= begin and log.begin <= end]
    touching.sort(key=attrgetter("begin"))
    if not touching or touching[0].begin > begin:
        return ()
    reach = begin
    for log in touching:
        if log.begin > (reach if log.resumes else reach + QUIET_MS):
            return ()
        reach = max(reach, log.end)
    return tuple(touching) if reach >= end else ()


def coverage_of(
    participants: Participants,
    events: EventIndex,
    ungrouped: EventIndex,
    logs: LogsRead,
    clocks: Mapping[Place, FileClock],
    terms: Sequence[CoordinatorTerm] = (),
    process_events: ProcessEvents = NO_LINES,
    dropped: Sequence[ev.LinesDropped] = (),
) -> Coverage:
    """The coverage of a group by the logs that contain its `events`.

    `ungrouped` are broker lines that name no group. A broker logs nothing about a group while another broker
    coordinates it: `terms` are the coordinators over time. `dropped` are notices about dropped lines.
    """
    by_participant, brokers = _by_speaker(participants, events, process_events)
    spoken_in = {*brokers, *(place for logs_spoken_in in by_participant.values() for place in logs_spoken_in)}
    picked = _picked(participants, list(merge(events, process_events.openings(participants), key=time_of)), logs)
    whole = _on_the_clock(spoken_in - picked, logs, clocks)
    reported = reported_losses(events, whole, on_one_clock(dropped, clocks))
    missing = {place: spans for place, spans in missing_lines(events, whole, reported).items() if place not in picked}
    # In a log of several processes, each process is covered only from its first line to its last.
    shared = Counter(place for logs_spoken_in in by_participant.values() for place in logs_spoken_in)
    alone = {place: span for place, span in whole.items() if shared[place] == 1}
    lasting: list[tuple[Place, CoveredLog]] = []
    homes = {place_name(lines[0]) for lines in brokers.values()}
    of_brokers = lists_by_key((home, at) for at in logs if (home := at[1] or at[0]) in homes)
    for place, lines in brokers.items():
        until = ungrouped.until.get(place_name(lines[0]), 0)
        written = _covered({place: lines}, whole, picked)
        read = sorted(_on_the_clock(of_brokers[place_name(lines[0])], logs, clocks).values())
        lasting += [(place, replace(log, end=max(log.end, _without_gap(log.end, until, read)))) for log in written]
    return Coverage(
        {
            participant: tuple(
                sorted(_in_parts(logs_spoken_in, alone, picked, missing), key=attrgetter("path", "begin"))
            )
            for participant, logs_spoken_in in by_participant.items()
            if not participant.is_several
        },
        tuple(log for _, log in lasting),
        (
            part
            for place, log in lasting
            for term in _parts(log, _coordinated_elsewhere(brokers[place][0].speaker.broker, terms))
            for part in _parts(term, missing.get(place, ()))
        ),
        whole,
        _of_jvms(participants, logs, clocks),
        missing,
        reported,
    )


def _by_speaker(
    participants: Participants, events: EventIndex, process_events: ProcessEvents
) -> tuple[dict[Participant, dict[Place, list[Event]]], dict[Place, list[Event]]]:
    """The lines of each participant by log, and the broker lines about the group by log."""
    by_participant: dict[Participant, dict[Place, list[Event]]] = defaultdict(lambda: defaultdict(list))
    brokers: dict[Place, list[Event]] = defaultdict(list)
    for event in events:
        if event.speaker.role == "broker":
            if event.group is not None:
                brokers[place_of(event)].append(event)
        elif (participant := participants.of_speaker(event)) is not None:
            by_participant[participant][place_of(event)].append(event)
    for speaker, parts in process_events.spoken(participants).items():
        if speaker is not None:
            for part in parts:
                by_participant[speaker][place_of(part[0])] += part.extent  # the lines between add nothing
    return by_participant, brokers


def _in_parts(
    by_log: Mapping[Place, Sequence[Event]],
    whole: Mapping[Place, Span],
    picked: frozenset[Place],
    missing: Mapping[Place, Sequence[Span]],
) -> Iterator[CoveredLog]:
    for place, lines in by_log.items():
        for log in _covered({place: lines}, whole, picked):
            yield from _parts(log, missing.get(place, ()))


def _parts(log: CoveredLog, missing: Iterable[Span]) -> Iterator[CoveredLog]:
    """The parts of a log before, between and after the spans with missing lines, or of another broker's term."""
    begin, resumes = log.begin, log.resumes
    for since, until in missing:
        if begin > log.end:
            return
        if since > begin:
            yield replace(log, begin=begin, end=min(since, log.end), resumes=resumes)
        if until >= begin:
            begin, resumes = until, True
    if begin <= log.end:
        yield replace(log, begin=begin, resumes=resumes)


def _without_gap(end: int, until: int, read: Iterable[tuple[int, int]]) -> int:
    """`until`, or the end of the last log before a gap: logs after a gap are from another day."""
    for begin, last in read:
        if begin > end + QUIET_MS:
            return min(end, until)
        end = max(end, last)
    return until


def _of_jvms(
    participants: Participants, logs: LogsRead, clocks: Mapping[Place, FileClock]
) -> dict[Participant, tuple[CoveredLog, ...]]:
    """The GC logs on the host of each participant, including logs without events: they show that nothing stopped."""
    found: dict[Participant, list[CoveredLog]] = defaultdict(list)
    for (path, host), log in logs.items():
        if not log.of_a_jvm or log.first is None or log.last is None:
            continue
        clock = clocks.get((path, host)) or FileClock(path=path, host=host)
        # HotSpot prints the UTC offset with each time.
        begin, end = (clock.on_group_clock(at, zoned=True) for at in (log.first, log.last))
        for participant in participants.by_place.get(host or path, ()):
            found[participant].append(CoveredLog(path=path, begin=begin, end=end, detailed=True))
    return {participant: tuple(covered) for participant, covered in found.items()}


def _picked(participants: Participants, events: Sequence[Event], logs: LogsRead) -> frozenset[Place]:
    """The logs whose lines a person selected: excerpts, and short logs cut out of a longer log."""
    # A short log is complete if it starts with the start of its client or, for a coordinator, of the group. In a rolled
    # log of a client, this applies to the first file.
    if not any(log.excerpt or log.is_short for log in logs.values()):
        return frozenset()
    opens_by_speaker: dict[Participant | None, bool] = {}
    speakers: dict[Place, set[Participant | None]] = defaultdict(set)
    for event in events:
        speaker = None if event.speaker.role == "broker" else participants.of_speaker(event)
        if speaker is None and (event.speaker.role != "broker" or event.group is None):
            continue
        speakers[place_of(event)].add(speaker)
        if speaker not in opens_by_speaker and (opens := _opens_a_log(event)) is not None:
            opens_by_speaker[speaker] = opens
    return frozenset(
        place
        for place, spoke in speakers.items()
        if place in logs
        and (logs[place].excerpt or (logs[place].is_short and not any(opens_by_speaker.get(s) for s in spoke)))
    )


# Lines that a client logs when it starts, or a broker when it becomes the coordinator.
_OPENINGS = (
    *(ev.SettingsReported, ev.VersionReported, ev.ClientStarted, ev.StartTimeReported, ev.WorkerStarted, ev.Subscribed),
    *(ev.GroupLoaded, ev.MemberLoaded, ev.BrokerStarted),
)

_BEGIN_A_GENERATION = (
    ev.GenerationStabilized,
    ev.AssignmentComputed,
    ev.AssignmentReceived,
    ev.JoinSucceeded,
    ev.SyncSucceeded,
)


def _opens_a_log(event: Event) -> bool | None:
    """True if this line shows that its log covers the start of the client or group, False if not, None if unknown."""
    if isinstance(event, _OPENINGS) or getattr(event, "state", None) in ("Empty", "Dead"):
        return True
    generation = getattr(event, "generation", None)
    if not isinstance(generation, int) or generation < 0:
        return None
    # A rebalance line names the previous generation; an error or a commit names one that began earlier.
    return generation <= 1 if isinstance(event, _BEGIN_A_GENERATION) else generation == 0


def _coordinated_elsewhere(broker: int | None, terms: Sequence[CoordinatorTerm]) -> Iterator[Span]:
    """When another broker coordinated the group, or nothing shows which one did."""
    # A broker logs that it loads a group. Until one does, the silence of a broker that unloaded it proves nothing.
    for term, following in zip(terms, (*terms[1:], None), strict=False) if broker is not None else ():
        if term.broker != broker_name(broker):
            yield term.started_at or 0, sys.maxsize if term.ended_at is None else term.ended_at
        if term.ended_at is not None:
            yield term.ended_at, sys.maxsize if following is None else following.started_at or 0


def _on_the_clock(
    places: Iterable[Place], logs: LogsRead, clocks: Mapping[Place, FileClock]
) -> dict[Place, tuple[int, int]]:
    """The first and last time of each of these logs on the group's clock, without excerpts."""
    found: dict[Place, tuple[int, int]] = {}
    for place in places:
        if place in logs and not logs[place].excerpt:
            first, last = logs[place].first, logs[place].last
            if first is not None and last is not None:
                clock = clocks.get(place) or FileClock(path=place[0], host=place[1])
                found[place] = clock.on_group_clock(first), clock.on_group_clock(last)
    return found


def _covered(
    by_log: Mapping[Place, Sequence[Event]], whole: Mapping[Place, tuple[int, int]], picked: frozenset[Place]
) -> tuple[CoveredLog, ...]:
    found = []
    for place, events in by_log.items():
        times = [*whole.get(place, ()), *(event.at for event in events if event.at is not None)]
        if times:
            detailed = any(event.level is None or event.level in DETAILED for event in events)
            begin, end = min(times), max(times)
            found.append(CoveredLog(path=place[0], begin=begin, end=end, detailed=detailed, excerpt=place in picked))
    return tuple(sorted(found, key=lambda log: (log.path, log.begin)))
