"""Kafka's own settings that matter to groups: whose they are, what they are by default, what they do."""

from __future__ import annotations

SETTINGS: dict[str, str] = {
    "acceptable.recovery.lag": "Streams, 10000 records: a warm-up task whose lag is at most this has caught up.",
    "allow.everyone.if.no.acl.found": "Broker, false: without an ACL for a group or topic only super users may use it.",
    "application.server": "Streams, none: host and port under which an instance tells the others to find it.",
    "auto.offset.reset": "Consumer, latest: where to start when no offset is committed; latest skips everything "
    "before.",
    "controlled.shutdown.enable": "Broker, true: a broker that stops hands its partitions over first.",
    "default.deserialization.exception.handler": (
        "Streams, fail: a record that cannot be read ends the thread; LogAndContinueExceptionHandler skips it. Named "
        "deserialization.exception.handler from 4.0."
    ),
    "group.id": "Consumer: the group it belongs to.",
    "group.consumer.max.size": "Broker, no limit: how many members a group of the KIP-848 protocol may have.",
    "group.consumer.migration.policy": (
        "Broker, bidirectional (disabled in 3.7 to 3.9): whether a group may move between the classic and the KIP-848 "
        "protocol while it runs, and so whether members of both may be in it."
    ),
    "group.initial.rebalance.delay.ms": (
        "Broker, 3 s (0 in the server.properties for ZooKeeper that Kafka shipped up to 3.9, not in those for KRaft): "
        "how long an empty group waits for more members."
    ),
    "group.instance.id": (
        "Consumer, none: a name that survives restarts and makes the member static; back within session.timeout.ms it "
        "gets its partitions without a rebalance."
    ),
    "group.max.session.timeout.ms": (
        "Broker, 30 min (5 min before 2.3): the longest session timeout a member may ask for."
    ),
    "group.max.size": "Broker, no limit: how many members a group of the classic protocol may have.",
    "group.share.max.size": "Broker, 200: how many members a share group may have.",
    "group.protocol": "Consumer, classic: consumer is the protocol of KIP-848, in which nobody waits for all others.",
    "heartbeat.interval.ms": (
        "Consumer, 3 s: how often it sends a heartbeat, and thereby learns that a rebalance has begun. Under "
        "KIP-848 the "
        "broker's group.consumer.heartbeat.interval.ms (5 s) counts instead."
    ),
    "max.poll.interval.ms": (
        "Consumer, 5 min (Streams without limit before 2.3): the longest time between two calls of poll(); also how "
        "long a rebalance waits for a member."
    ),
    "max.poll.records": (
        "Consumer, 500 (1000 in Streams): how many records one poll() returns at most, and so how much work one "
        "loop has."
    ),
    "max.warmup.replicas": "Streams, 2: how many tasks may warm up on their new owners at the same time.",
    "metadata.max.age.ms": "Consumer, 5 min: how soon new topics and partitions are noticed.",
    "min.insync.replicas": "Broker and topic, 1: with fewer replicas in sync a write is rejected.",
    "num.standby.replicas": "Streams, 0: copies of a task's state that let another instance take over at once.",
    "num.stream.threads": "Streams, 1: threads of an instance, each a member of the group.",
    "offsets.commit.required.acks": "Broker, -1 (all in sync): acknowledgements of a commit; gone in 4.0.",
    "offsets.retention.minutes": (
        "Broker, 7 days (1 day before 2.0): how long the offsets of a group without members are kept."
    ),
    "offsets.topic.replication.factor": (
        "Broker, 3 (1 in the server.properties that Kafka ships): copies of __consumer_offsets; with only one, "
        "groups stop when its broker stops."
    ),
    "partition.assignment.strategy": (
        "Consumer, range and cooperative-sticky (range before 3.0): its assignors; members need one in common. Under "
        "KIP-848 the broker's group.consumer.assignors (uniform, range) and the client's group.remote.assignor count."
    ),
    "probing.rebalance.interval.ms": "Streams, 10 min: how often the leader checks whether warm-up tasks have "
    "caught up.",
    "rebalance.timeout.ms": "Connect worker, 60 s: how long a rebalance waits for a worker.",
    "request.timeout.ms": (
        "Consumer, 30 s (305 s before 2.0): how long it waits for a response before it retries or fails the call."
    ),
    "processing.exception.handler": (
        "Streams from 3.9, fail: an exception while a record is processed ends the thread; "
        "LogAndContinueProcessingExceptionHandler skips the record."
    ),
    "scheduled.rebalance.max.delay.ms": (
        "Connect worker, 5 min: how long the connectors and tasks of a lost worker are kept for it before "
        "others get them."
    ),
    "session.timeout.ms": (
        "Consumer, 45 s (10 s before 3.0, and in Connect workers): a member is removed from the "
        "group after this long without a heartbeat. Under KIP-848 the broker's "
        "group.consumer.session.timeout.ms (45 s) counts instead."
    ),
}
