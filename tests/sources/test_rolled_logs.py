"""Where a log was rolled, truncated or torn: nothing is lost, and no event's text stands in no file."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from rebalance_forensics.records import LEFT_OUT
from rebalance_forensics.sources.files.decompression import chunks_of
from rebalance_forensics.sources.files.places import Place
from rebalance_forensics.sources.files.walk import discover
from rebalance_forensics.sources.profiles.neighbours import profile
from rebalance_forensics.sources.profiles.torn_lines import marked_if_torn
from rebalance_forensics.sources.records import file_ends
from rebalance_forensics.sources.records.record_reader import Relevant, SplitCounts, read_records
from rebalance_forensics.sources.records.splits import Split
from tests.sources.test_reading import LOGBACK, Read, every_line, kafka

COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
BOTH = pytest.mark.parametrize("relevant", [None, every_line], ids=["all", "hits"])


def stabilized(second: int, group: str = "payments") -> str:
    return kafka(f"10:15:{second:02d},123", f"Stabilized group {group} generation 5 with 2 members", COORDINATOR)


def rolled(tmp_path: Path, older: str | bytes, newer: str | bytes, relevant: Relevant | None = None) -> Read:
    return Read(tmp_path, {"b-1/server.log.1": older, "b-1/server.log": newer}, relevant=relevant)


def texts(read: Read) -> list[str]:
    return [record.text for path in ("b-1/server.log.1", "b-1/server.log") for record in read.records[path]]


@BOTH
def test_a_last_line_without_line_end_is_a_record_when_the_next_file_begins_with_one(
    tmp_path: Path, relevant: Relevant | None
) -> None:
    lines = [stabilized(second).rstrip() for second in (1, 2, 3, 4)]
    read = rolled(tmp_path, "\n".join(lines[:2]), "\n".join(lines[2:]), relevant)
    assert texts(read) == lines
    assert [counts.errors for counts in read.counts.values()] == [[], []]


@BOTH
def test_a_torn_header_is_not_glued_to_the_next_file(tmp_path: Path, relevant: Relevant | None) -> None:
    older, newer = stabilized(1) + stabilized(2), stabilized(4) + stabilized(5)
    read = rolled(tmp_path, older + "[2026-11-20 10:15:03,9", newer, relevant)
    assert texts(read) == (older + newer).splitlines()
    assert read.counts["b-1/server.log.1"].unparsed == 1


@BOTH
def test_the_halves_of_two_lines_that_copytruncate_leaves_are_no_record(
    tmp_path: Path, relevant: Relevant | None
) -> None:
    older, newer = stabilized(1) + stabilized(2), stabilized(5) + stabilized(6)
    torn, rest = stabilized(3).partition("ments")[0], stabilized(4).partition("zed ")[2]
    read = rolled(tmp_path, older + torn, rest + newer, relevant)
    assert texts(read) == (older + newer).splitlines()
    assert "is torn" in read.counts["b-1/server.log.1"].errors[1]
    assert "server.log begins with the rest of a record" in read.counts["b-1/server.log.1"].errors[0]


@BOTH
def test_a_log_cut_by_size_within_a_line_continues_in_the_next_file_whatever_its_layout(
    tmp_path: Path, relevant: Relevant | None
) -> None:
    whole = "".join(f"2026-11-20 10:15:{n}0,123 INFO  [main] o.a.k.C - (Re-)joining group g{n}\n" for n in range(6))
    names = ("b-1/app.3.log", "b-1/app.2.log", "b-1/app.1.log", "b-1/app.log")
    parts = (whole[:100], whole[100:200], whole[200:300], whole[300:])
    read = Read(tmp_path, dict(zip(names, parts, strict=True)), relevant=relevant)
    assert [record.text for name in names for record in read.records[name]] == whole.splitlines()
    assert sum(counts.bytes for counts in read.counts.values()) == len(whole)


@pytest.mark.parametrize("cut", range(1, 30))
@BOTH
def test_a_header_cut_anywhere_is_read_whole_once(tmp_path: Path, relevant: Relevant | None, cut: int) -> None:
    before, after = stabilized(1) + stabilized(2), stabilized(3) + stabilized(4)
    read = rolled(tmp_path, before + after[:cut], after[cut:], relevant)
    assert texts(read) == (before + after).splitlines()
    assert [len(records) for records in read.records.values()] == [1, 3]


def test_an_unindented_line_of_a_record_continues_in_the_next_file(tmp_path: Path) -> None:
    error = kafka("10:15:03,123", "Failed", "kafka.server.KafkaServer")
    read = rolled(tmp_path, stabilized(1) + error, "java.lang.X: y\n\tat a.B(C.java:1)\n" + stabilized(4), every_line)
    assert read.records["b-1/server.log.1"][-1].message == "Failed\njava.lang.X: y\n\tat a.B(C.java:1)"
    assert sum(counts.unparsed for counts in read.counts.values()) == 0


def test_the_rest_of_a_lost_record_does_not_continue_a_complete_one(tmp_path: Path) -> None:
    rest = stabilized(2).partition("Stab")[2]
    read = rolled(tmp_path, stabilized(1), rest + stabilized(3), every_line)
    assert read.records["b-1/server.log.1"][-1].message == "Stabilized group payments generation 5 with 2 members"


@BOTH
def test_a_record_torn_at_the_end_of_a_log_is_skipped_and_reported(tmp_path: Path, relevant: Relevant | None) -> None:
    log = stabilized(1) + stabilized(2) + stabilized(3).partition("ments")[0]
    read = Read(tmp_path, {"b-1/server.log": log}, relevant=relevant)
    counts = read.counts["b-1/server.log"]
    assert len(read.records["b-1/server.log"]) == 2
    assert (counts.lines, counts.bytes, counts.records, counts.unparsed) == (3, len(log), 2, 1)
    assert "is torn" in counts.errors[0]


@pytest.mark.parametrize("rest", ["ments\n", "m"], ids=["to its end", "in part"])
def test_a_line_that_is_being_written_is_read_to_its_end_or_left_out(
    tmp_path: Path, rest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "app.log"
    line = LOGBACK.replace("{time}", "2026-11-20 10:15:30,123").format(message="(Re-)joining group pay")
    path.write_text(line * 2 + line.rstrip())
    file = discover([str(path)]).files[0]
    split, counts = Split(file=file, profile=profile(file), index=0), SplitCounts()

    def read_when_more_is_written(place: Place, start: int = 0) -> Iterator[bytes]:
        with path.open("a") as log:
            log.write(rest)
        return chunks_of(place, start)

    monkeypatch.setattr(file_ends, "chunks_of", read_when_more_is_written)
    records = chain.from_iterable(read_records(split, None, counts))
    messages = [record.message.rpartition(" ")[2] for record in records]
    assert messages == (["pay", "pay", "payments"] if rest.endswith("\n") else ["pay", "pay"])
    assert bool(counts.errors) == (not rest.endswith("\n"))


@pytest.mark.parametrize("size", [1, 16, 4096, 9 << 20])
@pytest.mark.parametrize("before", [0, 1, 2], ids=["first", "between", "torn"])
def test_a_run_of_nul_swallows_no_record(tmp_path: Path, size: int, before: int) -> None:
    head = ["", stabilized(1), stabilized(1) + "torn"][before]
    log = head.encode() + bytes(size) + (stabilized(2) + "\tmore\n" + stabilized(3)).encode()
    if before == 2 and size < 16:
        return
    for relevant in (None, every_line):
        read = Read(tmp_path, {"b-1/server.log": log}, relevant=relevant)
        records = read.records["b-1/server.log"]
        assert [record.text for record in records] == (head.replace("torn", "") + stabilized(2) + stabilized(3)).split(
            "\n"
        )[:-1]
        assert all(log[record.origin.byte_offset :].startswith(record.text.encode()) for record in records)
        assert (read.counts["b-1/server.log"].bytes, read.counts["b-1/server.log"].errors) == (len(log), [])


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"])
def test_a_log_in_any_unicode_encoding_is_read_and_what_was_appended_to_it(tmp_path: Path, codec: str) -> None:
    log = (stabilized(1, "gr\u00fcn") + stabilized(2)).encode(codec)
    again = stabilized(3).rstrip().encode(codec)
    for relevant in (None, every_line):
        read = Read(tmp_path, {"b-1/server.log": log + again + again}, relevant=relevant)
        marked = codec in ("utf-8-sig", "utf-16", "utf-32")
        expected = [stabilized(1, "gr\u00fcn"), stabilized(2), *[stabilized(3)] * 2]
        if marked:
            assert [record.text + "\n" for record in read.records["b-1/server.log"]] == expected
        else:
            assert [record.text + "\n" for record in read.records["b-1/server.log"]][:2] == expected[:2]


@BOTH
def test_old_line_ends_are_line_ends(tmp_path: Path, relevant: Relevant | None) -> None:
    log = (stabilized(1) + "\tmore\n" + stabilized(2)).replace("\n", "\r")
    read = Read(tmp_path, {"b-1/server.log": log}, relevant=relevant)
    assert [record.message.rpartition("members")[2] for record in read.records["b-1/server.log"]] == ["\n\tmore", ""]
    assert [record.origin.line for record in read.records["b-1/server.log"]] == [1, 3]


def test_a_last_line_without_the_logger_that_ends_all_others_was_cut(tmp_path: Path) -> None:
    torn = stabilized(33).partition(" (")[0].removesuffix("5 with 2 members")
    records = Read(tmp_path, {"server.log": f"{stabilized(31)}{stabilized(32)}{torn}\n"}).records["server.log"]
    marked = chain.from_iterable(marked_if_torn([records]))
    assert [record.message.endswith(LEFT_OUT) for record in marked] == [False, False, True]


def test_if_a_logger_follows_only_some_lines_none_was_cut(tmp_path: Path) -> None:
    bare = stabilized(33).partition(" (")[0]
    records = Read(tmp_path, {"server.log": f"{bare}\n{stabilized(31)}{stabilized(32)}{bare}\n"}).records["server.log"]
    marked = chain.from_iterable(marked_if_torn([records]))
    assert not any(record.message.endswith(LEFT_OUT) for record in marked)
