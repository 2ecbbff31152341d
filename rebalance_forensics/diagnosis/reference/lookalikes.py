"""Causes that look alike, in pairs, and what tells the two apart."""

from __future__ import annotations

from collections.abc import Iterator

PAIRS: tuple[tuple[str, str, str], ...] = (
    (
        "process-crash",
        "process-pause",
        "after a pause the same process resumes, and so does its log; after a crash a new one starts, or none does",
    ),
    (
        "process-pause",
        "network-partition",
        "a paused process logs nothing; a process that is cut off keeps logging, disconnects included",
    ),
    (
        "process-crash",
        "network-partition",
        "after a crash the log ends; a process that is cut off keeps logging, with disconnects",
    ),
    (
        "process-pause",
        "slow-processing",
        "a pause stops heartbeats as well, so the coordinator evicts the member; in a slow poll loop the client leaves",
    ),
    (
        "slow-processing",
        "rebalance-straggler",
        (
            "a slow member exceeds max.poll.interval.ms and is out; a straggler rejoins within it, and the others "
            "wait for it"
        ),
    ),
    (
        "slow-processing",
        "member-left",
        "a slow member leaves because its poll timeout expired; there the reason is 'the consumer is being closed'",
    ),
    (
        "process-crash",
        "scale-in",
        "a member that is scaled in logs that it closes; Streams sends no LeaveGroup, so brokers see the same for both",
    ),
    (
        "process-crash",
        "static-member-expired",
        "only a static member has a group.instance.id, and its partitions are kept until the session expires",
    ),
    (
        "member-left",
        "scale-in",
        "a member that left closed after an exception; one that was scaled in closed without any",
    ),
    (
        "member-removed",
        "shutdown",
        "members that shut down close; those that an administrator removed still run, and join again by themselves",
    ),
    (
        "member-removed",
        "static-member-fenced",
        "a fenced member sees another one with its group.instance.id; one that was removed only loses its member id",
    ),
    (
        "member-removed",
        "process-pause",
        "removed members learn of it all at once and keep their coordinator; a paused member lost its own",
    ),
    ("scale-in", "shutdown", "after a scale-in some members stay; after a shutdown none does"),
    (
        "scale-in",
        "rolling-restart",
        "after a scale-in members stay away; in a rolling restart each is back before the next one leaves",
    ),
    (
        "rolling-restart",
        "static-member-restart",
        "static members that are back in time cause no rebalance; in a rolling restart of others each one causes two",
    ),
    (
        "static-member-restart",
        "static-member-expired",
        "a static member that is back within session.timeout.ms only restarted; otherwise it expired",
    ),
    (
        "static-member-restart",
        "static-member-fenced",
        "after a restart the old process is gone; where one is fenced, both are running",
    ),
    ("startup", "scale-out", "at startup the group was empty; a scale-out adds members to a running group"),
    ("scale-out", "scaling-flap", "a scale-out is for good; in a flap the same members leave again"),
    ("scale-in", "scaling-flap", "a scale-in is for good; in a flap the same members come back"),
    (
        "coordinator-failover",
        "offsets-topic-unavailable",
        "in a failover another broker takes over; otherwise the coordinator stays but cannot write",
    ),
    (
        "coordinator-failover",
        "network-partition",
        "in a failover all members lose the coordinator at once, often in many groups; a partition cuts off one member",
    ),
    (
        "assignment-failure",
        "offsets-topic-unavailable",
        "here the leader fails to assign; there the coordinator cannot store the assignment",
    ),
    (
        "subscription-change",
        "topic-metadata-change",
        "here the member subscribes to other topics; there the topics themselves change",
    ),
    (
        "subscription-change",
        "enforced-rebalance",
        (
            "here the member rejoins with other topics; there with the same topics, because the application called "
            "enforceRebalance()"
        ),
    ),
    (
        "subscription-change",
        "unsubscribe",
        "a member that changes its subscription stays; one that unsubscribes from all topics leaves",
    ),
    (
        "shared-group-id",
        "inconsistent-protocol",
        "clients that share an assignor join and disrupt the group; the others are rejected",
    ),
    (
        "shared-group-id",
        "subscription-change",
        "here the topics differ from client to client; there one client's topics change over time",
    ),
    (
        "group-max-size",
        "inconsistent-protocol",
        "JoinGroup fails with GROUP_MAX_SIZE_REACHED here, with INCONSISTENT_GROUP_PROTOCOL there",
    ),
    (
        "group-max-size",
        "authorization-failure",
        "JoinGroup fails with GROUP_MAX_SIZE_REACHED here, with GROUP_AUTHORIZATION_FAILED there",
    ),
    (
        "unstable-leader",
        "rebalance-straggler",
        "the leader is a different member each time; a straggler is the same late member",
    ),
    (
        "probing-loop",
        "streams-endpoint-change",
        "probing rebalances go on at regular intervals; a new endpoint causes one rebalance",
    ),
    (
        "thread-replacement",
        "streams-shutdown",
        "the uncaught exception handler returned REPLACE_THREAD here, SHUTDOWN_APPLICATION there",
    ),
    (
        "thread-replacement",
        "probing-loop",
        "replaced threads have rising numbers; probing rebalances keep the same threads, at regular intervals",
    ),
    ("streams-shutdown", "shutdown", "here one instance asks all others to stop; there each is stopped by itself"),
    ("connect-config-change", "scale-out", "config change: same workers, new tasks; scale-out: a new worker"),
    (
        "offsets-expired",
        "shutdown",
        "a shutdown is harmless until the group has been empty for offsets.retention.minutes",
    ),
)


def neighbours_of(cause: str) -> Iterator[tuple[str, str]]:
    """Yield each cause that looks like this one, and how to tell them apart."""
    for first, other, apart in PAIRS:
        if cause in (first, other):
            yield (other if cause == first else first), apart
