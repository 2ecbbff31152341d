"""Detects logs that were collected twice with different names, such as a node's file and the output of `kubectl logs`.

Two copies have the same lines with the same times where they overlap. Files of two processes do not: a member id
belongs to one process, and milliseconds rarely agree. A file with lines of several processes was combined from their
logs and is not a copy of one of them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, permutations

from msgspec.structs import replace

from rebalance_forensics.events.base import Event, own_fields
from rebalance_forensics.events.process import StartTimeReported
from rebalance_forensics.records import SECOND_MS
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.identity.names import is_default_client_id
from rebalance_forensics.timeline.identity.participants import own_member_id
from rebalance_forensics.timeline.time_index import lists_by_key, sets_by_key

# Minimum share of the shorter file's lines that the other file must contain; a collector may drop some.
_MOST_IN_TENTHS = 8
# Minimum number of common lines: two processes do not log this many equal lines in the same millisecond.
_UNLIKELY_TIMES = 2

_Line = tuple[object, ...]
Copies = frozenset[frozenset[Place]]
"""Pairs of files that are copies of the same log."""


def without_copies(*events: Sequence[Event], known: Copies = frozenset()) -> tuple[list[list[Event]], Copies]:
    """The lists without duplicate lines, with one host for all files of a process, and the copies among the files.

    `known` are copies that other lines proved.
    """
    if len({place_of(event) for of_list in events for event in of_list}) < 2:
        return [list(of_list) for of_list in events], frozenset()
    files = _files(event for of_list in events for event in of_list)
    pairs = {pair for pair in known if pair <= files.keys()}
    pairs |= {pair for pair, lines in _in_common(files).items() if _is_one_log([files[place] for place in pair], lines)}
    if not pairs:
        return [list(of_list) for of_list in events], frozenset()
    hosts, dropped = _merged(files, pairs)
    kept = [[_at_host(event, hosts) for event in of_list if id(event) not in dropped] for of_list in events]
    return kept, frozenset(pairs)


def lines_in_common(events: Iterable[Event]) -> dict[frozenset[Place], int]:
    """Pair of files -> number of common lines."""
    return {pair: len(lines) for pair, lines in _in_common(_files(events)).items()}


def enough_in_common(common: int, both: Sequence[Sequence[Sequence[int]]]) -> bool:
    """True if two logs with this many common lines may be copies; `both` are the sorted times of their lines."""
    begin, end = max(min(t[0] for t in log if t) for log in both), min(max(t[-1] for t in log if t) for log in both)
    shorter = min(sum(bisect_right(t, end) - bisect_left(t, begin) for t in log) for log in both)
    return common * 10 >= shorter * _MOST_IN_TENTHS


def _files(events: Iterable[Event]) -> dict[Place, dict[_Line, Event]]:
    """The lines of each file; repeated ones are numbered."""
    found: dict[Place, dict[_Line, Event]] = defaultdict(dict)
    repeated: Counter[tuple[Place, _Line]] = Counter()
    for event in events:
        place, line = place_of(event), _line(event)
        repeated[place, line] += 1
        found[place][*line, repeated[place, line]] = event
    return found


def _line(event: Event) -> _Line:
    """The content and time of a line, without its collector's envelope."""
    speaker = event.speaker
    return event.at, type(event), event.group, speaker.client_id, speaker.broker, *own_fields(event).values()


def _in_common(files: Mapping[Place, Mapping[_Line, Event]]) -> Mapping[frozenset[Place], Sequence[_Line]]:
    places = lists_by_key((line, place) for place, lines in files.items() for line in lines)
    several = ((line, found) for line, found in places.items() if len(found) > 1)
    return lists_by_key((frozenset(pair), line) for line, found in several for pair in combinations(found, 2))


def _is_one_log(both: Sequence[Mapping[_Line, Event]], shared: Sequence[_Line]) -> bool:
    if not enough_in_common(len(shared), [[sorted(e.at or 0 for e in lines.values())] for lines in both]):
        return False
    common = [both[0][line] for line in shared]
    times = {e.at for e in common if e.at is not None and e.at % SECOND_MS and _is_named(e)}
    of_one_process = (isinstance(e, StartTimeReported) or own_member_id(e) is not None for e in common)
    return len(times) >= _UNLIKELY_TIMES or any(of_one_process)


def _is_named(event: Event) -> bool:
    # True for lines of a broker or of a client with a unique name: `consumer-payments-1` occurs in every process.
    client = event.speaker.client_id
    return event.speaker.role == "broker" or (client is not None and not is_default_client_id(client))


def _merged(
    files: Mapping[Place, Mapping[_Line, Event]], pairs: set[frozenset[Place]]
) -> tuple[dict[Place, str | None], set[int]]:
    """The host for each file of a process, and the ids of lines that another of its files contains, too."""
    copies = sets_by_key((place, other) for pair in pairs for place, other in permutations(pair, 2))
    gathered = {place for place, others in copies.items() if _is_gathered(others, copies, files)}
    order = sorted(
        copies, key=lambda place: (place in gathered, place[1] is None, len(place[0]), place[0], place[1] or "")
    )
    hosts: dict[Place, str | None] = {}
    for place in (place for place in order if place not in gathered and place not in hosts):
        for other in _reached(place, copies, gathered):
            hosts[other] = place[1]
    seen: dict[_Line, list[Place]] = defaultdict(list)
    dropped: set[int] = set()
    for place in order:
        for line, event in files[place].items():
            if any(frozenset((place, other)) in pairs for other in seen[line]):
                dropped.add(id(event))
            seen[line].append(place)
    return hosts, dropped


def _is_gathered(
    others: set[Place], copies: Mapping[Place, set[Place]], files: Mapping[Place, Mapping[_Line, Event]]
) -> bool:
    # True for a file with the logs of several processes: two of its copies overlap in time and differ.
    times = {place: [event.at or 0 for event in files[place].values()] for place in others}
    return any(
        other not in copies[copy]
        and max(min(times[copy]), min(times[other])) < min(max(times[copy]), max(times[other]))
        for copy, other in combinations(others, 2)
    )


def _reached(place: Place, copies: Mapping[Place, set[Place]], gathered: set[Place]) -> Iterator[Place]:
    """The files of the process that wrote this file."""
    found, waiting = {place}, [place]
    while waiting:
        new = copies[waiting.pop()] - gathered - found
        found |= new
        waiting += new
    yield from found


def _at_host(event: Event, hosts: Mapping[Place, str | None]) -> Event:
    place = place_of(event)
    if place not in hosts or hosts[place] == event.speaker.host:
        return event
    return replace(event, speaker=replace(event.speaker, host=hosts[place]))
