"""The members of a consumer group: real Java consumers, each in its own process."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from lab.jars import client_jars
from lab.processes import JavaProcess, Processes, java_command, properties
from lab.supervision import supervised

Protocol = Literal["eager", "cooperative", "static", "kip-848"]
PROTOCOLS: tuple[Protocol, ...] = ("eager", "cooperative", "static", "kip-848")
ASSIGNORS = {
    "eager": "org.apache.kafka.clients.consumer.RangeAssignor",
    "static": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The configuration of a group's members."""

    name: str = "payments"
    topic: str = "orders"
    release: str = "4.1.1"
    protocol: Protocol = "eager"
    members: int = 4
    partitions: int = 8
    batch_ms: int = 2_000
    session_ms: int = 10_000
    heartbeat_ms: int = 3_000
    poll_interval_ms: int = 30_000
    settings: dict[str, str] = field(default_factory=dict)
    """Additional consumer settings."""
    heap: str = "64m"
    jvm: tuple[str, ...] = ()
    """Additional options of the members' JVMs."""
    supervised: tuple[int, ...] = ()
    """Numbers of the members that supervisord runs."""

    def client_id(self, number: int) -> str:
        """The client id of a member; members are numbered from 1."""
        return f"{self.name}-{number}"

    def consumer_settings(self, number: int, bootstrap: str) -> dict[str, object]:
        """The contents of its consumer.properties."""
        found: dict[str, object] = {
            "bootstrap.servers": bootstrap,
            "group.id": self.name,
            "client.id": self.client_id(number),
            "max.poll.interval.ms": self.poll_interval_ms,
            "max.poll.records": 20,
            "auto.offset.reset": "earliest",
            "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
            "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
        }
        if self.protocol == "kip-848":
            found["group.protocol"] = "consumer"
        else:
            found["partition.assignment.strategy"] = ASSIGNORS[self.protocol]
            found["session.timeout.ms"] = self.session_ms
            found["heartbeat.interval.ms"] = self.heartbeat_ms
        if self.protocol == "static":
            found["group.instance.id"] = f"{self.name}-instance-{number}"
        return {**found, **self.settings}


class Members:
    """The running members, by number."""

    def __init__(self, processes: Processes, group: Group, bootstrap: str, logs: Path, scratch: Path) -> None:
        self.group = group
        self.running: dict[int, JavaProcess] = {}
        self._processes = processes
        self._bootstrap = bootstrap
        self._logs = logs
        self._scratch = scratch
        self._jars = client_jars(group.release)

    def start(self, number: int) -> None:
        """Start or restart a member."""
        client = self.group.client_id(number)
        settings = self.group.consumer_settings(number, self._bootstrap)
        file = properties(self._scratch / f"{client}.properties", settings)
        listener = self._scratch / f"{client}.listener.jsonl"
        main = ["LabConsumer", str(file), self.group.topic, str(self.group.batch_ms), str(listener)]
        log = self.folder(number) / "app.log"
        gc_log = f"-Xlog:gc*,safepoint:file={self.folder(number) / 'gc.log'}:time,uptime,level,tags"
        command = java_command(self._jars, self.group.heap, main, self.group.release, options=(gc_log, *self.group.jvm))
        environment = None
        if number in self.group.supervised:
            command, environment = supervised(client, command, self.folder(number))
            log = self._scratch / f"{client}.supervisord.out"
        self.running[number] = self._processes.start(command, log, environment)

    def folder(self, number: int) -> Path:
        """The folder with the logs of a member's host."""
        return self._logs / f"node-{number}"
