"""The log of a coordinator: groups that rebalance every few minutes, alone or among a broker's start-up traffic."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from pathlib import Path
from uuid import UUID

START = datetime(2026, 3, 1, tzinfo=UTC)
_LOGGER = "kafka.coordinator.group.GroupCoordinator"
_BETWEEN_REBALANCES_S = (120, 600)
PARTITION_TRAFFIC = tuple(
    """
INFO [LogLoader partition={topic}-{p}, dir=/var/lib/kafka/b1] Loading producer state till offset {n}
    (org.apache.kafka.storage.internals.log.UnifiedLog)
INFO Created log for partition {topic}-{p} in /var/lib/kafka/b1/{topic}-{p} with properties {{}} (kafka.log.LogManager)
INFO [Partition {topic}-{p} broker=1] No checkpointed highwatermark is found for partition {topic}-{p}
    (kafka.cluster.Partition)
INFO [Partition {topic}-{p} broker=1] Log loaded for partition {topic}-{p} with initial high watermark {n}
    (kafka.cluster.Partition)
INFO [Broker id=1] Follower {topic}-{p} starts at leader epoch 3 from offset {n} with partition epoch 4 and high
    watermark {n}. Current leader is 3. Previous leader Some(2) and previous leader epoch was 2. (state.change.logger)
INFO [Broker id=1] Transitioning {p} partition(s) to local followers. (state.change.logger)
INFO [ReplicaFetcherManager on broker 1] Removed fetcher for partitions Set({topic}-{p})
    (kafka.server.ReplicaFetcherManager)
INFO [UnifiedLog partition={topic}-{p}, dir=/var/lib/kafka/b1] Truncating to {n} has no effect as the largest offset in
    the log is {n} (kafka.log.UnifiedLog)
INFO [GroupCoordinator id=1] Scheduling loading of metadata from {topic}-{p} with epoch 3
    (org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)
""".replace("\n    ", " ")
    .strip()
    .splitlines()
)
"""Lines that a broker logs by the thousand when it starts or takes over partitions."""
CONNECTION_TRAFFIC = (
    "INFO [AdminClient clientId=adminclient-{p}] Node {p} disconnected. (org.apache.kafka.clients.NetworkClient)",
    (
        "INFO [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Node 2 disconnected. "
        "(org.apache.kafka.clients.NetworkClient)"
    ),
    (
        "INFO [GroupCoordinator 1]: Elected as the group coordinator for partition {p} in epoch {n} "
        "(kafka.coordinator.group.GroupCoordinator)"
    ),
    "INFO Kafka version: 3.9.0 (org.apache.kafka.common.utils.AppInfoParser)",
)
"""Lines without a group that may concern any group: a broker's own clients, elections and versions."""
Said = tuple[float, str]
"""Seconds since START, and a message of the coordinator."""


