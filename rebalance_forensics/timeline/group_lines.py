"""The lines of a group before their times are aligned: lines that name it, and lines that may concern it.

`gathered` collects them and corrects misleading lines; `identified` finds the process and the client that wrote each
line; `attributed` then selects the lines without a group that belong to this one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event, in_common
from rebalance_forensics.timeline.answers import error_of
from rebalance_forensics.timeline.clocks.file_clocks import FileClock, Place, on_one_clock, place_of, read_clocks
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.event_index import distinct, time_of
from rebalance_forensics.timeline.group_attribution import adopted, concerning, group_in, without_other_clients
from rebalance_forensics.timeline.identity.copied_logs import enough_in_common, lines_in_common, without_copies
from rebalance_forensics.timeline.identity.log_writers import with_process_places, with_roles
from rebalance_forensics.timeline.identity.names import name_in_member_id
from rebalance_forensics.timeline.identity.participants import own_member_id, place_name
from rebalance_forensics.timeline.process_logs import ProcessLog
from rebalance_forensics.timeline.time_index import grouped, lists_by_key, sets_by_key
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, REQUEST_MS, TICK_MS

# Errors that only the coordinator of the group returns to a member.
_TO_A_MEMBER = ("REBALANCE_IN_PROGRESS", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID")
# Kafka's Generation.NO_GENERATION: the generation id of a client that is not a member.
_NO_GENERATION = -1

_RESET_WHILE_JOINING = "the generation was reset before the join was complete"
"""A join with generation -1: the heartbeat thread cleared the generation before the answer was taken (KAFKA-8104)."""


class GroupLines(Struct, frozen=True):
    """`group_events` name the group; `process_events` name a member but no group, or are from places of its members.

    `logs` are the process logs of these places. If the order of all lines matters, `process_events` contain them.
    """

    group: str
    group_events: tuple[Event, ...]
    process_events: tuple[Event, ...]
    logs: tuple[ProcessLog, ...] = ()


def gathered(group: str, group_events: Iterable[Event], ungrouped: UngroupedEvents) -> GroupLines:
    """The lines of a group without duplicates, each with the role that its log shows: broker, client, worker."""
    known = distinct(group_events)
    # A line that only names the group is used if there are no other lines.
    lines = list(map(_as_meant, [event for event in known if type(event) is not ev.GroupMentioned] or known))
    tied = without_other_clients(lines, ungrouped.of_ungrouped_clients(group, lines))
    lines = distinct([*lines, *tied]) if tied else lines
    unknown = [event for event in lines if event.speaker.role == "unknown"]
    own_lines = with_roles(lines, ungrouped.in_logs_of(unknown))
    taken = {event.origin for event in tied}
    near, logs = ungrouped.near(group, lines)
    # A line without a time gets that of the previous line, so no line of this group may be left out.
    if logs and (any(e.at is None for e in chain(lines, near)) or any(taken & log.origins for log in logs)):
        near, logs = [*near, *_all(logs)], ()
    near = [event for event in near if event.origin not in taken]
    sessions = _with_sessions(group, own_lines, near)
    if sessions:
        own_lines = distinct([*own_lines, *sessions])
        taken = {event.origin for event in sessions}
        near = [event for event in near if event.origin not in taken and not _is_of_any_client(event)]
    has_unknown = any(event.speaker.role == "unknown" for event in near)
    process_events = with_roles(list(map(_as_meant, near)), [*lines, *_all(logs)] if has_unknown else lines)
    return GroupLines(group, tuple(own_lines), tuple(process_events), logs)


def _all(logs: Iterable[ProcessLog]) -> Iterator[Event]:
    return chain.from_iterable(log.lines for log in logs)


def attributed(lines: GroupLines) -> tuple[tuple[Event, ...], tuple[ProcessLog, ...]]:
    """The group's own lines with the nearby lines that belong to it, and its process logs, by identified `lines`."""
    concern, logs = concerning(lines.group, lines.group_events, lines.process_events, lines.logs)
    return (*lines.group_events, *adopted(lines.group, lines.group_events, distinct(concern))), logs


_MEANT_OTHERWISE = frozenset({ev.JoinSucceeded, ev.SyncSucceeded, ev.CoordinatorLost})


