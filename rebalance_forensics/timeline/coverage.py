"""Who is heard, from when to when, at which level: without that, silence says nothing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Literal, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import WorkerStarted
from rebalance_forensics.events.coordinator import GroupLoaded
from rebalance_forensics.events.membership import MemberLoaded, Subscribed
from rebalance_forensics.events.process import (
    BrokerStarted,
    ClientStarted,
    SettingsReported,
    StartTimeReported,
    VersionReported,
)
from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, Place, place_of
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.identity.participants import Participant, Participants, place_name
from rebalance_forensics.timeline.model import CoordinatorTerm
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS

DETAILED = frozenset({"INFO", "DEBUG", "TRACE"})
"""The levels at which members tell of joining and leaving."""


WayIn = Literal["collected", "plain", "marked", "pasted"]
"""How lines came into a file: by a collector, as they were written, with marks of a person around them, as a paste."""


class LogSpan(Struct, frozen=True, kw_only=True):
    """How far one log was read, or a part of it: the times of its first and last record, Kafka's or not.

    A single line with a wild time would make the log seem to last for years, so the order in the file decides; `start`,
    the place of a part in the file, tells which of several comes first. Times are by the log's own clock, None where no
    record has one.
    """

    path: str
    host: str | None
    opening: EpochMs | None
    closing: EpochMs | None
    start: int = 0
    lines: WayIn = "collected"
    records: int = 0
    about_groups: int = 0
    """How many of its records tell of groups or their members."""
    brokers: int = 0
    """How many of these a broker wrote."""
    cut_short: int = 0
    """How many further records about groups were cut off so early that nothing can be read of them."""


class LogRead(NamedTuple):
    """From when to when a log was read, on its own clock; of an `excerpt` only the lines that somebody picked.

    Both times are None where no line of it has one.
    """

    first: EpochMs | None
    last: EpochMs | None
    excerpt: bool = False
    is_short: bool = False
    """Whether it is short enough to have been cut out of a longer log, and nearly all of it is about groups."""


LogsRead = Mapping[Place, LogRead]


def logs_read(spans: Iterable[LogSpan]) -> LogsRead:
    """How far each log was read, its parts put together; an export may be newest first."""
    parts: dict[Place, list[LogSpan]] = defaultdict(list)
    for span in spans:
        parts[span.path, span.host].append(span)
    found: dict[Place, LogRead] = {}
    for place, of_one in parts.items():
        opened = ((part.start, part.opening) for part in of_one if part.opening is not None)
        closed = ((part.start, part.closing) for part in of_one if part.closing is not None)
        edges = [at for _, at in (*sorted(opened)[:1], *sorted(closed)[-1:])]
        first, last = min(edges, default=None), max(edges, default=None)
        found[place] = LogRead(first, last, excerpt=is_excerpt(of_one), is_short=_is_short(of_one))
    return found


_PICKED_BY_HAND = 200
"""Nobody picks more lines than this one by one."""
_NEARLY_ALL, _OF_EACH_SIDE = 0.8, 0.1


def is_excerpt(parts: Sequence[LogSpan]) -> bool:
    """Whether somebody picked the lines of this log: a paste, or few lines, of a coordinator and of its members.

    These do not write into one file. A client's own log may well speak of its group alone, and is whole, unless its
    lines are marked as pasted ones are; hundreds of lines with a fence around them, of which many tell of no group, are
    a whole log as well, and so is a collector's stream unless it tells of nothing but groups. Of what was not picked an
    excerpt says nothing, and its times may be unknown. The same holds where lines were cut so short that they are lost.
    """
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
    return "marked" in ways or of_both_sides


def _is_short(parts: Sequence[LogSpan]) -> bool:
    records, about_groups = sum(part.records for part in parts), sum(part.about_groups for part in parts)
    return 0 < records <= _PICKED_BY_HAND and about_groups >= records * _NEARLY_ALL


class CoveredLog(Struct, frozen=True, kw_only=True):
    """One log that speaks of the group or of its members, from when to when, on the group's clock.

    `detailed`: it holds Kafka's lines at INFO; a log at WARN and above is silent about nearly all that a member does.
    Of an `excerpt` somebody picked the lines: it is silent about all others.
    """

    path: str
    begin: int
    end: int
    detailed: bool
    excerpt: bool = False

    def covers(self, begin: int, end: int) -> bool:
        """Whether it lasts from `begin` to `end`."""
        return self.begin <= begin and end <= self.end


_BEGIN = attrgetter("begin")


class Coverage:
    """The logs of one group's members and coordinators."""

    def __init__(
        self,
        by_participant: Mapping[Participant, tuple[CoveredLog, ...]],
        brokers: tuple[CoveredLog, ...],
        coordinating: Iterable[CoveredLog],
        ends: Mapping[Place, int] | None = None,
    ) -> None:
        """`ends` says when each log ends; of one that several members share, no single one is heard to its end."""
        everything = [*brokers, *(log for own in by_participant.values() for log in own)]
        self._by_participant = {
            participant: tuple(g for g in own if not g.excerpt) for participant, own in by_participant.items()
        }
        self.brokers = tuple(log for log in coordinating if not log.excerpt)
        """The logs of brokers that speak of the group, as far as no other broker is known to have coordinated it."""
        self.begin = min((log.begin for log in everything if not log.excerpt), default=None)
        """When the first of the logs begins that speak of the group; None where all lines were picked."""
        self.end = max((log.end for log in everything), default=0)
        self._ends = ends or {}
        self.end = max(self.end, *self._ends.values(), 0)
        """When the last of all logs ends that speak of the group, be its lines picked or not."""
        self.is_excerpt = bool(everything) and all(log.excerpt for log in everything)
        """Whether all that is known of the group was picked by somebody: what is not there may have been left out."""

    def of(self, participant: Participant | None) -> tuple[CoveredLog, ...]:
        """A participant's own logs, by path; an excerpt is none."""
        return self._by_participant.get(participant, ()) if participant is not None else ()

    def ends(self, participant: Participant) -> int | None:
        """When the last of its own logs ends; None without one."""
        logs = self.of(participant)
        return max([log.end for log in logs]) if logs else None

    def goes_on_after(self, event: Event) -> bool:
        """Whether the log that holds a line was written to for a while after it, by whomever."""
        return event.at is not None and self._ends.get(place_of(event), 0) > event.at + NEXT_HEARTBEAT_MS


