"""What a log says of its layout, host, release, zone and day, and how its odd lines are read."""

from __future__ import annotations

import gzip
import os
import re
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path

import pytest

from rebalance_forensics.catalog.matcher import Catalog
from rebalance_forensics.records import LogRecord
from rebalance_forensics.sources.files.walk import discover
from rebalance_forensics.sources.profiles.neighbours import profiles
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.record_reader import Relevant, SplitCounts, parse_line, read_records
from rebalance_forensics.sources.records.splits import plan
from rebalance_forensics.sources.times.zones import UnknownZoneError, ZoneRules

TENTH = 1795169730123
"""2026-11-20 10:15:30.123 UTC."""
HOUR = 3_600_000


class Read:
    """A tree of logs as the sources give it."""

    def __init__(
        self, root: Path, files: dict[str, str | bytes], tz: tuple[str, ...] = (), relevant: Relevant | None = None
    ) -> None:
        for name, content in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            os.utime(path, (TENTH / 1000 + 1, TENTH / 1000 + 1))
        self.files = discover([str(root)]).files
        found = profiles(self.files, ZoneRules.of(tz))
        self.profiles: dict[str, FileProfile] = dict(zip((file.path for file in self.files), found, strict=True))
        self.counts: dict[str, SplitCounts] = {}
        self.records: dict[str, list[LogRecord]] = {}
        for split in plan(self.files, found):
            counts = self.counts.setdefault(split.file.path, SplitCounts())
            records = self.records.setdefault(split.file.path, [])
            records.extend(chain.from_iterable(read_records(split, relevant, counts)))


def kafka(time: str, message: str, logger: str = "kafka.server.KafkaServer") -> str:
    return f"[2026-11-20 {time}] INFO {message} ({logger})\n"


def test_a_local_clock_is_tied_to_utc_by_an_epoch_value_it_prints(tmp_path: Path) -> None:
    read = Read(
        tmp_path, {"node-1/app.log": kafka("12:15:30,125", f"Kafka startTimeMs: {TENTH}", "o.a.k.c.u.AppInfoParser")}
    )
    assert read.profiles["node-1/app.log"].zone == "+02:00"
    assert [(record.at, record.zoned) for record in read.records["node-1/app.log"]] == [(TENTH + 2, True)]


def test_a_local_time_that_nothing_ties_is_not_zoned(tmp_path: Path) -> None:
    read = Read(tmp_path, {"node-1/app.log": kafka("12:15:30,123", "started")})
    assert read.profiles["node-1/app.log"].zone is None
    assert [(record.at, record.zoned) for record in read.records["node-1/app.log"]] == [(TENTH + 2 * HOUR, False)]


def test_a_zone_that_the_user_gives_holds_for_its_host_or_for_all(tmp_path: Path) -> None:
    line = kafka("12:15:30,123", "started")
    read = Read(tmp_path, {"node-1/app.log": line, "node-2/app.log": line}, tz=("node-2=Europe/Berlin", "+02:00"))
    assert [read.records[f"node-{n}/app.log"][0].at for n in (1, 2)] == [TENTH, TENTH + HOUR]


def test_a_zone_that_does_not_exist_is_reported() -> None:
    with pytest.raises(UnknownZoneError, match="Mars/Base: no such time zone"):
        ZoneRules.of(["node-1=Mars/Base"])


LOGBACK = "{time} [main] INFO  o.a.k.c.c.i.ConsumerCoordinator - {message}\n"


@pytest.mark.parametrize(
    ("name", "message", "neighbour"),
    [
        ("app.log", f"Kafka startTimeMs: {TENTH}", ""),
        ("app.log", "joined", kafka("09:00:00,000", "starting") + kafka("11:00:00,000", "stopped")),
        ("app-2026-11-20.log", "joined", ""),
        ("app.log", "joined", ""),
    ],
    ids=["an epoch value", "its neighbours", "its name", "its age"],
)
def test_a_log_without_dates_is_dated_by(name: str, message: str, neighbour: str, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"node-1/{name}": LOGBACK.format(time="10:15:30.123", message=message)}
    if neighbour:
        files["broker-1/server.log"] = neighbour
    read = Read(tmp_path, files)
    assert [record.at for record in read.records[f"node-1/{name}"]] == [TENTH]


