"""The partition of `__consumer_offsets` that stores a group: the leader of that partition coordinates the group."""

from __future__ import annotations

import struct

from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.timeouts import number_of

# Default of offsets.topic.num.partitions, used unless a broker logs another number.
OFFSETS_PARTITIONS = 50
_LOWEST_INT = -(2**31)


def offsets_partition(group: str, partitions: int = OFFSETS_PARTITIONS) -> int:
    """The group's partition of `__consumer_offsets`."""
    # The same computation as GroupMetadataManager.partitionFor and GroupCoordinatorService.partitionFor.
    code = _hash_code(group)
    # Utils.abs returns 0 for Integer.MIN_VALUE, which has no positive counterpart.
    return (0 if code == _LOWEST_INT else abs(code)) % partitions


@cached_answer
def known_partition(timeline: Timeline) -> int | None:
    """The group's partition as the coordinator logs it or the brokers' settings determine it; None if unknown."""
    printed = (e.speaker.offsets_partition for e in timeline.group_events if e.group is not None)
    partition_printed = next((partition for partition in printed if partition is not None), None)
    number = number_of(timeline.settings.get("offsets.topic.num.partitions", ""))
    return offsets_partition(timeline.group, number) if partition_printed is None and number else partition_printed


def _hash_code(text: str) -> int:
    """The value of java.lang.String.hashCode: over UTF-16 code units, wrapped to 32 bits."""
    encoded = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for (unit,) in struct.iter_unpack(">H", encoded):
        code = (31 * code + unit) & 0xFFFFFFFF
    return code - 2**32 if code >= 2**31 else code
