"""Evidence names lines as an editor counts them."""

from __future__ import annotations

from rebalance_forensics.pipeline.line_numbers import LinesBefore
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze_keeping
from rebalance_forensics.pipeline.stats import SplitStats
from rebalance_forensics.timeline.model import Evidence
from tests.conftest import SAMPLES


def split(start: int, lines: int, path: str = "server.log") -> SplitStats:
    return SplitStats(path=path, index=0, start=start, bytes=0, lines=lines, records=0, unparsed=0)


def evidence(byte_offset: int, line: int) -> Evidence:
    return Evidence(path="server.log", line=line, byte_offset=byte_offset, timestamp=None, text="")


def test_lines_of_a_later_split_count_on_from_the_splits_before() -> None:
    before = LinesBefore([split(200, 7), split(0, 10), split(100, 20)])
    assert [before.corrected(evidence(at, 1)).line for at in (0, 99, 100, 199, 200, 999)] == [1, 1, 11, 11, 31, 31]


def test_other_files_do_not_count() -> None:
    before = LinesBefore([split(0, 10, "other.log"), split(0, 5), split(100, 5)])
    assert before.corrected(evidence(150, 2)).line == 7


def test_lines_that_rule_a_cause_out_are_numbered_as_in_the_file_however_it_is_cut() -> None:
    options = AnalyzeOptions(engine="local", split_bytes=3_000)
    sample = SAMPLES / "process-pause"
    report = analyze_keeping([str(sample)], options, keep_events=False).report
    lines = [line for incident in report.incidents for other in incident.ruled_out for line in other.evidence]
    assert {line.path for line in lines} >= {"node-3/app.log"}
    lines += [line for incident in report.incidents for row in incident.signs for line in row.evidence]
    assert {line.path for line in lines} >= {"node-3/app.log", "broker-2/server.log"}
    assert any((sample / line.path).stat().st_size > 2 * options.split_bytes for line in lines)
    for line in lines:
        whole = (sample / line.path).read_bytes()
        first = line.text.splitlines()[0].encode()
        assert whole[line.byte_offset :].startswith(first)
        assert whole[: line.byte_offset].count(b"\n") + 1 == line.line