def _as_meant(event: Event) -> Event:
    """The event that a line means: a join with generation -1 is a reset, a lost coordinator may be an error."""
    # Called for each line: a negative `isinstance` takes 0.3 us for each msgspec class, this lookup 0.03 us.
    if type(event) not in _MEANT_OTHERWISE:
        return event
    if isinstance(event, ev.JoinSucceeded | ev.SyncSucceeded) and event.generation <= _NO_GENERATION:
        return ev.GenerationReset(**in_common(event), why="while-joining", reason=_RESET_WHILE_JOINING)
    if type(event) is ev.CoordinatorLost and (error := error_of(event)) in _TO_A_MEMBER:
        return ev.HeartbeatFailed(**in_common(event), error=error)
    return event


# The client id comes from the configuration of the process, from member ids in the same log, or from a member id that
# the coordinator issued when only this client was joining.
def identified(lines: GroupLines, ungrouped: UngroupedEvents) -> GroupLines:
    """The lines, each with the process and the client that wrote it."""
    lines = _with_lines_of_copies(lines, ungrouped)
    (known, near), _ = without_copies(lines.group_events, lines.process_events, known=ungrouped.copies)
    own_lines, process_events, logs = with_process_places(known, near, lines.logs)
    group_events, other = _with_names_from_member_ids(
        _with_configured_names(lines.group, own_lines, process_events), process_events
    )
    if any(_lacks_client_id(event) for event in group_events):
        # The join of a client and the issued id are in different logs, so this needs an estimate of the clocks. The
        # final clocks depend on the owners of the other lines, which are known only with these names.
        group_events, other = _with_introduced_names(
            group_events, other, read_clocks([*group_events, *ungrouped.witnesses], ungrouped.broker_skews)
        )
    return GroupLines(lines.group, tuple(group_events), tuple(other), logs)


def _with_lines_of_copies(lines: GroupLines, ungrouped: UngroupedEvents) -> GroupLines:
    """The lines, with those of the process logs if two logs may be copies, since all lines count for that."""
    if len(lines.logs) < 2:
        return lines
    common = Counter(ungrouped.process_logs.in_common(lines.logs))
    common.update(lines_in_common((*lines.group_events, *lines.process_events)))
    if not common:
        return lines
    by_log = grouped(chain(lines.group_events, lines.process_events), place_of)
    times = {place: [sorted(map(time_of, of_log))] for place, of_log in by_log.items()}
    for log in lines.logs:
        times.setdefault(log.place, []).append(log.times)
    if not any(enough_in_common(shared, [times[place] for place in pair]) for pair, shared in common.items()):
        return lines
    return GroupLines(lines.group, lines.group_events, (*lines.process_events, *_all(lines.logs)))


def _with_configured_names(group: str, group_events: Sequence[Event], shared: Sequence[Event]) -> Sequence[Event]:
    """The group's own lines; lines without a client id get the only one in the configuration of their process."""
    named = {place_name(e) for e in group_events if e.speaker.role != "broker" and e.speaker.client_id is not None}
    nameless = {place_name(e) for e in group_events if _is_java_line(e)} - named
    if not nameless or not (names := _configured(group, nameless, shared)):
        return group_events
    return [
        _with_client_id(event, names.get(place_name(event))) if _is_java_line(event) else event
        for event in group_events
    ]


def _configured(group: str, places: set[str], shared: Iterable[Event]) -> dict[str, str]:
    """Place -> client id, if all consumers that are configured there have the same client id and this group."""
    dumps = (e for e in shared if type(e) is ev.SettingsReported and e.kind == "ConsumerConfig")
    configured = ((place_name(e), dict(e.settings).get("client.id") if group_in(e) == group else None) for e in dumps)
    names_by_place = sets_by_key((place, name) for place, name in configured if place in places)
    return {place: name for place, (name, *others) in names_by_place.items() if name and not others}


def _is_java_line(event: Event) -> bool:
    return event.speaker.role == "consumer" and event.group is not None


def _with_client_id(event: Event, name: str | None) -> Event:
    return replace(event, speaker=replace(event.speaker, client_id=name)) if name else event


