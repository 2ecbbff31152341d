"""Parts of the tables that somebody deleted are written again while their logs are there, and named in any case."""

from __future__ import annotations

import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from rebalance_forensics.job.lake.layout import batches_of
from rebalance_forensics.pipeline.inputs.stores import checked_store
from rebalance_forensics.pipeline.refusals import InputError
from tests.job.conftest import Run, rows
from tests.job.days import START, failure, line

SINCE, UNTIL = "2026-03-01", "2026-03-04"


@pytest.mark.parametrize("table", ["events", "incidents", "generations", "inputs", "*"])
def test_a_deleted_date_is_written_again(run: Run, tmp_path: Path, table: str) -> None:
    run(SINCE, UNTIL)
    before = rows(tmp_path / "tables")
    for place in (tmp_path / "tables").glob(f"{table}/date=2026-03-02"):
        shutil.rmtree(place)
    outcome = run(SINCE, UNTIL)
    assert any("2026-03-02" in note for note in outcome.notes) == (table != "inputs")
    assert rows(tmp_path / "tables") == before
    again = run(SINCE, UNTIL)
    assert (again.notes, again.summary["scanned"], again.summary["days"]) == ([], 0, 0)


def test_one_file_of_a_date_is_missed_too(run: Run, tmp_path: Path) -> None:
    run(SINCE, UNTIL, "--tasks", "2")
    before = rows(tmp_path / "tables")
    next((tmp_path / "tables" / "events" / "date=2026-03-02").rglob("*.parquet")).unlink()
    run(SINCE, UNTIL)
    assert rows(tmp_path / "tables") == before


@pytest.mark.parametrize("table", ["events", "incidents", "generations"])
def test_rows_in_a_file_that_was_cut_are_written_again(run: Run, tmp_path: Path, table: str) -> None:
    run(SINCE, UNTIL)
    before = rows(tmp_path / "tables")
    cut(next((tmp_path / "tables" / table / "date=2026-03-02").rglob("*.parquet")))
    (note,) = run(SINCE, UNTIL).notes
    assert "2026-03-02" in note
    assert rows(tmp_path / "tables") == before


def test_a_date_with_a_file_that_changed_in_its_size_alone_is_named(run: Run, tmp_path: Path) -> None:
    run(SINCE, "2026-03-03")
    damaged = next((tmp_path / "tables" / "events" / "date=2026-03-02").rglob("*.parquet"))
    damaged.write_bytes(b"{" * damaged.stat().st_size)
    with pytest.raises(InputError, match=r"events/date=2026-03-02/\S+ cannot be read"):
        run("2026-03-02", "2026-03-06")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def test_a_byte_that_changed_in_a_table_never_changes_a_row(run: Run, tmp_path: Path) -> None:
    run(SINCE, UNTIL)
    tables = checked_store(str(tmp_path / "tables"), role="--output")
    file = next((tmp_path / "tables" / "events" / "date=2026-03-02").rglob("*.parquet"))
    name, intact = str(file.relative_to(tmp_path / "tables")), file.read_bytes()
    before, noticed = list(batches_of(tables, name)), 0
    pages = len(intact) - 8 - int.from_bytes(intact[-8:-4], "little")  # the footer behind them has no checksum
    for at in range(4, pages, 25):
        file.write_bytes(intact[:at] + bytes([intact[at] ^ 1]) + intact[at + 1 :])
        try:
            assert list(batches_of(tables, name)) == before, at
        except InputError:
            noticed += 1
    assert noticed > 10


def test_a_date_whose_logs_are_gone_too_is_named_once_and_left_alone(run: Run, logs: Path, tmp_path: Path) -> None:
    run(SINCE, UNTIL)
    before = rows(tmp_path / "tables")
    shutil.rmtree(tmp_path / "tables" / "events" / "date=2026-03-02")
    (logs / "broker-1" / "server.log.2026-03-02").unlink()
    outcome = run(SINCE, UNTIL)
    (note,) = outcome.notes
    assert note.startswith(
        "events of 2026-03-02 (cluster default) are missing from the tables (deleted or cut); the logs that told"
    )
    assert outcome.summary["exit_code"] == 0
    after = rows(tmp_path / "tables")
    assert after["incidents"] == before["incidents"]
    assert len(after["events"]) < len(before["events"])
    assert run(SINCE, UNTIL).notes == []


