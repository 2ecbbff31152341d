"""The causes behind a pause or a death, from the logs of the JVM, the kernel and systemd."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.events.process import ExceptionLogged, ThreadsStopped
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.timeline.identity.own_process import may_run_in, runs
from rebalance_forensics.timeline.identity.participants import Participant
from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_process_pause import UNKNOWN
from tests.diagnosis.test_slow_processing import slow_member
from tests.incidents.sample import LOCAL
from tests.story import Story

FULL_GC = "GC(12) Pause Full (G1 Compaction Pause) 3990M->3899M(4096M) {}.512ms"
YOUNG_GC = "GC(13) Pause Young (Normal) (G1 Evacuation Pause) 2100M->310M(4096M) {}.512ms"
OOM = "Memory cgroup out of memory: Killed process 4242 ({}) total-vm:8388608kB, anon-rss:4194304kB, file-rss:0kB"


def resumed(*gc_lines: tuple[str, str], at: str = "01:10:20") -> Story:
    """A member whose session ran out at 01:10:00 and that came back at 01:10:20, with lines of its JVM."""
    story = evicted()
    for time, message in gc_lines:
        story.line("c-3/gc.log", time, message, logger="jdk.Hotspot")
    generation = f"Generation{{generationId=1, memberId='{story.id_of('c-3')}', protocol='range'}}"
    story.client("c-3", f"{at}.020", UNKNOWN.format(generation))
    story.reborn("c-3")
    return story.rebalanced(f"{at}.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])


def causes_behind(incident: Incident) -> list[str]:
    return [link.what for link in incident.root_causes[0].behind]


def test_a_collection_longer_than_the_session_is_the_cause_behind_the_pause() -> None:
    incident = resumed(("01:10:19.900", FULL_GC.format(64_210))).the_incident()
    assert incident.root_causes[0].cause == "process-pause"
    assert causes_behind(incident) == ["gc-pause", "heap-full"]
    assert "its JVM stopped all threads for 1 min 04 s (Full GC)" in incident.summary
    assert incident.root_causes[0].advice[0].action.startswith("Give c-3 a larger heap")
    assert incident.root_causes[0].behind[0].evidence[0].path == "c-3/gc.log"


def test_a_global_collection_of_openj9_is_one_stop_with_the_heap_it_left() -> None:
    ended = 'type="global" contextid="5" durationms="64208.1" timestamp="2026-03-01T01:10:19.899" activeThreads="8">'
    heap = '\n  <mem-info id="7" free="10485760" total="536870912" percent="2">'
    whole = '<exclusive-end id="8" timestamp="2026-03-01T01:10:19.900" durationms="64210.3" />'
    incident = resumed(("01:10:19.899", f'<gc-end id="6" {ended}{heap}'), ("01:10:19.900", whole)).the_incident()
    assert causes_behind(incident) == ["gc-pause", "heap-full"]
    assert incident.root_causes[0].behind[1].why.startswith("Its heap was full: 502 of 512 MiB")


@pytest.mark.parametrize(
    "lines",
    [
        (),
        (("01:09:29.000", YOUNG_GC.format(1_210)),),
        (("01:05:00.000", FULL_GC.format(50_210)),),
        (("01:11:30.000", FULL_GC.format(50_210)),),
    ],
    ids=["none", "shorter than the session", "before the session", "after the session"],
)
def test_a_stop_shorter_than_the_session_is_irrelevant(lines: tuple[tuple[str, str], ...]) -> None:
    incident = resumed(*lines).the_incident()
    assert causes_behind(incident) == []
    assert incident.summary == resumed().the_incident().summary


def test_a_collection_as_long_as_many_sessions_is_the_cause_behind_the_pause_and_has_an_end() -> None:
    began, ended = (
        ("01:09:10.000", "GC(12) Pause Full (G1 Compaction Pause)"),
        ("01:12:10.100", FULL_GC.format(180_100)),
    )
    incident = resumed(began, ended, at="01:12:11").the_incident()
    assert causes_behind(incident) == ["gc-pause", "heap-full"]
    assert "stopped all threads for 3 min" in incident.root_causes[0].behind[0].why


def test_a_member_on_another_host_is_not_blamed_for_that_hosts_collection() -> None:
    story = resumed()
    story.line("c-1/gc.log", "01:10:19.900", FULL_GC.format(64_210), logger="jdk.Hotspot")
    assert causes_behind(story.the_incident()) == []


def test_the_kernel_that_killed_a_process_is_the_cause_behind_its_death() -> None:
    story = evicted()
    story.line("c-3/syslog", "01:09:16.000", OOM.format("java"), logger="jdk.Hotspot")
    cause = story.goes_on("01:15:00.000").the_incident().root_causes[0]
    assert cause.cause == "process-crash"
    assert [link.what for link in cause.behind] == ["oom-kill"]
    assert cause.advice[0].action.startswith("Raise the memory limit")


@pytest.mark.parametrize(("time", "command"), [("01:02:00.000", "java"), ("01:09:16.000", "postgres")])
def test_a_kill_of_another_process_or_at_another_time_is_irrelevant(time: str, command: str) -> None:
    story = evicted()
    story.line("c-3/syslog", time, OOM.format(command), logger="jdk.Hotspot")
    assert causes_behind(story.goes_on("01:15:00.000").the_incident()) == []


def test_a_process_that_logs_on_was_not_the_one_killed() -> None:
    story = resumed()
    story.line("c-3/syslog", "01:09:16.000", OOM.format("java"), logger="jdk.Hotspot")
    incident = story.the_incident()
    assert incident.root_causes[0].cause == "process-pause"
    assert causes_behind(incident) == []


def test_a_line_of_the_host_is_no_line_of_the_member() -> None:
    story = evicted()
    before = story.goes_on("01:10:20.000").the_incident()
    story = evicted()
    story.line("c-3/syslog", "01:30:00.000", OOM.format("nginx"), logger="jdk.Hotspot")
    after = story.goes_on("01:10:20.000").the_incident()
    assert (after.severity, after.root_causes[0].cause) == (before.severity, before.root_causes[0].cause)
    assert after.root_causes[0].confidence == before.root_causes[0].confidence


def test_a_second_kill_does_not_hide_the_first() -> None:
    story = evicted()
    story.line("c-3/syslog", "01:09:16.000", OOM.format("java"), logger="jdk.Hotspot")
    story.line("c-3/syslog", "01:09:20.000", OOM.format("python3"), logger="jdk.Hotspot")
    assert causes_behind(story.goes_on("01:15:00.000").the_incident()) == ["oom-kill"]


@pytest.mark.parametrize("name", ["kafkaServer-gc.log", "elasticsearch-gc.log"])
def test_the_gc_log_of_another_application_is_not_the_members(name: str) -> None:
    story = resumed()
    story.line(f"c-3/{name}", "01:10:19.900", FULL_GC.format(64_210), logger="jdk.Hotspot")
    assert causes_behind(story.the_incident()) == []


@pytest.mark.parametrize(
    ("name", "number", "links"),
    [
        ("gc.log", 4242, 2),
        ("gc.log", 4259, 2),
        ("gc.log", 5151, 0),
        ("gc-4242.log", None, 2),
        ("gc-5151.log", None, 0),
        ("gc.pid5151.log.0.current", None, 0),
        ("gc.log.12", None, 2),
    ],
    ids=["its process", "a thread", "another's", "%p", "another's %p", "another's of JDK 8", "a rolled one"],
)
def test_the_process_id_in_a_gc_log_or_in_its_name_tells_whose_it_is(name: str, number: int | None, links: int) -> None:
    story = resumed()
    file = f"c-3/{name}"
    story.line(file, "01:10:19.900", FULL_GC.format(64_210), logger="jdk.Hotspot")
    story.events = [
        replace(e, speaker=replace(e.speaker, pid=number)) if e.speaker.file == file else e for e in story.events
    ]
    assert len(causes_behind(of_process(story, 4242).the_incident())) == links


STACK = (
    '"{}" #18 prio=5 os_prio=0 cpu=1.5ms elapsed=95.20s tid=0x00007f8c1c0b2800 nid=0x1f waiting on condition [0x0]\n'
    "   java.lang.Thread.State: {}\n\tat {}"
)
WAITING = (
    "sun.nio.ch.Net.poll(java.base@17.0.15/Native Method)\n"
    "\tat java.net.Socket$SocketInputStream.read(java.base@17.0.15/Socket.java:966)\n"
    "\tat com.acme.Rates.lookUp(Rates.java:42)\n\tat com.acme.Main.consume(Main.java:12)"
)
POLLING = (
    "org.apache.kafka.clients.consumer.KafkaConsumer.poll(KafkaConsumer.java:1182)\n\tat com.acme.Main.consume(M:1)"
)


def dumped(*stacks: tuple[str, str, str], where: str = "c-3/threads.txt", state: str = "RUNNABLE") -> Incident:
    """A member whose poll timeout expired at 01:10:00, with threads of dumps: time, name, frames."""
    story = slow_member((4, 1))
    for time, thread, frames in stacks:
        story.line(where, time, STACK.format(thread, state, frames), logger="")
    return story.the_incident()


def test_the_call_of_the_polling_thread_in_dumps_is_the_cause_behind_the_slow_loop() -> None:
    incident = dumped(("01:09:50.000", "c-3", WAITING), ("01:09:58.000", "c-3", WAITING))
    assert causes_behind(incident) == ["slow-call", "waiting"]
    first, second = incident.root_causes[0].behind
    assert (
        first.why == "Its polling thread was in com.acme.Rates.lookUp(Rates.java:42) in 2 of 2 thread dumps, 8 s apart."
    )
    assert second.why == "That call waited in java.net.Socket$SocketInputStream.read."
    assert first.why in incident.summary
    assert "com.acme.Rates.lookUp" in incident.root_causes[0].advice[0].action
    assert "thread dumps" not in " ".join(log.needs for log in incident.would_decide)


@pytest.mark.parametrize(
    ("stacks", "where"),
    [
        ([("01:09:50.000", "c-3", POLLING)], "c-3/threads.txt"),
        ([("01:00:50.000", "c-3", WAITING)], "c-3/threads.txt"),
        ([("01:09:50.000", "http-nio-8080-exec-1", WAITING)], "c-3/threads.txt"),
        ([("01:09:50.000", "c-30", WAITING)], "c-3/threads.txt"),
        ([("01:09:50.000", "c-3", WAITING)], "c-1/threads.txt"),
    ],
    ids=["in poll()", "another time", "another thread", "a thread of a longer name", "another process"],
)
def test_other_threads_times_and_processes_are_irrelevant(stacks: list[tuple[str, str, str]], where: str) -> None:
    incident = dumped(*stacks, where=where)
    assert causes_behind(incident) == []
    assert incident.summary == slow_member((4, 1)).the_incident().summary


def test_without_thread_dumps_they_are_asked_for() -> None:
    needs = [log.needs for log in slow_member((4, 1)).the_incident().would_decide]
    assert any("any thread dumps taken of client c-3 (jcmd PID Thread.print)" in need for need in needs)


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        ("PM: suspend entry (deep)", "PM: suspend exit"),
        ("PM: Preparing system for mem sleep", "PM: Finishing wakeup."),
        ("PM: hibernation: hibernation entry", "PM: hibernation: hibernation exit"),
        ("Performing sleep operation 'suspend'...", "System returned from sleep operation 'suspend'."),
    ],
)
def test_a_suspended_host_is_the_cause_behind_the_pause(begins: str, ends: str) -> None:
    incident = resumed(("01:09:10.000", begins), ("01:10:19.000", ends)).the_incident()
    assert (incident.root_causes[0].cause, causes_behind(incident)) == ("process-pause", ["suspended"])
    assert incident.summary.endswith(". Its host was suspended for 1 min 09 s.")
    assert not incident.would_decide


@pytest.mark.parametrize(
    "lines",
    [
        (("01:09:10.000", "PM: suspend entry (deep)"), ("01:09:20.000", "PM: suspend exit")),
        (("01:02:10.000", "PM: suspend entry (deep)"), ("01:03:20.000", "PM: suspend exit")),
        (("01:09:30.000", "watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [nginx:42]"),),
    ],
    ids=["shorter than the session", "long before", "another process on a stuck CPU"],
)
def test_a_host_that_was_suspended_for_less_than_the_session_is_irrelevant(
    lines: tuple[tuple[str, str], ...],
) -> None:
    incident = resumed(*lines).the_incident()
    assert (causes_behind(incident), incident.summary) == ([], resumed().the_incident().summary)


@pytest.mark.parametrize(
    ("message", "links"),
    [
        ("c-3.service: Main process exited, code=exited, status=1/FAILURE", ["exited"]),
        ("c-3.service: Main process exited, code=exited, status=143/n/a", []),
        ("java[4242]: segfault at 0 ip 00007f3e sp 00007f3d error 4 in librocksdbjni.so[7f3e+8a]", ["crashed"]),
        ("nginx[4242]: segfault at 0 ip 00007f3e sp 00007f3d error 4 in nginx[7f3e+8a]", []),
    ],
)
def test_an_exit_with_an_error_and_a_crash_in_native_code_are_causes_behind_a_death(
    message: str, links: list[str]
) -> None:
    story = evicted()
    story.line("c-3/syslog", "01:09:16.000", message, logger="jdk.Hotspot")
    assert causes_behind(story.goes_on("01:15:00.000").the_incident()) == links


@pytest.mark.parametrize(
    ("status", "link"), [("killed, status=9/KILL", "killed"), ("exited, status=1/FAILURE", "exited")]
)
@pytest.mark.parametrize(
    ("order", "ordered"),
    [("Stopping c-3.service - The shop...", ["stopped"]), ("Stopping nginx.service - Web server...", [])],
)
def test_a_request_to_stop_is_the_cause_behind_a_unit_that_did_not_exit_cleanly(
    status: str, link: str, order: str, ordered: list[str]
) -> None:
    story = evicted().line("c-3/syslog", "01:09:15.000", order)
    story.line("c-3/syslog", "01:09:16.000", f"c-3.service: Main process exited, code={status}")
    assert causes_behind(story.goes_on("01:15:00.000").the_incident()) == [link, *ordered]


def test_a_gc_log_that_ends_in_a_full_collection_leaves_open_whether_the_process_died() -> None:
    story = evicted()
    story.line("c-3/gc.log", "01:09:15.500", "GC(12) Pause Full (G1 Compaction Pause)", logger="jdk.Hotspot")
    incident = story.goes_on("01:15:00.000").the_incident()
    assert causes_behind(incident) == ["gc-pause"]
    assert incident.root_causes[0].confidence < 0.75


def test_a_full_collection_that_ended_immediately_stopped_no_member() -> None:
    story = evicted()
    for time, line in (("15.500", "GC(12) Pause Full (System.gc())"), ("15.512", FULL_GC.format(11))):
        story.line("c-3/gc.log", f"01:09:{time}", line, logger="jdk.Hotspot")
    assert causes_behind(story.goes_on("01:15:00.000").the_incident()) == []


CRASHED = Path("sample_logs/process-crash")
SPRING = Path("sample_logs/process-pause")
KILLED = "Out of memory: Killed process 4242 (java) total-vm:8388608kB"
PROBED = "Killing pod/node-1 in shop: Container app failed liveness probe, will be restarted"
JOURNAL = '{"__REALTIME_TIMESTAMP":"1795226338000000","SYSLOG_IDENTIFIER":"myapp","_HOSTNAME":"node-1","MESSAGE":"%s"}'


def beside_the_crash(directory: Path, name: str, text: str) -> Incident:
    """The sample in which the process of etl-prod-1 on node-1 dies, with more lines in a file."""
    logs = shutil.copytree(CRASHED, directory / "logs")
    with (logs / name).open("a") as file:
        file.write(text + "\n")
    return next(e for e in analyze([str(logs)], LOCAL).incidents if e.root_causes[0].cause != "startup")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("node-1/agent.log", f"2026-11-21 01:58:56,000 INFO [main] {KILLED} (com.acme.Agent)"),
        ("node-2/app.log", f"01:58:52.000 [main] INFO  c.acme.K8s - {PROBED}"),
        ("node-1/journal.json", JOURNAL % KILLED),
    ],
    ids=["a logger", "a logger and a pod", "a program of the journal"],
)
def test_words_of_the_kernel_or_a_kubelet_that_another_program_logs_are_not_theirs(
    name: str, text: str, tmp_path: Path
) -> None:
    incident = beside_the_crash(tmp_path, name, text)
    assert (incident.root_causes[0].confidence, causes_behind(incident)) == (0.4, [])


NEXT_UNIT = (
    f"Nov 21 01:58:58 node-1 kernel: [1.2] {KILLED}\n"
    "Nov 21 01:58:58 node-1 systemd[1]: {}.service: Failed with result 'oom-kill'."
)
CGROUP = (
    "Nov 21 01:58:58 node-1 kernel: [1.1] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,"
    "task_memcg=/system.slice/elasticsearch.service,task=java,pid=4242,uid=1000\n"
    f"Nov 21 01:58:58 node-1 kernel: [1.2] {KILLED}"
)
IN_A_POD = CGROUP.replace("system.slice/elasticsearch.service", "kubepods/burstable/pod8b0f/3f2a")
ENDED = "Nov 21 01:58:56 node-1 systemd[1]: {}.service: Main process exited, code=killed, status=9/KILL"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (ENDED.format("node-exporter"), []),
        (ENDED.format("prod-db-backup"), []),
        (ENDED.format("etl-prod@1"), ["killed"]),
        (NEXT_UNIT.format("elasticsearch"), []),
        (NEXT_UNIT.format("etl-prod"), ["oom-kill"]),
        (CGROUP, []),
        (IN_A_POD, []),
        ("Nov 21 01:59:04 node-1 kernel: [1.2] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [java:999]", []),
    ],
)
def test_a_kill_is_the_members_by_its_whole_name_and_not_where_another_unit_is_named(
    text: str, links: list[str], tmp_path: Path
) -> None:
    incident = beside_the_crash(tmp_path, "node-1/syslog", text)
    assert causes_behind(incident) == links
    assert incident.root_causes[0].cause == "process-crash"


SUMMARY = (
    "Nov 21 01:58:56 node-1 kernel: oom-kill:constraint={},nodemask=(null),cpuset=/,mems_allowed=0,"
    "{},task_memcg=/system.slice/etl-prod.service,task=java,pid=4242,uid=1000\n"
)
OF_A_PROCESS = (
    "Nov 21 01:58:{} node-1 kernel: Memory cgroup out of memory: Killed process {} (java) total-vm:18388608kB, "
    "anon-rss:262144kB, file-rss:30000kB, shmem-rss:8388608kB, UID:1000 pgtables:9000kB oom_score_adj:0\n"
)
OF_ITS_UNIT = (
    "Nov 21 01:58:57 node-1 systemd[1]: etl-prod.service: A process of this unit has been killed by the OOM killer."
)


OF_RHEL_6 = (
    "Nov 21 01:58:56 node-1 kernel: Task in /etl-prod killed as a result of limit of /\n"
    "Nov 21 01:58:56 node-1 kernel: Memory cgroup out of memory: Kill process 4242 (java) score 9 or sacrifice child\n"
    "Nov 21 01:58:56 node-1 kernel: Killed process 4242, UID 679, (java) total-vm:8kB, anon-rss:262144kB, file-rss:0kB"
)


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (
            SUMMARY.format("CONSTRAINT_MEMCG", "oom_memcg=/system.slice/etl-prod.service")
            + OF_A_PROCESS.format(56, 4242),
            "(pid 4242, 8.3 GiB resident) at the memory limit of its cgroup.",
        ),
        (
            SUMMARY.format("CONSTRAINT_MEMCG", "oom_memcg=/system.slice") + OF_A_PROCESS.format(56, 4242),
            "(pid 4242, 8.3 GiB resident) at the memory limit of cgroup /system.slice.",
        ),
        (
            OF_A_PROCESS.format(56, 4242) + OF_ITS_UNIT,
            "(pid 4242, 8.3 GiB resident) at the memory limit of its cgroup or of a parent cgroup.",
        ),
        (
            OF_A_PROCESS.format(56, 999) + SUMMARY.format("CONSTRAINT_NONE", "global_oom") + OF_ITS_UNIT,
            "(pid 4242): out of memory.",
        ),
        (
            OF_RHEL_6,
            "(pid 4242, 256 MiB resident) at the memory limit of cgroup /.",
        ),
    ],
    ids=["its own limit", "a limit above it", "any limit", "another process before it", "RHEL 6"],
)
def test_a_kill_is_read_from_the_lines_of_its_process_alone(text: str, how: str, tmp_path: Path) -> None:
    (link,) = beside_the_crash(tmp_path, "node-1/syslog", text).root_causes[0].behind
    assert link.why == f"The kernel killed java {how}"


VM_ERROR = """#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x00007f3e8c0b4a10, pid=777, tid=778
#

