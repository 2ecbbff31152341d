"""Absences of members, from departure to return, and the rebalances and lines that belong to facts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import pairwise
from operator import attrgetter
from typing import TypeVar

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import natural
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact, Rebalance, Start, Stop, Transition, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import is_bare_member_id, name_in_member_id, streams_thread
from rebalance_forensics.timeline.identity.participants import Participant, own_member_id
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.timeouts import quiet_ms, session_timeout_ms, together_ms
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, PROCESS_START_MS, ROUND_TRIP_MS, TICK_MS

T = TypeVar("T")

# Departures without a LeaveGroup or a logged close.
UNANNOUNCED = frozenset({"session-expired", "expelled", "died", "vanished"})
_ENDING = ("PENDING_SHUTDOWN", "DEAD")


@dataclass(slots=True, eq=False)
class Absence:
    """A participant's absence: its members' departures, its stop, its next start and its return."""

    participant: Participant
    departures: Sequence[Departure]
    arrivals: Sequence[Arrival]
    start: Start | None
    stop: Stop | None
    at: int = field(init=False)
    """Time at which the group lost it, in epoch milliseconds."""
    back_at: int | None = field(init=False)
    """Time at which it came back; None if it did not."""
    whys: frozenset[str] = field(init=False)
    """The reasons for which its members left."""
    departure_lines: tuple[Event, ...] = field(init=False)
    """The lines of its departures."""
    events: tuple[Event, ...] = field(init=False)
    """The lines that show the absence, departures first."""
    facts: tuple[Fact, ...] = field(init=False)
    """The departures and arrivals, and the stop."""
    first_line_at: int | None = field(init=False)
    """Time of the first of these lines; None if they have no time."""

    def __post_init__(self) -> None:  # noqa: D105
        departures, arrivals, stop, start = self.departures, self.arrivals, self.stop, self.start
        self.at = min([d.at for d in departures])
        self.back_at = min([a.at for a in arrivals]) if arrivals else None
        self.whys = _whys_of(tuple([d.why for d in departures]))
        alone = len(departures) == 1
        self.departure_lines = departures[0].events if alone else tuple([e for d in departures for e in d.events])
        stopped = stop.events if stop is not None else ()
        started = start.events[:1] if start is not None else ()
        self.events = (*self.departure_lines, *stopped, *started, *[e for a in arrivals for e in a.events[:2]])
        self.facts = (*departures, *arrivals) if stop is None else (*departures, *arrivals, stop)
        times = [e.at for e in self.events if e.at is not None]
        self.first_line_at = min(times) if times else None

    @property
    def fell_silent(self) -> bool:
        """True if none of its members left by a LeaveGroup or a logged close."""
        return self.whys <= UNANNOUNCED

    @property
    def is_over(self) -> bool:
        """True if it joined again or its next process started."""
        return self.back_at is not None or self.start is not None

    @property
    def returned_with_its_id(self) -> list[Arrival]:
        """Its returns under its former KIP-848 member id, which a client generates when it starts and then keeps."""
        kept = {d.member for d in self.departures if is_bare_member_id(d.member or "")}
        return [a for a in self.arrivals if a.member in kept]

    @property
    def vanished(self) -> bool:
        """True if only a list of the group's members shows that it left."""
        return self.whys == {"vanished"}

    @property
    def ended_threads(self) -> list[str]:
        """The stream threads that ended while their instance kept running."""
        ended = self.stop.events if self.stop is not None else ()
        threads = {e.thread or e.speaker.thread or "" for e in ended if type(e) is ev.StreamThreadStateChanged}
        return sorted(threads, key=natural)


@lru_cache(maxsize=1 << 8)
def _whys_of(whys: tuple[str, ...]) -> frozenset[str]:
    """The set of these reasons; cached, because all absences of a group share a few sets."""
    return frozenset(whys)


def only_listed(fact: Transition) -> bool:
    """True if only a list of members shows this transition, not a line about the join or departure."""
    return fact.silent in ("assigned", "not-assigned")


def absences(timeline: Timeline, whys: Collection[str]) -> list[Absence]:
    """Each participant's absences by departures of these kinds, oldest first."""
    wanted = frozenset(whys)
    return list(timeline.cached_as(("absences", wanted), lambda: _absences(timeline, wanted)))


