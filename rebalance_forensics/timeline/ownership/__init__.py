"""Who read each partition, when: and while nobody could, since when and why."""

from rebalance_forensics.timeline.ownership.member_time import MemberSpan, MemberTime, member_time_of
from rebalance_forensics.timeline.ownership.owners import Ownership, ownership_of

__all__ = ["MemberSpan", "MemberTime", "Ownership", "member_time_of", "ownership_of"]
