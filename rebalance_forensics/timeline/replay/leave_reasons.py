"""The kind of departure behind a LeaveGroup: its logged reason, and the lines that correct it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.membership import LeaveSent, MemberLeft, Subscribed
from rebalance_forensics.events.rebalances import JoinFailed, SyncFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import DepartureWhy, Start, Stop
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.replay.drafts import DepartureDraft
from rebalance_forensics.timeline.windows import REQUEST_TIMEOUT_MS, ROUND_TRIP_MS


def departure_why(reason: str | None, why: str | None) -> DepartureWhy:
    """The kind of departure that a leave reason gives; `left` for none."""
    text = (reason or "").lower()
    if why == "poll-timeout" or "poll timeout" in text:
        return "poll-timeout"
    if why == "unsubscribed" or "unsubscribed" in text:
        return "unsubscribed"
    if why == "closed" or "being closed" in text or "per normal operation" in text:
        return "closed"
    if why == "removed-by-admin":
        return "removed-by-admin"
    return "left"


def is_group_loop_error(event: Event) -> bool:
    """True for an error in the group loop of a Go client."""
    return event.pattern.startswith("go/") and isinstance(event, CoordinatorLost | JoinFailed | SyncFailed)


def resets_member_id(event: LeaveSent, before: Iterable[Event]) -> bool:
    """True where kafka-go logs a leave because it drops its member id after an error (consumergroup.go, run).

    The consumer was not closed, and its LeaveGroup may not reach the coordinator, which then expires the session.
    """
    return event.pattern.startswith("go/") and any(map(is_group_loop_error, before))


def reason_text(event: Event) -> str | None:
    """The reason in the words of the line."""
    for name in ("reason", "client_reason"):
        value = getattr(event, name, None)
        if isinstance(value, str):
            return value
    return None


def reclassify_unsubscribes(departures: Iterable[DepartureDraft], stops: Iterable[Stop]) -> None:
    """Reclassify as `closed` the members that unsubscribed because they were about to close, as some frameworks do.

    Their own log shows the stop of the process or the start of the next; without logs, that all members did it.
    """
    all_departures = list(departures)
    wished = [d for d in all_departures if d.why == "unsubscribed"]
    without_log = {d.participant for d in wished if not d.participant.has_log}
    everybody = len(without_log) > 1 and without_log == {d.participant for d in all_departures}
    ended: dict[Participant, list[int]] = defaultdict(list)
    for stop in stops:
        ended[stop.participant].append(stop.at)
    for departure in wished:
        back = departure.returned
        until = departure.at + REQUEST_TIMEOUT_MS if back is None else min(back.at, departure.at + REQUEST_TIMEOUT_MS)
        stopped = any(departure.at - ROUND_TRIP_MS <= at <= until for at in ended[departure.participant])
        restarted = back is not None and back.start is not None and _is_process(back.start)
        # A Streams thread unsubscribes whenever it shuts down; applications cannot ask for it.
        thread = departure.participant.kind == "instance"
        if stopped or restarted or thread or (everybody and departure.participant in without_log):
            departure.why = "closed"


def remove_by_admin(departures: Iterable[DepartureDraft], stops: Sequence[Stop], *, streams: bool) -> None:
    """Reclassify as `removed-by-admin` the members that removeMembersFromConsumerGroup removed.

    A static member sends no LeaveGroup, so one with a reason came from an administrator (KIP-345). Kafka Streams makes
    that request itself when it closes or removes a thread (KIP-812, KafkaStreams.close).
    """
    for departure in departures:
        reasons = {e.why for e in departure.events if isinstance(e, MemberLeft)}
        participant = departure.participant
        removed = "removed-by-admin" in reasons or ("other" in reasons and participant.instance_ids)
        if not removed or departure.why not in ("left", "expelled", "removed-by-admin"):
            continue
        stopped = any(s.participant is participant and abs(s.at - departure.at) <= REQUEST_TIMEOUT_MS for s in stops)
        departure.why = "closed" if stopped else "left" if streams and not participant.has_log else "removed-by-admin"


def _is_process(start: Start) -> bool:
    """True for the start of a process: a subscription alone may be a running one that subscribes again."""
    return any(not isinstance(e, Subscribed) for e in start.events)


def predates_leave(left: DepartureDraft | None, asked: Event | None, answer: Event) -> bool:
    """True for an answer to a JoinGroup that was sent before the client left: it does not bring the member back."""
    if left is None or asked is None:
        return False
    client, sent = answer.speaker.client_id, [e for e in left.events if isinstance(e, LeaveSent)]
    return any(time_of(asked) < time_of(e) <= time_of(answer) for e in sent if e.speaker.client_id == client)
