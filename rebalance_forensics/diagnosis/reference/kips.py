"""The Kafka Improvement Proposals that explanations send readers to, by their titles."""

from __future__ import annotations

KIPS: dict[str, str] = {
    "KIP-62": "Allow consumer to send heartbeats from a background thread",
    "KIP-134": "Delay initial consumer group rebalance",
    "KIP-186": "Increase offsets retention default to 7 days",
    "KIP-211": "Revise expiration semantics of consumer group offsets",
    "KIP-345": "Introduce static membership protocol to reduce consumer rebalances",
    "KIP-389": "Introduce a configurable consumer group size limit",
    "KIP-394": "Require member.id for initial join group request",
    "KIP-415": "Incremental cooperative rebalancing in Kafka Connect",
    "KIP-429": "Kafka consumer incremental rebalance protocol",
    "KIP-441": "Smooth scaling out for Kafka Streams",
    "KIP-568": "Explicit rebalance triggering on the consumer",
    "KIP-662": "Throw exception when source topics of a Streams app are deleted",
    "KIP-663": "API to start and shut down stream threads",
    "KIP-671": "Introduce Kafka Streams specific uncaught exception handler",
    "KIP-735": "Increase default consumer session timeout",
    "KIP-800": "Add reason to JoinGroupRequest and LeaveGroupRequest",
    "KIP-812": "Introduce another form of the KafkaStreams.close() API that forces the member to leave the "
    "consumer group",
    "KIP-848": "The next generation of the consumer rebalance protocol",
    "KIP-1033": "Add Kafka Streams exception handler for exceptions occurring during processing",
}
WHERE = "https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals"
