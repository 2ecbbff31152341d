"""Nights of a whole cluster: faults of a broker, host or deployment that affect many groups.

`python -m lab.fleet broker-killed --out DIR`: like `python -m lab`, but with tens of groups on three or more brokers.
A host is one process with members of several groups. As root, each host has its own network address.
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from lab.cluster import SCRAM, Cluster
from lab.jars import client_jars
from lab.members import Group, Protocol
from lab.network import BROKERS, Network, is_possible
from lab.processes import JavaProcess, Processes, properties
from lab.recording import listened, now, ran_dry, write_rows
from lab.run import GROUP_FORMS_WITHIN_S, owned_by

TOPIC = "orders"
PARTITIONS = 6
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
    """The running cluster, into which a night injects faults. Times are in seconds since all groups were stable."""

    cluster: Cluster
    hosts: dict[str, Host]
    start: Callable[[Host], None]
    administer: Callable[[str], None]
    """Sends the producer a command through its standard input."""
    network: Network | None = None
    victim: int = 1
    pace: float = 1.0
    """Factor by which all times of the nights are multiplied."""
    began: float = field(default_factory=time.monotonic)
    faults: list[dict[str, object]] = field(default_factory=list)

    def at(self, seconds: float) -> None:
        """Wait until this number of seconds has passed since the groups were stable."""
        time.sleep(max(0.0, self.began + self.pace * seconds - time.monotonic()))

    def note(self, kind: str, target: str, ms: int | None = None) -> None:
        """Record a fault with the current time."""
        self.faults.append({"ts": now(), "kind": kind, "target": target, **({} if ms is None else {"ms": ms})})

    def kill_broker(self, node: int) -> None:
        """`kill -9`."""
        self.note("kill-broker", f"broker-{node}")
        self.cluster.brokers[node - 1].kill()

    def stop_broker(self, node: int) -> None:
        """Shut a broker down cleanly, so that it transfers leadership of its partitions."""
        self.note("stop-broker", f"broker-{node}")
        self.cluster.brokers[node - 1].stop(within=40)

    def start_broker(self, node: int) -> None:
        """Restart a broker."""
        self.note("start-broker", f"broker-{node}")
        self.cluster.start(node)

    def freeze(self, what: str, process: JavaProcess, seconds: float) -> None:
        """Send SIGSTOP, and SIGCONT after the given seconds."""
        seconds *= self.pace
        self.note("pause-broker" if what.startswith("broker") else "pause-process", what, round(seconds * 1000))
        process.signal(signal.SIGSTOP)
        time.sleep(seconds)
        process.signal(signal.SIGCONT)

    def cut_off(self, hosts: list[str], seconds: float) -> None:
        """Disconnect the hosts from the network for the given seconds."""
        if self.network is None:
            raise RuntimeError("cutting a host off takes root and iproute2")
        for host in hosts:
            self.note("network-partition", host, round(self.pace * seconds * 1000))
            self.network.cut(host)
        time.sleep(self.pace * seconds)
        for host in hosts:
            self.network.mend(host)

    def kill(self, host: str) -> None:
        """`kill -9` a host's process."""
        self.note("kill-process", host)
        self._process(host).kill()

    def restart(self, host: str) -> None:
        """Shut a host's process down cleanly and restart it."""
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
    """A broker is killed and restarted; meanwhile a consumer crashes for another reason."""
    fleet.at(5)
    fleet.kill_broker(fleet.victim)
    fleet.at(20)
    fleet.kill("solo")
    fleet.at(45)
    fleet.start_broker(fleet.victim)
    fleet.at(85)
    return [
        {"scope": "cluster", "cause": "coordinator-failover", "culprit": f"broker-{fleet.victim}"},
        {"scope": "group", "group": "batch", "cause": "process-crash", "culprit": "batch-1"},
    ]


def broker_frozen(fleet: Fleet) -> list[Expected]:
    """A broker freezes repeatedly."""
    for number in range(4):
        fleet.at(5 + 40 * number)
        fleet.freeze(f"broker-{fleet.victim}", fleet.cluster.brokers[fleet.victim - 1], 16)
    fleet.at(170)
    return [{"scope": "cluster", "cause": "coordinator-failover", "culprit": f"broker-{fleet.victim}"}]


def broker_stalls(fleet: Fleet) -> list[Expected]:
    """A broker is paused for longer than the session timeouts of its groups, but too briefly to be fenced."""
    for number in range(5):
        fleet.at(5 + 30 * number)
        fleet.freeze(f"broker-{fleet.victim}", fleet.cluster.brokers[fleet.victim - 1], 8)
    fleet.at(160)
    return [{"scope": "cluster", "cause": "coordinator-failover", "culprit": f"broker-{fleet.victim}"}]


