"""Logs in which most lines name no group: the log of a broker, and the log of a node that runs many clients."""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from heapq import merge
from itertools import islice
from pathlib import Path

from benchmarks.coordinator_log import PARTITION_TRAFFIC, sayings
from benchmarks.generate import OTHER

START = datetime(2026, 3, 1, tzinfo=UTC)
OF_A_GROUP, WITHOUT_A_GROUP = 0.04, 0.16
"""Shares of a broker's lines; in 32 MiB, some 28,000 lines then have no group. No rule uses the other lines."""
GROUPS = 200
_NETWORK = "org.apache.kafka.clients.NetworkClient"
_APP_INFO = "org.apache.kafka.common.utils.AppInfoParser"
_COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
_MANAGER = "kafka.coordinator.group.GroupMetadataManager"
_MEMBER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
_FENCE = "org.apache.kafka.controller.BrokerHeartbeatManager"
# The groups' partitions stay on this broker; another broker hands its own over while it restarts.
_OWN_PARTITIONS, _PARTITIONS = 25, 50
_BETWEEN_RESTARTS = 2_000
"""Number of lines without a group between two restarts of the other broker."""

_OF_CLIENTS = (
    f"INFO [Producer clientId=app-{{c}}-producer-{{p}}] Node {{b}} disconnected. ({_NETWORK})",
    (
        "INFO [Producer clientId=app-{c}-producer-{p}] Cancelled in-flight PRODUCE request with correlation id {n} due "
        "to node {b} being disconnected (elapsed time since creation: 38ms, elapsed time since send: 38ms, throttle "
        f"time: 0ms, request timeout: 30000ms) ({_NETWORK})"
    ),
    f"INFO [AdminClient clientId=app-{{c}}-admin] Node {{b}} disconnected. ({_NETWORK})",
    f"INFO [Producer clientId=app-{{c}}-producer-{{p}}] Node -1 disconnected. ({_NETWORK})",
    (
        "INFO [Producer clientId=app-{c}-producer-{p}] Cluster ID: 5L6g3nShT-eMCtK--X86sw "
        "(org.apache.kafka.clients.Metadata)"
    ),
    f"INFO Kafka version: 3.9.0 ({_APP_INFO})",
    f"INFO App info kafka.producer for app-{{c}}-producer-{{p}} unregistered ({_APP_INFO})",
    f"INFO App info kafka.admin.client for app-{{c}}-admin unregistered ({_APP_INFO})",
    (
        "INFO ProducerConfig values: acks = -1, client.id = app-{c}-producer-{p}, request.timeout.ms = 30000 "
        "(org.apache.kafka.clients.producer.ProducerConfig)"
    ),
)
"""Lines of producers and admin clients."""
_OF_A_BROKER = (
    f"INFO [ReplicaFetcher replicaId=1, leaderId={{b}}, fetcherId=0] Node {{b}} disconnected. ({_NETWORK})",
    f"INFO [AdminClient clientId=adminclient-{{p}}] Node {{b}} disconnected. ({_NETWORK})",
    (
        "INFO [Partition orders.v{c}-{p} broker=1] Shrinking ISR from 1,2,3 to 1,3. Leader: (highWatermark: {n}, "
        "endOffset: {n}). Out of sync replicas: (brokerId: 2, endOffset: {n}). (kafka.cluster.Partition)"
    ),
    f"INFO Kafka version: 3.9.0 ({_APP_INFO})",
)
"""Lines about a broker's connections and replicas between two restarts of another broker."""


def _filled(text: str, chance: random.Random) -> str:
    return text.format(
        c=chance.randrange(40), p=chance.randrange(64), b=chance.randrange(2, 4), n=chance.randrange(10**8),
        topic=f"orders.v{chance.randrange(40)}", small=chance.randrange(90),
    )  # fmt: skip


def _handed_over(epoch: int) -> Iterator[str]:
    """Lines of a coordinator that gets the partitions of broker 2 and returns them after its restart."""
    partitions = range(_OWN_PARTITIONS, _PARTITIONS)
    yield (
        "INFO [QuorumController id=1] Unfenced broker 2 has requested and been granted a controlled shutdown. "
        f"({_FENCE})"
    )
    for p in partitions:
        yield (
            f"INFO [GroupCoordinator 1]: Elected as the group coordinator for partition {p} in epoch {epoch} "
            f"({_COORDINATOR})"
        )
        yield (
            f"INFO [GroupMetadataManager brokerId=1] Finished loading offsets and group metadata from "
            f"__consumer_offsets-{p} in 12 milliseconds for epoch {epoch}, of which 1 milliseconds was spent in the "
            f"scheduler. ({_MANAGER})"
        )
    yield (
        "INFO [QuorumController id=1] The request from broker 2 to unfence has been granted because it has caught up "
        f"with the offset of its register broker record {epoch * 100}. ({_FENCE})"
    )
    for p in partitions:
        yield (
            f"INFO [GroupCoordinator 1]: Resigned as the group coordinator for partition {p} in epoch "
            f"OptionalInt[{epoch + 1}] ({_COORDINATOR})"
        )


def _without_a_group(chance: random.Random) -> Iterator[str]:
    """Endless lines of a broker about its clients, its connections and the partitions it takes over."""
    epoch = 4
    while True:
        yield from _handed_over(epoch)
        epoch += 2
        for _ in range(_BETWEEN_RESTARTS):
            yield _filled(chance.choice(_OF_A_BROKER if chance.random() < 0.5 else _OF_CLIENTS), chance)


def _stamped(at: datetime, text: str) -> str:
    return f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}] {text}\n"


