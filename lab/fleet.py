"""A night of a whole cluster: what one broker, host or deployment does to many groups.

`python -m lab.fleet broker-killed --out DIR`: as `python -m lab`, but with tens of groups on three brokers. A host is
one process with members of several groups.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from lab.cluster import Cluster
from lab.jars import client_jars
from lab.members import Group, Protocol
from lab.processes import JavaProcess, Processes, properties
from lab.recording import listened, now, write_rows
from lab.run import GROUP_FORMS_WITHIN_S, owned_by

TOPIC = "orders"
PARTITIONS = 6
BROKERS = 3
QUIET_MS = 6_000
NAMES = (
    *("payments", "billing", "ledger", "audit", "fraud", "search", "mailer", "clicks", "stock", "prices", "orders-eu"),
    *(
        "orders-us",
        "returns",
        "invoices",
        "shipping",
        "refunds",
        "geo",
        "alerts",
        "reports",
        "etl",
        "coupons",
        "wallet",
    ),
    *("carts", "leads"),
)


@dataclass(slots=True)
class Host:
    """One process with members of several groups: (group, number of the member)."""

    name: str
    seats: list[tuple[Group, int]]
    process: JavaProcess | None = None


@dataclass(slots=True)
class Fleet:
    """The running cluster, for a night to disturb; times are seconds from the moment all groups were steady."""

    cluster: Cluster
    hosts: dict[str, Host]
    start: Callable[[Host], None]
    began: float = field(default_factory=time.monotonic)
    faults: list[dict[str, object]] = field(default_factory=list)

    def at(self, seconds: float) -> None:
        """Wait until that many seconds have passed since the groups were steady."""
        time.sleep(max(0.0, self.began + seconds - time.monotonic()))

    def note(self, kind: str, target: str, ms: int | None = None) -> None:
        """Write a fault down with its time."""
        self.faults.append({"ts": now(), "kind": kind, "target": target, **({} if ms is None else {"ms": ms})})

    def kill_broker(self, node: int) -> None:
        """`kill -9`."""
        self.note("kill-broker", f"broker-{node}")
        self.cluster.brokers[node - 1].kill()

    def stop_broker(self, node: int) -> None:
        """Shut a broker down cleanly: it hands its partitions over."""
        self.note("stop-broker", f"broker-{node}")
        self.cluster.brokers[node - 1].stop(within=40)

    def start_broker(self, node: int) -> None:
        """Start it again."""
        self.note("start-broker", f"broker-{node}")
        self.cluster.start(node)

    def freeze(self, what: str, process: JavaProcess, seconds: float) -> None:
        """SIGSTOP and, later, SIGCONT."""
        self.note("pause-broker" if what.startswith("broker") else "pause-process", what, round(seconds * 1000))
        process.signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.signal(signal.SIGCONT)

    def kill(self, host: str) -> None:
        """`kill -9` of a host's process."""
        self.note("kill-process", host)
        self._process(host).kill()

    def restart(self, host: str) -> None:
        """Shut a host's process down cleanly and start it again."""
        self.note("restart-process", host)
        self._process(host).stop()
        self.start(self.hosts[host])

    def _process(self, host: str) -> JavaProcess:
        process = self.hosts[host].process
        if process is None:
            raise RuntimeError(f"{host} does not run")
        return process


Expected = dict[str, object]


def broker_killed(fleet: Fleet) -> list[Expected]:
    """A broker dies and is started again; meanwhile a consumer crashes by itself."""
    fleet.at(5)
    fleet.kill_broker(1)
    fleet.at(20)
    fleet.kill("solo")
    fleet.at(45)
    fleet.start_broker(1)
    fleet.at(85)
    return [
        {"scope": "cluster", "cause": "coordinator-failover", "culprit": "broker-1"},
        {"scope": "group", "group": "batch", "cause": "process-crash", "culprit": "batch-1"},
    ]


def broker_frozen(fleet: Fleet) -> list[Expected]:
    """A broker freezes again and again."""
    for number in range(4):
        fleet.at(5 + 40 * number)
        fleet.freeze("broker-2", fleet.cluster.brokers[1], 16)
    fleet.at(170)
    return [{"scope": "cluster", "cause": "coordinator-failover", "culprit": "broker-2"}]