def _with_names_from_member_ids(
    events: Sequence[Event], shared: Sequence[Event]
) -> tuple[Sequence[Event], Sequence[Event]]:
    # Both lists; lines of clients that log no client id (in Python) get the one at the start of their member ids.
    by_file: dict[Place | str, set[str]] = defaultdict(set)
    by_place: dict[Place | str, set[str]] = defaultdict(set)
    writers: dict[Place | str, set[str | None]] = defaultdict(set)
    for event in events:
        if _lacks_client_id(event) and (member := own_member_id(event)):
            name = name_in_member_id(member) or ""
            by_file[place_of(event)].add(name)
            by_place[place_name(event)].add(name)
            writers[place_of(event)].add(event.speaker.place)
    if not by_place:
        return events, shared
    # A line without a member id in a log of several members may be from any of them.
    by_file = {file: found for file, found in by_file.items() if len(writers[file]) == 1}
    # In a rolled log, a member id may appear in only one of the files.
    names = {place: name for place, (name, *others) in (by_place | by_file).items() if name and not others}
    return _with_names(events, names), _with_names(shared, names)


def _with_introduced_names(
    events: Sequence[Event], shared: Sequence[Event], clocks: Mapping[Place, FileClock]
) -> tuple[Sequence[Event], Sequence[Event]]:
    """Both lists; lines of such clients get the client id in a member id that only they can have been issued."""
    asked = _first_joins([e for e in events if _lacks_client_id(e) and e.at is not None], clocks)
    if not asked:
        return events, shared
    names_by_place: dict[str, set[str]] = defaultdict(set)
    for at, name in _ids_given(events, clocks):
        near = [place for place, times in asked.items() if any(at - TICK_MS <= t <= at + REQUEST_MS for t in times)]
        if len(near) == 1:
            names_by_place[near[0]].add(name)
    places = sets_by_key((name, place) for place, found in names_by_place.items() for name in found)
    names: dict[Place | str, str] = {
        place: name for place, (name, *others) in names_by_place.items() if not others and len(places[name]) == 1
    }
    return _with_names(events, names), _with_names(shared, names)


def _ids_given(events: Sequence[Event], clocks: Mapping[Place, FileClock]) -> list[tuple[int, str]]:
    """The times when ids were issued to members without a known log, with the client ids in them."""
    known = {event.speaker.client_id for event in events if event.speaker.role != "broker"}
    given = on_one_clock(
        (e for e in events if isinstance(e, ev.MemberIdIssued | ev.MemberJoined) and e.at is not None), dict(clocks)
    )
    found = [(event.at or 0, name_in_member_id(event.member or "")) for event in given]
    return [(at, name) for at, name in found if name is not None and name not in known]


def _first_joins(events: Sequence[Event], clocks: Mapping[Place, FileClock]) -> dict[str, list[int]]:
    """Place -> the times when its client sent JoinGroup without a member id."""
    asked: dict[str, list[int]] = defaultdict(list)
    joined: set[str] = set()
    for event in sorted(on_one_clock(events, dict(clocks)), key=lambda e: (e.at or 0, e.origin.byte_offset)):
        place = place_name(event)
        if isinstance(event, ev.Subscribed | ev.LeaveSent | ev.PollTimeoutExpired):
            joined.discard(place)
        elif type(event) is ev.JoinSucceeded:
            joined.add(place)
        elif type(event) is ev.JoinStarted and place not in joined:
            asked[place].append(event.at or 0)
    return asked


def _lacks_client_id(event: Event) -> bool:
    """True for a line of a client other than Java that logs no client id."""
    return event.speaker.role == "other" and event.speaker.client_id is None


def _with_names(events: Sequence[Event], names: Mapping[Place | str, str]) -> Sequence[Event]:
    """The lines; those without a client id get that of their own member id, otherwise of their file or place."""

    def name_of(event: Event) -> str | None:
        group_events = name_in_member_id(own_member_id(event) or "")
        return group_events or names.get(place_of(event)) or names.get(place_name(event))

    return [_with_client_id(event, name_of(event)) if _lacks_client_id(event) else event for event in events]


_SESSION_EVENTS = (ev.CoordinatorFound, ev.CoordinatorLost, ev.PartitionsRevoked, ev.ClientStarted, ev.ConsumerClosed)
_CLOSES = "sarama/client-closed"
_FROM_START, _FROM_END = 2, 1
"""Number of coordinator lookups until the member has joined: a starting client has to find its coordinator first."""


