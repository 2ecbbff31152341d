"""Why a rebalance began: requests from members, and follow-ups of an earlier rebalance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import get_args

from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.clients import is_java
from rebalance_forensics.timeline.clocks.group_clock import TimedLines
from rebalance_forensics.timeline.event_index import EventIndex, merged, time_of
from rebalance_forensics.timeline.facts import Rebalance, Request, RequestWhy, numbered
from rebalance_forensics.timeline.identity.participants import Participant, Participants
from rebalance_forensics.timeline.model import RebalanceMode
from rebalance_forensics.timeline.time_index import TimeIndex, grouped

# The kind of a request is the reason in the event. A member whose subscription changes during a rebalance rejoins
# afterwards for a new assignment (ConsumerCoordinator).
_REQUESTS: Mapping[str | None, RequestWhy] = {
    **{why: why for why in get_args(RequestWhy)}, "assignment-mismatch": "subscription-changed",
}  # fmt: skip
# The reasons of clients that tell more than the coordinator's own words; the others belong to an ongoing rebalance.
_TELLING: Mapping[str | None, RequestWhy] = {
    why: _REQUESTS[why]
    for why in (
        "metadata-changed", "subscription-changed", "assignment-mismatch", "revoke-partitions", "followup",
        "shutdown-requested", "enforced",
    )
}  # fmt: skip


def requests_of(participants: Participants, events: EventIndex) -> tuple[Request, ...]:
    """All requests, oldest first; the coordinator's line is merged into the client's request that it responds to."""
    found: list[Request] = []
    for event in events.of_type(ev.JoinRequested, ev.RebalanceStarted):
        if event.at is None or event.group is None:
            continue
        if type(event) is ev.JoinRequested and _may_be_subscribe(event, events):
            continue
        if type(event) is ev.JoinRequested and (why := _requested_by(event)) is not None:
            found.append(Request(participants.of_speaker(event), event.at, why, (event,), event.reason))
        elif type(event) is ev.RebalanceStarted and (why := _REQUESTS.get(event.trigger)) is not None:
            participant = participants.of_member(event.members[0]) if event.members else None
            answered = _answered_by(found, participant, event.at)
            if answered is not None:
                found[answered] = replace(found[answered], events=(*found[answered].events, event))
            else:
                why = _TELLING.get(event.why, why)
                found.append(Request(participant, event.at, why, (event,), event.client_reason or event.reason))
    return numbered("request", sorted(found, key=lambda r: r.at))


# librdkafka's list of topics changes both with the metadata and with subscribe() (update_subscribed_topics in
# rdkafka_cgrp.c). Only the metadata check logs the rejoin, until 1.4 with the same message as at start.
def _may_be_subscribe(request: ev.JoinRequested, events: EventIndex) -> bool:
    """True for a changed list of topics, unless the same client then logs that the metadata changed."""
    if request.found_by != "topic-list":
        return False
    after = events.of_type(ev.JoinRequested).between(time_of(request), time_of(request) + windows.REQUEST_MS)
    return not any(e.found_by == "metadata" and e.speaker == request.speaker for e in after)


def _answered_by(found: Sequence[Request], participant: Participant | None, at: int) -> int | None:
    """The index of the participant's request that the coordinator responds to at this time, or None."""
    for place in reversed(range(len(found) if participant is not None else 0)):
        request = found[place]
        if abs(at - request.at) > windows.NEXT_HEARTBEAT_MS:
            return None
        if request.participant is participant and isinstance(request.events[-1], ev.JoinRequested):
            return place
    return None


def _requested_by(event: ev.JoinRequested) -> RequestWhy | None:
    """The kind of a client's request; None for rejoins in an ongoing rebalance."""
    if event.why == "own-words":
        # Only for Java clients are all reasons known.
        return "enforced" if is_java(event) else "other"
    return _REQUESTS.get(event.why)