def deployment(fleet: Fleet) -> list[Expected]:
    """The hosts of all groups are restarted in turn; meanwhile a consumer of another group crashes."""
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


def host_paused(fleet: Fleet) -> list[Expected]:
    """One host with members of several groups is paused."""
    fleet.at(5)
    process = fleet.hosts["host-2"].process
    if process is not None:
        fleet.freeze("host-2", process, 25)
    fleet.at(65)
    return [{"scope": "cluster", "cause": "process-pause", "culprit": "host-2"}]


def host_cut_off(fleet: Fleet) -> list[Expected]:
    """One host with members of several groups loses its network."""
    fleet.at(5)
    fleet.cut_off(["host-2"], 25)
    fleet.at(75)
    return [{"scope": "cluster", "cause": "network-partition", "culprit": "host-2"}]


def rack_cut_off(fleet: Fleet) -> list[Expected]:
    """Two hosts lose their network at the same time."""
    fleet.at(5)
    fleet.cut_off(["host-1", "host-3"], 30)
    fleet.at(80)
    return [{"scope": "cluster", "cause": "network-partition", "culprit": ["host-1", "host-3"]}]


def host_lost(fleet: Fleet) -> list[Expected]:
    """One host with members of several groups is killed and does not come back."""
    fleet.at(5)
    fleet.kill("host-2")
    fleet.at(50)
    return [{"scope": "cluster", "cause": "process-crash", "culprit": "host-2"}]


def crash_loop(fleet: Fleet) -> list[Expected]:
    """A consumer crashes repeatedly; its supervisor takes longer each time, and the last start hangs."""
    for death, back in ((5, 7), (30, 36), (60, 75), (100, 103)):
        fleet.at(death)
        fleet.kill("solo")
        fleet.at(back)
        fleet.note("start-process", "solo")
        fleet.start(fleet.hosts["solo"])
    process = fleet.hosts["solo"].process
    if process is not None:
        fleet.freeze("solo", process, 25)
    fleet.at(155)
    return [{"scope": "group", "group": "batch", "cause": "process-crash", "culprit": "batch-1"}]


def rolling_bounce(fleet: Fleet) -> list[Expected]:
    """All brokers are restarted in turn."""
    for node in range(1, 1 + len(fleet.cluster.brokers)):
        fleet.at(5 + 45 * (node - 1))
        fleet.stop_broker(node)
        fleet.start_broker(node)
    fleet.at(25 + 45 * len(fleet.cluster.brokers))
    return [{"scope": "cluster", "cause": "coordinator-failover", "culprit": "all-brokers"}]


def quorum_lost(fleet: Fleet) -> list[Expected]:
    """A broker is killed, after which its partitions of the offsets topic have too few in-sync replicas for writes."""
    fleet.at(5)
    fleet.kill_broker(fleet.victim)
    fleet.at(75)
    fleet.start_broker(fleet.victim)
    fleet.at(110)
    culprit = f"broker-{fleet.victim}"
    return [{"scope": "cluster", "cause": "coordinator-failover|offsets-topic-unavailable", "culprit": culprit}]


def topic_grown(fleet: Fleet) -> list[Expected]:
    """Partitions are added to the topic that all groups read."""
    fleet.at(5)
    fleet.note("add-partitions", TOPIC)
    fleet.administer(f"partitions {PARTITIONS + 3}")
    fleet.at(50)
    return [{"scope": "cluster", "cause": "topic-metadata-change", "culprit": TOPIC}]


def credential_expired(fleet: Fleet) -> list[Expected]:
    """The credential of all groups, including the single consumer's, is deleted."""
    fleet.at(5)
    fleet.note("expel", USER)
    fleet.administer(f"expel {USER}")
    fleet.at(60)
    return [{"scope": "cluster", "cause": "authorization-failure", "culprit": "everyone"}]


BROKER_SETTINGS: Mapping[str, Mapping[str, object]] = {
    # No controller is to fence a broker that is paused for 8 s.
    "broker-stalls": {"broker.session.timeout.ms": 20_000},
    "quorum-lost": {"offsets.topic.replication.factor": 2, "min.insync.replicas": 2},
}
WITH_LOGIN = ("credential-expired",)
USER, PASSWORD = "apps", "lab"
LOGIN = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.jaas.config": f'{SCRAM} required username="{USER}" password="{PASSWORD}";',
}
NIGHTS: Mapping[str, Callable[[Fleet], list[Expected]]] = {
    night.__name__.replace("_", "-"): night
    for night in (
        *(broker_killed, broker_frozen, broker_stalls, deployment, host_paused, host_cut_off, rack_cut_off, host_lost),
        *(crash_loop, rolling_bounce, quorum_lost, topic_grown, credential_expired),
    )
}


def groups_of(number: int, release: str, session_ms: int) -> list[Group]:
    """Groups using all protocols in turn."""
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


