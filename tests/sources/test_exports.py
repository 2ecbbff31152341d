"""A log that travelled in an envelope gives the records of the plain one, host by host."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from itertools import chain
from pathlib import Path

import pytest

from rebalance_forensics.records import LogRecord
from rebalance_forensics.sources.files.walk import discover
from rebalance_forensics.sources.profiles.neighbours import profile
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.record_reader import Relevant, SplitCounts, read_records
from rebalance_forensics.sources.records.splits import plan
from tests.sources.wrapping import START, WRAPPINGS, entries, time_of


def every_line(block: bytes) -> list[int]:
    return [0, *(at + 1 for at, byte in enumerate(block[:-1]) if byte == 0x0A)]


def read(path: Path, relevant: Relevant | None = None) -> tuple[list[LogRecord], FileProfile, SplitCounts]:
    file = discover([str(path)]).files[0]
    log_profile, counts = profile(file), SplitCounts()
    batches = (batch for split in plan([file], [log_profile]) for batch in read_records(split, relevant, counts))
    return list(chain.from_iterable(batches)), log_profile, counts


def plain(tmp_path: Path, host: str) -> list[tuple[str | None, int | None, str, str | None]]:
    path = tmp_path / host / "server.log"
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(line + "\n" for name, _, line in entries() if name == host))
    return [(host, record.at, record.message, record.logger) for record in read(path)[0]]


def known(records: list[LogRecord]) -> list[tuple[str | None, int | None, str, str | None]]:
    return sorted(
        ((each.host, each.at, each.message, each.logger) for each in records),
        key=lambda each: (str(each[0]), each[1] or 0),
    )


@pytest.mark.parametrize("name", sorted(WRAPPINGS))
def test_an_export_of_two_hosts_gives_the_records_of_both(name: str, tmp_path: Path) -> None:
    path = tmp_path / "export"
    path.write_text(WRAPPINGS[name](entries()))
    records, _, counts = read(path)
    assert known(records) == [*plain(tmp_path, "broker-1"), *plain(tmp_path, "broker-2")]
    assert counts.unparsed == 0
    assert counts.errors == []


@pytest.mark.parametrize("newest_first", [False, True], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("name", sorted(WRAPPINGS))
def test_reading_only_what_a_prefilter_hits_gives_the_same_records(
    name: str, tmp_path: Path, *, newest_first: bool
) -> None:
    path = tmp_path / "export"
    path.write_text(WRAPPINGS[name](reversed(entries()) if newest_first else entries()))
    records, _, counts = read(path)
    hit, _, hit_counts = read(path, every_line)
    assert known(hit) == known(records)
    assert {record.origin for record in hit} == {record.origin for record in records}
    assert (hit_counts.lines, hit_counts.bytes, hit_counts.records) == (counts.lines, counts.bytes, counts.records)
    quoted, _, _ = read(path, lambda block: [at] if (at := block.find(b'Said "hello"')) >= 0 else [])
    assert [record.message for record in quoted] == ['[GroupCoordinator 1]: Said "hello" \\ <b>']


@pytest.mark.parametrize("name", ["elasticsearch", "loki jsonl", "splunk csv", "splunk json", "aws logs tail"])
def test_an_export_that_is_newest_first_gives_the_same_records(name: str, tmp_path: Path) -> None:
    path = tmp_path / "export"
    path.write_text(WRAPPINGS[name](reversed(entries())))
    records, log_profile, counts = read(path)
    assert log_profile.newest_first
    assert known(records) == [*plain(tmp_path, "broker-1"), *plain(tmp_path, "broker-2")]
    assert counts.unparsed == 0


def test_the_lines_of_an_entry_stay_in_order_where_only_the_entries_are_newest_first(tmp_path: Path) -> None:
    entries = [
        f"2026-11-20 10:15:{30 + n}.123\t[2026-11-20 10:15:{30 + n},123] INFO {lines} (kafka.server.KafkaServer)"
        for n, lines in enumerate(
            ("up", "down\njava.lang.IllegalStateException: x\n\tat kafka.Kafka.main", "gone", "away")
        )
    ]
    path = tmp_path / "Explore-logs.txt"
    path.write_text("".join(f"{entry}\n" for entry in reversed(entries)))
    records, log_profile, _ = read(path)
    assert log_profile.newest_first
    lines = [record.message for record in records]
    assert lines[2] == "down\njava.lang.IllegalStateException: x\n\tat kafka.Kafka.main"
    assert lines[3] == "up"


@pytest.mark.parametrize("name", sorted(WRAPPINGS))
def test_a_host_far_down_in_an_export_does_not_get_the_profile_of_the_first_host(name: str, tmp_path: Path) -> None:
    # Long lines: beyond the sampled 256 KiB at the head there has to be as much again.
    stabilized = f"[GroupCoordinator 1]: Stabilized group {'g' * 500} (kafka.coordinator.group.GroupCoordinator)"
    joining = "[Consumer clientId=c, groupId=g] (Re-)joining group (o.a.k.clients.consumer.ConsumerCoordinator)"
    says = [("broker-1", START + 1000 * n, stabilized) for n in range(1000)]
    says.append(("node-1", START + 1_000_000, joining))
    path = tmp_path / "export"
    path.write_text(WRAPPINGS[name]((host, at, f"[{time_of(at)}] INFO {text}") for host, at, text in says))
    log_profile = read(path)[1]
    assert log_profile.component_of("broker-1") == "broker"
    assert log_profile.component_of("node-1") != "broker"


WITHOUT_TIMES = {"compose", "kubectl-prefix", "stern", "stern json", "syslog-3164", "tail of two files"}


@pytest.mark.parametrize("name", sorted(set(WRAPPINGS) - WITHOUT_TIMES))
def test_an_envelope_in_utc_tells_the_zone_of_the_local_times_inside(name: str, tmp_path: Path) -> None:
    path = tmp_path / "export"
    path.write_text(WRAPPINGS[name](entries(offset_ms=-19_800_000 + 3_600_000)))
    records, log_profile, _ = read(path)
    assert log_profile.zone == "-04:30"
    assert all(record.zoned for record in records)
    assert known(records) == [*plain(tmp_path, "broker-1"), *plain(tmp_path, "broker-2")]


LONG = "[2026-11-20 10:15:30,123] INFO " + "x" * 40_000 + " rebalance (kafka.server.KafkaServer)"
AFTER = "[2026-11-20 10:15:31,000] INFO after (kafka.server.KafkaServer)"


def _cri(text: str, *, last: bool) -> str:
    return f"2026-11-20T10:15:30.123456789Z stdout {'F' if last else 'P'} {text}\n"


def _docker(text: str, *, last: bool) -> str:
    ended = text + "\n" if last else text
    return json.dumps({"log": ended, "stream": "stdout", "time": "2026-11-20T10:15:30.123456789Z"}) + "\n"


@pytest.mark.parametrize("relevant", [None, every_line], ids=["all", "hits"])
@pytest.mark.parametrize("write", [_cri, _docker], ids=["cri", "docker"])
def test_a_long_line_that_a_container_runtime_cut_is_one_line_again(
    write: Callable[..., str], relevant: Relevant | None, tmp_path: Path
) -> None:
    path = tmp_path / "0.log"
    pieces = [write(LONG[at : at + 16_384], last=at + 16_384 >= len(LONG)) for at in range(0, len(LONG), 16_384)]
    path.write_text("".join(write(AFTER, last=True) for _ in range(5)) + "".join(pieces) + write(AFTER, last=True))
    records, _, counts = read(path, relevant)
    assert [len(record.message) for record in records] == [5] * 5 + [40_010, 5]
    assert records[5].logger == "kafka.server.KafkaServer"
    assert (counts.lines, counts.records) == (9, 7)


def test_entries_that_are_lines_of_a_config_dump_do_not_hide_the_log_that_an_export_holds(tmp_path: Path) -> None:
    begun = "2026-03-01 10:00:00,001 INFO  [main] ConsumerConfig:120 - ConsumerConfig values: "
    joined = "2026-03-01 10:00:01,001 INFO  [main] AbstractCoordinator:120 - (Re-)joining group"
    lines = [begun, *(f"\tsetting.{number} = {number}" for number in range(20)), "", joined]
    path = tmp_path / "export.jsonl"
    path.write_text("".join(json.dumps({"_host": "node-1", "_line": line, "level": "INFO"}) + "\n" for line in lines))
    records, log_profile, _ = read(path)
    assert log_profile.envelopes == ("json-text",)
    assert [record.message.partition("\n")[0] for record in records] == [
        "ConsumerConfig values: ",
        "(Re-)joining group",
    ]


def test_a_service_that_colours_its_levels_is_read_in_a_stream_of_plain_ones(tmp_path: Path) -> None:
    path = tmp_path / "compose.log"
    plain_line = "broker-1 | [2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.X)\n"
    message = "[\x1b[34mmain\x1b[0m] \x1b[36mo.a.k.ConsumerCoordinator\x1b[0m - [Consumer clientId=c, groupId=g] joined"
    coloured = f"node-1   | 2026-11-20 10:15:30.200 \x1b[32mINFO \x1b[0m {message}\n"
    path.write_text(plain_line * 20 + coloured)
    records, _, _ = read(path)
    assert (records[-1].host, records[-1].level) == ("node-1", "INFO")
    assert records[-1].message == "[Consumer clientId=c, groupId=g] joined"


def test_the_zone_of_some_services_of_a_stream_is_not_that_of_the_others(tmp_path: Path) -> None:
    path = tmp_path / "compose.log"
    started = "node-1   | 2026-11-20 12:15:31,000 INFO [main] o.a.k.AppInfoParser - Kafka startTimeMs: 1795169731000\n"
    joined = (
        "node-1   | 2026-11-20 12:15:32,000 INFO [main] o.a.k.Coordinator - [Consumer clientId=c, groupId=g] joined\n"
    )
    broker = "broker-1 | [2026-11-20 10:15:33,000] INFO [GroupCoordinator 1]: Stabilized group g (kafka.X)\n"
    path.write_text(started + joined * 20 + broker)
    records, _, _ = read(path)
    assert (records[1].at, records[1].zoned) == (1795169732000, True)
    assert (records[-1].at, records[-1].zoned) == (1795169733000, False)


def test_a_coloured_line_in_a_table_is_the_record_not_its_row(tmp_path: Path) -> None:
    path = tmp_path / "export.csv"
    line = "2026-11-20 10:15:30.200 \x1b[32mINFO \x1b[0m [main] o.a.k.X - [Consumer clientId=c, groupId=g] joined"
    path.write_text(f'"@timestamp","pod","log.level","message"\n"2026-11-20T10:15:30.300Z","node-1","-","{line}"\n')
    (record,), _, _ = read(path)
    assert (record.at, record.level) == (1795169730200, "INFO")
    assert record.message == "[Consumer clientId=c, groupId=g] joined"


def test_a_layout_that_no_sample_showed_is_known_by_the_records_of_its_host(tmp_path: Path) -> None:
    path = tmp_path / "compose.log"
    broker = "broker-1 | [2026-11-20 10:15:30,123] INFO [GroupCoordinator 1]: Stabilized group g (kafka.X)\n"
    client = "node-1   | [11/20/26 10:15:31:{} UTC] 0000002a {:<13} I {}\n"
    left = client.format(100, "ConsumerCoord", "[Consumer clientId=c, groupId=g] Request joining group due to: closed")
    path.write_text(broker * 2000 + left + client.format(200, "Metrics", "Metrics scheduler closed"))
    records, _, _ = read(path)
    lines = [each.message for each in records if each.host == "node-1"]
    assert lines[0] == "[Consumer clientId=c, groupId=g] Request joining group due to: closed"
    assert lines[1].endswith("Metrics scheduler closed")


def test_a_record_of_an_array_keeps_its_position_after_bytes_that_are_not_utf_8(tmp_path: Path) -> None:
    outcome = [line for _, _, line in entries()][:2]
    array = b'[{"log": "\x90\xa5 and \xbf"}, %s]' % b", ".join(json.dumps({"log": line}).encode() for line in outcome)
    path = tmp_path / "export.json"
    path.write_bytes(array)
    records, _, _ = read(path)
    assert [array[each.origin.byte_offset :].partition(b"}")[0] for each in records[-2:]] == [
        json.dumps({"log": line}).encode().rstrip(b"}") for line in outcome
    ]


STRUCTURED: dict[str, Callable[[str, str, str], object]] = {
    "logfmt": lambda time, host, said: f"time={time} level=info host={host} msg={json.dumps(said)}",
    "ecs": lambda time, host, said: {
        "@timestamp": time, "log.level": "INFO", "message": said, "ecs.version": "1.2.0", "host": {"name": host},
    },
    "gelf": lambda time, host, said: {
        "version": "1.1", "host": host, "short_message": said, "level": 6,
        "timestamp": datetime.fromisoformat(time).timestamp(),
    },
    "otlp": lambda time, host, said: {"resourceLogs": [{
        "resource": {"attributes": [{"key": "k8s.pod.name", "value": {"stringValue": host}}]},
        "scopeLogs": [{"logRecords": [{
            "timeUnixNano": str(round(datetime.fromisoformat(time).timestamp() * 1e9)),
            "severityText": "INFO", "body": {"stringValue": said},
        }]}],
    }]},
}  # fmt: skip


def structured(shape: Callable[[str, str, str], object], hosts: tuple[str, ...]) -> str:
    told: list[object] = [
        shape(f"2026-11-20T10:15:{n:02d}.500Z", host, f"[Consumer clientId={host}, groupId=g] (Re-)joining group")
        for n, host in enumerate(hosts)
    ]
    return "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in told)


@pytest.mark.parametrize("shape", STRUCTURED.values(), ids=STRUCTURED)
def test_records_of_one_file_that_name_two_hosts_are_distinguished(
    shape: Callable[[str, str, str], object], tmp_path: Path
) -> None:
    path = tmp_path / "dump.json"
    path.write_text(structured(shape, ("node-a", "node-b", "node-a")))
    records = read(path)[0]
    assert [record.host for record in records] == ["node-a", "node-b", "node-a"]
    assert {record.at for record in records} == {1795169700500, 1795169701500, 1795169702500}


@pytest.mark.parametrize("shape", STRUCTURED.values(), ids=STRUCTURED)
def test_the_host_that_all_records_of_a_file_name_is_that_of_its_plain_lines_too(
    shape: Callable[[str, str, str], object], tmp_path: Path
) -> None:
    path = tmp_path / "app.log"
    path.write_text(structured(shape, ("node-a", "node-a")) + "java.lang.OutOfMemoryError: Java heap space\n")
    records, log_profile, _ = read(path)
    assert log_profile.host == "node-a"
    assert {record.host for record in records} == {None}


def test_a_field_that_only_some_records_have_is_no_host_of_theirs(tmp_path: Path) -> None:
    path = tmp_path / "worker-7" / "app.log"
    path.parent.mkdir()
    shape = STRUCTURED["logfmt"]
    plain = "time=2026-11-20T10:15:00.500Z level=info msg=waiting\n" * 3
    path.write_text(structured(shape, ("kafka-1", "kafka-2")) + plain)
    records, log_profile, _ = read(tmp_path)
    assert log_profile.host == "worker-7"
    assert {record.host for record in records} == {None}