def broker(logs: Path, name: str, group: str) -> Path:
    log = logs / name / "server.log"
    log.parent.mkdir()
    log.write_text("".join(line(at, words) for at, words in failure(START + timedelta(days=1, hours=6), group, 1)))
    return log


@pytest.mark.parametrize("arriving", [False, True])
def test_where_one_log_of_a_date_is_gone_the_others_are_read_again(
    run: Run, logs: Path, tmp_path: Path, *, arriving: bool
) -> None:
    billing = broker(logs, "broker-2", "billing")
    run(SINCE, UNTIL)
    before = rows(tmp_path / "tables")
    shutil.rmtree(tmp_path / "tables" / "events" / "date=2026-03-02")
    billing.unlink()
    if arriving:
        broker(logs, "broker-3", "shipping")
    outcome = run(SINCE, UNTIL)
    (note,) = outcome.notes
    assert "2026-03-02 (cluster default)" in note
    assert "but for those of broker-2/server.log, no longer in the input" in note
    after = rows(tmp_path / "tables")
    assert [row for row in after["events"] if row["group"] != "shipping"] == [
        row for row in before["events"] if row["group"] != "billing"
    ]
    if arriving:
        groups = {row["group"] for row in before["incidents"]} ^ {"billing", "shipping"}
        assert {row["group"] for row in after["incidents"]} == groups
    else:
        assert after | {"events": []} == before | {"events": []}
    assert run(SINCE, UNTIL).notes == []
    # Later runs know it, too: what changes on the date before reaches this one.
    with (logs / "broker-1" / "server.log.2026-03-01").open("a") as log:
        log.writelines(line(at, words) for at, words in failure(START + timedelta(hours=20), "shipping", 1))
    assert run(SINCE, UNTIL).summary["scanned"] == 1
    last = rows(tmp_path / "tables")["incidents"]
    assert [row for row in last if row["date"] == "2026-03-02"] == [
        row for row in after["incidents"] if row["date"] == "2026-03-02"
    ]


def test_events_of_a_log_that_grew_come_back_whole(run: Run, logs: Path, tmp_path: Path) -> None:
    grows = logs / "broker-1" / "server.log.2026-03-02"
    text = grows.read_text()
    grows.write_text("".join(text.splitlines(keepends=True)[:-3]))
    run(SINCE, UNTIL)
    shutil.rmtree(tmp_path / "tables" / "events" / "date=2026-03-02")
    grows.write_text(text)
    run(SINCE, UNTIL)
    run(SINCE, UNTIL, output=tmp_path / "afresh")
    assert rows(tmp_path / "tables", ["events"]) == rows(tmp_path / "afresh", ["events"])


def test_another_log_of_the_same_size_and_time_is_read(run: Run, logs: Path, tmp_path: Path) -> None:
    path = logs / "broker-1" / "server.log.2026-03-02"
    status = path.stat()
    run(SINCE, UNTIL)
    path.write_bytes(path.read_bytes().replace(b"payments", b"shipping"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (status.st_size, status.st_mtime_ns)
    assert run(SINCE, UNTIL).summary["scanned"] == 1
    assert {row["path"] for row in rows(tmp_path / "tables")["events"] if row["group"] == "shipping"} == {
        "broker-1/server.log.2026-03-02"
    }


def test_a_file_whose_permissions_changed_is_not_read_again(run: Run, logs: Path) -> None:
    run(SINCE, UNTIL)
    (logs / "broker-1" / "server.log.2026-03-02").chmod(0o600)
    assert run(SINCE, UNTIL).summary["scanned"] == 0
