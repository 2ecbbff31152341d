"""What the JVM prints without a time: dumps of its threads, GC logs with the uptime alone, its hs_err file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.records import LogRecord
from rebalance_forensics.sources.records.record_reader import Relevant
from tests.sources.test_reading import TENTH, Read

LINE = "2026-11-20 10:15:30,123 [main] INFO  com.acme.Orders - {}"
JOINING = "(Re-)joining group"
DUMP = """2026-11-20 10:15:40
Full thread dump OpenJDK 64-Bit Server VM (17.0.15+6 mixed mode, sharing):

"payments-2" #18 prio=5 os_prio=0 cpu=120.50ms elapsed=95.20s tid=0x00007f8c1c0b2800 nid=0x1f runnable  [0x0]
   java.lang.Thread.State: RUNNABLE
\tat com.acme.Rates.lookUp(Rates.java:42)

"VM Thread" os_prio=0 cpu=1.50ms elapsed=95.20s tid=0x00007f8c1c0b2801 nid=0x2f runnable
""".splitlines()
GC = "[28.345s][info][gc] GC(12) Pause Full (G1 Compaction Pause) 3900M->3899M(4096M) 14210.512ms"


def _read(tmp_path: Path, lines: list[str], relevant: Relevant | None) -> list[LogRecord]:
    return Read(tmp_path, {"app-1/app.log": "\n".join(lines) + "\n"}, relevant=relevant).records["app-1/app.log"]


@pytest.mark.parametrize("relevant", [None, Catalog.load().prefilter().hits], ids=["all", "hits"])
def test_threads_of_a_dump_are_separate_records_at_the_time_above_the_dump(
    relevant: Relevant | None, tmp_path: Path
) -> None:
    lines = [LINE.format(JOINING), *DUMP, LINE.format("Shutting down")]
    records = _read(tmp_path, lines, relevant)
    (thread,) = (r for r in records if r.message.startswith('"payments-2"'))
    assert (thread.at, thread.origin.line, thread.borrows_time) == (TENTH + 9_877, 5, True)
    assert thread.message.endswith("Rates.lookUp(Rates.java:42)\n")
    assert records[0].message == JOINING


TO_A_FILE = """7767
2026-11-20T10:15:40.431673153Z
25.0.3+9-LTS

#41 "payments-2" TIMED_WAITING 2026-11-20T10:15:40.434389563Z
    at java.base/java.lang.Thread.sleepNanos0(Native Method)
    at java.base/java.lang.Thread.sleep(Thread.java:540)
    at com.acme.Main$Rates.lookUp(Main.java:7)
    - locked <java.lang.Class@554e218>

#42 "payments-3" BLOCKED 2026-11-20T10:15:40.434425430Z
    at com.acme.Main$Rates.lookUp(Main.java:7)
    - waiting to lock <java.lang.Class@554e218>

