"""Stories of groups on the consumer protocol (KIP-848): epochs instead of generations, no leader, no barrier."""

from __future__ import annotations

from tests.story import Side, Story, clock, ms

MEMBERSHIP = "org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager"
HEARTBEAT = "org.apache.kafka.clients.consumer.internals.ConsumerHeartbeatRequestManager"
IDS = {
    "c-1": "aSm2rIdjTk6VlrTrO9vEqA",
    "c-2": "VAosqjKSTOu3nvdRR7GvRg",
    "c-3": "woqDiIxwQne7mo1TkppoLQ",
}


class EpochStory(Story):
    """Members whose ids say nothing about their clients; `generation` is the group epoch."""

    def member(self, client: str) -> str:
        """The id that a client of 4.0 and later makes for itself, another one in each process."""
        life = self.lives.get(client, 1)
        return IDS[client] if life == 1 else f"{IDS[client][:-2]}{life:02}"

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
        line = f"Member {self.member(client)} with epoch {number} transitioned from {old} to {new}."
        self.client(client, time, line, logger=MEMBERSHIP)
        return self

    def joins(self, client: str, time: str) -> EpochStory:
        """A client comes in and is given what the coordinator thinks right."""
        self.moves(client, time, "UNSUBSCRIBED", "JOINING", 0)
        self.group_says(time, f"Member {self.member(client)} joins the consumer group using the consumer protocol.")
        return self.bumped(time).reconciles(client, time)

    def reconciles(self, client: str, time: str) -> EpochStory:
        """It takes over its assignment, two tenths of a second later."""
        at = ms(time)
        self.moves(client, clock(at + 100), "JOINING", "RECONCILING")
        self.client(client, clock(at + 110), f"Adding newly assigned partitions: [orders-{client[-1]}]")
        self.moves(client, clock(at + 150), "RECONCILING", "ACKNOWLEDGING")
        return self.moves(client, clock(at + 200), "ACKNOWLEDGING", "STABLE")

    def others_reconcile(self, time: str, *clients: str) -> EpochStory:
        """Those who stay take over what the new target gives them."""
        at = ms(time)
        for client in clients:
            self.moves(client, clock(at + 300), "STABLE", "RECONCILING")
            self.moves(client, clock(at + 350), "RECONCILING", "ACKNOWLEDGING")
            self.moves(client, clock(at + 400), "ACKNOWLEDGING", "STABLE")
        return self

    def expires(self, client: str, time: str, *others: str) -> EpochStory:
        """A session expires; the first of the others is given what the silent member had."""
        self.client(others[0], clock(ms(time) + 360), f"Adding newly assigned partitions: [orders-{client[-1]}]")
        silent = f"Member {self.member(client)} fenced from the group because the member session expired."
        self.group_says(time, silent)
        return self.bumped(clock(ms(time) + 1)).others_reconcile(time, *others)

    def closes(self, client: str, time: str, *others: str) -> EpochStory:
        """A process closes its consumer cleanly."""
        self.moves(client, time, "STABLE", "PREPARE_LEAVING")
        self.moves(client, clock(ms(time) + 5), "PREPARE_LEAVING", "LEAVING", -1)
        self.group_says(clock(ms(time) + 10), f"Member {self.member(client)} left the consumer group.")
        return self.bumped(clock(ms(time) + 11)).others_reconcile(time, *others)

    def restarts(self, client: str, time: str, *others: str) -> EpochStory:
        """A new process of a client starts and joins two seconds later."""
        self.reborn(client)
        self.started(client, clock(ms(time) - 2_000))
        return self.joins(client, time).others_reconcile(time, *others)


def three_members(seen: Side = "both") -> EpochStory:
    """A group of three, one epoch each."""
    story = EpochStory(release=(4, 1), seen=seen)
    for second, client in enumerate(IDS):
        story.joins(client, f"01:00:0{second}.000")
    return story
