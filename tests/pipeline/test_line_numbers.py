"""Evidence names lines as an editor counts them."""

from __future__ import annotations

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze_with_events
from rebalance_forensics.pipeline.schemas import Kind, Row
from rebalance_forensics.pipeline.stats import LinesBefore, SplitLines
from tests.conftest import SAMPLES


def lines(begin_in: dict[int, int], path: str = "server.log") -> list[SplitLines]:
    return [SplitLines(path, start, count) for start, count in begin_in.items()]


def line_of(before: LinesBefore, byte_offset: int, line: int) -> int | None:
    return before.counted_on(Row(shard=0, kind=Kind.EVENT, path="server.log", byte_offset=byte_offset, line=line)).line


def test_lines_of_a_later_split_count_on_from_the_splits_before() -> None:
    before = LinesBefore(lines({200: 7, 0: 10, 100: 20}))
    assert [line_of(before, at, 1) for at in (0, 99, 100, 199, 200, 999)] == [1, 1, 11, 11, 31, 31]


def test_other_files_do_not_count() -> None:
    before = LinesBefore([*lines({0: 10}, "other.log"), *lines({0: 5, 100: 5})])
    assert line_of(before, 150, 2) == 7


def test_lines_that_rule_a_cause_out_are_numbered_as_in_the_file_however_it_is_cut() -> None:
    options = AnalyzeOptions(engine="local", split_bytes=3_000)
    sample = SAMPLES / "process-pause"
    report = analyze_with_events([str(sample)], options, keep_events=False).report
    messages = [line for incident in report.incidents for other in incident.ruled_out for line in other.evidence]
    assert {line.path for line in messages} >= {"node-3/app.log"}
    messages += [line for incident in report.incidents for row in incident.signs for line in row.evidence]
    assert {line.path for line in messages} >= {"node-3/app.log", "broker-2/server.log"}
    assert any((sample / line.path).stat().st_size > 2 * options.split_bytes for line in messages)
    for line in messages:
        whole = (sample / line.path).read_bytes()
        first = line.text.splitlines()[0].encode()
        assert whole[line.byte_offset :].startswith(first)
        assert whole[: line.byte_offset].count(b"\n") + 1 == line.line
