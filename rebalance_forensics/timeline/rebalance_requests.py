"""Why a rebalance began: requests by members, and follow-ups of an earlier rebalance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.clocks.group_clock import TimedLines
from rebalance_forensics.timeline.event_index import EventIndex, merged, time_of
from rebalance_forensics.timeline.facts import Rebalance, Request, RequestWhy, numbered
from rebalance_forensics.timeline.identity.participants import Participants
from rebalance_forensics.timeline.model import RebalanceMode
from rebalance_forensics.timeline.time_index import TimeIndex

_OWN_WISH: dict[str, RequestWhy] = {
    "metadata-changed": "metadata-changed",
    "subscription-changed": "subscription-changed",
    "assignment-mismatch": "subscription-changed",
    "enforced": "enforced",
    "followup": "followup",
    "revoke-partitions": "revoke-partitions",
    "shutdown-requested": "shutdown-requested",
    "other": "other",
}
_COORDINATOR: dict[str, RequestWhy] = {
    "member-rejoined": "member-rejoined",
    "leader-rejoined": "leader-rejoined",
    "static-member-changed": "static-member-changed",
    "assignment-not-stored": "assignment-not-stored",
    "over-capacity": "over-capacity",
    "downgrade": "downgrade",
    "other": "other",
}
# KIP-800 reasons, the first that matches: in the words of the Java client, of franz-go and of Sarama.
_WHY_IN_REASON: tuple[tuple[str, RequestWhy], ...] = (
    ("cached metadata has changed", "metadata-changed"),
    ("topics have new partitions", "metadata-changed"),
    ("partitions on topics another member is consuming have changed", "metadata-changed"),
    ("partitions were added to a subscribed topic", "metadata-changed"),
    ("subscription has changed", "subscription-changed"),
    # A member that subscribes anew during a rebalance rejoins after it for another assignment (ConsumerCoordinator).
    ("does not match the current subscription", "subscription-changed"),
    ("need to revoke partitions", "revoke-partitions"),
    ("after revoking what we lost", "revoke-partitions"),
    ("followup rebalance", "followup"),
    ("probing rebalance", "followup"),
    ("shutdown requested", "shutdown-requested"),
    ("enforced", "enforced"),
)


def requests_of(participants: Participants, events: EventIndex) -> tuple[Request, ...]:
    """All requests, oldest first; the coordinator's line joins the client's that it answers."""
    found: list[Request] = []
    for event in events.of_type(ev.JoinRequested, ev.RebalanceStarted):
        if event.at is None or event.group is None:
            continue
        if isinstance(event, ev.JoinRequested) and event.why in _OWN_WISH:
            found.append(
                Request(participants.of_speaker(event), event.at, _OWN_WISH[event.why], (event,), event.reason)
            )
        elif isinstance(event, ev.RebalanceStarted) and event.trigger in _COORDINATOR:
            _answered(found, participants, event)
    return numbered("request", sorted(found, key=lambda r: r.at))


def _answered(found: list[Request], participants: Participants, event: ev.RebalanceStarted) -> None:
    participant = participants.of_member(event.members[0]) if event.members else None
    why = why_in(event.client_reason) or _COORDINATOR[event.trigger or "other"]
    assert event.at is not None
    for place in range(len(found) - 1, -1, -1):
        request = found[place]
        if abs(event.at - request.at) > windows.NEXT_HEARTBEAT_MS:
            break
        if (
            participant is not None
            and request.participant is participant
            and not any(isinstance(e, ev.RebalanceStarted) for e in request.events)
        ):
            found[place] = replace(request, events=(*request.events, event))
            return
    found.append(Request(participant, event.at, why, (event,), event.client_reason or event.reason))


def why_in(client_reason: str | None) -> RequestWhy | None:
    """The kind of request in a KIP-800 reason; None for `not provided` and for answers to a rebalance under way."""
    text = (client_reason or "").lower()
    return next((why for words, why in _WHY_IN_REASON if words in text), None)


REJOINS = ("member-rejoined", "leader-rejoined")
NO_REASON = (None, "", "not provided")
"""The reasons that a coordinator prints for a client that gives none (KIP-800)."""
# Log -> time and byte offset of one of its lines.
_Places = Mapping[str, tuple[int, int]]


class _JoinWindow(Struct, frozen=True):
    """Between the join of one generation and that of the next, by log: requests in it ask for the next rebalance."""

    after: _Places
    before: _Places

    def holds(self, event: Event) -> bool:
        """True for a line that stands within the window in its log."""
        path, place = event.origin.path, _place(event)
        return self.after.get(path, place) <= place and (path not in self.before or place < self.before[path])


def with_follow_ups(rebalances: Sequence[Rebalance], lines: TimedLines, mode: RebalanceMode) -> tuple[Rebalance, ...]:
    """The rebalances, each with the kind of follow-up that it is, if any."""
    lines_of_interest = merged(lines.own.of_type(*_FOLLOW_UP_EVENTS), lines.ungrouped.of_type(*_FOLLOW_UP_EVENTS))
    timed = [e for e in lines_of_interest if e.at is not None]
    opened: TimeIndex[ev.RebalanceStarted] = TimeIndex(
        (e for e in timed if isinstance(e, ev.RebalanceStarted)), time_of
    )
    requests: TimeIndex[Event] = TimeIndex((e for e in timed if not _lacks_reason(e)), time_of)
    assigned = TimeIndex((e for e in requests if isinstance(e, ev.WorkerAssigned)), time_of)
    joined = _joined_by_generation(lines)
    found = []
    previous: Rebalance | None = None
    for rebalance in rebalances:
        if previous is None and _opened_before(opened, rebalance):
            kind = rebalance.followup
        else:
            kind = _followup(requests, assigned, joined, previous, rebalance, mode)
        found.append(rebalance if kind == rebalance.followup else replace(rebalance, followup=kind))
        previous = rebalance
    return tuple(found)


def _lacks_reason(event: Event) -> bool:
    """True for a coordinator's line that a rebalance began, without the client's reason."""
    return isinstance(event, ev.RebalanceStarted) and event.client_reason in NO_REASON


def _followup(
    requests: TimeIndex[Event],
    assigned: TimeIndex[ev.WorkerAssigned],
    joined: Mapping[int | None, Sequence[Event]],
    previous: Rebalance | None,
    rebalance: Rebalance,
    mode: RebalanceMode,
) -> str | None:
    if rebalance.followup is not None:
        return rebalance.followup
    since = previous.ended_at() if previous else rebalance.started_at - windows.HEARTBEAT_MS
    since, until = min(since, rebalance.started_at - windows.REQUEST_MS), rebalance.started_at + windows.TICK_MS
    window = _JoinWindow(_first_in(joined, previous), _first_in(joined, rebalance))
    kind = _kind(requests, assigned, since, until, window)
    if kind is None and previous is not None and mode != "eager":
        return _hand_over(assigned, previous, rebalance)
    return kind


def _joined_by_generation(lines: TimedLines) -> Mapping[int | None, Sequence[Event]]:
    joined: dict[int | None, list[Event]] = defaultdict(list)
    for event in lines.own.of_type(ev.JoinSucceeded, ev.SyncSucceeded):
        if isinstance(event, ev.JoinSucceeded | ev.SyncSucceeded) and event.at is not None:
            joined[event.generation].append(event)
    return joined


def _first_in(joined: Mapping[int | None, Sequence[Event]], rebalance: Rebalance | None) -> _Places:
    """For each log its first line that the member joined this rebalance's generation."""
    places: dict[str, tuple[int, int]] = {}
    if rebalance is None:
        return places
    for event in joined.get(rebalance.generation, ()):
        if time_of(event) >= rebalance.started_at:
            places[event.origin.path] = min(_place(event), places.get(event.origin.path, _place(event)))
    return places