def record(
    night: str, release: str, groups: list[Group], hosts: int, out: Path, *, brokers: int, victim: int, pace: float
) -> Path:
    """Run a night; writes logs/, truth.json and listener.jsonl to a folder."""
    shutil.rmtree(out, ignore_errors=True)
    logs = out / "logs"
    batch = Group(name="batch", topic=TOPIC, release=release, protocol="eager", members=2, partitions=PARTITIONS)
    seats = {f"host-{n}": Host(f"host-{n}", [(group, n) for group in groups]) for n in range(1, 1 + hosts)}
    seats["solo"] = Host("solo", [(batch, 1)])
    seats["solo-2"] = Host("solo-2", [(batch, 2)])
    with tempfile.TemporaryDirectory(prefix="rebalance-lab-") as folder, ExitStack() as stack:
        processes, scratch = stack.enter_context(closing(Processes())), Path(folder)
        network = stack.enter_context(closing(Network())) if is_possible() else None
        places = {name: network.add(name) if network is not None else () for name in seats}
        address = BROKERS if network is not None else "127.0.0.1"
        cluster = Cluster(processes, release, brokers, logs, scratch, BROKER_SETTINGS.get(night), address)
        producer, produced = _supply(processes, cluster, release, scratch)

        def administer(order: str) -> None:
            producer.tell(order)
            _wait_for_line(f"done {order}", produced)

        login = LOGIN if night in WITH_LOGIN else {}
        # By default, clients look for new partitions only every five minutes.
        usual = {**login, "metadata.max.age.ms": "10000"} if night == "topic-grown" else login
        if login:
            administer(f"admit {USER} {PASSWORD}")
        bootstrap = cluster.bootstrap_with_login if login else cluster.bootstrap

        def start(host: Host) -> None:
            main = ["LabConsumer"]
            for group, number in host.seats:
                client = group.client_id(number)
                settings = {**group.consumer_settings(number, bootstrap), **usual}
                file = properties(scratch / f"{client}.properties", settings)
                main += [str(file), group.topic, "500", str(scratch / f"{client}.listener.jsonl")]
            log = logs / host.name / "app.log"
            host.process = processes.java(client_jars(release), "192m", main, log, release, places[host.name])

        for host in seats.values():
            start(host)
        clients = [group.client_id(number) for host in seats.values() for group, number in host.seats]
        _wait_until_steady(clients, scratch)
        fleet = Fleet(cluster, seats, start, administer, network, victim, pace)
        expected = NIGHTS[night](fleet)
        ended = now()
        truth = _truth(night, release, [*groups, batch], fleet, expected, ended)
        (out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
        for host in seats.values():
            if host.process is not None:
                host.process.kill()
        write_rows(out / "listener.jsonl", [row for row in listened(scratch) if row["ts"] <= ended])
        write_rows(out / "dry.jsonl", [row for row in ran_dry(scratch) if row["ts"] <= ended])
    return out


def _truth(
    night: str, release: str, groups: list[Group], fleet: Fleet, expected: list[Expected], ended: int
) -> dict[str, object]:
    return {
        "scenario": night,
        "kafka_broker": release,
        "kafka_client": release,
        "groups": {group.name: {"protocol": group.protocol, "topic": group.topic} for group in groups},
        "hosts": {name: [group.client_id(n) for group, n in host.seats] for name, host in fleet.hosts.items()},
        "faults": fleet.faults,
        "expected": expected,
        "window": {"from": fleet.faults[0]["ts"], "to": ended},
    }


def _supply(processes: Processes, cluster: Cluster, release: str, scratch: Path) -> tuple[JavaProcess, Path]:
    copies = min(len(cluster.brokers), 3)
    main = ["LabProducer", cluster.bootstrap, TOPIC, str(PARTITIONS), str(copies), "5"]
    log = scratch / "producer.log"
    producer = processes.java(client_jars(release), "64m", main, log, release)
    _wait_for_line("topic created", log)
    return producer, log


def _wait_for_line(line: str, log: Path) -> None:
    until = time.monotonic() + GROUP_FORMS_WITHIN_S
    while line not in log.read_text():
        if time.monotonic() > until:
            raise RuntimeError(f'no "{line}" in time: {log.read_text()[-500:]}')
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
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--victim", type=int, default=1, help="number of the broker that suffers")
    parser.add_argument(
        "--pace", type=float, default=1.0, help="2 makes faults and what lies between them twice as long"
    )
    chosen = parser.parse_args()
    groups = groups_of(chosen.groups, chosen.kafka, chosen.session)
    print(
        record(
            chosen.night,
            chosen.kafka,
            groups,
            chosen.hosts,
            chosen.out,
            brokers=chosen.brokers,
            victim=chosen.victim,
            pace=chosen.pace,
        )
    )


if __name__ == "__main__":
    main()
