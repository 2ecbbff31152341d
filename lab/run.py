"""One run of the lab: a cluster, a group, a fault and their recording."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lab.cluster import Cluster
from lab.jars import client_jars
from lab.members import Group, Members
from lab.processes import Processes
from lab.recording import Expected, Fault, FaultKind, Row, listened, now, truth_of, write_rows
from lab.supervision import kernel_lines, kill_children_of, limit_memory

GROUP_FORMS_WITHIN_S = 120
RECORDS_A_SECOND = 20


@dataclass(slots=True)
class Run:
    """The running group of a scenario. Times are in seconds since it was stable."""

    group: Group
    members: Members
    cluster: Cluster
    scratch: Path
    began: float = field(default_factory=time.monotonic)
    faults: list[Fault] = field(default_factory=list)

    def at(self, seconds: float) -> None:
        """Wait until this number of seconds has passed since the group was stable."""
        time.sleep(max(0.0, self.began + seconds - time.monotonic()))

    def kill(self, number: int) -> None:
        """`kill -9` the process, which cannot send LeaveGroup."""
        self._note("kill-process", number)
        self.members.running[number].kill()

    def pause(self, number: int, seconds: float) -> None:
        """Send SIGSTOP, and SIGCONT after the given seconds, like a long collection or a throttled container."""
        self._note("pause-process", number, seconds)
        self.members.running[number].signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.members.running[number].signal(signal.SIGCONT)

    def stall(self, number: int, seconds: float) -> None:
        """Keep its polling thread busy while heartbeats continue."""
        self._note("stall-polling-thread", number, seconds)
        self.members.running[number].tell(f"stall {self.group.client_id(number)} {round(seconds * 1000)}")

    def throttle(self, number: int, percentage: float, seconds: float) -> None:
        """Set a request quota (request_percentage) for a while; a setting limits the throttle time of each request."""
        self._note("set-request-quota", number, seconds)
        client = ("--entity-type", "clients", "--entity-name", self.group.client_id(number))
        self.cluster.alter(*client, "--add-config", f"request_percentage={percentage}")
        time.sleep(seconds)
        self.cluster.alter(*client, "--delete-config", "request_percentage")

    def call(self, number: int, seconds: float) -> None:
        """Make its polling thread wait this long for a service that does not respond."""
        self._note("stall-polling-thread", number, seconds)
        self.members.running[number].tell(f"call {self.group.client_id(number)} {round(seconds * 1000)}")

    def leak(self, number: int) -> None:
        """Make it allocate objects until its heap is full, and then release them."""
        self._note("fill-heap", number)
        self.members.running[number].tell("leak")

    def fill_memory(self, number: int, megabytes: int) -> None:
        """Leak in a cgroup whose memory limit is below the heap's; the kernel.s log is kept next to its own."""
        member = self.members.running[number]
        before = len(kernel_lines())
        cgroup = limit_memory(member.pid, self.group.client_id(number), megabytes)
        self._note("fill-memory", number)
        member.tell("leak")
        while member.runs:
            time.sleep(0.1)
        (self.members.folder(number) / "dmesg.log").write_text("".join(kernel_lines()[before:]))
        cgroup.rmdir()

    def kill_below_supervisor(self, number: int) -> None:
        """`kill -9` a process that its supervisor restarts."""
        self._note("kill-process", number)
        kill_children_of(self.members.running[number].pid)

    def collect(self, number: int) -> None:
        """Request a full collection by `System.gc()`."""
        subprocess.run(["jcmd", str(self.members.running[number].pid), "GC.run"], check=True, stdout=subprocess.DEVNULL)

    def dump_threads(self, number: int, name: str) -> None:
        """Write the output of `jcmd PID Thread.print` next to its log."""
        with (self.members.folder(number) / name).open("ab") as out:
            subprocess.run(["jcmd", str(self.members.running[number].pid), "Thread.print"], check=True, stdout=out)

    def restart(self, number: int) -> None:
        """Shut it down cleanly and restart it at once."""
        self._note("restart-process", number)
        self.members.running[number].stop()
        self.members.start(number)

    def add(self, number: int) -> None:
        """Start a new member."""
        self._note("start-process", number)
        self.members.start(number)

    def _note(self, kind: FaultKind, number: int, seconds: float | None = None) -> None:
        ms = None if seconds is None else round(seconds * 1000)
        self.faults.append(Fault(ts=now(), kind=kind, target=self.group.client_id(number), ms=ms))