def _absences(timeline: Timeline, wanted: frozenset[str]) -> list[Absence]:
    if _departure_reasons(timeline).isdisjoint(wanted):
        return []
    found = []
    ends = _departures_by_life(timeline)
    for participant, groups in ends.items():
        for index, group in enumerate(groups):
            departures = tuple([d for d in group if d.why in wanted])
            if not departures:
                continue
            until = groups[index + 1][0].at if index + 1 < len(groups) else None
            before = groups[index - 1][-1].at if index else None
            found.append(_absence(timeline, participant, departures, before, until))
    return sorted(found, key=lambda a: (a.at, a.participant.name))


@cached_answer
def _departure_reasons(timeline: Timeline) -> frozenset[str]:
    """The kinds of departures that occur."""
    return frozenset(departure.why for departure in timeline.departures)


@cached_answer
def _departures_by_life(timeline: Timeline) -> dict[Participant, list[list[Departure]]]:
    """Each participant's departures, grouped by the membership that they ended."""
    found = {}
    for participant, departures in grouped(timeline.departures, attrgetter("participant")).items():
        groups = runs(departures, lambda d: d.at, together_ms(timeline) if participant.kind == "instance" else 0)
        found[participant] = [part for group in groups for part in _split_by_life(timeline, group)]
    return found


def _split_by_life(timeline: Timeline, group: list[Departure]) -> list[list[Departure]]:
    # A departure ends another membership if all that left before are back, or if its member joined from a new process.
    parts = [group[:1]]
    for departure in group[1:]:
        came = timeline.arrivals.of(departure.participant).between(parts[-1][0].at + 1, departure.at)
        began = timeline.starts.of(departure.participant).last(departure.at)
        returns = [a for a in came if a.member == departure.member]
        if returns and (
            len(came) >= len(parts[-1]) or (began is not None and parts[-1][-1].at < began.at <= returns[0].at)
        ):
            parts.append([])
        parts[-1].append(departure)
    return parts


def _absence(
    timeline: Timeline, participant: Participant, group: Sequence[Departure], before: int | None, until: int | None
) -> Absence:
    """The absence of these departures; the previous one ended by `before`, and the next one begins at `until`."""
    begin, last = min(d.at for d in group), max(d.at for d in group)
    departed_at = {d.member: d.at for d in sorted(group, key=lambda d: d.at)}
    came_at, named_at = first_arrivals(timeline), _first_named(timeline)
    joined = min((at for m in departed_at if (at := came_at.get((participant, m))) is not None), default=0)
    # A log collector may lose the lines about its join; its own log names its id later.
    known = joined or min((at for m in departed_at if (at := named_at.get((participant, m))) is not None), default=0)
    # Its next process may have started up to a session before others notice the departure, but not before the member's
    # own process logged it.
    reach = session_timeout_ms(timeline) + PROCESS_START_MS
    alive_at = min((time_of(e) for d in group for e in d.events if _is_logged_by_process(e)), default=0)
    start = timeline.starts.of(participant).first(max(begin - reach, min(known, begin), before or 0, alive_at) + 1)
    stop = timeline.stops.of(participant).last(last + HEARTBEAT_MS)
    if stop is not None and (stop.at <= joined or _kept_working(timeline, participant, stop, begin)):
        stop = None
    if stop is None or _closed_other_threads(timeline, stop, departed_at):
        ended = _end_of_threads(timeline, participant, begin, group)
        stop = stop if stop is not None and ended is not None else ended
    back = _return_of(timeline, participant, group, departed_at, before, until, joined)
    if start is not None and any(a.at < start.at - ROUND_TRIP_MS for a in back):
        start = None  # it was back before, so the process started later
    return Absence(
        participant,
        group,
        back,
        start if start is not None and (until is None or start.at < until) else None,
        stop,
    )


def _is_logged_by_process(event: Event) -> bool:
    """True if the member's own running process logs that it lost its coordinator or its partitions."""
    return isinstance(event, (ev.CoordinatorLost, ev.OwnershipGivenUp)) and event.speaker.role != "broker"