def test_midnight_passes_in_a_log_without_dates(tmp_path: Path) -> None:
    lines = [
        LOGBACK.format(time=time, message="x")
        for time in ("22:00:00.000", "23:59:59.999", "00:00:00.500", "23:59:59.998", "10:15:30.123")
    ]
    read = Read(tmp_path, {"node-1/app.log": "".join(lines)})
    times = [record.at for record in read.records["node-1/app.log"]]
    assert times == [TENTH - 12 * HOUR - 930_123, *(TENTH - 36_930_123 + late for late in (-1, 500, -2)), TENTH]


def test_a_service_that_prints_no_dates_is_dated_by_those_it_shares_a_stream_with(tmp_path: Path) -> None:
    noisy = "".join(f"broker-1  | {kafka(time, 'Said')}" for time in ("23:59:30,000", "23:59:40,000"))
    lines = [
        f"orders-1  | {LOGBACK.format(time='23:59:29.000', message='first')}",
        noisy,
        f"orders-1  | {LOGBACK.format(time='00:00:00.500', message='past midnight')}",
        f"broker-1  | {kafka('23:59:59,900', 'a little late')}",
        f"orders-1  | {LOGBACK.format(time='23:59:59.800', message='before midnight')}",
    ]
    read = Read(tmp_path, {"stack.log": "".join(lines)})
    midnight = TENTH - (10 * HOUR + 15 * 60_000 + 30_123) + 24 * HOUR
    times = {record.message: record.at for record in read.records["stack.log"]}
    assert [times[name] for name in ("first", "past midnight", "before midnight")] == [
        midnight - 31_000,
        midnight + 500,
        midnight - 200,
    ]


def test_a_record_continues_in_the_next_file_of_a_rolled_log(tmp_path: Path) -> None:
    whole = kafka("10:15:30,100", "Kafka version: 3.9.1") + (
        "[2026-11-20 10:15:30,123] INFO ConsumerConfig values: \n\ta = 1\n\tb = 2\n\tc = 3\n "
        "(org.apache.kafka.clients.consumer.ConsumerConfig)\n"
    )
    whole += kafka("10:15:31,000", "joined")
    lines = whole.splitlines(keepends=True)
    files: dict[str, str | bytes] = {
        "n-1/app.2.log.gz": gzip.compress("".join(lines[:3]).encode()),
        "n-1/app.1.log.gz": gzip.compress("".join(lines[3:4]).encode()),
        "n-1/app.log": "".join(lines[4:]),
    }
    for relevant in (None, lambda block: [at for at in (block.find(b"Config"), block.find(b"joined")) if at >= 0]):
        read = Read(tmp_path, files, relevant=relevant)
        config = read.records["n-1/app.2.log.gz"][-1]
        assert config.message == "ConsumerConfig values: \n\ta = 1\n\tb = 2\n\tc = 3\n"
        assert [record.message for record in read.records["n-1/app.log"]] == ["joined"]
        assert sum(counts.lines for counts in read.counts.values()) == len(lines)
        assert sum(counts.unparsed for counts in read.counts.values()) == 0
        assert read.profiles["n-1/app.log"].kafka_version == "3.9.1"


def config_cut_in(first: str, second: str, third: str) -> dict[str, str | bytes]:
    """A log rolled over in the middle of a record, once packed."""
    config = "[2026-11-20 10:15:30,123] INFO ConsumerConfig values: \n\ta = 1\n"
    rest = "\tb = 2\n (org.apache.kafka.clients.consumer.ConsumerConfig)\n"
    return {
        first: gzip.compress(config.encode()),
        second: gzip.compress(rest.encode()),
        third: kafka("10:15:31,000", "x"),
    }


