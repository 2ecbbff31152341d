"""Ownership over time: which member read each partition, and the spans in which nobody could, with their reasons."""

from rebalance_forensics.timeline.ownership.member_time import MemberSpan, MemberTime, member_time_of
from rebalance_forensics.timeline.ownership.owners import Ownership, ownership_of

__all__ = ["MemberSpan", "MemberTime", "Ownership", "member_time_of", "ownership_of"]