# Sarama logs neither joins nor leaves, only the end of sessions, without the group. A session covers one generation of
# a member: the line about its end has the member id and the generation, and a client that closes ends its session
# first. After a join, Sarama looks up the coordinator to fetch the offsets of its partitions, and that line names the
# group.
class _Session(Struct, frozen=True):
    """The lines of a session in a log.

    `asks` is the line of the member's JoinGroup, `joined` its lookup after the join. Both are None if the log begins
    during the session, since the purpose of its lookups is unknown then. `end` is None while the session lasts.
    """

    member: str | None
    asks: Event | None
    joined: Event | None
    end: ev.PartitionsRevoked | None

    @property
    def generation(self) -> int | None:
        return self.end.generation if self.end is not None else None


def _with_sessions(group: str, group_events: Iterable[Event], near: Iterable[Event]) -> list[Event]:
    """The sessions of Sarama members as events of the group; they replace events of `near` with the same origin."""
    lookups = (e for e in group_events if isinstance(e, ev.CoordinatorFound | ev.CoordinatorLost))
    logs: dict[Place, list[Event]] = lists_by_key((place_of(e), e) for e in lookups if e.speaker.role == "other")
    if not logs:
        return []
    places_with_sessions: set[Place] = set()
    for event in near:
        if (place := place_of(event)) in logs and isinstance(event, _SESSION_EVENTS):
            logs[place].append(event)
            if _ends_a_session(event) or type(event) is ev.ClientStarted:
                places_with_sessions.add(place)
    lines = [
        sorted(logs[place], key=lambda e: (e.at or 0, e.origin)) for place in sorted(places_with_sessions, key=str)
    ]
    sessions = [session for log in lines for session in _sessions(log)]
    # A close that follows the end of a session belongs to that client, not to another one in the process.
    closes = (
        replace(event, group=group)
        for log in lines
        for before, event in pairwise(log)
        if _ends_a_session(before) and type(event) is ev.ConsumerClosed
    )
    return [*_of_sessions(group, sessions), *closes]


def _is_of_any_client(event: Event) -> bool:
    # True for the close of a Sarama client that may be a producer: the line does not show its purpose.
    return type(event) is ev.ConsumerClosed and event.pattern == _CLOSES and event.group is None


def _of_sessions(group: str, sessions: Sequence[_Session]) -> Iterator[Event]:
    known = ((s.joined, s.generation) for s in sessions if s.joined is not None and s.generation is not None)
    reached = sets_by_key((joined.at, generation) for joined, generation in known if joined.at is not None)
    for session in sessions:
        if session.asks is not None:
            yield ev.JoinStarted(**in_common(session.asks) | {"group": group})
        if session.joined is not None:
            generation = (
                session.generation if session.end is not None else _generation_of_others(reached, session.joined)
            )
            common = in_common(session.joined) | {"group": group}
            if generation is None:
                yield ev.JoinReported(**common, member=session.member)
            else:
                yield ev.JoinSucceeded(**common, member=session.member, generation=generation, after_sync=True)
        if session.end is not None:
            yield replace(session.end, group=group)


def _generation_of_others(reached: Mapping[int, set[int]], joined: Event) -> int | None:
    # The generation that other members joined at the same time, for a member whose log ends before its session.
    at = joined.at
    if at is None:
        return None
    near = {g for then, found in reached.items() if abs(then - at) <= HEARTBEAT_MS for g in found}
    return near.pop() if len(near) == 1 else None


def _sessions(log: Sequence[Event]) -> Iterator[_Session]:
    lookups: list[Event] = []
    lost = False
    before: ev.PartitionsRevoked | None = None
    wanted: int | None = None
    for event in (*log, None):
        if type(event) is ev.CoordinatorFound:
            lookups.append(event)
            continue
        if type(event) is ev.CoordinatorLost:
            lost = True
            continue
        end = event if type(event) is ev.PartitionsRevoked and _ends_a_session(event) else None
        member, asks, joined = next((e.member for e in (end, before) if e is not None), None), None, None
        if wanted is not None and lookups:
            # Only one of two lookups within a second is kept; a member that ends a session has joined.
            joined = lookups[min(wanted, len(lookups)) - 1] if len(lookups) >= wanted or end is not None else None
            asks = before or lookups[0]
        if end is not None or not lost:
            yield _Session(member, asks, joined, end)
        before, lookups, lost = end, [], False
        wanted = _FROM_END if end is not None else _FROM_START if type(event) is ev.ClientStarted else None


def _ends_a_session(event: Event) -> bool:
    return type(event) is ev.PartitionsRevoked and event.group is None and event.generation is not None
