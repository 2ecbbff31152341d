"""Why a member left, from the words of its LeaveGroup."""

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


def why_left(reason: str | None, why: str | None) -> DepartureWhy:
    """The kind of departure that a leave reason tells; `left` when it tells nothing."""
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


def is_trouble(event: Event) -> bool:
    """Whether a Go client's group loop ran into an error."""
    return event.pattern.startswith("go/") and isinstance(event, CoordinatorLost | JoinFailed | SyncFailed)


def gives_up(event: LeaveSent, before: Iterable[Event]) -> bool:
    """Whether kafka-go drops its member id after an error, with the word of one that leaves (consumergroup.go, run).

    No LeaveGroup needs to reach the coordinator, which then misses its heartbeats; nobody closed the consumer.
    """
    return event.pattern.startswith("go/") and any(map(is_trouble, before))


def reason_text(event: Event) -> str | None:
    """The reason as the line words it."""
    for name in ("reason", "client_reason"):
        value = getattr(event, name, None)
        if isinstance(value, str):
            return value
    return None


def reclassify_unsubscribes(departures: Iterable[DepartureDraft], stops: Iterable[Stop]) -> None:
    """Some frameworks unsubscribe just before they close: then the close is why the member left.

    Its own log shows the end of the process or the start of the next; without a log it shows in everybody doing it.
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
        # A Streams thread unsubscribes whenever it shuts down; the application has no such wish.
        thread = departure.participant.kind == "instance"
        if stopped or restarted or thread or (everybody and departure.participant in without_log):
            departure.why = "closed"


def remove_by_admin(departures: Iterable[DepartureDraft], stops: Sequence[Stop], *, streams: bool) -> None:
    """Tell members that an administrator removed from those that left; the client only hears that it is unknown.

    A static member sends no LeaveGroup, so a request with words of its own came from an administrator (KIP-345). Kafka
    Streams makes that request itself when it closes and leaves, or removes a thread (KIP-812, KafkaStreams.close).
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
    """A subscription alone may be the same process changing its mind."""
    return any(not isinstance(e, Subscribed) for e in start.events)


def sent_before(left: DepartureDraft | None, asked: Event | None, answer: Event) -> bool:
    """Whether a client that closes while its JoinGroup is on the way hears the answer when it has left."""
    if left is None or asked is None:
        return False
    client, sent = answer.speaker.client_id, [e for e in left.events if isinstance(e, LeaveSent)]
    return any(time_of(asked) < time_of(e) <= time_of(answer) for e in sent if e.speaker.client_id == client)
