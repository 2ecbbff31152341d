"""Whether what a program prints of Kafka's answers, without client and group, was an answer to the member beside it.

One process, or one directory, holds clients of several purposes: an administrator's, a producer's, a consumer of
another group. An exception shows what it was thrown for, not at whom. It is a member's by its thread, its logger, a
topic that the member reads, or by what happened to the member at that time; where the member's own log shows it in the
group before and after, the answer was another client's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event, Speaker
from rebalance_forensics.timeline.answers import denied_resource
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.identity.names import librdkafka_handle, streams_client
from rebalance_forensics.timeline.identity.own_process import BACKGROUND, HEARTBEATS
from rebalance_forensics.timeline.identity.participants import place_name
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import AT_ONCE_MS, PROCESS_START_MS

_ANSWERS = (
    ev.ExceptionLogged, ev.AuthorizationFailed, ev.JoinFailed, ev.SyncFailed, ev.HeartbeatFailed,
    ev.GroupHeartbeatFailed, ev.OffsetCommitFailed, ev.InstanceFenced,
)  # fmt: skip
# What a program prints in words of its own has patterns of its own, or the class of what was thrown at it.
_PRINTED = ("/request-refused", "/join-refused", "/authorization-failed")
_CLASS = re.compile(r"(?:Exception|Error)\b")
_IN = (ev.JoinSucceeded, ev.SyncSucceeded, ev.JoinReported, ev.PartitionsAssigned)
_TROUBLED = (
    ev.JoinFailed, ev.SyncFailed, ev.HeartbeatFailed, ev.GroupHeartbeatFailed, ev.OffsetCommitFailed,
    ev.AuthorizationFailed, ev.InstanceFenced, ev.GenerationReset, ev.CoordinatorLost, ev.PollTimeoutExpired,
    ev.PartitionsLost, ev.OwnershipGivenUp, ev.LeaveSent, ev.Unsubscribed, ev.ConsumerClosed,
)  # fmt: skip
# What only administrators ask of a group: its description, its offsets, its lag.
_OF_AN_ADMINISTRATOR = re.compile(
    r"\badmin(?:istrator)?(?::| client| request)|AdminClient|\b(?:lag|remove (?:the )?members?)\b"
    r"|\b(?:describ|delet|alter|reset|list)\w*+ (?:[\w-]+ ){0,3}(?:groups?|offsets?)\b",
    re.IGNORECASE,
)


def is_an_administrators(event: Event) -> bool:
    """True for an answer to a request about a group that no member makes, by the words of the program around it."""
    return is_printed(event) and _OF_AN_ADMINISTRATOR.search(event.text) is not None


def is_printed(event: Event) -> bool:
    """True for a response of Kafka in a line that names neither the client nor the group."""
    speaker = event.speaker
    if not isinstance(event, _ANSWERS) or speaker.role == "broker":
        return False
    thrown = getattr(event, "exception", None) or event.text
    if not event.pattern.endswith(_PRINTED) and not ("kafka" in thrown.lower() and _CLASS.search(thrown)):
        return False
    # Where a configuration shows the group of a process, its lines have that.
    if event.group is not None and event.group in event.text:
        return False
    thread = speaker.thread or ""
    return not (speaker.client_id or speaker.task or librdkafka_handle(thread) or streams_client(thread))


def without_answers_to_others(group_events: Sequence[Event], lines: Sequence[Event]) -> list[Event]:
    """The lines without logged responses that no member in their place can have received."""
    printed = [event for event in lines if is_printed(event)]
    if not printed:
        return list(lines)
    members = _Members(group_events, lines)
    foreign = {id(event) for event in printed if is_an_administrators(event) or not members.may_have_got(event)}
    return [event for event in lines if id(event) not in foreign]


class _Members:
    def __init__(self, group_events: Sequence[Event], lines: Sequence[Event]) -> None:
        """`group_events` are the lines of the group; `lines` hold those of its clients that do not name it."""
        clients: dict[str, dict[str | None, list[Event]]] = defaultdict(lambda: defaultdict(list))
        for event in group_events:
            if event.speaker.role != "broker":
                clients[place_name(event)][event.speaker.client_id].append(event)
        for event in lines:
            if event.speaker.client_id is not None and event.speaker.client_id in clients.get(place_name(event), ()):
                clients[place_name(event)][event.speaker.client_id].append(event)
        self._clients = {place: list(map(_Client, of_place.values())) for place, of_place in clients.items()}
        self._has_brokers = any(event.speaker.role == "broker" for event in group_events)

    def may_have_got(self, event: Event) -> bool:
        """False if none of the clients in that place can have received this response."""
        clients = self._clients.get(place_name(event), [])
        others_heard = self._has_brokers or len(self._clients) > 1
        return not clients or any(client.may_have_got(event, others_heard=others_heard) for client in clients)


class _Client:
    """The lines of one client, as far as they show that it is in the group."""

    def __init__(self, lines: Iterable[Event]) -> None:
        self._lines = TimeIndex((e for e in lines if e.at is not None), time_of)

    def may_have_got(self, event: Event, *, others_heard: bool) -> bool:
        """False if its lines show that it was working, and nothing connects the response to it."""
        resource, names = denied_resource(event)
        if resource == "topic" and names and self._topics:
            return not self._topics.isdisjoint(names)
        if event.at is None or self._is_by_its_thread(event) or self._is_by_its_logger(event):
            return True
        before = self._states.last(event.at)
        if before is None or not isinstance(before, _IN) or self._is_in_trouble(event.at):
            return True
        # Of a member whose lines end there, only a log that tells of others as well shows that nothing was left out.
        return not (others_heard or self._lines.first(event.at + 1) is not None or self._is_by_another_thread(event))

    def _is_in_trouble(self, at: int) -> bool:
        near = (e for e in self._states.between(at - AT_ONCE_MS, at + PROCESS_START_MS) if isinstance(e, _TROUBLED))
        after = self._states.first(at + 1)
        # Where the exception ends the thread that polls, the client logs nothing until its poll timer expires.
        return any(True for _ in near) or isinstance(after, ev.PollTimeoutExpired)

    def _is_by_its_thread(self, event: Event) -> bool:
        speaker = event.speaker
        return speaker.thread is not None and any(
            group_events.thread == speaker.thread
            and (
                group_events.file == speaker.file or (group_events.pid is not None and group_events.pid == speaker.pid)
            )
            for group_events in self._speakers
        )

    def _is_by_another_thread(self, event: Event) -> bool:
        threads = {
            group_events.thread
            for group_events in self._speakers
            if group_events.file == event.speaker.file and group_events.thread is not None
        }
        # Those that poll() has others do its work for log on other threads than it.
        of_client = any(thread.startswith((BACKGROUND, HEARTBEATS)) for thread in threads)
        return event.speaker.thread is not None and bool(threads) and not of_client

    def _is_by_its_logger(self, event: Event) -> bool:
        component = event.speaker.component
        return component is not None and any(group_events.component == component for group_events in self._speakers)

    @cached_property
    def _speakers(self) -> set[Speaker]:
        return {event.speaker for event in self._lines}

    @cached_property
    def _states(self) -> TimeIndex[Event]:
        return TimeIndex((e for e in self._lines if isinstance(e, (*_IN, *_TROUBLED))), time_of, ordered=True)

    @cached_property
    def _topics(self) -> set[str]:
        """What it subscribed to; empty if it takes topics by a pattern, or no line shows it."""
        subscribed = [e for e in self._lines if isinstance(e, ev.Subscribed)]
        return set() if any(not e.topics for e in subscribed) else {t for e in subscribed for t in e.topics}
