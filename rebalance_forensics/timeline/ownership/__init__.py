"""Who read each partition, when: and while nobody could, since when and why."""

from rebalance_forensics.timeline.ownership.owners import Ownership, ownership_of

__all__ = ["Ownership", "ownership_of"]
