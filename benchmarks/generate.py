"""Broker logs of any size from a seed, with an exact share of relevant lines among ordinary broker lines."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

START = datetime(2026, 3, 1, tzinfo=UTC)
BLOCK_LINES = 20_000
UUID_LENGTH = 36

OTHER = tuple(
    """
INFO [ProducerStateManager partition={topic}-{p}] Wrote producer snapshot at offset {n} with 0 producer ids in
    {small} ms. (org.apache.kafka.storage.internals.log.ProducerStateManager)
INFO [LocalLog partition={topic}-{p}, dir=/var/lib/kafka/data] Rolled new log segment at offset {n} in {small} ms.
    (kafka.log.LocalLog)
INFO [UnifiedLog partition={topic}-{p}, dir=/var/lib/kafka/data] Deleting segment LogSegment(baseOffset={n},
    size=1073741824, lastModifiedTime=1772323200000, largestRecordTimestamp=1772323199000) due to retention time
    604800000ms breach based on the largest record timestamp in the segment (kafka.log.UnifiedLog)
INFO [LocalLog partition={topic}-{p}, dir=/var/lib/kafka/data] Deleting segment files LogSegment(baseOffset={n},
    size=1073741824, lastModifiedTime=1772323200000, largestRecordTimestamp=1772323199000) (kafka.log.LocalLog$)
INFO Deleted log /var/lib/kafka/data/{topic}-{p}/000000000000{n}.log.deleted.
    (org.apache.kafka.storage.internals.log.LogSegment)
INFO [ReplicaFetcher replicaId=1, leaderId=2, fetcherId={small}] Truncating partition {topic}-{p} with
    TruncationState(offset={n}, completed=true) due to local high watermark {n} (kafka.server.ReplicaFetcherThread)
INFO [SnapshotGenerator id=1] Creating new KRaft snapshot file snapshot 000000000000{n}-00000{small} because too many
    bytes have been loaded. (org.apache.kafka.image.publisher.SnapshotGenerator)
INFO [Broker id=1] Leader {topic}-{p} with topic id Some(Yk1nDqV2Q0m4mYy0{n}) starts at leader epoch {small} from offset
    {n} with partition epoch 4, high watermark {n}, ISR [1,2,3]. (state.change.logger)
""".replace("\n    ", " ")
    .strip()
    .splitlines()
)


def lines_of_a_rebalance(
    broker: int, group: str, member: str, newcomer: str, generation: int, *, leader: str
) -> list[str]:
    """The lines of a 3.x coordinator from an eviction to the next stable generation."""
    following = generation + 1
    said = [
        f"Member {member} in group {group} has failed, removing it from the group",
        (
            f"Preparing to rebalance group {group} in state PreparingRebalance with old generation {generation} "
            f"(__consumer_offsets-7) (reason: removing member {member} on heartbeat expiration)"
        ),
        (
            f"Dynamic member with unknown member id joins group {group} in PreparingRebalance state. "
            f"Created a new member id {newcomer} and request the member to rejoin with this id."
        ),
        f"Stabilized group {group} generation {following} (__consumer_offsets-7) with 3 members",
        (
            f"Assignment received from leader {leader} for group {group} for generation {following}. "
            "The group has 3 members, 0 of which are static."
        ),
    ]
    return [f"INFO [GroupCoordinator {broker}]: {words} (kafka.coordinator.group.GroupCoordinator)" for words in said]


def relevant_lines(chance: random.Random, groups: int, seed: int) -> Iterator[str]:
    """Rebalances of many groups in turn; each seed has its own broker and groups."""
    generations = dict.fromkeys(range(groups), 1)
    # By order of joining: the coordinator elects the next member once the leader is evicted.
    members = [[_member_id(chance, f"app{seed}-{number}-{client}") for client in range(3)] for number in range(groups)]
    while True:
        number = chance.randrange(groups)
        of_group = members[number]
        evicted = of_group.pop(chance.randrange(3))
        of_group.append(_member_id(chance, evicted[:-UUID_LENGTH]))
        yield from lines_of_a_rebalance(
            seed + 1, f"team{seed}-{number}", evicted, of_group[-1], generations[number], leader=of_group[0]
        )
        generations[number] += 1


def _member_id(chance: random.Random, client: str) -> str:
    return f"{client.rstrip('-')}-{UUID(int=chance.getrandbits(128))}"


def generate(path: Path, size: int, *, share: float, seed: int, groups: int = 200) -> Path:
    """Write a log of about `size` bytes, with a share of relevant lines."""
    chance = random.Random(seed)
    relevant = relevant_lines(chance, groups, seed)
    at, written, owed = START, 0, 0.0
    with path.open("w") as log:
        while written < size:
            block = []
            for _ in range(BLOCK_LINES):
                at += timedelta(milliseconds=chance.randrange(1, 40))
                owed += share
                if owed >= 1:
                    owed -= 1
                    text = next(relevant)
                else:
                    text = chance.choice(OTHER).format(
                        topic=f"orders.v{chance.randrange(40)}", p=chance.randrange(64), n=chance.randrange(10**8),
                        small=chance.randrange(90),
                    )  # fmt: skip
                block.append(f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}] {text}\n")
            written += log.write("".join(block))
    return path


def main() -> None:
    """Generate one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    generate(arguments.path, arguments.mib << 20, share=arguments.share, seed=arguments.seed)


if __name__ == "__main__":
    main()