def _place(event: Event) -> tuple[int, int]:
    return time_of(event), event.origin.byte_offset


def _opened_before(opened: TimeIndex[ev.RebalanceStarted], rebalance: Rebalance) -> bool:
    """True where the coordinator's log begins after this rebalance: its first RebalanceStarted is of the next one."""
    if any(isinstance(e, ev.RebalanceStarted) for e in rebalance.events):
        return False
    return opened.any_between(rebalance.started_at, rebalance.started_at + windows.ONE_REBALANCE_MS)


def _hand_over(assigned: TimeIndex[ev.WorkerAssigned], previous: Rebalance, rebalance: Rebalance) -> str | None:
    """The second rebalance of a cooperative hand-over; in Connect workers' logs show what was revoked."""
    given = assigned.between(
        rebalance.started_at - windows.PROCESS_START_MS, rebalance.started_at + windows.ROUND_TRIP_MS
    )
    given = [e for e in given if e.generation == previous.generation]
    return _after_revocation(given, rebalance) if given else _unexplained_hand_over(previous, rebalance)


def _unexplained_hand_over(previous: Rebalance, rebalance: Rebalance) -> str | None:
    """A member rejoins a Stable group as soon as it has its assignment: before 3.2 (KIP-800) without a reason."""
    opened = [e for e in rebalance.events if isinstance(e, ev.RebalanceStarted)]
    unexplained = bool(opened) and all(
        e.trigger in REJOINS and e.client_reason in NO_REASON and e.state in (None, "Stable") for e in opened
    )
    at_once = (
        previous.completed_at is not None and 0 <= rebalance.started_at - previous.completed_at <= windows.ROUND_TRIP_MS
    )
    return "cooperative" if unexplained and at_once else None


