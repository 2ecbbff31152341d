"""The classes that log about groups."""

from __future__ import annotations

GROUP_CLASSES = frozenset(
    """
    GroupCoordinator GroupMetadataManager GroupMetadata GroupCoordinatorAdapter GroupCoordinatorService
    GroupCoordinatorShard ClassicGroup GenericGroup OffsetMetadataManager CoordinatorRuntime CoordinatorLoaderImpl
    ShareCoordinatorService ShareCoordinatorShard TopicRegexResolver
    AbstractCoordinator ConsumerCoordinator WorkerCoordinator DistributedHerder WorkerGroupMember EagerAssignor
    IncrementalCooperativeAssignor WorkerRebalanceListener
    ConsumerMembershipManager AbstractMembershipManager MembershipManagerImpl ConsumerHeartbeatRequestManager
    AbstractHeartbeatRequestManager HeartbeatRequestManager CoordinatorRequestManager CommitRequestManager
    ConsumerRebalanceListenerInvoker StreamsMembershipManager StreamsGroupHeartbeatRequestManager
    StreamsRebalanceListenerInvoker ShareMembershipManager ShareHeartbeatRequestManager ShareConsumerImpl
    ClassicKafkaConsumer LegacyKafkaConsumer AsyncKafkaConsumer KafkaConsumer
    CooperativeStickyAssignor AbstractStickyAssignor StickyAssignor
    StreamPartitionAssignor StreamsPartitionAssignor HighAvailabilityTaskAssignor StickyTaskAssignor
    LegacyStickyTaskAssignor FallbackPriorTaskAssignor AssignorConfiguration TaskManager StreamThread KafkaStreams
    StreamsRebalanceListener DefaultStreamsRebalanceListener TaskAssignmentUtils RackAwareTaskAssignor
    KafkaGroupLeaderElector SchemaRegistryCoordinator
    """.split()  # noqa: SIM905 - words read best as words
)
"""A line of these classes that no pattern matches counts as unrecognized."""


def simple_name(logger: str) -> str:
    """`kafka.coordinator.group.GroupMetadata$` is GroupMetadata; an inner class counts as its outer one."""
    return logger.strip().rpartition(".")[2].partition("$")[0].partition(":")[0]


EXCEPTION_WORDS = frozenset(
    {"Exception", "OutOfMemoryError", "NoClassDefFoundError", "StackOverflowError", "Traceback (most recent call last)"}
)
"""What the prefilter searches for to find an application's own errors."""
