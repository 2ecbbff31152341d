"""The worked example of "How to Read a Rebalance": two Streams nodes, times without dates, no broker."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

NODES = {0: "otter-app-225712b8-b54d-4043-a7e1-c489ee4f8fd5", 1: "otter-app-c4497316-8891-4f1a-b60e-6952b7c56fcf"}
THREADS = ((0, 1), (0, 2), (1, 1), (1, 2))
COORDINATOR = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator:826"
ASSIGNOR = "org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor:427"
STREAM_THREAD = "org.apache.kafka.streams.processor.internals.StreamThread:577"
UUID = "7f45268d-547c-47ed-a835-48e7d1503b0{}"

Thread = tuple[int, int]


def consumer_of(thread: Thread) -> str:
    """The client id of a thread's consumer."""
    return f"{NODES[thread[0]]}-StreamThread-{thread[1]}-consumer"


def member_of(thread: Thread, life: int = 0) -> str:
    """Its member id, another one after each time it lost its membership."""
    return f"{consumer_of(thread)}-{UUID.format(4 * life + THREADS.index(thread))}"


def generation(number: int, member: str) -> str:
    """As a client prints it; a Streams assignor is called `stream`."""
    return f"Generation{{generationId={number}, memberId='{member}', protocol='stream'}}"


class OtterApp:
    """The logs of both nodes, rebalance by rebalance."""

    def __init__(self) -> None:
        """Begin with empty logs."""
        self.lines: dict[int, list[tuple[str, str]]] = {0: [], 1: []}
        self.lives = dict.fromkeys(THREADS, 0)

    def say(self, node: int, time: str, message: str, logger: str) -> None:
        """One record of a node."""
        first, newline, rest = message.partition("\n")
        text = f"[{time}] INFO {first}{newline}{rest} ({logger})"
        self.lines[node].append((time, text))

    def consumer_says(self, thread: Thread, time: str, message: str) -> None:
        """A thread's consumer speaks."""
        self.say(
            thread[0], time, f"[Consumer clientId={consumer_of(thread)}, groupId=otter-app] {message}", COORDINATOR
        )

    def joined(self, number: int, time: str, leader: Thread, members: Sequence[Thread] = THREADS) -> None:
        """Everybody's JoinGroup is answered; the leader lists who takes part."""
        for thread in members:
            identity = generation(number, member_of(thread, self.lives[thread]))
            self.consumer_says(thread, time, f"Successfully joined group with generation {identity}")
        who = "".join(
            f"\n{NODES[node].removeprefix('otter-app-')}: ["
            + ", ".join(member_of(t, self.lives[t]) for t in members if t[0] == node)
            + "]"
            for node in NODES
        )
        self.say(
            leader[0],
            time,
            f"stream-thread [{consumer_of(leader)}] {len(NODES)} client nodes and {len(members)} consumers "
            f"participating in this rebalance: {who}.",
            ASSIGNOR,
        )

    def sync_failed(self, number: int, time: str, thread: Thread, why: str) -> None:
        """A SyncGroup is refused."""
        identity = generation(number, member_of(thread, self.lives[thread]))
        self.consumer_says(
            thread, time, f"SyncGroup failed: {why} Need to re-join the group. Sent generation was {identity}"
        )

    def expelled(self, number: int, time: str, thread: Thread) -> None:
        """A member learns that the coordinator does not know it any more, and comes back under a new id."""
        self.sync_failed(number, time, thread, "The coordinator is not aware of this member.")
        message = "encountered UNKNOWN_MEMBER_ID from SYNC_GROUP response"
        self.consumer_says(thread, time, f"Resetting generation and member id due to: {message}")
        self.consumer_says(thread, time, f"Request joining group due to: {message}")
        self.lives[thread] += 1

    def synced(self, number: int, time: str) -> None:
        """Everybody is given its tasks."""
        for thread in THREADS:
            identity = generation(number, member_of(thread, self.lives[thread]))
            self.consumer_says(thread, time, f"Successfully synced group in generation {identity}")

    def probes(self, time: str, due: str, thread: Thread) -> None:
        """The leader is not content and asks for a probing rebalance."""
        self.say(
            thread[0],
            time,
            f"stream-thread [{consumer_of(thread)}] Requesting followup rebalance be scheduled by "
            f"{member_of(thread, self.lives[thread])} for 2026-03-01 {due},000 Z to probe for caught-up replica tasks.",
            ASSIGNOR,
        )
        self.say(
            thread[0],
            time,
            f"stream-thread [{consumer_of(thread)}] Finished unstable assignment of tasks, a followup "
            "rebalance will be scheduled.",
            ASSIGNOR,
        )

    def probing(self, number: int, time: str, thread: Thread) -> None:
        """The probing rebalance takes place."""
        name = consumer_of(thread).removesuffix("-consumer")
        self.say(
            thread[0],
            f"{time},005",
            f"stream-thread [{name}] Triggering the followup rebalance scheduled for 2026-03-01 {time},000 Z.",
            STREAM_THREAD,
        )
        self.consumer_says(thread, f"{time},006", "Request joining group due to: Scheduled probing rebalance")
        for other in THREADS:
            self.consumer_says(other, f"{time},900", "(Re-)joining group")
        self.joined(number, f"{time},990", thread)

    def write(self, directory: Path) -> Path:
        """The logs as files, node0.log and node1.log."""
        directory.mkdir(exist_ok=True)
        for node, lines in self.lines.items():
            ordered = [text for _, text in sorted(lines, key=lambda line: line[0])]
            (directory / f"node{node}.log").write_text("\n".join(ordered) + "\n")
        return directory


def otter_app() -> OtterApp:
    """Two leaders lose their membership, the third rejoins at once, then probing rebalances every ten minutes."""
    app = OtterApp()
    for at, number, leader, lost in (
        ("11:08:54", 740, (0, 2), "11:09:44,980"),
        ("11:09:45", 741, (1, 1), "11:10:56,800"),
    ):
        for thread in THREADS:
            app.consumer_says(thread, f"{at},100", "(Re-)joining group")
        app.joined(number, f"{at},375", leader)
        app.expelled(number, lost, leader)
    for thread in THREADS:
        app.consumer_says(thread, "11:10:56,900", "(Re-)joining group")
    app.joined(742, "11:10:57,340", (0, 1))
    app.sync_failed(742, "11:10:57,345", (0, 1), "The group began another rebalance.")
    app.consumer_says((0, 1), "11:10:57,346", "(Re-)joining group")
    app.joined(743, "11:10:57,362", (0, 1))
    app.probes("11:10:57,380", "11:20:57", (0, 1))
    app.synced(743, "11:10:57,420")
    for number, at, due in (
        (744, "11:20:57", "11:30:57"),
        (745, "11:30:57", "11:40:57"),
        (746, "11:40:57", "11:50:57"),
    ):
        app.probing(number, at, (0, 1))
        app.probes(f"{at},992", due, (0, 1))
        app.synced(number, f"{at},995")
    return app
