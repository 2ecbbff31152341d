"""What Kafka logs about one rebalance, in the words of each release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
JAVA_COORDINATOR = "org.apache.kafka.coordinator.group.GroupMetadataManager"
CONSUMER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"

Release = tuple[int, int]


def member_id(client: str, life: int = 1) -> str:
    """The member id of a client: its client id and a uuid, another one in each life."""
    return f"{client}-{life:08x}-0000-4000-8000-00000000cafe"


def generation_of(generation: int, member: str) -> str:
    """How a client prints its generation from 2.6.1 on."""
    return f"Generation{{generationId={generation}, memberId='{member}', protocol='range'}}"


@dataclass(frozen=True, kw_only=True)
class CoordinatorWords:
    """The lines of the broker that coordinates one classic group."""

    group: str
    broker: int
    release: Release
    partition: int = 13

    @property
    def logger(self) -> str:
        """The class that speaks."""
        return JAVA_COORDINATOR if self.release >= (4, 0) else COORDINATOR

    def prefixed(self, message: str) -> str:
        """A message behind the coordinator's prefix."""
        if self.release >= (4, 0):
            return f"[GroupCoordinator id={self.broker} topic=__consumer_offsets partition={self.partition}] {message}"
        return f"[GroupCoordinator {self.broker}]: {message}"

    @property
    def _where(self) -> str:
        return "" if self.release >= (4, 0) or self.release < (0, 11) else f" (__consumer_offsets-{self.partition})"

    @property
    def _dot(self) -> str:
        return "." if self.release >= (4, 0) else ""

    def preparing(self, old: int, reason: str) -> str:
        """A rebalance begins; before 2.1 nobody says why."""
        if self.release < (0, 11):
            return self.prefixed(f"Preparing to restabilize group {self.group} with old generation {old}")
        if self.release < (2, 1):
            return self.prefixed(f"Preparing to rebalance group {self.group} with old generation {old}{self._where}")
        return self.prefixed(
            f"Preparing to rebalance group {self.group} in state PreparingRebalance with old generation {old}"
            f"{self._where} (reason: {reason}){self._dot}"
        )

    def stabilized(self, generation: int, members: int) -> str:
        """Everybody joined."""
        counted = f" with {members} members" if self.release >= (2, 8) else ""
        return self.prefixed(f"Stabilized group {self.group} generation {generation}{self._where}{counted}{self._dot}")

    def assigned(self, generation: int, members: int, leader: str) -> str:
        """The leader's assignment arrived; it is named from 3.0 on."""
        who = f" {leader}" if self.release >= (3, 0) else ""
        counted = f". The group has {members} members, 0 of which are static." if self.release >= (2, 8) else ""
        return self.prefixed(
            f"Assignment received from leader{who} for group {self.group} for generation {generation}{counted}"
        )

    def empty(self, generation: int) -> str:
        """The last member left."""
        return self.prefixed(f"Group {self.group} with generation {generation} is now empty{self._where}{self._dot}")

    def introduced(self, member: str) -> str:
        """A newcomer is given its member id and shall come again with it."""
        request = "requesting" if self.release >= (4, 0) else "request"
        return self.prefixed(
            f"Dynamic member with unknown member id joins group {self.group} in PreparingRebalance state. "
            f"Created a new member id {member} and {request} the member to rejoin with this id."
        )

    def failed(self, member: str) -> str:
        """A session expired."""
        return self.prefixed(f"Member {member} in group {self.group} has failed, removing it from the group{self._dot}")

    def left(self, member: str, reason: str = "the consumer is being closed") -> str:
        """A member sent LeaveGroup; with its reason since 3.2."""
        if self.release >= (4, 0):
            return self.prefixed(
                f"[Group {self.group}] Member {member} has left group through explicit `LeaveGroup` request; "
                f"client reason: {reason}"
            )
        if self.release >= (3, 2):
            client = member.split("-0000", 1)[0]
            return self.prefixed(
                f"Member MemberMetadata(memberId={member}, groupInstanceId=None, clientId={client}, "
                "clientHost=/10.0.0.7, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, "
                f"supportedProtocols=List(range)) has left group {self.group} through explicit `LeaveGroup`; "
                f"client reason: {reason}"
            )
        if self.release >= (2, 4):
            return self.prefixed(
                f"Member[group.instance.id None, member.id {member}] in group {self.group} has left, "
                "removing it from the group"
            )
        return self.prefixed(f"Member {member} in group {self.group} has left, removing it from the group")

    def adding(self, member: str) -> str:
        """The reason when somebody new comes."""
        return f"Adding new member {member} with group instance id None" + (
            "; client reason: not provided" if self.release >= (3, 2) else ""
        )

    def leaving(self, member: str, reason: str = "the consumer is being closed") -> str:
        """The reason when somebody leaves."""
        if self.release >= (4, 0):
            return f"explicit `LeaveGroup` request for ({member}) members."
        if self.release >= (3, 0):
            return f"Removing member {member} on LeaveGroup" + (
                f"; client reason: {reason}" if self.release >= (3, 2) else ""
            )
        return f"removing member {member} on LeaveGroup"


