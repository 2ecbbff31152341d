"""Causes that look alike, in pairs, and what tells the two apart."""

from __future__ import annotations

from collections.abc import Iterator

PAIRS: tuple[tuple[str, str, str], ...] = (
    (
        "process-crash",
        "process-pause",
        "after a pause the same process resumes, its log silent until then; after a crash a new one starts or none",
    ),
    (
        "process-pause",
        "network-partition",
        "a process that stands still writes nothing; one that is cut off keeps logging, disconnects among the rest",
    ),
    (
        "process-crash",
        "network-partition",
        "the log of a crash ends; the log of a process that is cut off continues, with disconnects",
    ),
    (
        "process-pause",
        "slow-processing",
        "a pause stops heartbeats too, so the coordinator evicts the member; a slow loop makes the client leave",
    ),
    (
        "slow-processing",
        "rebalance-straggler",
        "after max.poll.interval.ms a slow member is out; a straggler comes back within it, and others wait for it",
    ),
    ("slow-processing", "member-left", "the leave reason: the poll timeout, or that the consumer is being closed"),
    (
        "process-crash",
        "scale-in",
        "a member that is scaled in closes first and logs it; Streams sends no LeaveGroup, so brokers see the same",
    ),
    ("process-crash", "static-member-expired", "only a static member has an instance id, which is kept for it"),
    ("member-left", "scale-in", "an exception just before the close, or none"),
    ("scale-in", "shutdown", "some members stay, or none do"),
    ("scale-in", "rolling-restart", "members that left stay away, or each is back before the next one leaves"),
    ("rolling-restart", "static-member-restart", "with instance ids, and back in time, there is no rebalance at all"),
    ("static-member-restart", "static-member-expired", "back within session.timeout.ms, or not"),
    ("static-member-restart", "static-member-fenced", "the old process is gone, or is still running and is fenced"),
    ("startup", "scale-out", "the group was empty before, or already running"),
    ("scale-out", "scaling-flap", "added for good, or added and removed again and again"),
    ("scale-in", "scaling-flap", "removed for good, or removed and added again and again"),
    (
        "coordinator-failover",
        "offsets-topic-unavailable",
        "another broker takes over as coordinator; or the coordinator stays but cannot write",
    ),
    (
        "coordinator-failover",
        "network-partition",
        "all members lose the coordinator at once, often in many groups; or only one member loses the brokers",
    ),
    (
        "assignment-failure",
        "offsets-topic-unavailable",
        "the leader could not assign; or it did, and the coordinator could not store it",
    ),
    ("subscription-change", "topic-metadata-change", "the member asks for other topics, or its topics have changed"),
    (
        "subscription-change",
        "enforced-rebalance",
        "the reason for the join: a changed subscription, or enforceRebalance()",
    ),
    ("subscription-change", "unsubscribe", "it subscribes to other topics, or to none and leaves"),
    ("shared-group-id", "inconsistent-protocol", "the foreign clients join and disrupt the group, or are rejected"),
    (
        "shared-group-id",
        "subscription-change",
        "the topics differ between clients with other names, or change over time",
    ),
    (
        "group-max-size",
        "inconsistent-protocol",
        "the JoinGroup error: the group is full, or the members have no assignor in common",
    ),
    (
        "group-max-size",
        "authorization-failure",
        "the JoinGroup error: the group is full, or the client is not authorized",
    ),
    ("unstable-leader", "rebalance-straggler", "a different leader each time, or the same late member each time"),
    (
        "probing-loop",
        "streams-endpoint-change",
        "rebalances at regular intervals without end, or one rebalance when the instance came back",
    ),
    (
        "thread-replacement",
        "streams-shutdown",
        "the handler's answer to the exception: REPLACE_THREAD, or SHUTDOWN_APPLICATION",
    ),
    ("thread-replacement", "probing-loop", "threads with rising numbers, or the same ones at regular intervals"),
    ("streams-shutdown", "shutdown", "one instance asked all others to stop, or each was stopped on its own"),
    ("connect-config-change", "scale-out", "the same workers get other connectors and tasks, or a worker joined"),
    (
        "offsets-expired",
        "shutdown",
        "a group that stays empty for longer than offsets.retention.minutes loses its offsets",
    ),
)


def neighbours_of(cause: str) -> Iterator[tuple[str, str]]:
    """Yield each cause that looks like this one, and how to tell them apart."""
    for one, other, apart in PAIRS:
        if cause in (one, other):
            yield (other if cause == one else one), apart
