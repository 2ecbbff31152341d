"""The law of strangers: what another process, pod, unit or host did, or the same at another time, is behind nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.run import analyze
from tests.conftest import SAMPLES
from tests.incidents.sample import LOCAL, report_of

HOURS = 3 * 3_600_000
# Before, within and after every session of the samples (10 s) that ran out.
AROUND = (-10_500, -9_000, -5_000, -1_000, 500)
OTHER_POD, OTHER_ID = "pricing-7d9f8b6c5d-x2x7k", f"3f2a{'0' * 60}"
STACK = (
    "{}\nFull thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):\n\n"
    '"main" #1 prio=5 os_prio=0 cpu=1.5ms elapsed=95.20s tid=0x00007f8c1c0b2800 nid=0x1f runnable  [0x0]\n'
    "   java.lang.Thread.State: RUNNABLE\n\tat sun.nio.ch.Net.poll(java.base@17.0.15/Native Method)\n"
    "\tat com.acme.pricing.Rates.lookUp(Rates.java:42)\n\tat com.acme.pricing.Main.main(Main.java:12)\n\n"
)
HS_ERR = (
    "#\n# A fatal error has been detected by the Java Runtime Environment:\n#\n"
    "#  SIGSEGV (0xb) at pc=0x00007f48, pid=31337, tid=31338\n#\n\n---------------  S U M M A R Y ------------\n\n"
    "Command Line: -Xmx4g com.acme.pricing.BillingApplication\n\nTime: {} UTC elapsed time: 95.2 seconds\n"
)
OOM = (
    (
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg={0},task_memcg={0},"
        "task={1},pid=31337,uid=1000"
    ),
    "Memory cgroup out of memory: Killed process 31337 ({1}) total-vm:8388608kB, anon-rss:4194304kB, file-rss:0kB",
)

LOGGED = (
    (
        "ERROR [main] Order failed (com.acme.Orders)\njava.sql.SQLTransientConnectionException: HikariPool-1 - "
        "Connection is not available, request timed out\n\tat com.acme.Orders.price(Orders.java:1)\n"
    ),
    "INFO [main] Kafka version: 3.9.1 (org.apache.kafka.common.utils.AppInfoParser)\n",
)


def time(ms: int, form: str) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime(form)


def full_gc(at: int, ms: int) -> str:
    stamp = f"{time(at, '%Y-%m-%dT%H:%M:%S')}.{at % 1000:03}+0000"
    return f"[{stamp}][9000.100s][info][gc] GC(12) Pause Full (G1 Compaction Pause) 3990M->3899M(4096M) {ms}.512ms\n"


def syslog(at: int, host: str, *messages: str) -> str:
    return "".join(f"{time(at, '%b %d %H:%M:%S')} {host} {message}\n" for message in messages)


def killed_by_kernel(at: int, host: str, cgroup: str, command: str) -> str:
    return syslog(at, host, *(f"kernel: [12.5] {line.format(cgroup, command)}" for line in OOM))


def event(at: int, kind: str, name: str, reason: str, message: str) -> str:
    stamp = time(at, "%Y-%m-%dT%H:%M:%SZ")
    item = {
        "kind": "Event",
        "apiVersion": "v1",
        "metadata": {"name": f"{name}.17f2b1c4e5d6a7b8", "namespace": "shop"},
        "involvedObject": {"kind": kind, "namespace": "shop", "name": name},
        "reason": reason,
        "message": message,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "count": 1,
    }
    return json.dumps(item) + "\n"


EVENTS = (
    ("Pod", OTHER_POD, "Evicted", "The node was low on resource: memory. "),
    ("Pod", OTHER_POD, "Killing", "Container app failed liveness probe, will be restarted"),
    ("Pod", OTHER_POD, "Killing", "Stopping container app"),
    ("Pod", OTHER_POD, "NodeNotReady", "Node is not ready"),
    ("Deployment", "pricing", "ScalingReplicaSet", "Scaled down replica set pricing-7d9f8b6c5d from 4 to 3"),
    ("Deployment", "pricing", "ScalingReplicaSet", "Scaled up replica set pricing-6c8d7b5f4c from 1 to 2"),
    ("ReplicaSet", "pricing-7d9f8b6c5d", "SuccessfulDelete", f"Deleted pod: {OTHER_POD}"),
    ("StatefulSet", "pricing", "SuccessfulDelete", "delete Pod pricing-0 in StatefulSet pricing successful"),
    ("StatefulSet", "pricing", "SuccessfulCreate", "create Pod pricing-0 in StatefulSet pricing successful"),
    ("HorizontalPodAutoscaler", "pricing", "SuccessfulRescale", "New size: 3; reason: All metrics below target"),
    ("Node", "worker-9", "NodeNotReady", "Node worker-9 status is now: NodeNotReady"),
)
UNITS = (
    "systemd[1]: pricing.service: Main process exited, code=killed, status=9/KILL",
    "systemd[1]: node-exporter.service: Main process exited, code=exited, status=1/FAILURE",
    "systemd-oomd[600]: Killed /system.slice/pricing.service due to memory used (8.2G) / total (8.3G)",
    "init: pricing main process (31337) killed by KILL signal",
    "kernel: [12.5] nginx[4242]: segfault at 0 ip 00007f3e sp 00007f3d error 4 in nginx[7f3e+8a]",
    "kernel: [12.5] watchdog: BUG: soft lockup - CPU#1 stuck for 52s! [nginx:42]",
)


def of_strangers(at: int, host: str) -> Iterator[tuple[str, str]]:
    """Files, and what is in them."""
    times = [at + each for each in AROUND]
    for file in (f"{host}/pricing-gc.log", "other-9/gc.log"):
        yield file, full_gc(at + 9_000, 18_500)
    yield f"{host}/gc.log", full_gc(at - HOURS, 60_000) + full_gc(at + HOURS, 60_000)
    others = [("/system.slice/elasticsearch.service", "java"), (f"/docker/{OTHER_ID}", "java"), ("/", "postgres")]
    kills = [killed_by_kernel(t, host, cgroup, command) for t in times for cgroup, command in others]
    kills += [killed_by_kernel(t, host, "/", "java") for t in (at - HOURS, at + HOURS)]
    yield f"{host}/syslog", "".join(kills) + "".join(syslog(t, host, *UNITS) for t in times)
    suspended = syslog(at - 12_000, "other-9", "kernel: PM: suspend entry (deep)")
    stepped = syslog(at - 1_000, "other-9", "chronyd[600]: System clock was stepped by 4000.219 seconds")
    up = syslog(at + 2_000, "other-9", "kernel: PM: suspend exit")
    yield "other-9/messages", suspended + stepped + killed_by_kernel(at - 9_000, "other-9", "/", "java") + up
    yield "events.json", "".join(event(t, *each) for t in times for each in EVENTS)
    died = "container die {} (exitCode=137, image=pricing:1, name=pricing)\n"
    yield (
        "docker-events.txt",
        "".join(f"{time(t, '%Y-%m-%dT%H:%M:%S')}.123456789Z {died.format(OTHER_ID)}" for t in times),
    )
    ended = "INFO exited: pricing (terminated by SIGKILL; not expected)\n"
    yield f"{host}/supervisord.log", "".join(f"{time(t, '%Y-%m-%d %H:%M:%S')},142 {ended}" for t in times)
    yield f"{host}/hs_err_pid31337.log", HS_ERR.format(time(at - 9_000, "%a %b %d %H:%M:%S %Y"))
    yield f"{host}/pricing-jstack.txt", "".join(STACK.format(time(t, "%Y-%m-%d %H:%M:%S")) for t in times)
    # It runs on after the member has ended.
    running = (*times, at + 3_000, at + 15_000, at + 40_000)
    yield (
        f"{host}/pricing.log",
        "".join(f"{time(t, '%Y-%m-%d %H:%M:%S')},142 {line}" for t in running for line in LOGGED),
    )


def verdicts(incidents: Sequence[Incident]) -> list[object]:
    return [(i.summary, i.severity, [(c.cause, c.confidence, c.behind) for c in i.root_causes]) for i in incidents]


@pytest.mark.parametrize("sample", ["process-crash", "process-pause", "slow-processing", "rolling-restart"])
def test_lines_of_unrelated_processes_change_no_verdict_and_no_cause_behind_it(sample: str, tmp_path: Path) -> None:
    alone = report_of(SAMPLES / sample).incidents
    (incident,) = (i for i in alone if i.root_causes[0].cause == sample)
    host = next(e.path for e in incident.root_causes[0].evidence if e.path.startswith("node-")).partition("/")[0]
    logs = shutil.copytree(SAMPLES / sample, tmp_path / "logs")
    for file, text in of_strangers(incident.started_at or 0, host):
        (logs / file).parent.mkdir(exist_ok=True)
        (logs / file).write_text(text)
    assert verdicts(analyze([str(logs)], LOCAL).incidents) == verdicts(alone)