def client_reason(event: ev.RebalanceStarted | ev.MemberLeft) -> str | None:
    """The text in which a client gives the coordinator its reason to join or leave (KIP-800)."""
    return event.client_reason if isinstance(event, ev.RebalanceStarted) else event.reason


def gives_reason(event: ev.RebalanceStarted | ev.MemberLeft) -> bool:
    """True if the client gave a reason to join or leave; before 3.2 none does."""
    return bool(client_reason(event)) and event.why != "not-provided"


REJOINS = ("member-rejoined", "leader-rejoined")
_FOLLOW_UP_EVENTS = (
    ev.JoinRequested, ev.RebalanceStarted, ev.FollowUpTriggered, ev.FollowUpScheduled, ev.FollowUpRequested,
    ev.VersionProbed, ev.WorkerAssigned, ev.DelayedRebalance,
)  # fmt: skip
# Log -> time and byte offset of a line in it.
_Places = Mapping[str, tuple[int, int]]


def with_follow_ups(rebalances: Sequence[Rebalance], lines: TimedLines, mode: RebalanceMode) -> tuple[Rebalance, ...]:
    """The rebalances with `followup` set for those that follow up on an earlier rebalance."""
    follow_ups = _FollowUps(lines)
    found = []
    for previous, rebalance in pairwise((None, *rebalances)):
        assert rebalance is not None
        kind = rebalance.followup or follow_ups.kind_of(previous, rebalance, mode)
        found.append(rebalance if kind == rebalance.followup else replace(rebalance, followup=kind))
    return tuple(found)


class _FollowUps:
    """The lines of a group in which members request a follow-up rebalance or have a reason for one."""

    def __init__(self, lines: TimedLines) -> None:
        of_interest = merged(
            lines.group_events.of_type(*_FOLLOW_UP_EVENTS), lines.ungrouped.of_type(*_FOLLOW_UP_EVENTS)
        )
        timed = [e for e in of_interest if e.at is not None]
        self._opened = TimeIndex((e for e in timed if type(e) is ev.RebalanceStarted), time_of)
        unexplained = {id(e) for e in self._opened if not gives_reason(e)}
        self._requests: TimeIndex[Event] = TimeIndex((e for e in timed if id(e) not in unexplained), time_of)
        self._assigned = TimeIndex((e for e in timed if type(e) is ev.WorkerAssigned), time_of)
        joins = lines.group_events.of_type(ev.JoinSucceeded, ev.SyncSucceeded)
        self._joined = grouped((e for e in joins if e.at is not None), attrgetter("generation"))

    def kind_of(self, previous: Rebalance | None, rebalance: Rebalance, mode: RebalanceMode) -> str | None:
        """The kind of follow-up if this rebalance follows up on the `previous` one, or None."""
        if previous is None and self._opened_before(rebalance):
            return None
        since = previous.ended_at() if previous else rebalance.started_at - windows.HEARTBEAT_MS
        since, until = min(since, rebalance.started_at - windows.REQUEST_MS), rebalance.started_at + windows.TICK_MS
        now = self._requests.between(since - windows.REQUEST_MS, until + windows.REQUEST_MS)
        # For each log, the first line after the join of the previous generation and of this one: the requests between
        # these lines are for this rebalance.
        first, end = self._first_joins(previous), self._first_joins(rebalance)
        now = [e for e in now if _is_between(e, first, end)]
        kind = _requested(now, self._requests.between(since - windows.ONE_REBALANCE_MS, until))
        delayed = self._assigned.between(since - windows.ONE_REBALANCE_MS, until) if kind is None else ()
        if any(e.delay_ms and abs(time_of(e) + e.delay_ms - until) <= windows.HEARTBEAT_MS for e in delayed):
            return "connect-delayed"
        if kind is None and previous is not None and mode != "eager":
            return self._hand_over(previous, rebalance)
        return kind

    def _opened_before(self, rebalance: Rebalance) -> bool:
        """True if the coordinator's log begins after this rebalance: its first RebalanceStarted is of the next one."""
        if any(type(e) is ev.RebalanceStarted for e in rebalance.events):
            return False
        return self._opened.any_between(rebalance.started_at, rebalance.started_at + windows.ONE_REBALANCE_MS)

    def _first_joins(self, rebalance: Rebalance | None) -> _Places:
        places: dict[str, tuple[int, int]] = {}
        for event in self._joined.get(rebalance.generation, ()) if rebalance is not None else ():
            if rebalance is not None and time_of(event) >= rebalance.started_at:
                places[event.origin.path] = min(_place(event), places.get(event.origin.path, _place(event)))
        return places

    def _hand_over(self, previous: Rebalance, rebalance: Rebalance) -> str | None:
        at, opened = rebalance.started_at, [e for e in rebalance.events if type(e) is ev.RebalanceStarted]
        given = self._assigned.between(at - windows.PROCESS_START_MS, at + windows.ROUND_TRIP_MS)
        given = [e for e in given if e.generation == previous.generation]
        if any(e.trigger not in REJOINS for e in opened):
            return None
        if given:
            # A Connect worker with revoked connectors or tasks stops them and rejoins without logging it (KIP-415).
            return "cooperative" if any(e.revoked_connectors or e.revoked_tasks for e in given) else None
        # A member rejoins a Stable group as soon as it has its assignment; before 3.2 (KIP-800) it gives no reason.
        unexplained = all(not gives_reason(e) and e.state in (None, "Stable") for e in opened)
        done = previous.completed_at
        at_once = done is not None and 0 <= at - done <= windows.ROUND_TRIP_MS
        return "cooperative" if opened and unexplained and at_once else None