def _return_of(
    timeline: Timeline,
    participant: Participant,
    group: Sequence[Departure],
    departed_at: Mapping[str | None, int],
    before: int | None,
    until: int | None,
    joined: int,
) -> Sequence[Arrival]:
    """Its arrivals after the departures."""
    # A new process may join before the coordinator evicts the old one.
    begin = min(d.at for d in group)
    arrivals = timeline.arrivals.of(participant)
    came = arrivals.since(begin + 1) if until is None else arrivals.between(begin + 1, until - 1)
    late = _until_all_are_back(timeline, [a for a in came if a.at >= departed_at.get(a.member, a.at)], len(group))
    early = arrivals.between(max(begin - together_ms(timeline), before or 0) + 1, begin)
    early = [a for a in early if _is_new_process(timeline, a, group) and a.at >= departed_at.get(a.member, a.at)]
    early = [a for a in early if (a.start is None or a.start.at > joined) and a.member not in departed_at]
    return [*early, *late]


def _until_all_are_back(timeline: Timeline, came: Sequence[Arrival], missing: int) -> Sequence[Arrival]:
    """The arrivals that end an absence; after all are back and the group was quiet, later arrivals do not count."""
    for number, (former, arrival) in enumerate(pairwise(came), 1):
        if number >= missing and arrival.at - former.at > quiet_ms(timeline):
            return came[:number]
    return came


def _end_of_threads(
    timeline: Timeline, participant: Participant, begin: int, group: Sequence[Departure]
) -> Stop | None:
    """The end of the departed members' threads, if their instance keeps running; else None."""
    if participant.kind != "instance":
        return None
    ended: dict[str | None, list[Event]] = defaultdict(list)
    for event in timeline.events_from(participant, ev.StreamThreadStateChanged).between(0, begin + HEARTBEAT_MS):
        assert type(event) is ev.StreamThreadStateChanged
        thread = event.thread or event.speaker.thread
        ended[thread] = [*ended[thread], event] if event.after in _ENDING else []
    threads = {timeline.participants.thread_of(d.member) for d in group}
    lines = [e for thread in sorted(t or "" for t in threads) for e in ended.get(thread, ())]
    if None in threads or not all(ended.get(thread) for thread in threads):
        return None
    return Stop(participant, min(e.at or 0 for e in lines), tuple(lines), id=f"stop-at-{group[0].id}")


def _closed_other_threads(timeline: Timeline, stop: Stop, members: Iterable[str | None]) -> bool:
    """True if the stop closed clients of other stream threads only, as when a thread is replaced."""
    if not only_threads_closed(stop):
        return False
    closed = {streams_thread(e.speaker.client_id or "") or e.speaker.thread for e in stop.events}
    fell = set(map(timeline.participants.thread_of, members))
    return None not in closed | fell and not closed & fell


def only_threads_closed(stop: Stop) -> bool:
    """True if clients of some threads closed, but not the instance: a thread was replaced or removed."""
    return stop.participant.kind == "instance" and all(
        isinstance(e, ev.ConsumerClosed | ev.LeaveSent) for e in stop.events
    )


def _is_new_process(timeline: Timeline, arrival: Arrival, group: Sequence[Departure]) -> bool:
    """True if a process start precedes the arrival; without a log, if the client joins under another id meanwhile."""
    if arrival.start is not None or timeline.coverage.of(arrival.participant):
        return arrival.start is not None
    name = name_in_member_id(arrival.member or "")
    return name is not None and any(name_in_member_id(d.member or "") == name for d in group)


@cached_answer
def first_arrivals(timeline: Timeline) -> dict[tuple[Participant, str | None], int]:
    """Participant and member id -> the time of the first arrival."""
    # Cached, because a member may leave and return thousands of times while a quorum is lost.
    return {(arrival.participant, arrival.member): arrival.at for arrival in reversed(timeline.arrivals)}


@cached_answer
def _first_named(timeline: Timeline) -> dict[tuple[Participant, str | None], int]:
    """Participant and member id -> the time at which its own log first names the id as its own."""
    lines = (
        (who, e) for e in reversed(timeline.group_events.by_clients) if (who := timeline.participants.of_speaker(e))
    )
    return {(who, member): time_of(e) for who, e in lines if (member := own_member_id(e))}


def _kept_working(timeline: Timeline, participant: Participant, stop: Stop, until: int) -> bool:
    """True if it was an active member again between this stop and its departure."""
    after = stop.events[-1].at or stop.at
    lines = timeline.events_from(
        participant, ev.JoinSucceeded, ev.SyncSucceeded, ev.PartitionsAssigned, ev.MemberTransitioned
    )
    return lines.any_between(after + ROUND_TRIP_MS + 1, until - 1)


def lasts_a_session(timeline: Timeline, at: int) -> bool:
    """True if the logs continue for a session after this time: a member that crashed by then is evicted or back."""
    return timeline.coverage.end - at >= session_timeout_ms(timeline)


