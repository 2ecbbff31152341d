"""Readers of the tables: one run whole, whatever is written meanwhile, and one sentence where that cannot be."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, TableFeatures
from deltalake.transaction import AddAction

import rebalance_forensics as rf
from rebalance_forensics.job import main
from rebalance_forensics.job.fleet_tables import fleet_tables
from rebalance_forensics.job.lake import editions
from rebalance_forensics.job.lake.delta import TableLog
from rebalance_forensics.job.lake.editions import Edition, Named, edition_of
from rebalance_forensics.job.lake.intervals import date_text
from rebalance_forensics.job.lake.layout import DataFile, partition_of
from rebalance_forensics.job.written_tables import WrittenTable
from rebalance_forensics.pipeline.inputs.stores import Store
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.tables.schemas import BY_NAME, PUBLIC, Table, own
from tests.job.conftest import Run, rows

if TYPE_CHECKING:
    from collections.abc import Mapping

SINCE, UNTIL = "2026-03-01", "2026-03-04"
CHECKPOINT_EVERY = 3


def test_delta_and_the_job_name_the_same_rows(run: Run, tmp_path: Path) -> None:
    run(SINCE, UNTIL, "--cluster", "b/ue%")
    found = rf.tables(tmp_path / "tables")
    for name, table in found.items():
        delta = DeltaTable(table.uri, version=table.version)
        assert sorted(delta.file_uris()) == sorted(table.files)
        assert sum(pq.read_metadata(file).num_rows for file in table.files) == table.rows == len(table.to_pandas()), (
            name
        )
    assert set(found["incidents"].to_pandas(["cluster", "id"])["cluster"]) == {"b/ue%"}


def test_job_tables_lists_the_versions(run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(SINCE, "2026-03-02")
    run(SINCE, UNTIL)
    assert main(["tables", str(tmp_path / "tables"), "--json"]) == 0
    newest = json.loads(capsys.readouterr().out)
    assert set(newest["tables"]) == set(PUBLIC)
    assert newest["tables"]["incidents"]["rows"] == len(rows(tmp_path / "tables")["incidents"])
    assert main(["tables", str(tmp_path / "tables"), "--version", str(newest["version"] - 1)]) == 0
    earlier = {line.split()[0]: line.split()[1:] for line in capsys.readouterr().out.splitlines()}
    assert int(earlier["incidents"][1]) < newest["tables"]["incidents"]["rows"]


def test_a_reader_sees_one_run_whole_while_the_next_is_committed(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(SINCE, "2026-03-02")
    output, real, seen = tmp_path / "tables", TableLog.replace, list[object]()
    before = rows(output)

    def looked_at(log: TableLog, wanted: Mapping[str, object], **how: object) -> int:
        seen.append(rows(output) == before)
        return real(log, wanted, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(TableLog, "replace", looked_at)
    pinned = rf.tables(output)
    run(SINCE, UNTIL)
    assert len(seen) > 5
    assert all(seen)
    assert rows(output) != before
    assert [row["id"] for row in pinned["incidents"].to_arrow(["id"]).sort_by("id").to_pylist()] == sorted(
        row["id"] for row in before["incidents"]
    )


def test_clusters_are_written_side_by_side(run: Run, tmp_path: Path) -> None:
    expected = tmp_path / "one-by-one"
    for cluster in ("blue", "green", "red"):
        run(SINCE, UNTIL, "--cluster", cluster, output=expected)
    threads = [Thread(target=run, args=(SINCE, UNTIL, "--cluster", name)) for name in ("blue", "green", "red")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows(tmp_path / "tables") == rows(expected)
    assert len(rows(tmp_path / "tables", ["runs"])["runs"]) == 3


def written_by_somebody(place: Path, file: str) -> int:
    """One more file in a table; the version that has it."""
    table = DeltaTable(place)
    known = partition_of(f"t/{file}")
    values = {"date": date_text(known[1]), "cluster": known[2]} if known else {}
    added = AddAction(file, (place / file).stat().st_size, values, 0, data_change=True, stats="{}")
    table.create_write_transaction([added], "append", table.schema(), list(values))
    return table.version() + 1


@pytest.mark.parametrize("name", ["incidents", "runs"])
def test_a_table_that_the_job_never_wrote_is_refused(run: Run, tmp_path: Path, name: str) -> None:
    place = tmp_path / "tables" / name
    DeltaTable.create(place, pa.schema([("note", pa.string())]))
    place.joinpath("mine.parquet").write_bytes(b"")
    written_by_somebody(place, "mine.parquet")
    with pytest.raises(InputError, match=f"has a table {name} that is not the job's"):
        run(SINCE, UNTIL)
    assert len(DeltaTable(place).file_uris()) == 1


def test_a_table_with_deletion_vectors_is_refused(run: Run, tmp_path: Path) -> None:
    run(SINCE, "2026-03-02")
    before, incidents = rows(tmp_path / "tables"), DeltaTable(tmp_path / "tables" / "incidents")
    incidents.alter.add_feature(TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    with pytest.raises(InputError, match="incidents was given features by which its files are read otherwise"):
        run(SINCE, UNTIL)
    assert rows(tmp_path / "tables") == before


def test_executors_need_no_deltalake() -> None:
    program = "import sys, rebalance_forensics.job.steps.investigation; sys.exit('deltalake' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("name", ["incidents", "runs"])
def test_rows_of_other_writers_are_named_and_removed_from_the_table(run: Run, tmp_path: Path, name: str) -> None:
    run(SINCE, UNTIL)
    before, place = rows(tmp_path / "tables"), tmp_path / "tables" / name
    copied = Path(rf.tables(tmp_path / "tables")[name].files[0])
    shutil.copy(copied, copied.with_name("mine.parquet"))
    foreign = written_by_somebody(place, str(copied.with_name("mine.parquet").relative_to(place)))
    assert rows(tmp_path / "tables") == before
    (note,) = run(SINCE, UNTIL).notes
    assert f"the table {name} was changed by somebody else (WRITE, version {foreign})" in note
    assert rows(tmp_path / "tables") == before
    assert run(SINCE, UNTIL).notes == []


def test_logs_are_summed_up_and_old_files_go(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(editions, "CHECKPOINT_EVERY", CHECKPOINT_EVERY)
    for _ in range(CHECKPOINT_EVERY):
        run(SINCE, "2026-03-02")
    output = tmp_path / "tables"
    assert list((output / "runs" / "_delta_log").glob("*.checkpoint.parquet"))
    assert len(list((output / "runs").glob("date=*/*/*.parquet"))) == CHECKPOINT_EVERY
    first = rf.tables(output, version=1)
    assert first["runs"].rows == 1
    log = TableLog.open(Store(str(output)), BY_NAME["runs"])
    assert log
    log.delta.alter.set_table_properties({"delta.deletedFileRetentionDuration": "interval 0 days"})
    for _ in range(CHECKPOINT_EVERY):
        run(SINCE, "2026-03-02")
    # What the last commit replaced is not yet as old as its log.
    assert len(list((output / "runs").glob("date=*/*/*.parquet"))) <= 2
    assert len(rows(output, ["runs"])["runs"]) == 2 * CHECKPOINT_EVERY
    with pytest.raises(InputError, match="a file of version 1 of runs no longer exists; use the newest version"):
        first["runs"].to_arrow()
    with pytest.raises(InputError, match="version 99 of the table runs is not in its log"):
        rf.tables(output, version=99)


def test_a_file_that_is_not_there_and_a_damaged_log_are_named_with_the_remedy(run: Run, tmp_path: Path) -> None:
    run(SINCE, "2026-03-02")
    output = tmp_path / "tables"
    Path(rf.tables(output)["incidents"].files[0]).unlink()
    with pytest.raises(InputError, match=r"version 1 of incidents no longer exists; .* run the job again"):
        rf.tables(output)["incidents"].to_pandas()
    (sentence,) = fleet_tables(str(output), None).unreadable
    assert sentence.endswith(" no longer exists; run the job again to restore its rows.")
    log = output / "incidents" / "_delta_log" / f"{0:020}.json"
    for damaged in (b"{garbage", log.read_bytes()[:99], b""):
        log.write_bytes(damaged)
        with pytest.raises(
            InputError, match="incidents cannot be read: it is damaged; restore incidents/_delta_log, or"
        ):
            fleet_tables(str(output), None)


def test_a_job_without_permission_to_delete_reports_that_the_tables_grow(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(_store: Store, path: str) -> None:
        raise PermissionError(13, "Permission denied", path)

    run(SINCE, UNTIL, output=tmp_path / "undisturbed")
    monkeypatch.setattr(Store, "delete", forbidden)
    monkeypatch.setattr(Store, "delete_tree", forbidden)
    for until in ("2026-03-02", UNTIL):
        (note,) = run(SINCE, until).notes
        assert "cannot be deleted: Permission denied; let this user delete files there." in note
    assert rows(tmp_path / "tables") == rows(tmp_path / "undisturbed")


def as_an_earlier_release_left_them(output: Path, cluster: str = "default") -> None:
    """Make them tables of an earlier release: plain Parquet without Delta logs, the covered intervals in a file."""
    named = {path for table in BY_NAME.values() for path in edition_of(Store(str(output))).files(table)}
    for path in output.rglob("*.parquet"):
        if str(path.relative_to(output)) not in named:
            path.unlink()
    for log in output.glob("*/_delta_log"):
        shutil.rmtree(log)
    (output / "_coverage" / cluster).mkdir(parents=True)
    (output / "_coverage" / cluster / "run.json").write_text("[[1772323200000, 1772496000000]]")
    (output / "_schema.json").write_text('{"version": 1}')


def test_tables_of_an_earlier_release_are_taken_over_as_they_lie(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "tables"
    run(SINCE, "2026-03-03")
    before, files = rows(output), {path: path.stat().st_mtime_ns for path in output.glob("[!_]*/date=*/*/*.parquet")}
    as_an_earlier_release_left_them(output)
    (output / "_alerts" / "cafe").mkdir(parents=True)
    (output / "_alerts" / "cafe" / "messages.json").write_text("[]")
    assert len(fleet_tables(str(output), None).incidents) == len(before["incidents"])
    assert rows(output) == before
    outcome = run(SINCE, "2026-03-03")
    assert (outcome.summary["scanned"], outcome.summary["days"]) == (0, 0)
    assert edition_of(Store(str(output))).named.unsent == ["cafe"]
    assert rows(output) == before
    assert all(path.stat().st_mtime_ns == at for path, at in files.items() if path.is_file())
    run(SINCE, UNTIL)
    run(SINCE, UNTIL, output=tmp_path / "at-once")
    assert rows(output) == rows(tmp_path / "at-once")


def test_a_half_done_run_of_an_earlier_release_is_left_to_it(run: Run, tmp_path: Path) -> None:
    run(SINCE, "2026-03-03")
    as_an_earlier_release_left_them(tmp_path / "tables")
    journal = tmp_path / "tables" / "_work" / "default" / "cafe" / "journal.json"
    journal.parent.mkdir(parents=True)
    journal.write_text("{}")
    with pytest.raises(InputError, match="run that release once more, then this one"):
        run(SINCE, UNTIL)


def test_a_release_with_more_columns_adds_them_and_one_with_fewer_continues(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    before, after = (
        Table(
            name="t", of="a row", dated_by="`at`", order=("id",), columns=tuple(own(n, pa.string(), n) for n in names)
        )
        for names in (("id",), ("id", "cause"))
    )
    for turn, table in enumerate((before, after, before), 1):
        path = f"t/date=2026-03-01/cluster=blue/part-{turn}.parquet"
        with store.create(path) as stream:
            pq.write_table(pa.table({name: [str(turn)] for name in table.schema.names}), stream)
        log = TableLog.to_write(store, table, "{}")
        file = DataFile(path=path, size=store.stored(path).size, rows=1)
        version = log.replace({**log.files, path: file}, turn=turn, note="{}")
    edition = Edition(store=store, named=Named(run="", versions={"t": version}))
    found = WrittenTable(edition, after).to_arrow(["id", "cause"]).sort_by("id").to_pylist()
    assert [row["cause"] for row in found] == [None, "2", None]
    assert [field.name for field in DeltaTable(tmp_path / "t").schema().fields] == ["id", "date", "cluster", "cause"]