def test_the_number_of_a_process_is_not_that_of_a_rolled_log(tmp_path: Path) -> None:
    files = config_cut_in("eu/node-1.2.log.gz", "eu/node-1.1.log.gz", "eu/node-1.log")
    files |= config_cut_in("eu/node-2.2.log.gz", "eu/node-2.1.log.gz", "eu/node-2.log")
    read = Read(tmp_path, files)
    for node in ("node-1", "node-2"):
        assert read.records[f"eu/{node}.2.log.gz"][-1].message == "ConsumerConfig values: \n\ta = 1\n\tb = 2\n"
        assert [record.message for record in read.records[f"eu/{node}.log"]] == ["x"]


def test_logs_written_side_by_side_are_of_several_processes_whatever_the_numbers_in_their_names(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "eu/node-1.log": kafka("10:15:30,100", "Kafka version: 3.9.1") + kafka("10:25:30,100", "a"),
        "eu/node-2.log": kafka("10:15:31,100", "b") + kafka("10:25:29,100", "c"),
    }
    assert Read(tmp_path, files).profiles["eu/node-2.log"].kafka_version != "3.9.1"


@pytest.mark.parametrize("relevant", [None, lambda block: [block.find(b"Stabilized")]])
def test_a_line_that_a_rolled_log_cuts_is_read_whole_and_its_bytes_are_counted_once(
    tmp_path: Path, relevant: Relevant | None
) -> None:
    whole = (
        kafka("10:15:30,100", "Kafka version: 3.9.1")
        + kafka("10:15:30,200", "[GroupCoordinator 1]: Stabilized group g generation 5 with 2 members")
        + kafka("10:15:31,000", "joined")
    )
    cut = whole.index("generation")
    read = Read(tmp_path, {"n-1/app.log.1": whole[:cut], "n-1/app.log": whole[cut:]}, relevant=relevant)
    stabilized = read.records["n-1/app.log.1"][-1]
    assert stabilized.message.endswith("generation 5 with 2 members")
    assert {path: counts.bytes for path, counts in read.counts.items()} == {
        "n-1/app.log.1": cut,
        "n-1/app.log": len(whole) - cut,
    }


def test_a_layout_that_changes_in_mid_file_is_followed(tmp_path: Path) -> None:
    old = "".join(kafka(f"10:15:30,{n:03d}", "old") for n in range(300))
    new = "".join(f"2026-11-20 10:15:31,{n:03d} INFO new (kafka.server.KafkaServer) [main]\n" for n in range(300))
    for relevant in (None, every_line):
        read = Read(tmp_path, {"b-1/server.log": old + new}, relevant=relevant)
        assert [record.message for record in read.records["b-1/server.log"]] == ["old"] * 300 + ["new"] * 300
        assert read.counts["b-1/server.log"].records == 600
        assert read.counts["b-1/server.log"].unparsed == 0


def every_line(block: bytes) -> list[int]:
    return [0, *(at + 1 for at, byte in enumerate(block[:-1]) if byte == 0x0A)]


def test_the_settings_of_a_client_that_logs_json_are_read_between_a_brokers_plain_lines(tmp_path: Path) -> None:
    settings = "".join(f"\\n\\tssl.setting.{n} = null" for n in range(300))
    json_line = (
        f'{{"@timestamp":"2026-11-20T10:15:31.000Z","message":"ConsumerConfig values: {settings}",'
        '"logger_name":"org.apache.kafka.common.config.AbstractConfig","level":"INFO"}\n'
    )
    plain = "[2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.GroupCoordinator)\n"
    found = Read(
        tmp_path,
        {"all.log": plain * 200 + json_line + plain * 200},
        relevant=lambda block: [found.start() for found in re.finditer(b"ConsumerConfig", block)],
    )
    assert [record.message[:23] for record in found.records["all.log"]] == ["ConsumerConfig values: "]


def test_a_file_that_is_no_log_is_unparsed_line_by_line(tmp_path: Path) -> None:
    read = Read(tmp_path, {"notes.txt": "Dear team,\n\nthe broker is slow.\n"})
    counts = read.counts["notes.txt"]
    assert (counts.lines, counts.records, counts.unparsed) == (3, 0, 2)
    assert read.profiles["notes.txt"].layout == "unknown"


