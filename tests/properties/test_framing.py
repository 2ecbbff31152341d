"""However a file is cut, its records are the same, and no line is lost."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rebalance_forensics.records import LogRecord
from rebalance_forensics.sources.files.walk import discover
from rebalance_forensics.sources.profiles.neighbours import profile
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.record_reader import SplitCounts, read_records
from rebalance_forensics.sources.records.splits import Split

HEADER = "[2026-11-20 10:15:30,{ms:03d}] INFO {message} (kafka.coordinator.group.GroupCoordinator)"
WORDS = st.sampled_from(["Stabilized group g", "[GroupCoordinator 1]: Preparing", "é 你好", "x" * 300, "", "a\tb"])
CONTINUATION = st.sampled_from(
    ["\tsession.timeout.ms = 45000", "  at a.b.C(D.java:1)", "", "0f-1=[a, b]", "java.lang.X: y", "\t", "[", "20"]
)
RECORDS = st.lists(st.tuples(WORDS, st.lists(CONTINUATION, max_size=3)), min_size=1, max_size=12)


def log_of(records: Sequence[tuple[str, list[str]]], newline: str, *, closed: bool) -> bytes:
    lines = []
    for ms, (message, more) in enumerate(records):
        lines += [HEADER.format(ms=ms, message=message), *more]
    return (newline.join(lines) + (newline if closed else "")).encode()


def splits_of(
    data: bytes, cuts: Sequence[int], directory: str, envelope: bytes = b""
) -> tuple[list[Split], FileProfile]:
    path = Path(directory, "server.log")
    path.write_bytes(b"".join(envelope + line for line in data.splitlines(keepends=True)) if envelope else data)
    file = discover([str(path)]).files[0]
    log_profile = profile(file)
    edges = sorted({0, *(cut % (file.size + 1) for cut in cuts)})
    ends = [*edges[1:], None]
    return [
        Split(file=file, profile=log_profile, index=i, start=s, end=e)
        for i, (s, e) in enumerate(zip(edges, ends, strict=True))
    ], log_profile


def read(splits: Sequence[Split], *, bulk: bool) -> tuple[list[LogRecord], SplitCounts]:
    """Read all splits, and number the lines through as the driver does."""
    records, total = [], SplitCounts()
    for split in splits:
        counts = SplitCounts()
        hits = every_line if bulk else None
        found = list(chain.from_iterable(read_records(split, hits, counts)))
        records += [replace(each, origin=replace(each.origin, line=each.origin.line + total.lines)) for each in found]
        total.lines += counts.lines
        total.bytes += counts.bytes
        total.records += counts.records
        total.unparsed += counts.unparsed
    return records, total


def every_line(block: bytes) -> list[int]:
    return [0, *(at + 1 for at, byte in enumerate(block[:-1]) if byte == 0x0A)]


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    RECORDS, st.lists(st.integers(0, 4000), max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans()
)
@example(written=[("Stabilized group g", [])], cuts=[1], newline="\n", closed=False, bulk=False)
@example(written=[("Stabilized group g", [])], cuts=[1], newline="\n", closed=False, bulk=True)
def test_a_file_cut_at_any_byte_gives_the_same_records(
    written: list[tuple[str, list[str]]],
    cuts: list[int],
    newline: str,
    closed: bool,  # noqa: FBT001 - Hypothesis gives its values by position
    bulk: bool,  # noqa: FBT001
) -> None:
    data = log_of(written, newline, closed=closed)
    with tempfile.TemporaryDirectory() as directory:
        splits, told = splits_of(data, cuts, directory)
        assume(told.splittable)  # what looks like a paste is never cut
        whole, counts = read([replace(splits[0], end=None)], bulk=False)
        parts, cut_counts = read(splits, bulk=bulk)
    assert parts == whole
    assert len(whole) == len(written)
    assert (counts.bytes, counts.lines, counts.records, counts.unparsed) == (
        cut_counts.bytes,
        cut_counts.lines,
        cut_counts.records,
        cut_counts.unparsed,
    )
    assert counts.bytes == len(data)
    assert counts.lines == len(data.splitlines()) or b"\x0b" in data


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(RECORDS, st.lists(st.integers(0, 9000), max_size=4))
def test_a_wrapped_file_cut_at_any_byte_gives_the_same_records(
    written: list[tuple[str, list[str]]], cuts: list[int]
) -> None:
    data = log_of(written, "\n", closed=True)
    with tempfile.TemporaryDirectory() as directory:
        splits, told = splits_of(data, cuts, directory, b"2026-11-20T10:15:30.123456789Z stdout F ")
        whole, counts = read([replace(splits[0], end=None)], bulk=False)
        parts, _ = read(splits, bulk=False)
        hit, hit_counts = read(splits, bulk=True)
    assert hit == whole
    assert (hit_counts.lines, hit_counts.bytes, hit_counts.records) == (counts.lines, counts.bytes, counts.records)
    assert told.envelopes == ("cri",)
    assert parts == whole
    assert len(whole) == len(written)


@settings(max_examples=60, deadline=None)
@given(RECORDS)
@example([("Stabilized group g", ["", "\tsession.timeout.ms = 45000"])] * 2 + [("Stabilized group g", [])])
@example([("Stabilized group g", ["", "\tretries = 1"]), ("", ["\tretries = 1", "", "\tretries = 1"]), ("", [])])
def test_every_record_has_its_exact_position(written: list[tuple[str, list[str]]]) -> None:
    data = log_of(written, "\n", closed=True)
    with tempfile.TemporaryDirectory() as directory:
        splits, _ = splits_of(data, [], directory)
        records, _ = read(splits, bulk=True)
    for record in records:
        # So few lines are read as a paste, of which an indentation is no part; a header without a message takes it from
        # the line below.
        line = data[record.origin.byte_offset :].decode().split("\n")[0].strip()
        assert line == record.text.strip() or ("INFO  (" in line and record.text.strip().startswith(line))
        assert data.count(b"\n", 0, record.origin.byte_offset) + 1 == record.origin.line


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.binary(max_size=3000), st.lists(st.integers(0, 3000), max_size=3))
def test_no_bytes_whatever_lose_a_line_or_raise(noise: bytes, cuts: list[int]) -> None:
    data = b"[2026-11-20 10:15:30,123] INFO started (kafka.server.KafkaServer)\n" * 3 + noise
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "server.log")
        path.write_bytes(data)
        files = discover([str(path)]).files
        if not files:
            return
        splits, _ = splits_of(data, cuts, directory)
        _, counts = read(splits, bulk=True)
    assert counts.bytes == len(data)
    assert counts.lines == lines_in(data)


def lines_in(data: bytes) -> int:
    """How many lines there are by the rules: LF, CRLF and CR end them, and so does padding in the middle of one."""
    mark = rb"\xef\xbb\xbf|\xff\xfe|\xfe\xff"
    text = re.sub(rb"\A(\x00|" + mark + rb")+", b"", data)
    text = re.sub(rb"\r(?!\n|\Z)", b"\n", text)
    text = re.sub(rb"\n(\x00|" + mark + rb")+\Z", b"\n", text)
    text = re.sub(rb"\n(\x00|" + mark + rb")+(?=[^\r\n])", b"\n", text)
    text = re.sub(rb"(?:(?:\x00)*(?:" + mark + rb")|\x00{16,})(?:\x00|" + mark + rb")*(?=[^\r\n])", b"\n", text)
    return text.count(b"\n") + (not text.endswith(b"\n"))


@pytest.mark.parametrize("size", [1, 7, 64, 4096])
def test_chunks_of_any_size_give_the_same_blocks(size: int) -> None:
    from rebalance_forensics.sources.lines.blocks import whole_lines  # noqa: PLC0415

    data = log_of([("Stabilized group g", ["\ta", "\tb"])] * 9, "\n", closed=False)
    chunks = (data[at : at + size] for at in range(0, len(data), size))
    blocks = list(whole_lines(chunks))
    assert b"".join(block.data for block in blocks) == data
    assert all(block.data.endswith(b"\n") for block in blocks[:-1])
