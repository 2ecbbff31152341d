"""Members whose JVMs tell what was behind the incident, recorded with lab/ (Kafka 4.1.1, Java 17)."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

RECORDED = Path(__file__).parent / "jvms"
NODE = "logs/node-2"
DUMP = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\nFull thread dump .*?(?=^\[20)", re.MULTILINE | re.DOTALL)
OF_THE_KERNEL = "the kernel log from the host of client payments-2 (journalctl -o short-iso, dmesg -T)"
Change = Callable[[Path], None]


def without(*names: str) -> Change:
    def change(folder: Path) -> None:
        for name in names:
            (folder / NODE / name).unlink()

    return change


def rewritten(name: str, pattern: re.Pattern[str] | str, text: str | Callable[[re.Match[str]], str] = "") -> Change:
    def change(folder: Path) -> None:
        log = folder / NODE / name
        log.write_text(re.sub(pattern, text, log.read_text()))

    return change


def extracted(tmp_path: Path, name: str) -> dict[str, Any]:
    """The logs of a recording, and what was done while it was made."""
    with tarfile.open(RECORDED / f"{name}.tgz") as archive:
        for member in archive:  # extraction filters came with 3.11.4 (PEP 706)
            archive.extract(member, tmp_path)
    truth: dict[str, Any] = json.loads((tmp_path / "truth.json").read_text())
    return truth


def the_incident(tmp_path: Path, name: str, *changes: Change) -> Incident:
    truth = extracted(tmp_path, name)
    for change in changes:
        change(tmp_path)
    incidents = analyze([str(tmp_path / "logs")], AnalyzeOptions(engine="local")).incidents
    (incident,) = (i for i in incidents if i.severity != "info")
    expected = truth["expected"]
    cause = incident.root_causes[0]
    assert (cause.cause, [c.name for c in cause.culprits]) == (expected["cause"], [expected["culprit"]])
    return incident


def chain(incident: Incident) -> list[str]:
    return [link.what for link in incident.root_causes[0].behind]


def needs(incident: Incident) -> str:
    return "; ".join(log.needs for log in incident.would_decide)


def test_the_call_in_which_the_polling_thread_hung_is_named(tmp_path: Path) -> None:
    incident = the_incident(tmp_path, "stuck-call")
    assert chain(incident) == ["slow-call", "waiting"]
    assert "LabConsumer$Rates.lookUp(LabConsumer.java:128) in 3 of 3 thread dumps" in incident.summary
    assert incident.root_causes[0].behind[1].why == "That call waited in java.net.Socket$SocketInputStream.read."


@pytest.mark.parametrize("left_out", [("threads.txt", "threads-later.txt"), ("threads.txt",)], ids=["log", "both"])
def test_a_dump_in_the_applications_own_log_counts_like_one_in_a_file(
    tmp_path: Path, left_out: tuple[str, ...]
) -> None:
    incident = the_incident(tmp_path, "stuck-call", without(*left_out))
    assert chain(incident) == ["slow-call", "waiting"]


THREAD = re.compile(r'^"([^"]+)" #(\d+) .*\n +java\.lang\.Thread\.State: (\w+).*\n((?:\t.*\n)*)', re.MULTILINE)
CALL = re.compile(r"\tat ([\w.$<>]+)\.([\w$<>]+)\((?:[\w.]+@[\w.]+/)?(?:([\w.]+):(\d+)|Native Method)")


def dumps(folder: Path) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """The two dumps of node-2, taken away: their times, the process ids and the threads as an actuator returns them."""
    found = []
    for name in ("threads.txt", "threads-later.txt"):
        dump = folder / NODE / name
        text = dump.read_text()
        dump.unlink()
        threads = [
            {
                "threadName": thread,
                "threadId": int(number),
                "threadState": state,
                "stackTrace": [
                    {"className": of, "methodName": method, "fileName": file or None, "lineNumber": int(line or -2)}
                    for of, method, file, line in CALL.findall(frames)
                ],
            }
            for thread, number, state, frames in THREAD.findall(text)
        ]
        found.append((text.splitlines()[1].replace(" ", "T") + "Z", text.partition(":")[0], threads))
    return found


def by_the_actuator(folder: Path) -> None:
    for at, _, threads in dumps(folder):
        (folder / NODE / f"threaddump-{at.replace(':', '-')}.json").write_text(json.dumps({"threads": threads}))


def by_a_loop_around_the_actuator(folder: Path) -> None:
    rows = [f"{at}\n{json.dumps({'threads': threads})}\n" for at, _, threads in dumps(folder)]
    (folder / NODE / "dumps.txt").write_text("".join(rows))


def frames_of(thread: dict[str, Any]) -> list[str]:
    return [
        f"{each['className']}.{each['methodName']}({each['fileName']}:{each['lineNumber']})"
        for each in thread["stackTrace"]
    ]


def to_files_as_json(folder: Path) -> None:
    for number, (at, pid, threads) in enumerate(dumps(folder)):
        listed = [{"tid": str(t["threadId"]), "name": t["threadName"], "stack": frames_of(t)} for t in threads]
        root = {"container": "<root>", "parent": None, "owner": None, "threads": listed, "threadCount": len(listed)}
        dump = {"processId": pid, "time": at, "runtimeVersion": "21.0.7+6-LTS", "threadContainers": [root]}
        (folder / NODE / f"threads-{number}.json").write_text(json.dumps({"threadDump": dump}, indent=2))


def to_a_file_as_text(folder: Path) -> None:
    rows = [
        f"{pid}\n{at}\n21.0.7+6-LTS\n\n"
        + "".join("\n      ".join((f'#{t["threadId"]} "{t["threadName"]}"', *frames_of(t))) + "\n\n" for t in threads)
        for at, pid, threads in dumps(folder)
    ]
    (folder / NODE / "dumps.txt").write_text("".join(rows))


@pytest.mark.parametrize(
    "dumped", [by_the_actuator, by_a_loop_around_the_actuator, to_files_as_json, to_a_file_as_text]
)
def test_threads_that_an_actuator_or_dump_to_file_writes_count_like_those_that_a_jvm_prints(
    tmp_path: Path, dumped: Change
) -> None:
    incident = the_incident(tmp_path, "stuck-call", rewritten("app.log", DUMP), dumped)
    assert chain(incident)[0] == "slow-call"
    assert "in 2 of 2 thread dumps, " in incident.summary


def test_a_poll_timeout_is_read_after_hundreds_of_threads_at_the_start_of_a_log(tmp_path: Path) -> None:
    def rolled(folder: Path) -> None:
        log = folder / NODE / "app.log"
        dump, rest = re.findall(rf"(?ms)({DUMP.pattern})(.*)", log.read_text())[0]
        log.write_text(dump * 20 + rest)
        (folder / "logs/broker-1/server.log").unlink()

    incident = the_incident(tmp_path, "stuck-call", without("threads.txt", "threads-later.txt"), rolled)
    assert chain(incident) == ["slow-call", "waiting"]


def test_without_dumps_the_verdict_is_the_same_and_two_dumps_are_asked_for(tmp_path: Path) -> None:
    sure = the_incident(tmp_path, "stuck-call").root_causes[0].confidence
    changes = without("threads.txt", "threads-later.txt"), rewritten("app.log", DUMP)
    incident = the_incident(tmp_path, "stuck-call", *changes)
    assert (chain(incident), incident.root_causes[0].confidence) == ([], sure)
    assert "any thread dumps taken of client payments-2 (jcmd PID Thread.print)" in needs(incident)


def test_full_collections_longer_than_the_session_are_the_cause_behind_the_pause(tmp_path: Path) -> None:
    incident = the_incident(tmp_path, "full-gc")
    assert chain(incident) == ["gc-pause"]
    assert "its JVM stopped all threads for 6.1 s (Full GC)" in incident.summary


@pytest.mark.parametrize(
    "change",
    [
        rewritten("gc.log", r"(?m)^\[[^\]]+\]"),
        rewritten("gc.log", r"(?m)^\[[^\]]+\]\[(\d+\.\d+)s\]\[info\]\[[a-z, ]+\]", r"\1:"),
        without("gc.log"),
    ],
    ids=["the uptime alone", "no format of a JVM", "no GC log"],
)
def test_without_a_dated_gc_log_the_pause_stays_and_the_gc_log_is_asked_for(tmp_path: Path, change: Change) -> None:
    incident = the_incident(tmp_path, "full-gc", change)
    assert chain(incident) == []
    assert "the GC log of client payments-2 (-Xlog:gc*,safepoint)" in needs(incident)


@pytest.mark.parametrize("copy", ["gc-copy.log", "old-gc.txt", "gc-incident.log"])
def test_a_copy_of_a_gc_log_next_to_it_is_not_the_log_of_another_jvm(tmp_path: Path, copy: str) -> None:
    def copied(folder: Path) -> None:
        (folder / NODE / copy).write_bytes((folder / NODE / "gc.log").read_bytes())

    alone = the_incident(tmp_path / "alone", "full-gc")
    assert the_incident(tmp_path / "copied", "full-gc", copied).root_causes == alone.root_causes


@pytest.mark.parametrize(
    ("name", "begin", "lack"),
    [
        ("gc.log", "2026-11-26T13:25:1", "node-2/gc.log does not reach that far"),
        ("gc-ledger.log", "", "node-2/gc-ledger.log is named as if it were another application's"),
    ],
)
def test_a_request_for_a_gc_log_names_what_the_existing_one_lacks(
    tmp_path: Path, name: str, begin: str, lack: str
) -> None:
    def put(folder: Path) -> None:
        log = folder / NODE / "gc.log"
        lines = [line for line in log.read_text().splitlines(keepends=True) if begin in line]
        log.unlink()
        log.with_name(name).write_text("".join(lines))

    incident = the_incident(tmp_path, "full-gc", put)
    assert (chain(incident), incident.would_decide[0].needs) == (
        [],
        f"the GC log of client payments-2 (-Xlog:gc*,safepoint); {lack}",
    )


def test_a_full_heap_is_the_cause_behind_the_end_of_the_jvm(tmp_path: Path) -> None:
    incident = the_incident(tmp_path, "exit-on-out-of-memory")
    assert chain(incident) == ["out-of-memory", "heap-full"]
    assert incident.root_causes[0].confidence > 0.95
    assert "61 of 61 MiB" in incident.root_causes[0].behind[1].why


def test_without_its_gc_log_the_end_of_the_jvm_is_as_sure_and_its_heap_unknown(tmp_path: Path) -> None:
    whole = the_incident(tmp_path / "a", "exit-on-out-of-memory")
    sure = whole.root_causes[0].confidence
    assert "GC log" not in needs(whole)
    incident = the_incident(tmp_path / "b", "exit-on-out-of-memory", without("gc.log"))
    assert (chain(incident), incident.root_causes[0].confidence) == (["out-of-memory"], sure)
    assert "the GC log of client payments-2 (-Xlog:gc*,safepoint)" in needs(incident)


def test_a_jvms_message_after_a_logger_does_not_end_the_process(tmp_path: Path) -> None:
    logged = rewritten("app.log", "Terminating due to", "[2026-11-26 13:19:50,000] INFO Terminating due to")
    incident = the_incident(tmp_path, "exit-on-out-of-memory", logged)
    assert (chain(incident), incident.root_causes[0].confidence < 0.75) == ([], True)


def test_a_gc_log_with_the_uptime_alone_is_dated_by_the_start_that_the_application_logs(tmp_path: Path) -> None:
    """The JVM started at 13:24:44.597: its GC log has both."""
    alone = rewritten("gc.log", r"(?m)^\[[^\]]+\]")
    started = "[2026-11-26 13:24:49,597] INFO Started Lab in 4.5 seconds (JVM running for 5.0) (com.acme.Lab)\n"
    incident = the_incident(tmp_path, "full-gc", alone, rewritten("app.log", r"\A", started))
    assert chain(incident) == ["gc-pause"]


def test_each_run_in_a_gc_log_of_uptimes_is_dated_by_its_own_start(tmp_path: Path) -> None:
    def twice(folder: Path) -> None:
        gc, app = folder / NODE / "gc.log", folder / NODE / "app.log"
        gc.write_text(re.sub(r"(?m)^\[[^\]]+\]", "", gc.read_text()) * 2)
        started = "[2026-11-26 {}] INFO Started Lab in 4.5 seconds (JVM running for 5.0) (com.acme.Lab)\n"
        app.write_text(started.format("12:00:00,000") + started.format("13:24:49,597") + app.read_text())

    assert chain(the_incident(tmp_path, "full-gc", twice)) == ["gc-pause"]


@pytest.mark.parametrize(("older_s", "links"), [(3600, []), (-20, ["gc-pause"])], ids=["older", "younger"])
def test_a_gc_log_to_which_two_jvms_write_shows_nothing_of_a_member_that_may_be_either(
    tmp_path: Path, older_s: int, links: list[str]
) -> None:
    def other(line: re.Match[str]) -> str:
        young = "GC(9) Pause Young (Normal) (G1 Evacuation Pause) 9M->9M(9M) 100.512ms"
        return f"{line[0]}\n[{line[1]}][{float(line[2]) + older_s:.3f}s][info][gc] {young}"

    beside = rewritten("gc.log", re.compile(r"^\[([^\]]+)\]\[([\d.]+)s\].* Pause .*ms$", re.MULTILINE), other)
    incident = the_incident(tmp_path, "full-gc", beside)
    assert chain(incident) == links
    assert ("which JVM in node-2/gc.log is that of client payments-2" in needs(incident)) is not bool(links)


@pytest.mark.parametrize("of", ["another application", "two runs"])
def test_a_gc_log_of_uptimes_is_not_dated_where_it_may_be_of_another_start(tmp_path: Path, of: str) -> None:
    started = "[2026-11-26 13:24:49,597] INFO Started Lab in 4.5 seconds (JVM running for 5.0) (com.acme.Lab)\n"

    def change(folder: Path) -> None:
        gc, app = folder / NODE / "gc.log", folder / NODE / "app.log"
        if of == "two runs":
            gc.write_text(gc.read_text() * 2)
            app.write_text(started + app.read_text())
        else:
            (folder / NODE / "billing.log").write_text(started)

    incident = the_incident(tmp_path, "full-gc", rewritten("gc.log", r"(?m)^\[[^\]]+\]"), change)
    assert chain(incident) == []


def test_a_gc_log_without_a_stop_that_long_rules_a_collection_out_and_says_so(tmp_path: Path) -> None:
    """SIGSTOP for 20 s between two full collections of 0.15 s."""
    incident = the_incident(tmp_path, "pause-beside-a-full-gc")
    assert chain(incident) == []
    assert "(node-2/gc.log) shows no stop that long" in incident.root_causes[0].advice[0].why
    assert needs(incident) == OF_THE_KERNEL
    (sign,) = (sign for sign in incident.signs if sign.sign == "threads-stopped")
    assert (sign.answer, [log.path for log in sign.looked_in]) == ("absent", ["node-2/gc.log"])


@pytest.mark.parametrize(
    ("recorded", "log", "behind", "why"),
    [
        ("memory-limit", "dmesg.log", "oom-kill", "killed java (pid 19252, 223 MiB resident) at the memory limit"),
        ("supervised-crash", "supervisord.log", "killed", "supervisord logged that payments-2 was ended by signal"),
    ],
)
def test_a_kernels_or_supervisors_log_shows_the_cause_behind_an_end_and_is_requested_if_missing(
    tmp_path: Path, recorded: str, log: str, behind: str, why: str
) -> None:
    incident = the_incident(tmp_path / "all", recorded)
    assert chain(incident) == [behind]
    assert why in incident.root_causes[0].behind[0].why
    alone = the_incident(tmp_path / "alone", recorded, without(log))
    assert (chain(alone), alone.root_causes[0].confidence < incident.root_causes[0].confidence) == ([], True)
    assert "from the host of client payments-2 (journalctl -o short-iso, dmesg -T)" in needs(alone)


def test_what_docker_shows_of_a_container_that_died_is_asked_for(tmp_path: Path) -> None:
    def by_docker(folder: Path) -> None:
        log = folder / NODE / "app.log"
        log.rename(log.with_name(f"3f2a9c1b7d4e{'0' * 52}-json.log"))

    incident = the_incident(tmp_path, "memory-limit", without("dmesg.log"), by_docker)
    assert "docker inspect 3f2a9c1b7d4e > inspect.json, docker events" in needs(incident)


LOST = "Its session with ZooKeeper expired; it had heard nothing from it for {}."
OUT = "; broker-2 and broker-3 heard nothing from it at the same time: ZooKeeper did not respond."


@pytest.mark.parametrize(
    ("recorded", "links"),
    [
        ("zookeeper-stalls-3.9.1", {"session-lost": f"{LOST[:-1].format('6 s')}{OUT}"}),
        ("broker-stalls-on-zookeeper-3.9.1", {"session-lost": LOST.format("13.5 s")}),
        (
            "disk-full-3.9.1",
            {
                "disk-failed": "It shut itself down because all of its log directories failed.",
                "disk-full": "Its disk was full: it logged No space left on device.",
            },
        ),
    ],
)
def test_the_fault_of_a_coordinator_is_the_cause_behind_its_move(
    tmp_path: Path, recorded: str, links: dict[str, str]
) -> None:
    """ZooKeeper, or the coordinator, was stopped (SIGSTOP) for longer than a session of 6 s; or its disk was filled."""
    coordinator = extracted(tmp_path, recorded)["coordinator"]

    def moved() -> Incident:
        incidents = analyze([str(tmp_path / "logs")], AnalyzeOptions(engine="local")).incidents
        (incident,) = (i for i in incidents if i.root_causes[0].cause == "coordinator-failover")
        assert coordinator in {culprit.name for culprit in incident.root_causes[0].culprits}
        return incident

    assert {link.what: link.why for link in moved().root_causes[0].behind} == links
    for log in tmp_path.glob("logs/broker-*/server.log"):
        if "disk-full" not in links or log.parent.name == coordinator:
            log.unlink()
    without = moved()
    assert (without.root_causes[0].behind, {log.needs for log in without.would_decide}) == (
        (),
        {f"server.log of {coordinator}"},
    )


@pytest.mark.parametrize(
    ("where", "line"),
    [
        ("node-2", "Out of memory: Killed process 999 (postgres) total-vm:83886kB, anon-rss:41943kB, file-rss:0kB"),
        ("node-1", "Out of memory: Killed process 999 (java) total-vm:83886kB, anon-rss:41943kB, file-rss:0kB"),
    ],
)
def test_the_end_of_another_process_changes_nothing(tmp_path: Path, where: str, line: str) -> None:
    def killed(folder: Path) -> None:
        (folder / "logs" / where / "kern.log").write_text(f"Nov 26 14:12:30 {where} kernel: [1.5] {line}\n")

    found = [
        the_incident(tmp_path / n, "pause-beside-a-full-gc", *changes) for n, changes in (("a", ()), ("b", (killed,)))
    ]
    assert found[0].summary == found[1].summary
    assert found[0].root_causes == found[1].root_causes