def test_lines_before_the_first_record_are_unparsed(tmp_path: Path) -> None:
    read = Read(tmp_path, {"b-1/server.log": "starting\nsoon\n" + kafka("10:15:30,123", "started")})
    assert (read.counts["b-1/server.log"].records, read.counts["b-1/server.log"].unparsed) == (1, 2)


@pytest.mark.parametrize("relevant", [None, every_line], ids=["all", "hits"])
def test_a_line_of_many_megabytes_is_cut_and_named(relevant: Relevant | None, tmp_path: Path) -> None:
    long = kafka("10:15:30,123", "x" * (24 << 20))
    log = kafka("10:15:30,000", "before") + long + kafka("10:15:31,000", "after")
    read = Read(tmp_path, {"b-1/server.log": log}, relevant=relevant)
    counts = read.counts["b-1/server.log"]
    assert [record.message[:6] for record in read.records["b-1/server.log"]] == ["before", "xxxxxx", "after"]
    assert [record.origin.line for record in read.records["b-1/server.log"]] == [1, 2, 3]
    assert read.records["b-1/server.log"][2].origin.byte_offset == len(log) - len(kafka("10:15:31,000", "after"))
    assert (counts.lines, counts.bytes, counts.records) == (3, len(log), 3)
    assert len(counts.errors) == 1
    assert f"{len(long):,} bytes long" in counts.errors[0]


def test_a_record_without_end_is_cut_and_named(tmp_path: Path) -> None:
    log = kafka("10:15:30,123", "before") + "\tx\n" * 6000 + kafka("10:15:31,000", "after")
    read = Read(tmp_path, {"b-1/server.log": log})
    assert [record.message[:6] for record in read.records["b-1/server.log"]] == ["before", "after"]
    assert "cut after 5,000 lines" in read.counts["b-1/server.log"].errors[0]
    assert read.counts["b-1/server.log"].unparsed == 1000


def test_nul_bytes_and_bytes_that_are_not_utf8_harm_nothing(tmp_path: Path) -> None:
    line = kafka("10:15:30,123", "gr\u00fcn").encode("latin-1")
    read = Read(tmp_path, {"b-1/server.log": bytes(5000) + line + line})
    records = read.records["b-1/server.log"]
    assert [record.message for record in records] == ["gr\ufffdn", "gr\ufffdn"]
    assert [record.at for record in records] == [TENTH, TENTH]


@pytest.mark.parametrize(
    ("path", "host"),
    [
        ("broker-1/server.log", "broker-1"),
        ("logs/broker-1/app.2.log.gz", "broker-1"),
        ("server-kafka-0.log", "kafka-0"),
        ("logs/kafka-2.log.gz", "kafka-2"),
        ("kafka_kafka-0_0a1b2c3d-1111/kafka/0.log", "kafka-0"),
        ("AWSLogs/1/KafkaBrokerLogs/eu/c/2026-11-20-10/Broker-1_17-05_5b17f696.log", "Broker-1"),
        ("logs/server.log", None),
        ("app.log", None),
        ("export/export.ndjson", None),
        ("2026-11-20/server.log.2026-11-20-10", None),
        ("bundle.tgz!/payments-7f/logs/app.log", "payments-7f"),
    ],
)
def test_a_host_is_named_after_its_directory_or_file(path: str, host: str | None) -> None:
    from rebalance_forensics.sources.files.hosts import host_of  # noqa: PLC0415

    assert host_of(path) == host


def test_a_raw_line_is_read_without_its_file() -> None:
    record = parse_line(
        "2026-11-20T12:15:30.123+02:00  INFO 1 --- [orders] [C-1] o.a.k.c.c.i.ConsumerCoordinator : "
        "[Consumer clientId=c] x"
    )
    assert (record.at, record.zoned, record.level, record.thread) == (TENTH, True, "INFO", "C-1")
    assert record.message == "[Consumer clientId=c] x"