def covering(logs: Iterable[CoveredLog], begin: int, end: int, *, detailed: bool = True) -> tuple[CoveredLog, ...]:
    """Those that reach over a while: alone, or one rolled file after the other."""
    touching = [log for log in logs if (log.detailed or not detailed) and log.end >= begin and log.begin <= end]
    if not touching:
        return ()
    touching.sort(key=_BEGIN)
    if touching[0].begin > begin or max([log.end for log in touching]) < end:
        return ()
    return tuple(touching)


def coverage_of(
    participants: Participants,
    events: Sequence[Event],
    ungrouped: EventIndex,
    logs: LogsRead,
    clocks: Mapping[Place, FileClock],
    terms: Sequence[CoordinatorTerm] = (),
) -> Coverage:
    """What is heard in the lines of a group, each log as long as it was read; `around` is what brokers say besides.

    A broker says nothing of a group while another one coordinates it: `terms` tell which did, and when.
    """
    by_participant: dict[Participant, dict[Place, list[Event]]] = defaultdict(lambda: defaultdict(list))
    brokers: dict[Place, list[Event]] = defaultdict(list)
    for event in events:
        if event.speaker.role == "broker":
            if event.group is not None:
                brokers[place_of(event)].append(event)
        elif (participant := participants.of_speaker(event)) is not None:
            by_participant[participant][place_of(event)].append(event)
    spoken_in = {*brokers, *(place for logs_spoken_in in by_participant.values() for place in logs_spoken_in)}
    picked = _picked(participants, events, logs)
    whole = _on_the_clock(spoken_in - picked, logs, clocks)
    # Of a log that several processes share only their own lines tell how far each of them is heard.
    shared = Counter(place for logs_spoken_in in by_participant.values() for place in logs_spoken_in)
    alone = {place: span for place, span in whole.items() if shared[place] == 1}
    lasting = [
        (_lasting_until(log, ungrouped.until.get(place_name(first))), first.speaker.broker)
        for log, first in _with_writer(brokers, whole, picked)
    ]
    return Coverage(
        {
            participant: _covered(logs_spoken_in, alone, picked)
            for participant, logs_spoken_in in by_participant.items()
        },
        tuple(log for log, _ in lasting),
        (part for log, broker in lasting for part in _while_coordinating(log, broker, terms)),
        {place: end for place, (_, end) in whole.items()},
    )