@dataclass(slots=True)
class _Group:
    """A group of the classic protocol on a 3.x broker, and its members."""

    name: str
    chance: random.Random
    partition: int
    generation: int = 0
    members: list[str] = field(default_factory=list)
    clients: int = 0

    def rebalance(self, at: float) -> Iterator[Said]:
        """The messages of a random rebalance, up to the next stable generation."""
        happening = "join" if len(self.members) < 2 else self.chance.choice(("join", "leave", "evict", "evict"))
        yield from getattr(self, f"_{happening}")(at)
        self.generation += 1
        done = at + self.chance.uniform(0.05, 3.0)
        size = len(self.members)
        yield done, f"Stabilized group {self.name} generation {self.generation} ({self._log}) with {size} members"
        yield (
            done + 0.02,
            (
                f"Assignment received from leader {self.members[0]} for group {self.name} for generation "
                f"{self.generation}. The group has {size} members, 0 of which are static."
            ),
        )

    @property
    def _log(self) -> str:
        return f"__consumer_offsets-{self.partition}"

    def _opened(self, at: float, reason: str) -> Said:
        state = "PreparingRebalance with old generation"
        return at, f"Preparing to rebalance group {self.name} in state {state} {self.generation} ({self._log}) {reason}"

    def _request(self, at: float, client: str, state: str) -> Said:
        member = f"{client}-{UUID(int=self.chance.getrandbits(128))}"
        self.members.append(member)
        return at, (
            f"Dynamic member with unknown member id joins group {self.name} in {state} state. Created a new member id "
            f"{member} and request the member to rejoin with this id."
        )

    def _join(self, at: float) -> Iterator[Said]:
        self.clients += 1
        yield self._request(at, f"consumer-{self.name}-{self.clients}", "Stable" if self.generation else "Empty")
        reason = (
            f"(reason: Adding new member {self.members[-1]} with group instance id None; client reason: not provided)"
        )
        yield self._opened(at + 0.003, reason)

    def _leave(self, at: float) -> Iterator[Said]:
        member = self.members.pop(self.chance.randrange(len(self.members)))
        why = "client reason: the consumer is being closed"
        yield self._opened(at, f"(reason: Removing member {member} on LeaveGroup; {why})")
        yield (
            at + 0.001,
            (
                f"Member MemberMetadata(memberId={member}, groupInstanceId=None, clientId={member[:-37]}, "
                "clientHost=/10.0.3.17, sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, "
                f"supportedProtocols=List(range, cooperative-sticky)) has left group {self.name} through explicit "
                f"`LeaveGroup`; {why}"
            ),
        )

    def _evict(self, at: float) -> Iterator[Said]:
        member = self.members.pop(self.chance.randrange(len(self.members)))
        yield at, f"Member {member} in group {self.name} has failed, removing it from the group"
        yield self._opened(at + 0.001, f"(reason: removing member {member} on heartbeat expiration)")
        yield self._request(at + self.chance.uniform(0.01, 2.0), member[:-37], "PreparingRebalance")


def sayings(seed: int, groups: int, broker: int = 1, partitions: int = 50) -> Iterator[tuple[datetime, str]]:
    """Endless messages of the coordinator of many groups in order of time; it leads `partitions` offsets partitions."""
    chance = random.Random(seed)
    pending: list[tuple[float, int, str | None]] = []
    known = [_Group(f"team{seed}-{n}", chance, n % partitions) for n in range(groups)]
    for number in range(groups):
        heappush(pending, (chance.uniform(0, _BETWEEN_REBALANCES_S[1]), number, None))
    while True:
        at, number, text = heappop(pending)
        if text is not None:
            yield START + timedelta(seconds=at), f"INFO [GroupCoordinator {broker}]: {text} ({_LOGGER})"
            continue
        for said in known[number].rebalance(at):
            heappush(pending, (said[0], number, said[1]))
        heappush(pending, (at + chance.uniform(*_BETWEEN_REBALANCES_S), number, None))


def write(
    path: Path,
    lines: int,
    *,
    groups: int = 200,
    seed: int = 7,
    share: float = 1.0,
    traffic: Sequence[str] = PARTITION_TRAFFIC,
) -> Path:
    """Write a log of which a share of the lines is about groups; the rest is `traffic`."""
    chance, said = random.Random(seed), sayings(seed, groups)
    at, owed = START, 0.0
    with path.open("w") as log:
        for _ in range(lines):
            owed += share
            if owed >= 1:
                owed -= 1
                at, text = next(said)
            else:
                text = chance.choice(traffic).format(
                    topic=f"orders.v{chance.randrange(40)}", p=chance.randrange(64), n=chance.randrange(10**8)
                )
            log.write(f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}] {text}\n")
    return path


def main() -> None:
    """Write one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--lines", type=int, default=30_000)
    parser.add_argument("--groups", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--share", type=float, default=1.0, help="of lines that the coordinator says")
    given = parser.parse_args()
    write(given.path, given.lines, groups=given.groups, seed=given.seed, share=given.share)


if __name__ == "__main__":
    main()