def _is_between(event: Event, first: _Places, end: _Places) -> bool:
    path, place = event.origin.path, _place(event)
    return first.get(path, place) <= place and (path not in end or place < end[path])


def _place(event: Event) -> tuple[int, int]:
    return time_of(event), event.origin.byte_offset


def _requested(now: Sequence[Event], before: Sequence[Event]) -> str | None:
    """The kind of follow-up that members request `now`; lines `before` may show the purpose of the request."""
    for event in now:
        match event:
            # A line that is truncated before the time shows no kind: only 0 means an immediate follow-up.
            case (
                ev.FollowUpTriggered(scheduled_at=int(at))
                | ev.JoinRequested(why="followup", followup_at=int(at))
                | ev.RebalanceStarted(why="followup", followup_at=int(at))
            ):
                return "probing" if at else _immediate(before)
            case ev.JoinRequested(why="followup") | ev.RebalanceStarted(why="followup"):
                # 3.2 gives a probing rebalance as the reason for all follow-ups, including immediate ones.
                return _last_scheduled(before) or "probing"
            case ev.JoinRequested(why="revoke-partitions") | ev.RebalanceStarted(why="revoke-partitions"):
                return "cooperative"
            case ev.JoinRequested(why="shutdown-requested") | ev.RebalanceStarted(why="shutdown-requested"):
                return "shutdown"
            case ev.DelayedRebalance(phase="reached" | "expired"):
                return "connect-delayed"
    return None


def _immediate(before: Sequence[Event]) -> str:
    """The purpose of an immediate follow-up; probing rebalances scheduled by other members are ignored."""
    scheduled = [e for e in before if not (type(e) is ev.FollowUpScheduled and e.kind == "probing")]
    return _last_scheduled(scheduled) or "cooperative"


def _last_scheduled(before: Sequence[Event]) -> str | None:
    for event in reversed(before):
        if type(event) is ev.FollowUpScheduled and event.kind is not None:
            return {"immediate": "cooperative"}.get(event.kind, event.kind)
        if type(event) is ev.VersionProbed and not event.by_leader:
            return "version-probing"
    return None