def _picked(participants: Participants, events: Sequence[Event], logs: LogsRead) -> frozenset[Place]:
    """The logs of which somebody picked the lines: by their looks, or short and from the middle of a longer one.

    A short log is whole where it opens with a start: of the client that wrote it or, for the coordinator's, of the
    group. Of a client with several logs, as they are rolled, the first one opens with it.
    """
    begun: dict[Participant | None, bool] = {}
    speakers: dict[Place, set[Participant | None]] = defaultdict(set)
    for event in events:
        speaker = None if event.speaker.role == "broker" else participants.of_speaker(event)
        if speaker is None and (event.speaker.role != "broker" or event.group is None):
            continue
        speakers[place_of(event)].add(speaker)
        if speaker not in begun and (opens := _opens_a_log(event)) is not None:
            begun[speaker] = opens
    return frozenset(
        place
        for place, spoke in speakers.items()
        if place in logs and (logs[place].excerpt or (logs[place].is_short and not any(begun.get(s) for s in spoke)))
    )


_OPENINGS = (
    *(SettingsReported, VersionReported, ClientStarted, StartTimeReported, WorkerStarted, Subscribed),
    *(GroupLoaded, MemberLoaded, BrokerStarted),
)
"""What a client logs as it starts, or a broker as it takes over a group."""


def _opens_a_log(event: Event) -> bool | None:
    """Whether a log that begins with this line shows its client or its group from the start; None where it may be."""
    if isinstance(event, _OPENINGS) or getattr(event, "state", None) in ("Empty", "Dead"):
        return True
    generation = getattr(event, "generation", None)
    return generation <= 1 if isinstance(generation, int) and generation >= 0 else None


def _with_writer(
    by_log: Mapping[Place, Sequence[Event]], whole: Mapping[Place, tuple[int, int]], picked: frozenset[Place]
) -> Iterator[tuple[CoveredLog, Event]]:
    """Each log with a line that says who wrote it."""
    for place, events in by_log.items():
        yield from ((log, events[0]) for log in _covered({place: events}, whole, picked))


def _while_coordinating(log: CoveredLog, broker: int | None, terms: Sequence[CoordinatorTerm]) -> Iterator[CoveredLog]:
    """The parts of a broker's log before, between and after the terms of other brokers."""
    begin = log.begin
    for term in terms if broker is not None else ():
        if term.broker == f"broker-{broker}" or (term.ended_at is not None and term.ended_at <= begin):
            continue
        if term.started_at is not None and term.started_at > begin:
            yield replace(log, begin=begin, end=min(term.started_at, log.end))
        if term.ended_at is None or term.ended_at >= log.end:
            return
        begin = term.ended_at
    if begin <= log.end:
        yield replace(log, begin=begin)


def _lasting_until(log: CoveredLog, until: int | None) -> CoveredLog:
    return log if until is None or until <= log.end else replace(log, end=until)


def _on_the_clock(
    places: Iterable[Place], logs: LogsRead, clocks: Mapping[Place, FileClock]
) -> dict[Place, tuple[int, int]]:
    """From when to when these logs were read, on the group's clock."""
    found: dict[Place, tuple[int, int]] = {}
    for place in places:
        if place in logs and not logs[place].excerpt:
            first, last = logs[place].first, logs[place].last
            if first is not None and last is not None:
                clock = clocks.get(place)
                found[place] = (
                    (first, last) if clock is None else (clock.on_group_clock(first), clock.on_group_clock(last))
                )
    return found


def _covered(
    by_log: Mapping[Place, Sequence[Event]], whole: Mapping[Place, tuple[int, int]], picked: frozenset[Place]
) -> tuple[CoveredLog, ...]:
    found = []
    for place, events in by_log.items():
        times = [event.at for event in events if event.at is not None]
        times += whole.get(place, ())
        if times:
            detailed = any(event.level is None or event.level in DETAILED for event in events)
            found.append(
                CoveredLog(path=place[0], begin=min(times), end=max(times), detailed=detailed, excerpt=place in picked)
            )
    return tuple(sorted(found, key=lambda log: (log.path, log.begin)))