---------------  S U M M A R Y ------------

Time: Sat {} 2026 UTC elapsed time: 95.2 seconds (0d 0h 1m 35s)
"""


@pytest.mark.parametrize("time", ["Dez 21 01:58:56", "Nov 21 01:58:60"])
def test_an_error_file_with_an_unreadable_time_is_a_record_without_a_time(time: str, tmp_path: Path) -> None:
    incident = beside_the_crash(tmp_path, "node-1/hs_err_pid777.log", VM_ERROR.format(time))
    assert incident.root_causes[0].cause == "process-crash"


CARRIER = ("{}: Lost carrier", "{}: Gained carrier")
TG3 = ("tg3 0000:04:00.0 {}: Link is down", "tg3 0000:04:00.0 {}: Link is up at 1000 Mbps, full duplex")
BOND = ("{}: now running without any active interface!", "{}: first active interface up!")


@pytest.mark.parametrize(
    ("link", "down_and_up", "counts"),
    [
        ("veth1a2b", CARRIER, False),
        ("br-0a1b2c", CARRIER, False),
        ("eth0", CARRIER, True),
        ("em1", TG3, True),
        ("bond0", BOND, True),
    ],
)
def test_a_virtual_interface_is_not_the_link_of_the_host(
    link: str,
    down_and_up: tuple[str, str],
    counts: bool,  # noqa: FBT001
) -> None:
    lines = (("01:08:40.000", down_and_up[0].format(link)), ("01:10:19.000", down_and_up[1].format(link)))
    found = [
        incident.root_causes[0].confidence for incident in (resumed().the_incident(), resumed(*lines).the_incident())
    ]
    assert (found[0] != found[1]) is counts


def test_the_thread_main_of_another_jvm_is_not_the_consumers() -> None:
    story = slow_member((4, 1))
    story.events = [replace(e, speaker=replace(e.speaker, thread="main")) for e in story.events]
    before = story.the_incident().summary
    for name in ("elasticsearch-jstack.txt", "threads.txt"):
        story.line(f"c-3/{name}", "01:09:50.000", STACK.format("main", "RUNNABLE", WAITING), logger="")
    assert (causes_behind(story.the_incident()), story.the_incident().summary) == ([], before)


def test_a_dump_names_the_polling_thread_whose_last_15_characters_spring_boot_logs() -> None:
    found = []
    for thread in ("orderListener-0-C-1", "stockListener-0-C-2"):
        story = slow_member((4, 1))
        own = [e.speaker.file == "c-3/app.log" for e in story.events]
        logged = [replace(e, speaker=replace(e.speaker, thread="orderListener-0-C-1"[-15:])) for e in story.events]
        story.events = [cut if is_own else e for e, cut, is_own in zip(story.events, logged, own, strict=True)]
        for time, frames in (("01:04:50.000", POLLING), ("01:09:50.000", WAITING)):
            story.line("c-3/threads.txt", time, STACK.format(thread, "RUNNABLE", frames), logger="")
        found.append(causes_behind(story.the_incident()))
    assert found == [["slow-call", "waiting"], []]


JAVA = 'Java Threads: ( => current thread )\n  0x00007f485c09f740 JavaThread "{}" daemon [_thread_blocked, id=13986]'
HEARTBEATS = "kafka-coordinator-heartbeat-thread | {}"


@pytest.mark.parametrize(
    ("listed", "links"),
    [
        ("Command Line: -Xmx4g org.elasticsearch.bootstrap.Elasticsearch", []),
        ("Command Line: -Xmx4g -XX:+UseZGC com.acme.billing.BillingApplication --once", []),
        ("java_command: /opt/etl/etl-prod.jar --server.port=8080", ["crashed"]),
        ("Command Line: -Xmx512m com.acme.EtlApplication", ["crashed"]),
        ("Command Line: -Xmx512m com.acme.etl.MonitorEtl", []),
        ("Command Line: -Xmx512m com.acme.etl.Monitor", []),
        ("java_command: /opt/etl/etl-monitor.jar", []),
        ("java_command: /app.jar", []),
        ("java_command: kafka.Kafka config/etl-prod.properties", []),
        (JAVA.format("main"), []),
        (JAVA.format(HEARTBEATS.format("billing")), []),
        (JAVA.format(HEARTBEATS.format("etl-prod")), ["crashed"]),
        (f"Command Line: com.acme.Main\n{JAVA.format('consumer_background_thread')}", ["crashed"]),
        ("VM state: not at safepoint (normal execution)", ["crashed"]),
    ],
)
def test_an_error_file_is_the_members_by_its_threads_and_else_by_its_main_class(
    listed: str, links: list[str], tmp_path: Path
) -> None:
    text = f"{VM_ERROR.format('Nov 21 01:58:56')}\n{listed}\n"
    incident = beside_the_crash(tmp_path, "node-1/hs_err_pid777.log", text)
    assert (causes_behind(incident), incident.root_causes[0].confidence > 0.4) == (links, bool(links))


def of_process(story: Story, pid: int) -> Story:
    """The story with a layout that prints the process id of c-3."""
    own = (e.speaker.file == "c-3/app.log" for e in story.events)
    story.events = [
        replace(e, speaker=replace(e.speaker, pid=pid)) if its else e for e, its in zip(story.events, own, strict=True)
    ]
    return story


@pytest.mark.parametrize(("pid", "confidence"), [(4242, 0.97), (5151, None), (7, 0.6)])
def test_the_process_id_that_a_log_prints_decides_whether_the_kernel_killed_its_process(
    pid: int, confidence: float | None
) -> None:
    """Inside a container the process has another, lower one than the kernel prints."""
    story = of_process(evicted(), pid)
    story.line("c-3/syslog", "01:09:16.000", OOM.format("java"), logger="jdk.Hotspot")
    links = story.goes_on("01:15:00.000").the_incident().root_causes[0].behind
    assert [link.confidence for link in links] == ([] if confidence is None else [min(confidence, 0.95)])


def test_a_kill_of_a_java_that_may_run_in_another_container_weighs_nothing() -> None:
    before = evicted().goes_on("01:10:20.000").the_incident()
    for pid in (1, 4242):
        story = of_process(evicted(), 1)
        killed = OOM.replace("4242", str(pid)).format("java")
        story.line("c-3/syslog", "01:09:16.000", killed, logger="jdk.Hotspot")
        incident = story.goes_on("01:10:20.000").the_incident()
        found = [[(c.cause, c.confidence) for c in each.root_causes] for each in (incident, before)]
        assert found[0] == found[1]
        assert [cause for cause, _ in found[0]] == ["process-crash", "process-pause"]


def test_a_kill_of_some_java_of_its_host_keeps_a_pause_as_a_rival(tmp_path: Path) -> None:
    causes = beside_the_crash(tmp_path, "node-1/syslog", f"Nov 21 01:58:55 node-1 kernel: [1.2] {KILLED}").root_causes
    assert [cause.cause for cause in causes] == ["process-crash", "process-pause"]
    assert causes[0].confidence < causes[0].behind[0].confidence


POD = "8b0f1c2d-0123-4567-89ab-0123456789ab"


@pytest.mark.parametrize(
    ("file", "pid", "counts"),
    [
        ("node-1/app.log", None, False),
        ("node-1/app.log", 1, True),
        (f"pods/shop_orders-0_{POD}/app/0.log", 1, True),
        (f"pods/shop_orders-0_{POD.replace('8b', '9c')}/app/0.log", 1, False),
    ],
)
def test_a_kill_in_a_pods_cgroup_does_not_concern_a_member_on_the_host_or_in_another_pod(
    file: str,
    pid: int | None,
    counts: bool,  # noqa: FBT001
) -> None:
    slice_of_pod = f"kubepods-burstable-pod{POD.replace('-', '_')}.slice"
    pids = frozenset(() if pid is None else (pid,))
    participant = Participant("client", "orders-1", files=frozenset((file,)), pids=pids)
    assert may_run_in(participant, [f"/kubepods.slice/{slice_of_pod}/cri-containerd-3f2a{'0' * 60}.scope"]) is counts


@pytest.mark.parametrize(
    ("group", "program", "tied"),
    [
        ("search-indexer-v2", "com.acme.search.SearchIndexerApplication", True),
        ("search-indexer-v2", "com.acme.search.indexer.Main", True),
        ("search-indexer-eu", "/srv/search-indexer-1.4.2.jar", True),
        ("search-indexer-v2", "com.acme.search.indexer.monitor.Main", False),
        ("search-indexer-v2", "com.acme.search.SearchIndexerExporter", False),
        ("etl-prod", "com.acme.etl.Main", False),
        ("etl-prod", "/app.jar", False),
    ],
)
def test_a_main_class_is_the_members_by_its_own_name_or_several_words_of_its_package(
    group: str,
    program: str,
    tied: bool,  # noqa: FBT001
) -> None:
    assert runs(group, Participant("client", "c-1", files=frozenset(("node-1/app.log",))), program) is tied


def test_every_container_has_a_process_1(tmp_path: Path) -> None:
    logs = shutil.copytree(SPRING, tmp_path / "logs")
    listed = "Command Line: -Xmx512m com.acme.invoice.InvoiceExporter"
    text = VM_ERROR.replace("777", "1").format("Nov 21 01:57:44")
    (logs / "node-3" / "hs_err_pid1.log").write_text(f"{text}\n{listed}\n")
    found = analyze([str(logs)], LOCAL)
    assert all("crashed" not in causes_behind(incident) for incident in found.incidents)
    assert any(gap.what.startswith("node-3/hs_err_pid1.log is of a process (com.acme.inv") for gap in found.gaps)


@pytest.mark.parametrize(("time", "links"), [("01:09:16.000", ["oom-kill"]), ("01:09:40.000", [])])
def test_some_java_of_the_host_was_killed_only_in_the_moment_in_which_heartbeats_stopped(
    time: str, links: list[str]
) -> None:
    story = evicted()
    story.line("c-3/syslog", time, OOM.format("java"), logger="jdk.Hotspot")
    cause = story.goes_on("01:15:00.000").the_incident().root_causes[0]
    assert [link.what for link in cause.behind] == links
    assert all("no line shows whose process that was" in link.why for link in cause.behind)


def test_a_jvm_with_stopped_threads_logs_no_line_in_the_meantime() -> None:
    story = evicted()
    found = story.of("c-3").prefixed("Discovered group coordinator b-2:9092 (id: 1 rack: null)")
    story.line("c-3/app.log", "01:09:20.000", found)
    story.line("c-3/gc.log", "01:10:19.900", FULL_GC.format(64_210), logger="jdk.Hotspot")
    story.goes_on("01:15:00.000")
    assert causes_behind(story.the_incident()) == []


@pytest.mark.parametrize(("uptime", "links"), [(8_000_000, ["gc-pause", "heap-full"]), (300_000, [])])
def test_a_jvm_that_started_after_the_members_first_line_is_another(uptime: int, links: list[str]) -> None:
    story = resumed(("01:10:19.900", FULL_GC.format(64_210)))
    story.events = [replace(e, uptime_ms=uptime) if isinstance(e, ThreadsStopped) else e for e in story.events]
    assert causes_behind(story.the_incident()) == links


@pytest.mark.parametrize(
    ("at", "step", "links"),
    [
        ("01:09:58.000", "310.219000", ["clock-step"]),
        ("01:09:58.000", "100.219000", []),
        ("01:09:58.000", "-400.219000", []),
        ("01:02:58.000", "310.219000", []),
    ],
    ids=["forward", "by less than the poll timeout", "back", "long before"],
)
def test_a_clock_set_forward_beyond_the_poll_timeout_is_the_cause_behind_its_expiry(
    at: str, step: str, links: list[str]
) -> None:
    story = slow_member((4, 1))
    story.line("c-3/syslog", at, f"System clock was stepped by {step} seconds", logger="jdk.Hotspot")
    assert causes_behind(story.the_incident()) == links


def test_a_housekeeper_that_ran_late_shows_a_paused_process() -> None:
    late = "HikariPool-1 - Thread starvation or clock leap detected (housekeeper delta=1m34s210ms665\u00b5s608ns)."
    story = resumed()
    story.line("c-3/app.log", "01:10:19.900", late, logger="com.zaxxer.hikari.pool.HikariPool")
    incident = story.the_incident()
    assert (incident.root_causes[0].cause, causes_behind(incident)) == ("process-pause", ["stall"])
    assert "ran no thread for 1 min 04 s, as its connection pool (HikariCP) logged" in incident.summary


def test_a_stop_of_another_jvm_is_not_in_the_lane_of_a_member() -> None:
    story = resumed(("01:10:19.900", FULL_GC.format(64_210)))
    story.line("c-3/elasticsearch-gc.log", "01:09:20.000", FULL_GC.format(9_210), logger="jdk.Hotspot")
    (lane,) = (lane for lane in story.case().history.lanes if lane.name == "c-3")
    assert [m.label for m in lane.marks if m.kind == "threads-stopped"] == ["JVM stopped for 64.2 s (gc-pause)"]


SLOW_CALLS = {
    "resilience4j": "io.github.resilience4j.circuitbreaker.CallNotPermittedException: CircuitBreaker 'rates' is OPEN "
    "and does not permit further calls",
    "Hystrix": "com.netflix.hystrix.exception.HystrixRuntimeException: Rates short-circuited and fallback failed.",
    "Hystrix, timed out": "com.netflix.hystrix.exception.HystrixRuntimeException: Rates timed-out and fallback failed.",
    "DBCP": "java.sql.SQLException: Cannot get a connection, pool error Timeout waiting for idle object, "
    "borrowMaxWaitDuration=PT0.299988736S",
    "Tomcat JDBC": "org.apache.tomcat.jdbc.pool.PoolExhaustedException: [main] Timeout: Pool empty. Unable to fetch a "
    "connection in 30 seconds, none available[size:1; busy:1; idle:0; lastwait:30000].",
    "c3p0": "java.sql.SQLException: An attempt by a client to checkout a Connection has timed out.",
    "gRPC": "io.grpc.StatusRuntimeException: DEADLINE_EXCEEDED: deadline exceeded after 4.917026917s",
    "java.net.http": "java.net.http.HttpTimeoutException: request timed out",
    "OkHttp and Apache": "java.net.SocketTimeoutException: Read timed out",
    "Feign": "feign.RetryableException: Read timed out executing GET http://rates/eur",
}
FAILED = "com.netflix.hystrix.exception.HystrixRuntimeException: Rates failed and no fallback available."
TIMED_OUT = "java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out"


@pytest.mark.parametrize(
    ("file", "time", "thread", "thrown", "links"),
    [
        ("app.log", "01:09:30.000", "main", TIMED_OUT, ["exception"]),
        ("app-errors.log", "01:09:30.000", "main", TIMED_OUT, ["exception"]),
        *(("app.log", "01:09:30.000", "main", thrown, ["exception"]) for thrown in SLOW_CALLS.values()),
        ("app.log", "01:09:30.000", "http-nio-8080-exec-1", TIMED_OUT, []),
        ("app.log", "01:00:30.000", "main", TIMED_OUT, []),
        ("app.log", "01:09:30.000", "main", "java.lang.IllegalArgumentException: no such currency", []),
        ("app.log", "01:09:30.000", "main", FAILED, []),
        ("billing.log", "01:09:30.000", "main", TIMED_OUT, []),
    ],
    ids=[
        "a pool",
        "a log of errors",
        *SLOW_CALLS,
        "another thread",
        "long before",
        "no slow call",
        "Hystrix, a plain error",
        "another application",
    ],
)
def test_the_call_that_timed_out_on_the_polling_thread_is_the_cause_behind_its_late_poll(
    file: str, time: str, thread: str, thrown: str, links: list[str]
) -> None:
    story = slow_member((4, 1))
    story.line(
        f"c-3/{file}",
        time,
        f"Order failed\n{thrown}\n\tat com.acme.Orders.price(Orders.java:1)",
        level="ERROR",
        logger="com.acme.Orders",
    )
    story.events = [
        replace(e, speaker=replace(e.speaker, thread=thread if isinstance(e, ExceptionLogged) else "main"))
        for e in story.events
    ]
    incident = story.the_incident()
    assert causes_behind(incident) == links
    assert (thrown.partition(": ")[2] in incident.summary) is bool(links)


@pytest.mark.parametrize(
    ("thrown", "shown"),
    [
        ('price lookup failed: Get "http://rates/eur": context deadline exceeded', True),
        (
            (
                "Price lookup failed\nSystem.Threading.Tasks.TaskCanceledException: HttpClient.Timeout of 100 seconds "
                "elapsed.\n   at Shop.Rates.LookUp() in Rates.cs:line 42"
            ),
            True,
        ),
        ("price lookup failed\nAxiosError: timeout of 30000ms exceeded\n    at Rates.lookUp (rates.js:42:7)", True),
        ("commit failed: Local: Timed out", False),
        ("no such currency", False),
    ],
    ids=["Go", ".NET", "Node.js", "a client of Kafka", "no slow call"],
)
def test_a_call_that_timed_out_on_an_unnamed_thread_may_be_the_cause_behind_the_late_poll(
    thrown: str, *, shown: bool
) -> None:
    story = slow_member((4, 1))
    story.line("c-3/app.log", "01:09:30.000", thrown, level="ERROR", logger="shop")
    story.line("c-1/app.log", "01:09:30.000", f"{thrown} elsewhere", level="ERROR", logger="shop")
    incident = story.the_incident()
    links = incident.root_causes[0].behind
    assert [(link.what, link.confidence, len(link.evidence)) for link in links] == [("exception", 0.5, 1)] * shown
    assert "logged" not in incident.summary


SUPERVISED = "2026-11-21 01:58:56,142 INFO exited: {} ({}; not expected)"


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (SUPERVISED.format("etl-prod:etl-prod_00", "terminated by SIGKILL"), ["killed"]),
        (SUPERVISED.format("etl-prod", "exit status 3"), ["exited"]),
        (SUPERVISED.format("etl-prod-exporter", "terminated by SIGKILL"), []),
        (SUPERVISED.format("sync-etl-prod", "terminated by SIGKILL"), []),
        (SUPERVISED.format("etl-prod-2", "terminated by SIGKILL"), []),
        (SUPERVISED.format("nginx", "terminated by SIGKILL"), []),
        (SUPERVISED.format("etl-prod", "terminated by SIGTERM"), []),
        ("Nov 21 01:58:56 node-1 init: etl-prod main process (4242) killed by KILL signal", ["killed"]),
        ("Nov 21 01:58:56 node-1 init: etl-prod main process (4242) killed by TERM signal", []),
        ("Nov 21 01:58:56 node-1 init: mysql main process (4242) killed by KILL signal", []),
        ("2026-11-21T01:58:56: PM2 log: App [etl-prod:0] exited with code [0] via signal [SIGKILL]", ["killed"]),
        ("Nov 21 01:58:56 node-1 systemd-oomd[600]: Killed /system.slice/etl-prod.service due to memory", ["oom-kill"]),
        (
            "Sat 2026-11-21 01:58:56 UTC node-1 systemd[1]: etl-prod.service: Failed with result 'oom-kill'.",
            ["oom-kill"],
        ),
    ],
)
def test_a_programs_end_as_logged_by_other_supervisors_is_the_cause_behind_a_death(
    text: str, links: list[str], tmp_path: Path
) -> None:
    assert causes_behind(beside_the_crash(tmp_path, "node-1/supervisor.log", text)) == links


@pytest.mark.parametrize(
    ("name", "text", "gap"),
    [
        ("gc.log", "[28.345s][info][gc] " + FULL_GC.format(14_210), "One JVM stop in node-1/gc.log has no time."),
        ("dmesg.txt", f"[12345.678901] {KILLED}", "One kernel line in node-1/dmesg.txt has no time."),
        (
            "hs_err_pid777.log",
            f"{VM_ERROR.format('Nov 21 01:58:56')}\njava_command: com.acme.Billing\n",
            "node-1/hs_err_pid777.log is of a process (com.acme.Billing) that no line ties to etl-prod-1",
        ),
        (
            "gc-12.log gc-13.log",
            "".join(f"[2026-11-21T01:58:{at}.000+0000][info][gc] {FULL_GC.format(14)}\n" for at in (50, 59)),
            "No line shows which of node-1/gc-12.log and node-1/gc-13.log is the GC log of etl-prod-1",
        ),
        (
            "gc-old.log gc.log",
            "".join(f"[2026-11-21T01:58:{at}.500+0000][info][gc] {FULL_GC.format('1~')}\n" for at in (50, 59)),
            "No line shows which of node-1/gc-old.log and node-1/gc.log is the GC log of etl-prod-1",
        ),
    ],
)
def test_what_no_time_and_no_name_ties_to_a_member_is_a_gap(name: str, text: str, gap: str, tmp_path: Path) -> None:
    logs = shutil.copytree(CRASHED, tmp_path / "logs")
    for number, each in enumerate(name.split()):
        (logs / "node-1" / each).write_text(text.replace(".000+", f".{number:03}+").replace("~", str(number)) + "\n")
    assert any(found.what.startswith(gap) for found in analyze([str(logs)], LOCAL).gaps)
