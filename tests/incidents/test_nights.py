"""Nights of whole clusters, recorded with lab/fleet.py: what one thing did to many groups is one incident."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rebalance_forensics.diagnosis.model import RootCause
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.incident_facts import facts
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.terminal import render

NIGHTS = Path(__file__).parent / "nights"
EVERY = sorted(file.name.removesuffix(".tgz") for file in NIGHTS.glob("*.tgz"))
Unpacked = Callable[[str], Path]
BREAKING = ("pause-broker", "kill-broker")
OUT_OF_MEMORY = (
    "ERROR Uncaught exception in thread 'kafka-request-handler-0': (org.apache.kafka.common.utils.KafkaThread)\n"
    "java.lang.OutOfMemoryError: Java heap space\n\tat java.nio.HeapByteBuffer.<init>(HeapByteBuffer.java:64)"
)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    """The folder of a night: logs/ and truth.json."""
    known: dict[str, Path] = {}

    def unpack(night: str) -> Path:
        if night not in known:
            known[night] = tmp_path_factory.mktemp(night)
            if sys.version_info >= (3, 12):
                shutil.unpack_archive(NIGHTS / f"{night}.tgz", known[night], filter="data")
            else:  # extraction filters came with 3.11.4 (PEP 706)
                shutil.unpack_archive(NIGHTS / f"{night}.tgz", known[night])
        return known[night]

    return unpack


@cache
def report_of(folder: Path) -> Report:
    """The report of the logs in a folder, which no test changes afterwards."""
    return analyze([str(folder / "logs")], AnalyzeOptions(engine="local"))


def truth_of(folder: Path) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads((folder / "truth.json").read_text())
    return truth


def incidents_of(report: Report) -> list[tuple[str, str, tuple[str, ...]]]:
    """Group or "cluster", cause and culprits of everything that is no start-up."""
    causes = ((i, i.root_causes[0]) for i in report.incidents)
    return sorted(
        (incident.group or "cluster", cause.cause, tuple(culprit.name for culprit in cause.culprits))
        for incident, cause in causes
        if cause.cause != "startup"
    )


def expected_of(truth: dict[str, Any]) -> list[tuple[str, str, tuple[str, ...]]]:
    groups = sorted(truth["groups"])
    several = {"all": tuple(group for group in groups if group != "batch"), "everyone": tuple(groups)}
    return sorted(
        (each.get("group", "cluster"), each["cause"], several.get(each["culprit"], (each["culprit"],)))
        for each in truth["expected"]
    )


@pytest.mark.parametrize("night", EVERY)
def test_a_night_is_one_incident_and_what_a_group_did_by_itself_stays_its_own(unpacked: Unpacked, night: str) -> None:
    folder = unpacked(night)
    assert incidents_of(report_of(folder)) == expected_of(truth_of(folder))


@pytest.mark.parametrize(
    "night", [night for night in EVERY if night.startswith(("broker-", "credential", "deployment"))]
)
def test_the_logs_of_the_brokers_alone_show_the_same_night(unpacked: Unpacked, night: str, tmp_path: Path) -> None:
    folder = unpacked(night)
    for broker in (folder / "logs").glob("broker-*"):
        (tmp_path / "logs" / broker.name).mkdir(parents=True)
        shutil.copy(broker / "server.log", tmp_path / "logs" / broker.name)
    report = report_of(tmp_path)
    assert incidents_of(report) == expected_of(truth_of(folder))
    parts = [part for incident in report.incidents for group in incident.groups for part in group.parts]
    assert len(parts) == len(set(parts))


@pytest.mark.parametrize("night", EVERY)
def test_every_group_that_rebalanced_meanwhile_is_in_the_table_of_the_incident(unpacked: Unpacked, night: str) -> None:
    report = report_of(unpacked(night))
    (whole,) = (incident for incident in report.incidents if incident.scope == "cluster")
    disturbed = {group.group: group for group in whole.groups}
    for history in report.groups:
        generations = {g.generation for g in history.generations if g.trigger == whole.root_causes[0].cause}
        assert not generations or generations <= set(disturbed[history.group].generations)
    assert all(group.evidence for group in whole.groups)
    total = sum(group.impact.unread_partition_ms or 0 for group in whole.groups)
    assert (whole.impact.unread_partition_ms or 0) == total


def test_members_on_a_dead_host_are_known_by_their_names(unpacked: Unpacked) -> None:
    (whole,) = (i for i in report_of(unpacked("host-lost-3.9.1")).incidents if i.scope == "cluster")
    (host,) = whole.root_causes[0].culprits
    assert {"payments-2", "billing-2", "ledger-2"} <= set(host.names)


def test_every_output_shows_the_groups_of_a_clusters_incident(unpacked: Unpacked) -> None:
    report = report_of(unpacked("host-lost-3.9.1"))
    document = json.loads(to_json(report))
    (whole,) = (incident for incident in document["incidents"] if incident["scope"] == "cluster")
    assert whole["group"] is None
    shown = (render(report), to_html(report))
    for group in whole["groups"]:
        assert all(group["group"] in text for text in shown)
    assert "Groups" in shown[0]
    assert "3 groups" in shown[1]


def test_members_continue_to_read_while_only_their_coordinator_is_paused(unpacked: Unpacked) -> None:
    """They fetch from the leaders of their partitions, until the coordinator runs again and refuses them."""
    spans = [span for history in report_of(unpacked("broker-stalls-3.9.1")).groups for span in history.unread]
    assert {span.why for span in spans} <= {"fenced", "revoked", "unassigned"}


def test_the_partitions_that_a_frozen_broker_led_are_named(unpacked: Unpacked) -> None:
    """Of six partitions each of three brokers led two; the controller's log shows which."""
    folder = unpacked("broker-stalls-3.9.1")
    created = re.compile(r"new partition (orders-\d) .* leader=2,")
    lines = (folder / "logs" / "broker-1" / "server.log").read_text().splitlines()
    led = tuple(sorted({found[1] for line in lines if (found := created.search(line))}))
    report = report_of(folder)
    (whole,) = (i for i in report.incidents if i.scope == "cluster")
    assert len(led) == 2
    assert {group.led for group in whole.groups} == {led}
    assert f"It led {' and '.join(led)}, read by 21 groups" in whole.root_causes[0].narrative
    assert all(
        f"; nobody could fetch {' and '.join(led)}" in text
        for text in ({fact.label: fact.value for fact in facts(whole)}["Impact"], to_html(report))
    )


