"""Sarama's sessions as joins and revocations: it logs neither joins nor leaves, only ended sessions, and no group.

A session is what a member does within one generation. The line of its end has the member and the generation, and a
client that is closed ends its session first. Once a member has joined, Sarama looks up the coordinator to fetch the
offsets of its partitions, and that line has the group.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.events.base import Event, in_common
from rebalance_forensics.events.coordinator import CoordinatorFound, CoordinatorLost
from rebalance_forensics.events.partitions import PartitionsRevoked
from rebalance_forensics.events.process import ClientStarted, ConsumerClosed
from rebalance_forensics.events.rebalances import JoinReported, JoinStarted, JoinSucceeded
from rebalance_forensics.timeline.clocks.file_clocks import Place, place_of
from rebalance_forensics.timeline.windows import HEARTBEAT_MS

_SESSION_EVENTS = (CoordinatorFound, CoordinatorLost, PartitionsRevoked, ClientStarted, ConsumerClosed)
_CLOSES = "go/client-closed"
_FROM_START, _FROM_END = 2, 1
"""The number of lookups until the member has joined: a client that starts has to find its coordinator first."""


class _Session(Struct, frozen=True):
    """The lines of one session in one log.

    `asks` is where the member asked to join, `joined` its lookup after the join. Both are None if the log begins in the
    middle of the session: the purpose of its lookups is unknown then. `end` is None while the session lasts.
    """

    member: str | None
    asks: Event | None
    joined: Event | None
    end: PartitionsRevoked | None

    @property
    def generation(self) -> int | None:
        return self.end.generation if self.end is not None else None


def with_sessions(group: str, own: Iterable[Event], near: Iterable[Event]) -> list[Event]:
    """The sessions of Sarama's members as events of the group; they replace those of `near` with the same origin."""
    logs: dict[Place, list[Event]] = defaultdict(list)
    for event in own:
        if isinstance(event, CoordinatorFound | CoordinatorLost) and event.speaker.role == "other":
            logs[place_of(event)].append(event)
    if not logs:
        return []
    places_with_sessions: set[Place] = set()
    for event in near:
        if (place := place_of(event)) in logs and isinstance(event, _SESSION_EVENTS):
            logs[place].append(event)
            if _ends_a_session(event) or isinstance(event, ClientStarted):
                places_with_sessions.add(place)
    lines = [
        sorted(logs[place], key=lambda e: (e.at or 0, e.origin)) for place in sorted(places_with_sessions, key=str)
    ]
    sessions = [session for log in lines for session in _sessions(log)]
    return [
        *_of_sessions(group, sessions),
        *(replace(e, group=group) for log in lines for e in _closes_after_sessions(log)),
    ]


def is_of_any_client(event: Event) -> bool:
    """True for the close of a Sarama client that may be a producer's: the line does not show its purpose."""
    return isinstance(event, ConsumerClosed) and event.pattern == _CLOSES and event.group is None


def _of_sessions(group: str, sessions: Sequence[_Session]) -> Iterator[Event]:
    reached: dict[int, set[int]] = defaultdict(set)
    for session in sessions:
        if session.generation is not None and session.joined is not None and session.joined.at is not None:
            reached[session.joined.at].add(session.generation)
    for session in sessions:
        if session.asks is not None:
            yield JoinStarted(**_common(session.asks, group))
        if session.joined is not None:
            generation = (
                session.generation if session.end is not None else _generation_of_others(reached, session.joined)
            )
            common = _common(session.joined, group)
            if generation is None:
                yield JoinReported(**common, member=session.member)
            else:
                yield JoinSucceeded(**common, member=session.member, generation=generation, after_sync=True)
        if session.end is not None:
            yield replace(session.end, group=group)


def _generation_of_others(reached: Mapping[int, set[int]], joined: Event) -> int | None:
    """The generation that others joined at the same time; for a member whose log ends before its session."""
    at = joined.at
    if at is None:
        return None
    near = {g for then, found in reached.items() if abs(then - at) <= HEARTBEAT_MS for g in found}
    return near.pop() if len(near) == 1 else None


def _sessions(log: Sequence[Event]) -> Iterator[_Session]:
    lookups: list[Event] = []
    lost = False
    member, before = None, None
    wanted: int | None = None
    for event in log:
        if isinstance(event, CoordinatorFound):
            lookups.append(event)
        elif isinstance(event, CoordinatorLost):
            lost = True
        else:
            if isinstance(event, PartitionsRevoked) and _ends_a_session(event):
                yield _session(event.member, before, wanted, lookups, event)
                member, before, wanted = event.member, event, _FROM_END
            else:
                if not lost:
                    yield _session(member, before, wanted, lookups, None)
                member, before, wanted = None, None, _FROM_START if isinstance(event, ClientStarted) else None
            lookups, lost = [], False
    if not lost:
        yield _session(member, before, wanted, lookups, None)


def _session(
    member: str | None,
    before: Event | None,
    wanted: int | None,
    lookups: Sequence[Event],
    end: PartitionsRevoked | None,
) -> _Session:
    if wanted is None or not lookups:
        return _Session(member, None, None, end)
    # Of two lookups within one second only one is left; a member that ends a session has joined.
    joined = lookups[min(wanted, len(lookups)) - 1] if len(lookups) >= wanted or end is not None else None
    return _Session(member, before or lookups[0], joined, end)


def _closes_after_sessions(log: Sequence[Event]) -> Iterator[Event]:
    """The closes that follow the end of a session: they are of that client, not of another one in the process."""
    return (event for before, event in pairwise(log) if _ends_a_session(before) and isinstance(event, ConsumerClosed))


def _ends_a_session(event: Event) -> bool:
    return isinstance(event, PartitionsRevoked) and event.group is None and event.generation is not None


def _common(event: Event, group: str) -> dict[str, Any]:
    return {**in_common(event), "group": group}