def write_broker(path: Path, mib: int, *, groups: int = GROUPS, seed: int = 7) -> Path:
    """Write the log of a broker that coordinates all these groups, mostly with lines about none of them."""
    chance, about_groups = random.Random(seed), sayings(seed, groups, partitions=_OWN_PARTITIONS)
    others = _without_a_group(chance)
    at, written, owed, owed_others = START, 0, 0.0, 0.0
    with path.open("w") as log:
        while written < mib << 20:
            owed += OF_A_GROUP
            owed_others += WITHOUT_A_GROUP
            if owed >= 1:
                owed -= 1
                at, text = next(about_groups)
            elif owed_others >= 1:
                owed_others -= 1
                text = next(others)
            else:
                text = _filled(chance.choice(OTHER + PARTITION_TRAFFIC), chance)
            written += log.write(_stamped(at, text))
    return path


def write_coordinator(path: Path, groups: int, others: int, *, seed: int = 7) -> Path:
    """Write the log of a broker with ten lines of each of its groups, and `others` lines about none of them."""
    about_groups = list(islice(sayings(seed, groups, partitions=_OWN_PARTITIONS), 10 * groups))
    span = about_groups[-1][0] - START
    texts = islice(_without_a_group(random.Random(seed)), others)
    spread = ((START + span * number / others, text) for number, text in enumerate(texts))
    with path.open("w") as log:
        log.writelines(_stamped(at, text) for at, text in merge(about_groups, spread))
    return path


def _of_a_member(group: int) -> Iterator[tuple[float, str]]:
    """The lines of a consumer that joins its group and rejoins it ten minutes later, with their seconds."""
    member = f"consumer-team-{group}-1-{group:08x}-1111-2222-3333-{group:012x}"
    at = group * 2.0
    yield at, f"Subscribed to topic(s): orders.{group}"
    yield at + 0.05, "Discovered group coordinator b1:9092 (id: 2147483646 rack: null)"
    yield at + 0.1, "(Re-)joining group"
    yield at + 0.15, f"Request joining group due to: need to re-join with the given member-id: {member}"
    yield from _of_a_join(group, member, at + 0.2, generation=1)
    yield at + 600, "Request joining group due to: group is already rebalancing"
    yield at + 600.1, f"Revoke previously assigned partitions orders.{group}-0"
    yield from _of_a_join(group, member, at + 600.1, generation=2)


def _of_a_join(group: int, member: str, at: float, generation: int) -> Iterator[tuple[float, str]]:
    known = f"generation Generation{{generationId={generation}, memberId='{member}', protocol='range'}}"
    yield at, "(Re-)joining group"
    yield at + 3, f"Successfully joined group with {known}"
    yield (
        at + 3.05,
        (
            f"Finished assignment for group at generation {generation}: "
            f"{{{member}=Assignment(partitions=[orders.{group}-0])}}"
        ),
    )
    yield at + 3.1, f"Successfully synced group in {known}"
    yield at + 3.1, f"Adding newly assigned partitions: orders.{group}-0"


def _client(group: int) -> str:
    return f"INFO [Consumer clientId=consumer-team-{group}-1, groupId=team-{group}] "


def write_node(path: Path, groups: int, others: int, *, seed: int = 7, subscribed: bool = True) -> Path:
    """Write the log of a node with a consumer of each group, and `others` lines of producers and admin clients.

    Unless `subscribed`, the consumers subscribed before the log begins, and no line shows when.
    """
    chance = random.Random(seed)
    seconds = groups * 2.0 + 700
    lines = [
        *(
            (at, f"{_client(group)}{text} ({_MEMBER})")
            for group in range(groups)
            for at, text in islice(_of_a_member(group), 0 if subscribed else 1, None)
        ),
        *((chance.uniform(0, seconds), _filled(chance.choice(_OF_CLIENTS), chance)) for _ in range(others)),
    ]
    with path.open("w") as log:
        log.writelines(_stamped(START + timedelta(seconds=at), text) for at, text in sorted(lines))
    return path


_COLLECTION = (
    "[gc,start    ] GC({0}) Pause Young (Normal) (G1 Evacuation Pause)",
    "[gc,heap     ] GC({0}) Eden regions: 23->0(19)",
    "[gc          ] GC({0}) Pause Young (Normal) (G1 Evacuation Pause) 102M->84M(128M) 12.{1:03}ms",
    '[safepoint   ] Safepoint "G1CollectForAllocation", Time since last: 103482011 ns, Total: 12{1:03}721 ns',
)


def write_gc_log(path: Path, mib: int) -> Path:
    """A healthy GC log: a short collection ten times a second."""
    begun, size, number = datetime(2026, 11, 20, tzinfo=UTC), 0, 0
    with path.open("w") as log:
        # A log without any recognized line would be rejected.
        log.write(
            "[2026-11-20T00:00:00.001+0000][0.001s][info][gc] GC(0) Pause Full (System.gc()) 9M->2M(9M) 2.015ms\n"
        )
        while size < mib << 20:
            number += 1
            at = begun + timedelta(milliseconds=100 * number)
            header = f"[{at.isoformat(timespec='milliseconds').replace('+00:00', '+0000')}][{number / 10:.3f}s][info]"
            size += log.write("".join(f"{header}{line.format(number, number % 1000)}\n" for line in _COLLECTION))
    return path


def main() -> None:
    """Write one file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument("--groups", type=int, default=GROUPS)
    parser.add_argument("--mib", type=int, default=32, help="of a broker's log")
    parser.add_argument("--node", type=int, help="write a node's log with so many lines without a group")
    given = parser.parse_args()
    if given.node is not None:
        write_node(given.path, given.groups, given.node)
    else:
        write_broker(given.path, given.mib, groups=given.groups)


if __name__ == "__main__":
    main()