def is_missing(timeline: Timeline, absences: Iterable[Absence]) -> bool:
    """True if a member did not come back although the logs last long enough to show a return."""
    # An excerpt may leave out the return.
    if timeline.coverage.is_excerpt:
        return False
    return any(not absence.is_over and lasts_a_session(timeline, absence.at) for absence in absences)


@cached_answer
def formed_at(timeline: Timeline) -> int | None:
    """The time at which the group's first generation was reached; earlier requests belong to the group's start.

    If the logs begin later than the group, it is just before their first line. None if the group has only started.
    """
    first = [g.reached_at for g in timeline.generations if g.members]
    known = [e.at for e in timeline.of(ev.GenerationStabilized, ev.JoinSucceeded) if e.at is not None]
    times = [t for t in (*first, *known) if t is not None]
    if not times:
        # Logs that begin later than the group may show no generation and no member that starts or joins.
        starting = timeline.starts or timeline.of(ev.JoinStarted)
        return timeline.first - 1 if timeline.of(ev.GroupLoaded, ev.GroupUnloaded) or not starting else None
    # Logs that begin later than the group do not show the first generation, but earlier members.
    formed = any(g.generation == 1 for g in timeline.generations)
    return min(times) if formed or not timeline.membership.number_at(timeline.first - 1) else timeline.first - 1


def touched(timeline: Timeline, facts: Iterable[Fact]) -> tuple[Rebalance, ...]:
    """The rebalances that these facts trigger or during which they happen."""
    known = timeline.rebalances
    if not known:
        return ()
    places: set[int] = set()
    for fact in facts:
        # Cached, because a member whose requests fail hundreds of times a second has as many hypotheses.
        places.update(timeline.cached_as((_places_touched, fact), partial(_places_touched, timeline, fact)))
    return tuple([known[place] for place in sorted(places)])


def _places_touched(timeline: Timeline, fact: Fact) -> Sequence[int]:
    known, at = timeline.rebalances, fact_at(fact)
    places = known.places_touching(at - TICK_MS, at + HEARTBEAT_MS)
    if isinstance(fact, Departure):
        places += _place_listed(timeline, fact)
        # A static member whose poll timeout expired is evicted, and its group rebalances, only a session later.
        for event in fact.events:
            if type(event) is ev.RebalanceStarted:
                places += known.places_touching(time_of(event) - TICK_MS, time_of(event) + HEARTBEAT_MS)
    return places


def _place_listed(timeline: Timeline, departure: Departure) -> list[int]:
    """The index of the rebalance whose list of members lacks this member; empty if another line shows the departure."""
    # The generation decides, not the clocks. If a process start shows an earlier departure, the list only confirms it.
    first = departure.events[0] if departure.events else None
    if not isinstance(first, ev.AssignmentComputed | ev.TargetAssignmentComputed) or first.at != departure.at:
        return []
    number = first.epoch if isinstance(first, ev.TargetAssignmentComputed) else first.generation
    if number is None:
        return []
    same = rebalances_by_generation(timeline).get(number, ())
    return [place for place, _ in sorted(same, key=lambda pair: abs(pair[1].started_at - departure.at))[:1]]


@cached_answer
def rebalances_by_generation(timeline: Timeline) -> Mapping[int | None, Sequence[tuple[int, Rebalance]]]:
    """Generation -> its rebalances and their indexes; several if a group was deleted and numbers start again."""
    return grouped(enumerate(timeline.rebalances), lambda pair: pair[1].generation)


def with_rebalances(timeline: Timeline, facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """These facts, and the rebalances that they trigger or during which they happen."""
    # Cached, because many causes explain the same departure.
    known = tuple(facts)
    return timeline.cached_as(("with rebalances", known), lambda: (*known, *touched(timeline, known)))


def distinct_events(events: Iterable[Event]) -> tuple[Event, ...]:
    """Each event once, in the given order."""
    found: dict[tuple[str, int], Event] = {}
    for event in events:
        origin = event.origin
        found[origin.path, origin.byte_offset] = event
    return tuple(found.values())


def lacks_reason(rebalance: Rebalance) -> bool:
    """True if its first line gives no reason: any member may have joined, left or rejoined."""
    # Coordinators before 2.1 log only that a rebalance began.
    return any(type(e) is ev.RebalanceStarted and e.trigger is None and not e.reason for e in rebalance.events)