def _after_revocation(given: Sequence[Event], rebalance: Rebalance) -> str | None:
    """A Connect worker whose assignment revokes work stops that work and rejoins without a line (KIP-415)."""
    opened = [e for e in rebalance.events if isinstance(e, ev.RebalanceStarted)]
    if any(e.trigger not in REJOINS for e in opened):
        return None
    revoked = any(isinstance(e, ev.WorkerAssigned) and (e.revoked_connectors or e.revoked_tasks) for e in given)
    return "cooperative" if revoked else None


_FOLLOW_UP_EVENTS = (
    ev.JoinRequested,
    ev.RebalanceStarted,
    ev.FollowUpTriggered,
    ev.FollowUpScheduled,
    ev.FollowUpRequested,
    ev.VersionProbed,
    ev.WorkerAssigned,
    ev.DelayedRebalance,
)


def _kind(
    requests: TimeIndex[Event],
    assigned: TimeIndex[ev.WorkerAssigned],
    since: int,
    until: int,
    window: _JoinWindow,
) -> str | None:
    """The kind of follow-up that members asked for between `since` and `until`, within the window of their log."""
    now = requests.between(since - windows.REQUEST_MS, until + windows.REQUEST_MS)
    now = [e for e in now if window.holds(e)]
    before = requests.between(since - windows.ONE_REBALANCE_MS, until)
    for event in now:
        match event:
            case ev.FollowUpTriggered(scheduled_at=at):
                return "probing" if at else _immediate(before)
            case ev.JoinRequested(why="followup", followup_at=at):
                return "probing" if at else _immediate(before)
            case ev.JoinRequested(why="revoke-partitions"):
                return "cooperative"
            case ev.JoinRequested(why="shutdown-requested"):
                return "shutdown"
            case ev.RebalanceStarted(client_reason=reason) if reason:
                kind = _in_reason(reason, before)
                if kind is not None:
                    return kind
            case ev.DelayedRebalance(phase="reached" | "expired"):
                return "connect-delayed"
    return _connect_delay(assigned.between(since - windows.ONE_REBALANCE_MS, until), until)


def _in_reason(reason: str, before: Sequence[Event]) -> str | None:
    match why_in(reason):
        case "revoke-partitions":
            return "cooperative"
        case "shutdown-requested":
            return "shutdown"
        case "followup" if "followup rebalance" in reason.lower():
            number = reason.rsplit(" ", 1)[-1].rstrip(".")
            return _immediate(before) if number in ("0", "1970") else "probing"
        case "followup":
            # 3.2 gives a probing rebalance as the reason for every follow-up, an immediate one as well.
            return _last_scheduled(before) or "probing"
    return None


def _immediate(before: Sequence[Event]) -> str:
    """The purpose of an immediate follow-up; a probing rebalance that another member scheduled says nothing of it."""
    scheduled = [e for e in before if not (isinstance(e, ev.FollowUpScheduled) and e.kind == "probing")]
    return _last_scheduled(scheduled) or "cooperative"


def _last_scheduled(before: Sequence[Event]) -> str | None:
    for event in reversed(before):
        if isinstance(event, ev.FollowUpScheduled) and event.kind is not None:
            return {"immediate": "cooperative"}.get(event.kind, event.kind)
        if isinstance(event, ev.VersionProbed) and not event.by_leader:
            return "version-probing"
    return None


def _connect_delay(before: Sequence[ev.WorkerAssigned], until: int) -> str | None:
    for event in before:
        if not event.delay_ms or event.at is None:
            continue
        if abs(event.at + event.delay_ms - until) <= windows.HEARTBEAT_MS:
            return "connect-delayed"
    return None