"""


def test_each_thread_that_is_dumped_to_a_file_has_the_state_and_the_time_printed_there(tmp_path: Path) -> None:
    catalog = Catalog.load()
    records = _read(tmp_path, (TO_A_FILE * 2).splitlines(), catalog.prefilter().hits)
    matches = [catalog.match(record.message) for record in records]
    assert [(record.at, record.origin.line) for record in records] == [
        (TENTH + 10_311, line) for line in (5, 11, 19, 25)
    ]
    assert [(m.fields["state"], m.fields.get("waits_for")) for m in matches if m] == [
        ("TIMED_WAITING", None),
        ("BLOCKED", "java.lang.Class"),
    ] * 2


def test_a_dump_of_a_thousand_similar_threads_is_read_unchanged(tmp_path: Path) -> None:
    at, title, _, *stack = DUMP
    idle = (
        f'"pool-1-thread-{n:03}" #{n + 1000} prio=5 os_prio=0 cpu=1.50ms elapsed=95.20s tid=0x00007f8c1c0b{n:04x} '
        "nid=0x2f waiting on condition  [0x00007f8c0a1fe000]\n   java.lang.Thread.State: WAITING (parking)\n"
        "\tat jdk.internal.misc.Unsafe.park(java.base@17.0.15/Native Method)\n"
        for n in range(1000)
    )
    read = Read(
        tmp_path,
        {"app-1/threads.txt": "\n".join((at, title, "", *idle, *stack, ""))},
        relevant=Catalog.load().prefilter().hits,
    )
    (polling,) = (r for r in read.records["app-1/threads.txt"] if r.message.startswith('"payments-2"'))
    assert (polling.at, polling.origin.line) == (TENTH + 9_877, 4004)
    profile = read.profiles["app-1/threads.txt"]
    # No lines that a terminal broke; the time of its last thread stands at its beginning.
    assert (profile.document, profile.splittable) == (None, False)
    # What 256 of a pool do, the others do as well.
    assert len(read.records["app-1/threads.txt"]) == 256 + 1
    assert read.counts["app-1/threads.txt"].errors == [
        "744 threads in its dumps were left out: each looks like 256 others of its dump",
    ]


def test_of_a_pool_that_is_in_a_thousand_calls_a_thousand_threads_are_read_and_all_that_consume(tmp_path: Path) -> None:
    at, title, _, *stack = DUMP
    thread = (
        '"worker-{0:x}" #{0} prio=5 os_prio=0 tid=0x00007f8c nid=0x2f runnable\n   java.lang.Thread.State: RUNNABLE\n'
        "\tat com.acme.{1}.run(Job.java:1)\n\tat {2}.run(Loop.java:9)\n"
    )
    words = [f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{chr(97 + n // 676)}" for n in range(1100)]
    loops = [
        "org.apache.kafka.streams.processor.internals.StreamThread" if n > 1090 else "com.acme.Loop"
        for n in range(1100)
    ]
    dump = "\n".join(thread.format(n + 4096, words[n], loops[n]) for n in range(1100))
    read = Read(
        tmp_path,
        {"app-1/threads.txt": "\n".join((at, title, "", dump, *stack, ""))},
        relevant=Catalog.load().prefilter().hits,
    )
    assert len([r for r in read.records["app-1/threads.txt"] if "Thread.State" in r.message]) == 1024 + 9 + 1
    assert read.counts["app-1/threads.txt"].errors == [
        (
            "67 threads in its dumps were left out: of those that differ, 2,048 of a dump are read, 1,024 of one name, "
            "and all in which a client of Kafka shows"
        ),
    ]


def test_quoted_lines_of_a_log_are_not_threads(tmp_path: Path) -> None:
    line = f'"{LINE.format(JOINING)}"'
    read = Read(tmp_path, {"app-1/app.log": f"{line}\n" * 300}, relevant=Catalog.load().prefilter().hits)
    assert (len(read.records["app-1/app.log"]), read.counts["app-1/app.log"].errors) == (300, [])


@pytest.mark.parametrize("relevant", [None, Catalog.load().prefilter().hits], ids=["all", "hits"])
def test_a_collection_in_an_applications_log_was_not_over_before_the_line_above(
    relevant: Relevant | None, tmp_path: Path
) -> None:
    lines = [LINE.format(JOINING), LINE.format("Polled"), GC, LINE.format("Shutting down")]
    (stop,) = (r for r in _read(tmp_path, lines, relevant) if r.uptime_ms is not None)
    assert (stop.at, stop.uptime_ms, stop.borrows_time) == (TENTH, 28_345, True)
    assert stop.message.startswith("GC(12)")


def test_a_gc_log_with_the_uptime_alone_has_no_time(tmp_path: Path) -> None:
    records = _read(tmp_path, [GC] * 4, None)
    assert [(r.at, r.uptime_ms) for r in records] == [(None, 28_345)] * 4


TRACE = """{}could not price the order
{}java.sql.SQLTransientConnectionException: HikariPool-1 - Connection is not available, request timed out after 30000ms.
{}\tat com.acme.Orders.price(Orders.java:1)
{}Caused by: java.lang.IllegalStateException: closed
{}\t... 3 more
{}"""


@pytest.mark.parametrize("relevant", [None, Catalog.load().prefilter().hits], ids=["all", "hits"])
@pytest.mark.parametrize("program", ["supervisord[881]", "pm2-deploy[881]", "systemd[1]", "orders[881]"])
def test_a_trace_that_a_supervisor_writes_under_its_own_name_stays_with_the_error_of_its_program(
    program: str, relevant: Relevant | None, tmp_path: Path
) -> None:
    tag = f"Nov 20 10:15:30 app-1 {program}: "
    header = "2026-11-20 10:15:30,123 [main] {} com.acme.Orders - "
    lines = TRACE.format(tag + header.format("ERROR"), *[tag] * 4, tag + header.format("INFO") + JOINING)
    error, joining = _read(tmp_path, lines.splitlines(), relevant)
    assert (error.level, error.message.count("\n"), joining.message) == ("ERROR", 4, JOINING)


@pytest.mark.parametrize(
    "text", ["  adjust (jump): +33.399 sec", "Error: disk full", " [<ffffffff>] ? do_page_fault+0x1/0x2"]
)
def test_a_line_of_the_host_itself_is_no_part_of_the_record_before(text: str, tmp_path: Path) -> None:
    tag = "Nov 20 10:15:30 app-1 kernel: "
    assert len(_read(tmp_path, [tag + JOINING, tag + text], None)) == 2


OF_JDK_7 = (
    "2026-11-20T10:15:3{}.123+0000: {}.364: [GC [PSYoungGen: 90240K->15018K(105280K)] 90240K->31468K(225664K), {}] "
    "[Times: user=0.04 sys=0.02, real=0.04 secs]"
)
STOPPED = "Total time for which application threads were stopped: {} seconds"


@pytest.mark.parametrize(
    ("lines", "stops"),
    [
        ([OF_JDK_7.format(0, 4, "0.0338 secs"), STOPPED.format("14.2110120")], [(TENTH, 14_211)]),
        ([LINE.format("Polled"), STOPPED.format("14.2110120"), LINE.format("Polled")], [(TENTH, 14_211)]),
        ([OF_JDK_7.format(0, 4, "10.0123456 secs"), OF_JDK_7.format(1, 5, "0.0123456 secs")], [(TENTH, 10_012)]),
        (
            [
                (
                    "2026-11-20T10:15:30.123+0000: 4.364: [GC pause (G1 Evacuation Pause) (young)4.365: "
                    "[GC concurrent-root-region-scan-start]"
                ),
                (
                    "2026-11-20T10:15:30.123+0000: 4.364: [GC concurrent-root-region-scan-end, 0.0189841 secs] "
                    "(to-space exhausted), 2.3314995 secs][Eden: 0.0B(151.0M)->0.0B(153.0M) Survivors: 2048.0K->0.0B "
                    "Heap: 3038.7M(3072.0M)->3038.7M(3072.0M)] [Times: user=0.20 sys=0.00, real=2.33 secs]"
                ),
            ],
            [(TENTH, 2_331)],
        ),
        (
            [
                "[2026-11-20T10:15:16.929+0000][72053295ms] Entering safepoint region: GC_HeapInspection",
                "[2026-11-20T10:15:30.123+0000][72066571ms] Leaving safepoint region",
                f"[2026-11-20T10:15:30.123+0000][72066571ms] {STOPPED.format('13.2756956')}",
            ],
            [(TENTH, 13_276)],
        ),
    ],
    ids=["without a stamp", "in an application's log", "ten seconds", "a phase in the middle", "no level and no tags"],
)
def test_stops_of_older_jvms_are_read_in_every_form(
    lines: list[str], stops: list[tuple[int, int]], tmp_path: Path
) -> None:
    catalog = Catalog.load()
    matches = [(r, catalog.match(r.message)) for r in _read(tmp_path, lines, catalog.prefilter().hits)]
    found = [(r.at, m.fields["stopped_ms"]) for r, m in matches if m is not None and m.event == "ThreadsStopped"]
    assert found == stops


HS_ERR = """#
# A fatal error has been detected by the Java Runtime Environment:
#
#  SIGSEGV (0xb) at pc=0x0000000120cecd8b, pid=24103, tid=23
#
# Problematic frame:
# C  [librocksdbjni.so+0x19d8b]  rocksdb_key_may_exist+0xdb
#