@pytest.mark.parametrize(
    "head",
    [
        "[2026-11-20 10:15:30,123] INFO in group_coordinator: {}",
        "INFO:     2026-11-20 10:15:30,123 {}",
        "2026-11-20T10:15:30.123Z INFO aiokafka.consumer.group_coordinator {}",
        "2026-11-20T10:15:30.123000Z [info     ] {}            [kafka.coordinator] worker=orders-1",
    ],
    ids=["Flask", "uvicorn", "module before message", "structlog"],
)
def test_a_python_client_is_read_in_any_usual_configuration(head: str) -> None:
    record = parse_line(head.format("(Re-)joining group payments"))
    assert (record.at, record.level, record.message) == (TENTH, "INFO", "(Re-)joining group payments")


def test_a_raw_line_of_no_layout_is_its_own_message() -> None:
    record = parse_line("Dear team")
    assert (record.message, record.at, record.level) == ("Dear team", None, None)


@pytest.mark.parametrize(
    ("days", "years"),
    [
        (["May 12"], [2026]),
        (["Nov 20"], [2026]),
        (["Nov 21"], [2026]),
        (["Nov 23"], [2025]),
        (["Dec 31", "Jan 01"], [2025, 2026]),
    ],
)
def test_dates_without_a_year_are_of_the_last_one_before_the_file_was_written(
    days: list[str], years: list[int], tmp_path: Path
) -> None:
    """A log that is read half a year later lies as near to the next year's date as to its own."""
    lines = [f"{day} 10:15:30 node-1 app[81]: {kafka('10:15:30,123', 'started')[25:]}" for day in days]
    read = Read(tmp_path, {"messages": "".join(lines)})
    messages = [datetime.fromtimestamp((record.at or 0) / 1000, UTC).year for record in read.records["messages"]]
    assert messages == years


@pytest.mark.parametrize(
    "metadata",
    [
        '"pod": "kafka-{n}"',
        '"pod_name": "kafka-{n}"',
        '"podName": "kafka-{n}"',
        '"k8s_pod_name": "kafka-{n}"',
        '"kubernetes": {{"pod_name": "kafka-{n}"}}',
        '"kubernetes": {{"pod": {{"name": "kafka-{n}"}}}}',
    ],
)
def test_a_json_record_is_of_the_pod_that_it_names_whatever_else_is_known_of_that(
    tmp_path: Path, metadata: str
) -> None:
    fields = '"level":"INFO","loggerName":"kafka.server.KafkaServer","message":"started"'
    lines = [f'{{"timestamp":"2026-11-20T10:15:3{n}.123Z",{fields},{metadata.format(n=n % 2)}}}\n' for n in range(4)]
    records = Read(tmp_path, {"export.json": "".join(lines)}).records["export.json"]
    assert [record.host for record in records] == ["kafka-0", "kafka-1"] * 2


SYSTEMD = [f"Nov 20 10:15:{n:02} node-1 systemd[1]: Starting Kafka consumer orders-{n}..." for n in range(30)]
KERNEL = "Nov 20 10:15:40 node-1 kernel: [1.2] Out of memory: Killed process 4242 (java) total-vm:8388608kB"


@pytest.mark.parametrize("other", ["dockerd[8]: level=info msg=ready", "CRON[9]: (root) CMD (kafka orders ...)"])
def test_a_syslog_is_not_a_paste_although_systemd_prints_dots_after_a_unit(other: str, tmp_path: Path) -> None:
    lines = [f"Nov 20 10:15:00 node-1 {other}", *SYSTEMD, KERNEL, ""]
    read = Read(tmp_path, {"node-1/syslog": "\n".join(lines)}, relevant=Catalog.load().prefilter().hits)
    # Only the kernel's line is looked at: what syslog puts in front makes each of them a record.
    profile = read.profiles["node-1/syslog"]
    assert (profile.document, profile.one_to_one) == (None, True)
    assert "Out of memory" in read.records["node-1/syslog"][-1].message