@dataclass(frozen=True, kw_only=True)
class ConsumerWords:
    """The lines of one consumer with an eager assignor."""

    group: str
    client: str
    release: Release

    def prefixed(self, message: str) -> str:
        """A message behind the consumer's prefix, which it has from 1.0 on."""
        if self.release < (1, 0):
            return message
        return f"[Consumer clientId={self.client}, groupId={self.group}] {message}"

    @property
    def _group(self) -> str:
        """Before 1.0 the message itself names the group."""
        return f" {self.group}" if self.release < (1, 0) else ""

    @property
    def _for_group(self) -> str:
        return f" for group {self.group}" if self.release < (1, 0) else ""

    def revoking(self, partitions: Sequence[str]) -> str:
        """Everything is given back before the join."""
        named = ", ".join(partitions)
        if self.release < (2, 4):
            return self.prefixed(f"Revoking previously assigned partitions [{named}]{self._for_group}")
        return self.prefixed(f"Revoke previously assigned partitions {named}")

    def interrupted(self) -> str:
        """The answer to its heartbeat tells it of the rebalance."""
        if self.release < (1, 0):
            return f"Attempt to heartbeat failed for group {self.group} since it is rebalancing."
        return self.prefixed("Attempt to heartbeat failed since group is rebalancing")

    def joining(self) -> str:
        """JoinGroup goes out."""
        return self.prefixed(f"(Re-)joining group{self._group}")

    def introduced(self, member: str) -> str:
        """It was given its member id and joins with it."""
        named = f": {member}" if self.release >= (3, 2) else ""
        return self.prefixed(f"Request joining group due to: need to re-join with the given member-id{named}")

    def joined(self, generation: int, member: str) -> str:
        """JoinGroup was answered (before 2.6.1: the whole rebalance is over)."""
        which = generation_of(generation, member) if self.release >= (2, 7) else str(generation)
        return self.prefixed(f"Successfully joined group{self._group} with generation {which}")

    def computed(self, generation: int, given: Mapping[str, Sequence[str]]) -> str | None:
        """What only the leader says, from 2.4 on."""
        if self.release < (2, 4):
            return None
        map_text = ", ".join(f"{m}=Assignment(partitions=[{', '.join(p)}])" for m, p in given.items())
        return self.prefixed(f"Finished assignment for group at generation {generation}: {{{map_text}}}")

    def synced(self, generation: int, member: str) -> str | None:
        """SyncGroup was answered, from 2.6.1 on."""
        if self.release < (2, 7):
            return None
        return self.prefixed(f"Successfully synced group in generation {generation_of(generation, member)}")

    def assigned(self, partitions: Sequence[str]) -> str:
        """What it reads from now on."""
        named = ", ".join(partitions)
        if self.release < (2, 4):
            return self.prefixed(f"Setting newly assigned partitions [{named}]{self._for_group}")
        return self.prefixed(f"Adding newly assigned partitions: {named}")
