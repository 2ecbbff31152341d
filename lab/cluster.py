"""A local Kafka cluster in KRaft mode: every node is a broker and a controller."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile

from lab.jars import broker_jars, tools_jars
from lab.processes import JavaProcess, Processes, properties

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
CLUSTER_ID = "bGFiLWxhYi1sYWItbGFiMQ"
STARTS_WITHIN_S = 90


class Cluster:
    """Brokers of one release; each has a folder in `log_dir` of the run."""

    def __init__(
        self,
        processes: Processes,
        release: str,
        brokers: int,
        logs: Path,
        scratch: Path,
        settings: Mapping[str, object] | None = None,
        address: str = "127.0.0.1",
    ) -> None:
        """Format and start the brokers with additional settings; returns when all of them accept connections."""
        self.release = release
        self._jars = broker_jars(release)
        ports = free_ports(3 * brokers)
        self._address = address
        self.bootstrap = ",".join(f"{address}:{port}" for port in ports[:brokers])
        self.bootstrap_with_login = ",".join(f"{address}:{port}" for port in ports[2 * brokers :])
        voters = ",".join(f"{node + 1}@127.0.0.1:{port}" for node, port in enumerate(ports[brokers : 2 * brokers]))
        self.brokers: list[JavaProcess] = []
        self._processes = processes
        self._commands: list[tuple[list[str], Path]] = []
        for node in range(brokers):
            usual = _settings(node + 1, address, ports[node::brokers], voters, brokers, scratch)
            file = properties(scratch / f"broker-{node + 1}.properties", {**usual, **(settings or {})})
            self._format(file, scratch)
            log = logs / f"broker-{node + 1}" / "server.log"
            main = ["kafka.Kafka", str(file)]
            self._commands.append((main, log))
            self.brokers.append(processes.java(self._jars, "256m", main, log, release))
        for port in ports[:brokers]:
            self._wait_for(port)

    def start(self, node: int) -> None:
        """Restart a broker that was stopped or killed; nodes are numbered from 1."""
        main, log = self._commands[node - 1]
        self.brokers[node - 1] = self._processes.java(self._jars, "256m", main, log, self.release)

    def alter(self, *what: str) -> None:
        """Run `kafka-configs.sh --alter`: change quotas or settings of topics and brokers while they run."""
        jars = tools_jars(self.release)
        with ZipFile(jars / f"kafka-tools-{self.release}.jar") as tools:
            moved = "org/apache/kafka/tools/ConfigCommand.class" in tools.namelist()
        main = "org.apache.kafka.tools.ConfigCommand" if moved else "kafka.admin.ConfigCommand"
        tool = [main, "--bootstrap-server", self.bootstrap, "--alter", *what]
        command = ["java", "-Xmx64m", "-cp", f"{jars}/*", *tool]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def _format(self, settings: Path, scratch: Path) -> None:
        tool = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(settings)]
        command = ["java", "-Xmx64m", "-cp", f"{self._jars}/*", *tool]
        with (scratch / "format.log").open("ab") as log:
            subprocess.run(command, check=True, stdout=log, stderr=log)

    def _wait_for(self, port: int) -> None:
        until = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < until:
            if not all(broker.runs for broker in self.brokers):
                raise RuntimeError("a broker ended while it started; its server.log says why")
            with socket.socket() as client:
                if client.connect_ex((self._address, port)) == 0:
                    return
            time.sleep(0.3)
        raise RuntimeError(f"no broker listens on port {port} after {STARTS_WITHIN_S} s")


def free_ports(number: int) -> list[int]:
    """Free ports of this machine."""
    held = [socket.socket() for _ in range(number)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in held]
    for one in held:
        one.close()
    return ports


def _settings(
    node: int, address: str, ports: Sequence[int], voters: str, brokers: int, scratch: Path
) -> dict[str, object]:
    copies = min(brokers, 3)
    listeners = f"PLAINTEXT://{address}:{ports[0]},SASL_PLAINTEXT://{address}:{ports[2]}"
    return {
        "node.id": node,
        "process.roles": "broker,controller",
        "controller.quorum.voters": voters,
        "controller.listener.names": "CONTROLLER",
        "listeners": f"{listeners},CONTROLLER://127.0.0.1:{ports[1]}",
        "advertised.listeners": listeners,
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": f"{SCRAM} required;",
        # Clients log in again after this time, so that a deleted credential takes effect during the run.
        "connections.max.reauth.ms": 10_000,
        "log.dirs": scratch / f"data-{node}",
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": 5,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": 1,
        "auto.create.topics.enable": "false",
        # Broker sessions are as short as the members', because a lab run often waits for them.
        "group.consumer.session.timeout.ms": 10_000,
        "group.consumer.min.session.timeout.ms": 10_000,
        "group.consumer.heartbeat.interval.ms": 3_000,
        "group.consumer.min.heartbeat.interval.ms": 3_000,
    }
