"""Where no line has a time, their order is known and no length: no output gives one, and none gives a date."""

from __future__ import annotations

import csv
import io
import re
from functools import cache
from pathlib import Path

import pytest

from rebalance_forensics.api import AnalyzedLogs
from rebalance_forensics.api import analyze as analyze_in_python
from rebalance_forensics.diagnosis.model import Incident
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.pipeline.tables.rows import history_rows, incident_rows
from rebalance_forensics.report.exports import chrome_trace, formats
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.terminal.compare import render_compare
from tests.incidents.sample import LOCAL, Sample, all_samples
from tests.incidents.test_pasted_evidence import pasted
from tests.pasting import SHAPES

SAMPLES = {sample.folder.name: sample for sample in all_samples()}
A_LENGTH = re.compile(r"\d+(?:\.\d)? (?:ms|s|min|h|d)\b")
A_TIME = re.compile(r"\[?(?:\d{4}-\d\d-\d\d.)?\d\d:\d\d:\d\d\S* *")
OF_KAFKA = frozenset({"45 s", "10 s", "9 s"})
"""What is told whatever the lines: session.timeout.ms unless configured otherwise, broker.session.timeout.ms."""
EVERYTHING = """\
[Consumer clientId=c-1, groupId=orders] Revoke previously assigned partitions t-0, t-1
[Consumer clientId=c-1, groupId=orders] (Re-)joining group
[Consumer clientId=c-1, groupId=orders] Successfully joined group with generation Generation{generationId=8, \
memberId='c-1-11111111-3a0b-4c1e-9a3f-8a1b2c3d4e5f', protocol='range'}
[Consumer clientId=c-1, groupId=orders] Adding newly assigned partitions: t-0, t-1, t-2, t-3
[Consumer clientId=c-1, groupId=orders] Member c-1-11111111-3a0b-4c1e-9a3f-8a1b2c3d4e5f sending LeaveGroup request to \
coordinator b:9092 (id: 2147483646 rack: null) due to consumer poll timeout has expired. This means the time between \
subsequent calls to poll() was longer than the configured max.poll.interval.ms, which typically implies that the poll \
loop is spending too much time processing messages. You can address this either by increasing max.poll.interval.ms or \
by reducing the maximum size of batches returned in poll() with max.poll.records.
[Consumer clientId=c-1, groupId=orders] Revoke previously assigned partitions t-0, t-1, t-2, t-3
[Consumer clientId=c-1, groupId=orders] (Re-)joining group
[Consumer clientId=c-1, groupId=orders] Successfully joined group with generation Generation{generationId=10, \
memberId='c-1-22222222-3a0b-4c1e-9a3f-8a1b2c3d4e5f', protocol='range'}
[Consumer clientId=c-1, groupId=orders] Adding newly assigned partitions: t-2, t-3
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> AnalyzedLogs:
    """Messages alone, of a member whose poll timeout expired: pauses, generations and an incident."""
    file = tmp_path_factory.mktemp("bare") / "paste.txt"
    file.write_text(EVERYTHING)
    logs = analyze_in_python(str(file), engine="local")
    assert logs.report.incidents
    assert logs.report.groups[0].pauses[0].ended_at is not None
    assert logs.report.groups[0].unread
    return logs


def test_csv_tables_leave_times_and_lengths_empty(found: AnalyzedLogs) -> None:
    for name in ("pauses-csv", "unread-csv", "generations-csv", "incidents-csv"):
        rows = list(csv.DictReader(io.StringIO(formats()[name](found.report))))
        assert rows, name
        lengths = {"ms", "from", "to", "from_earliest", "started_at", "ended_at", "completed_at", "pause_ms"}
        assert {row[name] for row in rows for name in lengths & row.keys()} == {""}


def test_rows_of_tables_leave_times_and_lengths_empty(found: AnalyzedLogs) -> None:
    (history,) = found.report.groups
    rows = [*history_rows(history), *(each for one in found.report.incidents for each in incident_rows(one))]
    for _, row in rows:
        times = {name: row[name] for name in row.keys() & {"started_at", "completed_at", "ended_at", "ms", "pause_ms"}}
        assert set(times.values()) <= {None}
        for line in row.get("evidence", ()):
            assert line["timestamp"] is None


def test_frames_in_python_hold_neither_times_nor_lengths(found: AnalyzedLogs) -> None:
    for frame in (found.pauses, found.unread, found.generations, found.incidents, found.events):
        assert len(frame)
        for name in {"from", "to", "ms", "started_at", "completed_at", "ended_at", "timestamp"} & {*frame.columns}:
            assert frame[name].isna().all(), name


def test_the_page_gives_no_time_and_no_length(found: AnalyzedLogs) -> None:
    page = to_html(found.report)
    assert "the lines have no times" in page
    assert 'datetime="None"' not in page
    assert "--:--" not in page
    assert "unknown UTC" not in page
    assert not A_LENGTH.findall(re.sub(r"<style>.*?</style>|<script.*?</script>", "", page, flags=re.DOTALL))


def test_a_trace_contains_no_message(found: AnalyzedLogs) -> None:
    assert '"ts"' not in chrome_trace.export(found.report)


def test_a_comparison_says_that_lengths_are_unknown(found: AnalyzedLogs) -> None:
    incident = found.report.incidents[0]
    other = SAMPLES["slow-processing"].found()[0]
    outcome = render_compare(incident, other, width=120)
    assert re.search(r"began +the lines have no times +2", outcome)
    assert re.search(r"length +not in the logs", outcome)
    groups = render_compare(found.report, analyze([str(SAMPLES["slow-processing"].folder)], LOCAL), width=120)
    assert re.search(r"pauses +\d, of unknown length", groups)
    assert re.search(r"longest pause +not in the logs", groups)


@cache
def bare(sample: Sample) -> str:
    """The evidence of a sample without times, in whatever layout."""
    return A_TIME.sub("", SHAPES["bare"](pasted(sample)))


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_no_sentence_tells_a_length_that_no_line_gives(name: str, tmp_path: Path) -> None:
    file = tmp_path / "paste.txt"
    file.write_text(bare(SAMPLES[name]))
    report = analyze([str(file)], LOCAL)
    outcome = {length for text in sentences(report) for length in A_LENGTH.findall(text)}
    assert outcome <= OF_KAFKA | lengths_in(bare(SAMPLES[name]))
    for incident in report.incidents:
        assert incident.lasted_ms is None
        assert incident.impact.pause_ms is incident.impact.unread_partition_ms is incident.impact.stopped_ms is None


def test_a_broker_that_names_no_group_is_heard_among_lines_without_times(tmp_path: Path) -> None:
    file = tmp_path / "paste.txt"
    file.write_text(
        "[GroupCoordinator 3]: Group orders with generation 2 is now empty (__consumer_offsets-1)\n"
        "[GroupMetadataManager brokerId=3] Group orders transitioned to Dead in generation 2\n"
        "[GroupMetadataManager brokerId=3] Removed 6 expired offsets in 7 milliseconds.\n"
    )
    (incident,) = analyze([str(file)], LOCAL).incidents
    assert incident.root_causes[0].cause == "offsets-expired"


@pytest.mark.parametrize("last", ["Cannot continue", "the polling thread stops"])
def test_the_line_after_the_longest_one_is_not_joined_to_it(last: str, tmp_path: Path) -> None:
    file = tmp_path / "paste.txt"
    error = "Topic authorization failed for topics [ledger]"
    file.write_text(f"[Consumer clientId=c-1, groupId=orders] {error}\n{last}\n")
    (incident,) = analyze([str(file)], LOCAL).incidents
    assert incident.root_causes[0].cause == "authorization-failure"


def lengths_in(text: str) -> frozenset[str]:
    """Milliseconds that lines print (timeouts), as the report says them."""
    printed = re.findall(r"\d{3,9}", text)
    return frozenset(f"{ms} ms" for ms in printed) | {f"{int(ms) / 1000:.1f} s".replace(".0 s", " s") for ms in printed}


def sentences(report: Report) -> list[str]:
    """Everything that a report says of incidents and gaps."""
    texts = [gap.what + gap.consequence for gap in report.gaps]
    for incident in report.incidents:
        texts += [incident.summary, *(other.why for other in incident.ruled_out), *_of_causes(incident)]
    return texts


def _of_causes(incident: Incident) -> list[str]:
    return [
        text
        for cause in incident.root_causes
        for text in (cause.narrative, *(f"{a.action} {a.why} {a.cost}" for a in cause.advice))
    ]
