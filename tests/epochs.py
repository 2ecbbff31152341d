"""Stories of groups on the consumer protocol (KIP-848): epochs instead of generations, no leader, no barrier."""

from __future__ import annotations

from tests.story import Story, clock, ms

MEMBERSHIP = "org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager"
HEARTBEAT = "org.apache.kafka.clients.consumer.internals.ConsumerHeartbeatRequestManager"
IDS = {
    "c-1": "aSm2rIdjTk6VlrTrO9vEqA",
    "c-2": "VAosqjKSTOu3nvdRR7GvRg",
    "c-3": "woqDiIxwQne7mo1TkppoLQ",
}


class EpochStory(Story):
    """Members whose ids say nothing about their clients; `generation` is the group epoch."""

    def group_says(self, time: str, message: str) -> EpochStory:
        """The coordinator speaks of this group."""
        self.says(time, f"[GroupId {self.group}] {message}")
        return self

    def bumped(self, time: str) -> EpochStory:
        """A new group epoch and its target assignment."""
        self.generation += 1
        self.group_says(time, f"Bumped group epoch to {self.generation} with metadata hash 8761535610101143541.")
        target = f"Computed a new target assignment for epoch {self.generation} with 'uniform' assignor in 1ms."
        return self.group_says(time, target)

    def moves(self, client: str, time: str, old: str, new: str, epoch: int | None = None) -> EpochStory:
        """A client's member state changes."""
        number = self.generation if epoch is None else epoch
        told = f"Member {IDS[client]} with epoch {number} transitioned from {old} to {new}."
        self.client(client, time, told, logger=MEMBERSHIP)
        return self

    def joins(self, client: str, time: str) -> EpochStory:
        """A client comes in and is given what the coordinator thinks right."""
        self.moves(client, time, "UNSUBSCRIBED", "JOINING", 0)
        self.group_says(time, f"Member {IDS[client]} joins the consumer group using the consumer protocol.")
        return self.bumped(time).reconciles(client, time)

    def reconciles(self, client: str, time: str) -> EpochStory:
        """It takes over its assignment, two tenths of a second later."""
        at = ms(time)
        self.moves(client, clock(at + 100), "JOINING", "RECONCILING")
        self.client(client, clock(at + 110), f"Adding newly assigned partitions: [orders-{client[-1]}]")
        self.moves(client, clock(at + 150), "RECONCILING", "ACKNOWLEDGING")
        return self.moves(client, clock(at + 200), "ACKNOWLEDGING", "STABLE")


def three_members() -> EpochStory:
    """A group of three, one epoch each."""
    story = EpochStory(release=(4, 1))
    for second, client in enumerate(IDS):
        story.joins(client, f"01:00:0{second}.000")
    return story