def test_members_on_a_paused_host_read_nothing_in_the_meantime(unpacked: Unpacked) -> None:
    """They lose their coordinator when they wake up; unlike members that it refuses, they did not read until then."""
    histories = report_of(unpacked("host-paused-4.1.1")).groups
    frozen = {h.group: [s for s in h.unread if s.client_id == f"{h.group}-2" and s.why == "frozen"] for h in histories}
    assert {group for group, spans in frozen.items() if spans} == {"payments", "billing", "ledger", "audit"}
    assert all((span.lasted_ms or 0) > 9_000 for spans in frozen.values() for span in spans)


def of_broker(unpacked: Unpacked, night: str, tmp_path: Path, name: str, lines: Callable[[int, int], str]) -> RootCause:
    """The cause of a night with a log of the broker's JVM or host beside its own: a line for each fault of it."""
    folder = unpacked(night)
    shutil.copytree(folder / "logs", tmp_path / "logs")
    faults = [fault for fault in truth_of(folder)["faults"] if fault["target"].startswith("broker-")]
    beside = tmp_path / "logs" / faults[0]["target"] / name
    beside.write_text(
        "\n".join(lines(fault["ts"], fault.get("ms", 0)) for fault in faults if fault["kind"] in BREAKING)
    )
    (whole,) = (incident for incident in report_of(tmp_path).incidents if incident.scope == "cluster")
    return whole.root_causes[0]


def full_collection(begin: int, lasted: int) -> str:
    ended = datetime.fromtimestamp((begin + lasted) / 1000, UTC).isoformat(timespec="milliseconds")
    return f"[{ended}][info][gc] GC(9) Pause Full (G1 Compaction Pause) 1020M->1002M(1024M) {lasted - 1}.512ms"


def test_a_full_collection_is_the_cause_behind_a_paused_broker(unpacked: Unpacked, tmp_path: Path) -> None:
    cause = of_broker(unpacked, "broker-stalls-3.9.1", tmp_path, "kafkaServer-gc.log", full_collection)
    assert [link.what for link in cause.behind] == ["gc-pause", "heap-full"]
    assert cause.behind[0].evidence[0].path == "broker-2/kafkaServer-gc.log"


@pytest.mark.parametrize("name", ["zookeeper-gc.log", "connectDistributed-gc.log"])
def test_a_collection_of_another_jvm_on_its_host_is_not_the_cause_behind_it(
    unpacked: Unpacked, tmp_path: Path, name: str
) -> None:
    assert of_broker(unpacked, "broker-stalls-3.9.1", tmp_path, name, full_collection).behind == ()


def test_a_collection_at_another_time_is_not_the_cause_behind_it(unpacked: Unpacked, tmp_path: Path) -> None:
    def an_hour_earlier(begin: int, lasted: int) -> str:
        return full_collection(begin - 3_600_000, lasted)

    cause = of_broker(unpacked, "broker-stalls-3.9.1", tmp_path, "kafkaServer-gc.log", an_hour_earlier)
    assert cause.behind == ()


def test_a_brokers_container_at_its_memory_limit_is_the_cause_behind_its_death(
    unpacked: Unpacked, tmp_path: Path
) -> None:
    def killed(at: int, _: int) -> str:
        finished = f"{datetime.fromtimestamp(at / 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"
        ended = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": finished}
        status = {"containerStatuses": [{"name": "kafka", "restartCount": 1, "lastState": {"terminated": ended}}]}
        return json.dumps({"kind": "Pod", "metadata": {"name": "broker-1", "namespace": "kafka"}, "status": status})

    cause = of_broker(unpacked, "broker-killed-4.1.1", tmp_path, "pod.json", killed)
    assert [link.what for link in cause.behind] == ["oom-kill"]