Steps = Callable[[Run], Expected]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A fault and how it is recorded. `steps` injects it and returns the expected diagnosis."""

    about: str
    steps: Steps
    settings: dict[str, Any] = field(default_factory=dict)
    """Fields of `Group` that differ from the defaults."""
    brokers: dict[str, object] = field(default_factory=dict)
    """Additional settings of the brokers."""


def record(name: str, scenario: Scenario, group: Group, broker: str, out: Path, *, brokers: int = 1) -> Path:
    """Run a scenario; writes logs/, truth.json and listener.jsonl to a folder."""
    shutil.rmtree(out, ignore_errors=True)
    group = replace(group, **scenario.settings)
    logs = out / "logs"
    with tempfile.TemporaryDirectory(prefix="rebalance-lab-") as folder, closing(Processes()) as processes:
        scratch = Path(folder)
        cluster = Cluster(processes, broker, brokers, logs, scratch, scenario.brokers)
        _supply(processes, cluster, group, min(brokers, 3), scratch)
        members = Members(processes, group, cluster.bootstrap, logs, scratch)
        for number in range(1, 1 + group.members):
            members.start(number)
        _wait_until_steady(group, scratch)
        run = Run(group, members, cluster, scratch)
        expected = scenario.steps(run)
        ended = now()
        truth = truth_of(name, group, broker, brokers, run.faults, expected, ended)
        (out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
        for number in sorted(members.running):
            members.running[number].signal(signal.SIGKILL)
        write_rows(out / "listener.jsonl", [row for row in listened(scratch) if row["ts"] <= ended])
    return out


def _supply(processes: Processes, cluster: Cluster, group: Group, copies: int, scratch: Path) -> None:
    numbers = [str(group.partitions), str(copies), str(RECORDS_A_SECOND)]
    main = ["LabProducer", cluster.bootstrap, group.topic, *numbers]
    log = scratch / "producer.log"
    producer = processes.java(client_jars(group.release), "64m", main, log, group.release)
    until = time.monotonic() + GROUP_FORMS_WITHIN_S
    while "topic created" not in log.read_text():
        if not producer.runs or time.monotonic() > until:
            raise RuntimeError(f"the topic could not be created: {log.read_text()[-500:]}")
        time.sleep(0.3)


def _wait_until_steady(group: Group, scratch: Path) -> None:
    """Wait until all members own partitions and none has moved for four batches (at least five seconds)."""
    quiet_ms = max(4 * group.batch_ms, 5_000)
    until = time.monotonic() + GROUP_FORMS_WITHIN_S
    while time.monotonic() < until:
        rows = listened(scratch)
        owned = owned_by(rows)
        shares = [len(owned.get(group.client_id(n), ())) for n in range(1, 1 + group.members)]
        if sum(shares) == group.partitions and min(shares) > 0 and now() - rows[-1]["ts"] > quiet_ms:
            return
        time.sleep(0.5)
    raise RuntimeError(f"the group was not steady after {GROUP_FORMS_WITHIN_S} s: {owned_by(listened(scratch))}")


def owned_by(rows: list[Row]) -> dict[str, set[str]]:
    """The partitions of each client after these rows. An eager member revokes all partitions before each assignment."""
    owned: dict[str, set[str]] = {}
    for row in rows:
        mine = owned.setdefault(row["client"], set())
        if row["event"] == "assigned":
            mine |= {*row["partitions"]}
        elif row["event"] in ("revoked", "lost"):
            mine -= {*row["partitions"]}
        else:
            mine.clear()
    return owned