---------------  {}  ---------------

{}
Heap:
 PSYoungGen      total 1000K, used 900K [0x1, 0x2)
 ParOldGen       total 3000K, used 2900K [0x3, 0x4)

GC Heap History (20 events):
 PSYoungGen      total 9000K, used 100K [0x1, 0x2)

{}
"""
OF_JDK_17 = HS_ERR.format(
    "S U M M A R Y ------------", "Time: Fri Nov 20 10:15:30 2026 UTC elapsed time: 9.2 seconds", ""
)
OF_JDK_8 = HS_ERR.format("T H R E A D", "", "time: Fri Nov 20 10:15:30 2026\ntimezone: UTC\nelapsed time: 9 seconds")


@pytest.mark.parametrize("text", [OF_JDK_17, OF_JDK_8], ids=["JDK 17", "JDK 8"])
def test_an_hs_err_file_is_one_record_at_the_time_of_the_end(text: str, tmp_path: Path) -> None:
    read = Read(tmp_path, {"app-1/hs_err_pid24103.log": text})
    (error,) = read.records["app-1/hs_err_pid24103.log"]
    assert (error.at, error.zoned, error.origin.line) == (TENTH - 123, True, 2)
    match = Catalog.load().match(error.message)
    assert match is not None
    assert (match.fields["reason"], match.fields["pid"]) == ("SIGSEGV", 24103)
    assert (match.fields["after_kib"], match.fields["size_kib"]) == (3800, 4000)
