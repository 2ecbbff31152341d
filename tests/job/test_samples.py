"""The tables tell of every sample what the report tells, and silence counts alike, however the logs came in."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.job_run import run_job
from rebalance_forensics.job.steps.engines import InProcess
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.pipeline.tables.rows import history_rows, incident_rows
from rebalance_forensics.pipeline.tables.schemas import FINDINGS, GENERATIONS, INCIDENTS, PAUSES, UNREAD, Table
from rebalance_forensics.report.model import Report
from tests.incidents.sample import LOCAL, Sample, all_samples, report_of
from tests.job.conftest import rows

WHENEVER = ("--since", "2000-01-01", "--until", "2090-01-01")
STAMP = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),\d{3}\]", re.MULTILINE)
Rows = list[dict[str, Any]]
COMPARED = (INCIDENTS, FINDINGS, GENERATIONS, PAUSES, UNREAD)


def job(logs: Path, output: Path) -> int:
    outcome = run_job(parse(["--input", str(logs), "--output", str(output), *WHENEVER]).options, InProcess())
    assert not outcome.failures
    return int(outcome.summary["days"] or 0)


def in_report(report: Report) -> Mapping[str, Rows]:
    """The content of a report as rows of the tables."""
    of_incidents = [each for incident in report.incidents for each in incident_rows(incident)]
    all_rows = [*of_incidents, *(each for group in report.groups for each in history_rows(group))]
    return {table.name: _stored([row for name, row in all_rows if name is table], table) for table in COMPARED}


def _stored(cells: Rows, table: Table) -> Rows:
    return _ordered(pa.Table.from_pylist(cells, table.schema).to_pylist(), table)


def in_tables(output: Path) -> Mapping[str, Rows]:
    """The rows of the tables."""
    found = rows(output, [table.name for table in COMPARED])
    return {table.name: _ordered(found[table.name], table) for table in COMPARED}


def _ordered(found: Rows, table: Table) -> Rows:
    cells = [{name: row[name] for name in table.schema.names} for row in found]
    return sorted(cells, key=lambda row: [str(row[name]) for name in table.order])


def went_on(log: Path, minutes: int) -> None:
    """Another program's lines in the same log, until long after Kafka's last one: Kafka's silence is heard."""
    stamps = STAMP.findall(log.read_text())
    if stamps:
        last = datetime.fromisoformat(stamps[-1])
        times = [last + timedelta(seconds=20 * n) for n in range(1, 3 * minutes)]
        with log.open("a") as stream:
            stream.writelines(f"[{at},000] INFO Request handled (com.example.Http)\n" for at in times)


EACH = [
    pytest.param(sample, id=sample.folder.name, marks=() if number % 5 == 0 else pytest.mark.long)
    for number, sample in enumerate(all_samples())
]
"""One sample in five in `make test`, all of them in `make test-long`: each is two runs of the job."""


@pytest.mark.parametrize("sample", EACH)
def test_the_tables_tell_what_the_report_tells_though_one_host_came_later(sample: Sample, tmp_path: Path) -> None:
    logs, output = tmp_path / "logs", tmp_path / "tables"
    shutil.copytree(sample.folder, logs)
    late = min(path for path in logs.iterdir() if path.is_dir())
    late.rename(tmp_path / "late")
    with suppress(InputError):
        job(logs, output)
    (tmp_path / "late").rename(late)
    job(logs, output)
    assert in_tables(output) == in_report(report_of(sample.folder))


@pytest.mark.parametrize("name", ["process-crash", "member-left"])
def test_a_silence_that_later_lines_of_other_programs_show_counts_in_the_tables_too(name: str, tmp_path: Path) -> None:
    sample = next(each for each in all_samples() if each.folder.name == name)
    logs, output = tmp_path / "logs", tmp_path / "tables"
    for host in sample.folder.glob("broker*"):
        shutil.copytree(host, logs / host.name)
    job(logs, output)
    assert in_tables(output) == in_report(analyze([str(logs)], LOCAL))
    for log in sorted(logs.rglob("*.log")):
        went_on(log, minutes=30)
        job(logs, output)
    assert in_tables(output) == in_report(analyze([str(logs)], LOCAL))


def test_a_log_that_continues_without_kafka_reopens_no_date_that_does_not_see_it(tmp_path: Path) -> None:
    logs, output = tmp_path / "logs", tmp_path / "tables"
    shutil.copytree(next(each.folder for each in all_samples() if each.folder.name == "process-crash"), logs)
    log = next(logs.glob("broker*/server.log"))
    went_on(log, minutes=4 * 24 * 60)
    job(logs, output)
    before = in_tables(output)
    went_on(log, minutes=30)
    assert job(logs, output) == 0
    assert in_tables(output) == before
