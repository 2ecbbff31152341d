"""Causes that look alike, in pairs, and what tells the two apart."""

from __future__ import annotations

from collections.abc import Iterator

PAIRS: tuple[tuple[str, str, str], ...] = (
    (
        "process-crash",
        "process-pause",
        "the same process goes on after a pause, its log with a hole; after a crash nothing comes, or a new process",
    ),
    (
        "process-pause",
        "network-partition",
        "a process that stands still writes nothing; one that is cut off goes on and logs its disconnects",
    ),
    (
        "process-crash",
        "network-partition",
        "the log of a crash ends; cut off from the brokers it goes on, with disconnects",
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
        "who is scaled in closes first, and says so; Streams sends no LeaveGroup, so its brokers see the same",
    ),
    ("process-crash", "static-member-expired", "only a static member has an instance id, which is kept for it"),
    ("member-left", "scale-in", "an exception just before the close, or none"),
    ("scale-in", "shutdown", "some members stay, or none does"),
    ("scale-in", "rolling-restart", "who left stays away, or comes back before the next one goes"),
    ("rolling-restart", "static-member-restart", "with instance ids, and back in time, there is no rebalance at all"),
    ("static-member-restart", "static-member-expired", "back within session.timeout.ms, or not"),
    ("static-member-restart", "static-member-fenced", "the old process is gone, or still lives and is turned away"),
    ("startup", "scale-out", "the group was empty before, or already at work"),
    ("scale-out", "scaling-flap", "added for good, or added and removed again and again"),
    ("scale-in", "scaling-flap", "removed for good, or removed and added again and again"),
    (
        "coordinator-failover",
        "offsets-topic-unavailable",
        "the coordinator goes, and another takes over; or it is there and cannot write",
    ),
    (
        "coordinator-failover",
        "network-partition",
        "all members lose the coordinator at once, often of many groups; or one member alone loses the brokers",
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
    ("shared-group-id", "inconsistent-protocol", "the strangers are let in and disturb, or are turned away"),
    ("shared-group-id", "subscription-change", "the topics differ between clients with other names, or change in time"),
    (
        "group-max-size",
        "inconsistent-protocol",
        "the error of the join: the group is full, or no assignor is in common",
    ),
    (
        "group-max-size",
        "authorization-failure",
        "the error of the join: the group is full, or the client may not use it",
    ),
    ("unstable-leader", "rebalance-straggler", "another leader each time, or one member that is late each time"),
    (
        "probing-loop",
        "streams-endpoint-change",
        "rebalances at regular intervals without end, or one when it came back",
    ),
    (
        "thread-replacement",
        "streams-shutdown",
        "the handler's answer to the exception: REPLACE_THREAD, or SHUTDOWN_APPLICATION",
    ),
    ("thread-replacement", "probing-loop", "threads with rising numbers, or the same ones at regular intervals"),
    ("streams-shutdown", "shutdown", "one instance asked all others to stop, or each was stopped"),
    ("connect-config-change", "scale-out", "the same workers get other connectors and tasks, or a worker is new"),
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
