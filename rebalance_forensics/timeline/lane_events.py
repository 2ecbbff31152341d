"""Marks of swim lanes: the events that are drawn, and their severity."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConnectorConfigChanged, DelayedRebalance, WorkerStopped
from rebalance_forensics.events.coordinator import (
    CoordinatorLost,
    GroupLoaded,
    GroupUnloaded,
    NodeDisconnected,
    OffsetsExpired,
    ReplicasInsufficient,
    TopicChanged,
)
from rebalance_forensics.events.epochs import GroupEpochBumped, GroupHeartbeatFailed, MemberReconciled
from rebalance_forensics.events.membership import (
    AuthorizationFailed,
    InstanceFenced,
    LeaveSent,
    MemberFailed,
    MemberLeft,
    PollTimeoutExpired,
    StaticMemberFenced,
    StaticMemberReplaced,
    Unsubscribed,
)
from rebalance_forensics.events.partitions import PartitionsAssigned, PartitionsLost, PartitionsRevoked
from rebalance_forensics.events.process import (
    BrokerStarted,
    BrokerStopped,
    ConsumerClosed,
    ExceptionLogged,
    ProcessDied,
    ProcessStopping,
    SettingsReported,
)
from rebalance_forensics.events.rebalances import (
    AssignmentFailed,
    AssignmentNotStored,
    AssignmentReceived,
    GenerationReset,
    GenerationStabilized,
    GroupEmptied,
    HeartbeatFailed,
    JoinFailed,
    RebalanceStarted,
    SyncFailed,
)
from rebalance_forensics.events.streams import (
    FollowUpTriggered,
    ShutdownRequested,
    StreamsStateChanged,
    ThreadAdded,
    ThreadFailed,
)
from rebalance_forensics.timeline.evidence import evidence_of
from rebalance_forensics.timeline.model import Mark

_FAULTS = (
    PollTimeoutExpired, MemberFailed, InstanceFenced, StaticMemberFenced, AuthorizationFailed,
    ExceptionLogged, ProcessDied, ThreadFailed, ShutdownRequested, AssignmentFailed, AssignmentNotStored,
    ReplicasInsufficient,
)  # fmt: skip
_NOTICES = (
    RebalanceStarted, MemberLeft, LeaveSent, JoinFailed, SyncFailed, HeartbeatFailed, GroupHeartbeatFailed,
    GenerationReset, CoordinatorLost, NodeDisconnected, GroupLoaded, GroupUnloaded, GroupEmptied, GroupEpochBumped,
    OffsetsExpired, TopicChanged, StaticMemberReplaced, Unsubscribed, PartitionsLost, FollowUpTriggered, ThreadAdded,
    StreamsStateChanged, ConnectorConfigChanged, DelayedRebalance, WorkerStopped, ConsumerClosed, ProcessStopping,
    BrokerStarted, BrokerStopped,
)  # fmt: skip
_PLAIN = (
    GenerationStabilized, AssignmentReceived, SettingsReported, PartitionsRevoked, PartitionsAssigned, MemberReconciled,
)  # fmt: skip
_SEVERITIES: dict[type[Event], Literal["fault", "notice", "plain"]] = {
    **dict.fromkeys(_FAULTS, "fault"),
    **dict.fromkeys(_NOTICES, "notice"),
    **dict.fromkeys(_PLAIN, "plain"),
}
MARKED = tuple(_SEVERITIES)


@cache
def _words(event: str) -> tuple[str, str]:
    """`member-failed` and `member failed`."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", event).lower()
    return words, words.replace("-", " ")


def mark_of(event: Event) -> Mark | None:
    """The mark of an event; None for events without a time and those that would only fill the lanes."""
    replaces = isinstance(event, ThreadAdded) and event.replacing
    severity = "fault" if replaces else _SEVERITIES.get(type(event))
    if event.at is None or severity is None:
        return None
    kind, label = _words(type(event).__name__)
    return Mark(
        at=event.at,
        kind=kind,
        label=label,
        severity=severity,
        evidence=evidence_of(event),
    )