def broker_stalls(fleet: Fleet) -> list[Expected]:
    """A broker stands still for longer than the sessions of its groups, and too briefly to be fenced."""
    for number in range(5):
        fleet.at(5 + 30 * number)
        fleet.freeze("broker-2", fleet.cluster.brokers[1], 8)
    fleet.at(160)
    return [{"scope": "cluster", "cause": "coordinator-failover", "culprit": "broker-2"}]


def deployment(fleet: Fleet) -> list[Expected]:
    """The hosts of all groups are restarted in turn; a consumer of another group crashes meanwhile."""
    for number, host in enumerate(name for name in fleet.hosts if name.startswith("host-")):
        fleet.at(5 + 18 * number)
        fleet.restart(host)
        if number == 1:
            fleet.kill("solo")
    fleet.at(85)
    return [
        {"scope": "cluster", "cause": "rolling-restart", "culprit": "all"},
        {"scope": "group", "group": "batch", "cause": "process-crash", "culprit": "batch-1"},
    ]


def host_cut_off(fleet: Fleet) -> list[Expected]:
    """One host with members of several groups stands still."""
    fleet.at(5)
    process = fleet.hosts["host-2"].process
    if process is not None:
        fleet.freeze("host-2", process, 25)
    fleet.at(65)
    return [{"scope": "cluster", "cause": "process-pause", "culprit": "host-2"}]


def host_lost(fleet: Fleet) -> list[Expected]:
    """One host with members of several groups dies and stays away."""
    fleet.at(5)
    fleet.kill("host-2")
    fleet.at(50)
    return [{"scope": "cluster", "cause": "process-crash", "culprit": "host-2"}]


def rolling_bounce(fleet: Fleet) -> list[Expected]:
    """All brokers are restarted in turn."""
    for node in range(1, 1 + BROKERS):
        fleet.at(5 + 45 * (node - 1))
        fleet.stop_broker(node)
        fleet.start_broker(node)
    fleet.at(160)
    return [{"scope": "cluster", "cause": "coordinator-failover", "culprit": "all-brokers"}]


def quorum_lost(fleet: Fleet) -> list[Expected]:
    """A broker dies whose partitions of the offsets topic then have too few replicas to be written."""
    fleet.at(5)
    fleet.kill_broker(1)
    fleet.at(75)
    fleet.start_broker(1)
    fleet.at(110)
    return [{"scope": "cluster", "cause": "coordinator-failover|offsets-topic-unavailable", "culprit": "broker-1"}]


BROKER_SETTINGS: Mapping[str, Mapping[str, object]] = {
    # So that no controller fences a broker that stands still for 8 s.
    "broker-stalls": {"broker.session.timeout.ms": 20_000},
    "quorum-lost": {"offsets.topic.replication.factor": 2, "min.insync.replicas": 2},
}
NIGHTS: Mapping[str, Callable[[Fleet], list[Expected]]] = {
    "broker-killed": broker_killed,
    "broker-frozen": broker_frozen,
    "broker-stalls": broker_stalls,
    "deployment": deployment,
    "host-cut-off": host_cut_off,
    "host-lost": host_lost,
    "rolling-bounce": rolling_bounce,
    "quorum-lost": quorum_lost,
}


def groups_of(number: int, release: str, session_ms: int) -> list[Group]:
    """Groups of all protocols in turn."""
    protocols: tuple[Protocol, ...] = ("eager", "cooperative", "eager", "static", "kip-848")
    if int(release.partition(".")[0]) < 4:
        protocols = protocols[:4]
    return [
        Group(
            name=name,
            topic=TOPIC,
            release=release,
            protocol=protocols[n % len(protocols)],
            partitions=PARTITIONS,
            session_ms=session_ms,
            heartbeat_ms=session_ms // 3,
        )
        for n, name in enumerate(NAMES[:number])
    ]