def test_the_kernels_kill_of_a_broker_is_the_cause_behind_its_death_whatever_its_machine_is_called(
    unpacked: Unpacked, tmp_path: Path
) -> None:
    def killed(at: int, _: int) -> str:
        when = datetime.fromtimestamp(at / 1000, UTC)
        how = "Out of memory: Killed process 4242 (java) total-vm:83886kB"
        return f"{when:%b %d %H:%M:%S} ip-10-0-3-7 kernel: [ 42.1] {how}"

    cause = of_broker(unpacked, "broker-killed-4.1.1", tmp_path, "kern.log", killed)
    assert [link.what for link in cause.behind] == ["oom-kill"]
    assert cause.advice[0].action.startswith("Raise the memory limit")


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (
            OUT_OF_MEMORY,
            ("out-of-memory",),
        ),
        ("ERROR Shutdown broker because all log dirs in /data have failed (kafka.log.LogManager)", ("disk-failed",)),
        (
            "ERROR Error while accepting connection (kafka.network.Acceptor)\njava.io.IOException: Too many open files",
            (),
        ),
    ],
)
def test_a_brokers_lines_about_its_end_show_the_cause_behind_its_death(
    unpacked: Unpacked, tmp_path: Path, lines: str, found: tuple[str, ...]
) -> None:
    night = unpacked("broker-killed-4.1.1")
    shutil.copytree(night / "logs", tmp_path / "logs")
    died = datetime.fromtimestamp(truth_of(night)["faults"][0]["ts"] / 1000, UTC)
    log = tmp_path / "logs" / "broker-1" / "server.log"
    written = log.read_text().splitlines(keepends=True)
    place = next(
        i for i, line in enumerate(written) if line[:1] == "[" and line[1:24] > f"{died:%Y-%m-%d %H:%M:%S},999"
    )
    written.insert(place, f"[{died:%Y-%m-%d %H:%M:%S},{died.microsecond // 1000:03}] {lines}\n")
    log.write_text("".join(written))
    (whole,) = (incident for incident in report_of(tmp_path).incidents if incident.scope == "cluster")
    assert tuple(link.what for link in whole.root_causes[0].behind) == found


@pytest.mark.parametrize("unit", ["kafka-exporter", "kafka-connect", "confluent-kafka-rest"])
def test_the_end_of_another_unit_on_its_host_is_not_the_cause_behind_it(
    unpacked: Unpacked, tmp_path: Path, unit: str
) -> None:
    def ended(at: int, _: int) -> str:
        when = datetime.fromtimestamp(at / 1000, UTC)
        how = f"{unit}.service: Main process exited, code=killed, status=9/KILL"
        return f"{when:%b %d %H:%M:%S} broker-1 systemd[1]: {how}"

    assert of_broker(unpacked, "broker-killed-4.1.1", tmp_path, "syslog", ended).behind == ()


def test_a_kill_after_which_the_broker_logs_on_was_of_another_process(unpacked: Unpacked, tmp_path: Path) -> None:
    night = unpacked("broker-killed-4.1.1")
    died = truth_of(night)["faults"][0]["ts"]
    shrunk = "[Partition __consumer_offsets-1 broker=1] Shrinking ISR from 1,2,3 to 1,3. Leader: (highWatermark: 28, "
    shrunk += "endOffset: 28). Out of sync replicas: (brokerId: 2, endOffset: 27). (kafka.cluster.Partition)"

    def killed(logs_on: int) -> tuple[str, ...]:
        when = datetime.fromtimestamp(died / 1000 - 8, UTC)
        (logs,) = (night / "logs" / "broker-1").glob("*.log")
        folder = tmp_path / f"logs-on-{logs_on}"
        shutil.copytree(night / "logs", folder / "logs")
        lines = logs.read_text().splitlines(keepends=True)
        place = next(i for i, line in enumerate(lines) if line > f"[{when:%Y-%m-%d %H:%M:%S}")
        after = datetime.fromtimestamp(died / 1000 - 4, UTC)
        lines[place:place] = [f"[{after:%Y-%m-%d %H:%M:%S},000] INFO {shrunk}\n"] * logs_on
        (folder / "logs" / "broker-1" / logs.name).write_text("".join(lines))
        kernel = (
            f"{when:%b %d %H:%M:%S} broker-1 kernel: [ 42.1] Out of memory: Killed process 4242 (java) total-vm:83kB"
        )
        (folder / "logs" / "broker-1" / "kern.log").write_text(kernel)
        (whole,) = (incident for incident in report_of(folder).incidents if incident.scope == "cluster")
        return tuple(link.what for link in whole.root_causes[0].behind)

    assert (killed(logs_on=0), killed(logs_on=1)) == (("oom-kill",), ())
