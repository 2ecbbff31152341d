"""Static members of a KIP-848 group, by their own logs: each process makes a member id of its own."""

from __future__ import annotations

from tests.epochs import MEMBERSHIP
from tests.story import Story, clock, ms

FORMED, AGAIN = "fMO93VwsSUmLqzcSBS_5aA", "gkG3yO_SQfiI2zSX3zZGIw"
OTHER = "xEHaGWy1QdmcAis38uEi0A"


class StaticStory(Story):
    """Two pods, each with a group.instance.id; the first reads orders-0 and orders-1, the second orders-2."""

    def pod(self, name: str, time: str, message: str) -> StaticStory:
        """A static consumer says something in its own app.log."""
        prefix = f"[Consumer instanceId={name}, clientId={name}-client, groupId={self.group}] "
        self.line(f"{name}-client/app.log", time, prefix + message, logger=MEMBERSHIP)
        return self

    def is_now(self, name: str, member: str, time: str, old: str, new: str, epoch: int) -> StaticStory:
        """Its member state changes."""
        return self.pod(name, time, f"Member {member} with epoch {epoch} transitioned from {old} to {new}.")

    def joins(self, name: str, member: str, time: str, epoch: int, given: str) -> StaticStory:
        """It starts, joins and is given its partitions."""
        at = ms(time)
        self.started(f"{name}-client", clock(at - 1_000), group_instance_id=name)
        self.is_now(name, member, time, "UNSUBSCRIBED", "JOINING", 0)
        self.is_now(name, member, clock(at + 100), "JOINING", "RECONCILING", epoch)
        self.pod(name, clock(at + 110), f"Adding newly assigned partitions: [{given}]")
        return self.is_now(name, member, clock(at + 200), "ACKNOWLEDGING", "STABLE", epoch)

    def closes(self, name: str, member: str, time: str, epoch: int, leaves_with: int) -> StaticStory:
        """It closes: -2 is a leave that may end, -1 one for good."""
        at = ms(time)
        self.pod(name, time, "Revoke previously assigned partitions [orders-0, orders-1]")
        self.is_now(name, member, clock(at + 1), "STABLE", "PREPARE_LEAVING", epoch)
        self.is_now(name, member, clock(at + 2), "PREPARE_LEAVING", "LEAVING", leaves_with)
        return self.is_now(name, member, clock(at + 3), "LEAVING", "UNSUBSCRIBED", leaves_with)

    def given(self, name: str, member: str, time: str, epoch: int, given: str) -> StaticStory:
        """One that stays is given more."""
        at = ms(time)
        self.is_now(name, member, time, "STABLE", "RECONCILING", epoch)
        self.pod(name, clock(at + 110), f"Adding newly assigned partitions: [{given}]")
        return self.is_now(name, member, clock(at + 200), "ACKNOWLEDGING", "STABLE", epoch)


def two_pods() -> StaticStory:
    """The group as it formed at one o'clock."""
    story = StaticStory(release=(4, 2), seen="clients")
    story.joins("pod-1", FORMED, "01:00:00.000", 1, "orders-0, orders-1")
    return story.joins("pod-2", OTHER, "01:00:02.000", 2, "orders-2")