def record(night: str, release: str, groups: list[Group], hosts: int, out: Path) -> Path:
    """Run a night and leave logs/, truth.json and listener.jsonl in a folder."""
    shutil.rmtree(out, ignore_errors=True)
    logs = out / "logs"
    batch = Group(name="batch", topic=TOPIC, release=release, protocol="eager", members=2, partitions=PARTITIONS)
    seats = {f"host-{n}": Host(f"host-{n}", [(group, n) for group in groups]) for n in range(1, 1 + hosts)}
    seats["solo"] = Host("solo", [(batch, 1)])
    seats["solo-2"] = Host("solo-2", [(batch, 2)])
    with tempfile.TemporaryDirectory(prefix="rebalance-lab-") as folder, closing(Processes()) as processes:
        scratch = Path(folder)
        cluster = Cluster(processes, release, BROKERS, logs, scratch, BROKER_SETTINGS.get(night))
        _supply(processes, cluster, release, scratch)
        addresses = {name: f"127.0.2.{n}" for n, name in enumerate(seats, 1)}

        def start(host: Host) -> None:
            main = ["LabConsumer"]
            for group, number in host.seats:
                client = group.client_id(number)
                file = properties(scratch / f"{client}.properties", group.consumer_settings(number, cluster.bootstrap))
                main += [str(file), group.topic, "500", str(scratch / f"{client}.listener.jsonl")]
            log = logs / host.name / "app.log"
            os.environ["LAB_ADDRESS"] = addresses[host.name]
            host.process = processes.java(client_jars(release), "192m", main, log, release)
            os.environ.pop("LAB_ADDRESS")

        for host in seats.values():
            start(host)
        clients = [group.client_id(number) for host in seats.values() for group, number in host.seats]
        _wait_until_steady(clients, scratch)
        fleet = Fleet(cluster, seats, start)
        expected = NIGHTS[night](fleet)
        ended = now()
        truth = {
            "scenario": night,
            "kafka_broker": release,
            "kafka_client": release,
            "groups": {group.name: {"protocol": group.protocol, "topic": group.topic} for group in [*groups, batch]},
            "hosts": {name: [group.client_id(n) for group, n in host.seats] for name, host in seats.items()},
            "faults": fleet.faults,
            "expected": expected,
            "window": {"from": fleet.faults[0]["ts"], "to": ended},
        }
        (out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
        for host in seats.values():
            if host.process is not None:
                host.process.kill()
        write_rows(out / "listener.jsonl", [row for row in listened(scratch) if row["ts"] <= ended])
    return out


def _supply(processes: Processes, cluster: Cluster, release: str, scratch: Path) -> None:
    main = ["LabProducer", cluster.bootstrap, TOPIC, str(PARTITIONS), str(BROKERS), "5"]
    log = scratch / "producer.log"
    producer = processes.java(client_jars(release), "64m", main, log, release)
    until = time.monotonic() + GROUP_FORMS_WITHIN_S
    while "topic created" not in log.read_text():
        if not producer.runs or time.monotonic() > until:
            raise RuntimeError(f"the topic could not be created: {log.read_text()[-500:]}")
        time.sleep(0.3)


def _wait_until_steady(clients: Iterable[str], scratch: Path) -> None:
    until = time.monotonic() + 2 * GROUP_FORMS_WITHIN_S
    while time.monotonic() < until:
        rows = listened(scratch)
        owned = owned_by(rows)
        if all(owned.get(client) for client in clients) and now() - rows[-1]["ts"] > QUIET_MS:
            return
        time.sleep(1)
    raise RuntimeError("the groups were not steady in time")


def main() -> None:
    """Record one night."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    parser = argparse.ArgumentParser(prog="python -m lab.fleet", description=__doc__)
    parser.add_argument("night", choices=NIGHTS)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kafka", default="4.1.1")
    parser.add_argument("--groups", type=int, default=20, help=f"at most {len(NAMES)}")
    parser.add_argument("--session", type=int, default=10_000, help="session.timeout.ms")
    parser.add_argument("--hosts", type=int, default=3, help="members of each group, each on its own host")
    chosen = parser.parse_args()
    print(
        record(
            chosen.night, chosen.kafka, groups_of(chosen.groups, chosen.kafka, chosen.session), chosen.hosts, chosen.out
        )
    )


if __name__ == "__main__":
    main()
