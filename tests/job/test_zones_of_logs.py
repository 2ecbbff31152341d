"""Clocks that lie hours apart: what starts near midnight stands in the tables once, whichever date its lines print."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.pipeline.tables.rows import history_rows
from tests.job.conftest import Rows, Run, rows
from tests.job.days import START, failure, line

GROUP = "payments"
MEMBER = "payments-c1-0001ffff-bbbb-cccc-dddd-eeeeeeeeeeee"
NIGHT = START + timedelta(days=1, hours=22)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    put(tmp_path / "logs", broker_east=0, client_east=None)
    return tmp_path / "logs"


def of_client(at: datetime, said: str, zone: str) -> str:
    """One line of a client."""
    return (
        f"[{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}{zone}] INFO "
        f"[Consumer clientId=payments-c1, groupId=payments] {said} "
        "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)\n"
    )


def put(logs: Path, *, broker_east: int, client_east: int | None) -> None:
    """A broker that prints local time without a zone, and a client that prints UTC, or local time as well."""
    broker, client = logs / "broker-1" / "server.log", logs / "client" / "app.log"
    for path in (broker, client):
        path.parent.mkdir(parents=True, exist_ok=True)
    broker.write_text("".join(line(at + timedelta(hours=broker_east), words) for at, words in failure(NIGHT, GROUP, 1)))
    joined = f"Generation{{generationId=3, memberId='{MEMBER}', protocol='range'}}"
    said = [
        (123_005, f"Successfully joined group with generation {joined}"),
        (124_000, "Adding newly assigned partitions: orders-0"),
        (424_000, "Revoke previously assigned partitions orders-0"),
        (484_000, "Adding newly assigned partitions: orders-0"),
    ]
    zone = "Z" if client_east is None else ""
    client.write_text(
        "".join(
            of_client(NIGHT + timedelta(hours=client_east or 0, milliseconds=ms), words, zone) for ms, words in said
        )
    )


@pytest.mark.parametrize(
    ("broker_east", "client_east"), [(-11, None), (3, None), (5, None), (9, None), (13, None), (0, 5), (0, -9), (7, 7)]
)
def test_a_row_is_of_one_date_though_the_clocks_are_further_apart_than_the_job_looks_ahead(
    run: Run, logs: Path, tmp_path: Path, broker_east: int, client_east: int | None
) -> None:
    run("2026-02-25", "2026-03-06", output=tmp_path / "utc")
    put(logs, broker_east=broker_east, client_east=client_east)
    run("2026-02-25", "2026-03-06", output=tmp_path / "local")
    of_utc, of_local = rows(tmp_path / "utc"), rows(tmp_path / "local")
    shift = timedelta(hours=broker_east if broker_east == client_east else 0)
    for table in ("generations", "pauses", "unread", "incidents"):
        assert _starts(of_local, table, shift) == _starts(of_utc, table, timedelta(0)) != [], table


@pytest.mark.parametrize("late", [timedelta(hours=9), timedelta(minutes=-17), timedelta(days=3)])
def test_start_times_that_disagree_with_their_lines_cost_the_tables_no_row(
    run: Run, logs: Path, tmp_path: Path, late: timedelta
) -> None:
    log = logs / "broker-1" / "server.log"
    at = NIGHT - timedelta(minutes=1)
    log.write_text(
        f"[{at:%Y-%m-%d %H:%M:%S},000] INFO Kafka startTimeMs: {round((at - late).timestamp() * 1000)} "
        "(org.apache.kafka.common.utils.AppInfoParser)\n" + log.read_text()
    )
    assert_tables_have_all_rows(run, logs, tmp_path / "tables")


def test_a_line_without_a_time_is_of_the_date_of_the_line_before_it(run: Run, logs: Path, tmp_path: Path) -> None:
    log = logs / "client" / "app.log"
    first, second, *others = log.read_text().splitlines(keepends=True)
    log.write_text("".join([first, second[second.index("INFO") :], *others]))
    assert_tables_have_all_rows(run, logs, tmp_path / "tables")


def assert_tables_have_all_rows(run: Run, logs: Path, output: Path) -> None:
    """Every row of a report stands in the tables once."""
    run("2026-02-25", "2026-03-06", output=output)
    report, found = analyze([str(logs)], AnalyzeOptions(engine="local")), rows(output)
    of_groups = [table.name for group in report.groups for table, _ in history_rows(group)]
    assert len(found["incidents"]) == len(report.incidents) > 0
    for table in ("generations", "pauses", "unread"):
        assert len(found[table]) == of_groups.count(table), table


def _starts(found: Rows, table: str, shift: timedelta) -> list[datetime]:
    return sorted((row["started_at"] or row["completed_at"]) - shift for row in found[table])
