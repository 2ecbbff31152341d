"""`python -m lab.clients --out DIR`: record the same faults in groups of real clients, on one cluster per fault.

For each fault, every client has a group of two members. The faults: the second member is killed and restarted, its
program takes too long for a record, the coordinator of all groups is killed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from lab.clients.table import CLIENTS, Client
from lab.cluster import Cluster
from lab.jars import client_jars
from lab.processes import JavaProcess, Processes
from lab.recording import now

SESSION_MS, HEARTBEAT_MS, POLL_MS = 6_000, 2_000, 8_000
STALL_S = 14
FORMS_WITHIN_S = 90
BROKERS = 3
FAULTS = ("process-crash", "slow-processing", "coordinator-failover")
FULL_GROUP = re.compile(r"Assignment received from leader .* for group (\S+) for generation \d+\. The group has 2 m")
# Up to 3.9, and since 4.0 (CoordinatorRuntime).
ELECTED = re.compile(
    r"(?:Elected as the group coordinator for partition 0 in"
    r"|Finished loading of metadata from __consumer_offsets-0 with) epoch (\d+)"
)


@dataclass(slots=True)
class Recording:
    """A cluster and the commands of the clients, used for all faults in turn."""

    cluster: Cluster
    processes: Processes
    commands: Mapping[str, list[str]]
    trouble: bool
    scratch: Path
    out: Path
    members: dict[tuple[str, int], JavaProcess] = field(default_factory=dict)

    def start(self, fault: str, client: Client, node: int) -> None:
        """Start or restart a member."""
        group = f"{client.name}-{fault}"
        environment = {
            "BOOTSTRAP": self.cluster.bootstrap,
            "GROUP": group,
            "TOPIC": "orders",
            "CLIENT": f"{client.name}-{node}",
            "PROTOCOL": client.protocol,
            "LEVEL": "trouble" if self.trouble else "default",
            "SESSION_MS": str(SESSION_MS),
            "HEARTBEAT_MS": str(HEARTBEAT_MS),
            "POLL_MS": str(POLL_MS),
            "STALL_FILE": str(self.scratch / f"stall-{node}"),
            "STALL_S": str(STALL_S),
            "STATE_DIR": str(self.scratch / f"{group}-{node}"),
            "RUST_LOG": "debug" if self.trouble else "info",
        }
        log = self.out / fault / client.name / f"node-{node}" / "app.log"
        self.members[client.name, node] = self.processes.start(self.commands[client.name], log, environment)

    def run(self, fault: str, clients: list[Client]) -> int:
        """Form the groups and inject the fault; returns its time."""
        for client in clients:
            self.start(fault, client, 1)
            self.start(fault, client, 2)
        self._wait_for_groups(fault, clients)
        at = now()
        if fault == "process-crash":
            for client in clients:
                self.members[client.name, 2].kill()
            time.sleep(SESSION_MS / 1000 + 8)
            for client in clients:
                self.start(fault, client, 2)
            time.sleep(12)
        elif fault == "slow-processing":
            (self.scratch / "stall-2").touch()
            time.sleep(STALL_S + 12)
        else:
            self.cluster.brokers[self._coordinator() - 1].kill()
            time.sleep(25)
        for client in clients:
            # A fault of all groups at once would look like a lost host or an incident of the whole cluster.
            others = re.compile("|".join(f"{name}-(?:{fault}|[12]-)" for name in CLIENTS if name != client.name))
            for log in self.broker_logs():
                kept = self.out / fault / client.name / log.parent.name / log.name
                kept.parent.mkdir(parents=True)
                lines = log.read_text().splitlines(keepends=True)
                kept.write_text("".join(line for line in lines if not others.search(line)))
        return at

    def broker_logs(self) -> list[Path]:
        """The current log files of the brokers."""
        return sorted(self.scratch.glob("logs/broker-*/server.log"))

    def _coordinator(self) -> int:
        """The node that leads the only partition of __consumer_offsets."""
        terms = {int(log.parent.name[-1]): ELECTED.findall(log.read_text()) for log in self.broker_logs()}
        return max((max(map(int, epochs)), node) for node, epochs in terms.items() if epochs)[1]

    def _wait_for_groups(self, fault: str, clients: list[Client]) -> None:
        """Wait until every classic group has had two members, then a while for other groups and assignments."""
        missing = {f"{client.name}-{fault}" for client in clients if client.protocol == "classic"}
        until = time.monotonic() + FORMS_WITHIN_S
        while missing and time.monotonic() < until:
            time.sleep(1)
            missing -= {group for log in self.broker_logs() for group in FULL_GROUP.findall(log.read_text())}
        if missing:
            print(f"without two members after {FORMS_WITHIN_S} s: {', '.join(sorted(missing))}", file=sys.stderr)
        time.sleep(10)


def record(clients: list[Client], faults: list[str], kafka: str, out: Path, *, trouble: bool) -> None:
    """Record all faults; writes FAULT/CLIENT/broker-N/server.log, node-N/app.log and truth.json below `out`."""
    shutil.rmtree(out, ignore_errors=True)
    commands = {client.name: client.command(trouble) for client in clients}
    truth = []
    for fault in faults:
        stricken = [client for client in clients if client.poll_timeout or fault != "slow-processing"]
        with tempfile.TemporaryDirectory(prefix="rebalance-lab-") as folder, closing(Processes()) as processes:
            scratch = Path(folder)
            settings = {"offsets.topic.num.partitions": 1}  # one coordinator for all groups
            cluster = Cluster(processes, kafka, BROKERS, scratch / "logs", scratch, settings)
            main = ["LabProducer", cluster.bootstrap, "orders", "4", str(BROKERS), "2"]
            processes.java(client_jars(kafka), "64m", main, scratch / "producer.log", kafka)
            while "topic created" not in (scratch / "producer.log").read_text():
                time.sleep(0.3)
            at = Recording(cluster, processes, commands, trouble, scratch, out).run(fault, stricken)
        truth += [
            {
                "client": client.name,
                "group": f"{client.name}-{fault}",
                "cause": fault,
                "culprit": "" if fault == "coordinator-failover" else f"{client.name}-2",
                "at": at,
            }
            for client in stricken
        ]
    (out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")


def main() -> None:
    """Record; all processes are ended, even if it is interrupted."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="python -m lab.clients", description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kafka", default="3.9.1", help="release of the brokers")
    parser.add_argument("--clients", nargs="+", choices=CLIENTS, default=list(CLIENTS), metavar="CLIENT")
    parser.add_argument("--faults", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--trouble", action="store_true", help="log as people do who look for a fault")
    chosen = parser.parse_args()
    major = int(chosen.kafka.partition(".")[0])
    clients = [CLIENTS[name] for name in chosen.clients if major in CLIENTS[name].brokers]
    record(clients, chosen.faults, chosen.kafka, chosen.out, trouble=chosen.trouble)


if __name__ == "__main__":
    main()
