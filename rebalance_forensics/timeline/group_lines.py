"""The lines of a group before they are timed: those that name it, and those that may concern it.

`gathered` collects them and corrects what single lines misreport; `attributed` picks, once the speakers are identified,
the lines without a group that belong to this one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from rebalance_forensics.events.base import Event, in_common
from rebalance_forensics.events.coordinator import CoordinatorLost
from rebalance_forensics.events.process import GroupMentioned
from rebalance_forensics.events.rebalances import GenerationReset, HeartbeatFailed, JoinSucceeded, SyncSucceeded
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.event_index import distinct
from rebalance_forensics.timeline.group_attribution import adopted, concerning
from rebalance_forensics.timeline.identity.roles import with_roles
from rebalance_forensics.timeline.sarama_sessions import is_of_any_client, with_sessions

# Answers that only the group's own coordinator gives to a member: name of the exception -> name in Errors.
_ANSWERS = {
    "RebalanceInProgress": "REBALANCE_IN_PROGRESS",
    "IllegalGeneration": "ILLEGAL_GENERATION",
    "UnknownMemberId": "UNKNOWN_MEMBER_ID",
    "FencedInstanceId": "FENCED_INSTANCE_ID",
}
_ANSWER = re.compile("|".join(_ANSWERS))
# Kafka's Generation.NO_GENERATION: the generation id of a client that is no member.
_NO_GENERATION = -1


class GroupLines(Struct, frozen=True):
    """`own` name the group; `nearby` name none, but a member of it or were written where its members run."""

    group: str
    own: tuple[Event, ...]
    nearby: tuple[Event, ...]


def gathered(group: str, own: Iterable[Event], ungrouped: UngroupedEvents) -> GroupLines:
    """The lines of a group, each once and with the role that its log shows: broker, client, worker."""
    lines = _with_answers(_without_failed_joins(_without_mentions(distinct(own))))
    tied = ungrouped.of_ungrouped_clients(group, lines)
    lines = distinct([*lines, *tied]) if tied else lines
    unknown = [event for event in lines if event.speaker.role == "unknown"]
    own_lines = with_roles(lines, ungrouped.in_logs_of(unknown))
    taken = {event.origin for event in tied}
    near = [event for event in ungrouped.near(group, lines) if event.origin not in taken]
    sessions = with_sessions(group, own_lines, near)
    if sessions:
        own_lines = distinct([*own_lines, *sessions])
        taken = {event.origin for event in sessions}
        near = [event for event in near if event.origin not in taken and not is_of_any_client(event)]
    nearby = with_roles(_with_answers(near), lines)
    return GroupLines(group, tuple(own_lines), tuple(nearby))


def attributed(lines: GroupLines) -> tuple[Event, ...]:
    """The group's own lines and the nearby ones that belong to it; their speakers are identified."""
    concern = distinct(concerning(lines.group, lines.own, lines.nearby))
    return (*lines.own, *adopted(lines.group, lines.own, concern))


def _without_mentions(own: list[Event]) -> list[Event]:
    """The lines without those that do no more than name the group, unless there are no others."""
    return [event for event in own if not isinstance(event, GroupMentioned)] or own


def _without_failed_joins(events: Iterable[Event]) -> list[Event]:
    """The events, with "joined … generation -1" as what it is: the generation was reset during the join."""
    return [_reset(e) if _lacks_generation(e) else e for e in events]


def _lacks_generation(event: Event) -> bool:
    return isinstance(event, JoinSucceeded | SyncSucceeded) and event.generation <= _NO_GENERATION


def _reset(event: Event) -> GenerationReset:
    return GenerationReset(**in_common(event), reason="the generation was reset before the join was complete")


def _with_answers(events: Iterable[Event]) -> list[Event]:
    """The events, with a CoordinatorLost whose cause is an answer of that coordinator as the answer itself."""
    return [_answered(event) if isinstance(event, CoordinatorLost) else event for event in events]


def _answered(lost: CoordinatorLost) -> Event:
    answer = _ANSWER.search(lost.cause or "")
    if answer is None:
        return lost
    return HeartbeatFailed(**in_common(lost), error=_ANSWERS[answer[0]])
