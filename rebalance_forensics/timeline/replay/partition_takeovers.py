"""Departures inferred from takeovers: other members were assigned partitions that the owner had not revoked.

Without brokers' logs nothing else shows that a member of a KIP-848 group fell silent: there is no join barrier, and a
member whose assignment stays the same logs nothing.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import MemberTransitioned
from rebalance_forensics.events.membership import LeaveSent
from rebalance_forensics.events.partitions import (
    OwnershipGivenUp,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)
from rebalance_forensics.events.process import ConsumerClosed
from rebalance_forensics.events.streams import StreamsStateChanged, TasksAssigned, TasksLost, TasksRevoked
from rebalance_forensics.timeline.coverage import Coverage
from rebalance_forensics.timeline.event_index import EventIndex
from rebalance_forensics.timeline.facts import Start
from rebalance_forensics.timeline.identity.names import streams_thread
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.replay.missed_rebalances import InferredDeparture
from rebalance_forensics.timeline.windows import AT_ONCE_MS, HEARTBEAT_MS, PROCESS_START_MS

_RELEASES = (
    PartitionsRevoked, PartitionsLost, OwnershipGivenUp, TasksAssigned, TasksRevoked, TasksLost, LeaveSent,
    ConsumerClosed, StreamsStateChanged,
)  # fmt: skip
_STATES_WITHOUT_PARTITIONS = ("JOINING", "PENDING_SHUTDOWN", "NOT_RUNNING")

LEAVE_GROUP_STATIC_EPOCH = -2
"""The epoch with which a static member leaves that may come back (ConsumerGroupHeartbeatRequest, -2): it keeps its
partitions until its session expires."""

_Client = tuple[Participant, str | None]


def departures_by_takeover(
    participants: Participants,
    starts: Sequence[Start],
    events: EventIndex,
    *,
    coverage: Coverage,
    session_ms: int | None,
) -> list[InferredDeparture]:
    """The departures that takeovers show, oldest first; in classic groups the join barrier shows them.

    No session expires sooner than it lasts: an owner whose log ends less than a session before has revoked the
    partitions, and the line is missing.
    """
    if not events.has_type(MemberTransitioned):
        return []
    given_up, anew = _times(participants, events, _RELEASES), _times(participants, events, (MemberTransitioned,))
    _keep_while_leaving(participants, events, given_up)
    for start in starts:
        insort(anew[start.participant, None], start.at)
    holders: dict[str, tuple[_Client, int]] = {}
    session = session_ms if session_ms is not None else AT_ONCE_MS
    found = []
    for event in events:
        given = _given(event)
        participant = participants.of_speaker(event) if given else None
        if participant is None or event.at is None:
            continue
        client = (participant, event.speaker.client_id)
        reassigned = {holders[p]: p for p in reversed(given) if p in holders and holders[p][0] != client}
        for (other, since), partition in reassigned.items():
            own, process = owner_key(other), (other[0], None)
            until = event.at + PROCESS_START_MS
            ends = coverage.ends(other[0])
            gave = ends is not None and ends < event.at < ends + session
            gave = gave or any(_between(given_up[k], since, until) for k in (own, process, (other[0], partition)))
            if not gave and not any(_between(anew[k], since, event.at) for k in (own, process)):
                found.append(InferredDeparture(*other, event.at, event.at, "vanished", (event,)))
        holders |= dict.fromkeys(given, (client, event.at + 1))
    return found


def _keep_while_leaving(
    participants: Participants, events: Sequence[Event], given_up: dict[_Client, list[int]]
) -> None:
    """Drop from `given_up` what static members log as they close: they keep their partitions for a session."""
    for event in events:
        leaving = (
            isinstance(event, MemberTransitioned)
            and event.after == "LEAVING"
            and event.epoch == LEAVE_GROUP_STATIC_EPOCH
        )
        participant = participants.of_speaker(event) if leaving else None
        if participant is None or event.at is None:
            continue
        begin, end = event.at - HEARTBEAT_MS, event.at + HEARTBEAT_MS
        for key in [k for k in given_up if k[0] is participant]:
            given_up[key] = [at for at in given_up[key] if not begin <= at <= end]


def _given(event: Event) -> tuple[str, ...]:
    """The partitions, or tasks of a streams group (KIP-1071), that a line assigns to its speaker."""
    if isinstance(event, TasksAssigned):
        return event.active if event.epoch is not None else ()
    return event.partitions if isinstance(event, PartitionsAssigned) else ()


def owner_key(client: _Client) -> _Client:
    """The owner of a client's partitions: in a Streams instance each thread, else the participant."""
    return client[0], streams_thread(client[1] or "") if client[0].kind == "instance" else None


def _times(
    participants: Participants, events: Sequence[Event], kinds: tuple[type[Event], ...]
) -> dict[_Client, list[int]]:
    """The times at which each owner had given up its partitions, by lines of these types."""
    # A revocation that names partitions counts for those alone.
    times: dict[_Client, list[int]] = defaultdict(list)
    for event in events:
        if event.at is None or not isinstance(event, kinds) or _is_echo(event):
            continue
        participant = participants.of_speaker(event)
        if participant is None or getattr(event, "after", "JOINING") not in _STATES_WITHOUT_PARTITIONS:
            continue
        if isinstance(event, PartitionsRevoked) and event.partitions and participant.kind != "instance":
            for partition in event.partitions:
                times[participant, partition].append(event.at)
        else:
            times[owner_key((participant, event.speaker.client_id or event.speaker.thread))].append(event.at)
    return times


def _is_echo(event: Event) -> bool:
    """True for the line in which a stream thread repeats, without an epoch, the assignment of its consumer."""
    return isinstance(event, TasksAssigned) and event.epoch is None


def _between(times: Sequence[int], begin: int, end: int) -> bool:
    place = bisect_left(times, begin)
    return place < len(times) and times[place] <= end
