"""A file that unpacks further than logs do is stopped, wherever it is read, and all else is read."""

from __future__ import annotations

import bz2
import gzip
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rebalance_forensics import tables
from rebalance_forensics.job import main
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze, analyze_with_events
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.sources.files.archives import held_open
from rebalance_forensics.sources.files.budgets import Limits
from rebalance_forensics.sources.files.walk import discover
from tests.conftest import SHORT_LOG
from tests.sources.conftest import Work
from tests.sources.packing import LOG, read_all, tarred, zipped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALL = Limits(least=1 << 20, ratio=20)
PIECE = 256 << 10
"""What a decompressor gives at once: so much later a budget may be found to be spent."""
DULL = b"A" * (200 << 10) + b"\n"


def nested(members: int) -> bytes:
    """A zip of kilobytes with a zip in it whose members are a thousand times as large together."""
    return zipped({"inner.zip": zipped({f"{n}.log": DULL for n in range(members)})})


def test_an_archive_in_an_archive_has_no_more_than_the_file_that_it_came_in(tmp_path: Path, work: Work) -> None:
    (tmp_path / "bomb.zip").write_bytes(nested(300))
    (tmp_path / "server.log").write_bytes(LOG)
    with held_open():
        found = discover([str(tmp_path)], SMALL)
        assert read_all(found)[0] == 200
    assert 1 < len(found.files) < 10
    assert work.unpacked <= 3 * (1 << 20) + PIECE
    ((path, reports, _),) = found.errors
    assert path == "bomb.zip"
    assert "bomb.zip: unpacks to more than 1 MiB, at least 20 times its packed size; it is taken for a" in reports


def test_a_log_before_the_bomb_is_read(tmp_path: Path) -> None:
    (tmp_path / "logs.zip").write_bytes(zipped({"a.log": LOG, "bomb.zip": nested(300), "z.log": LOG}))
    found = discover([str(tmp_path)], SMALL)
    assert found.files[0].path == "logs.zip!/a.log"
    assert len(found.errors) == 1


def test_members_that_tell_how_large_they_are_are_refused_before_they_are_unpacked(tmp_path: Path, work: Work) -> None:
    (tmp_path / "bomb.zip").write_bytes(zipped({f"{n:02d}.log": DULL * 3 for n in range(8)}))
    found = discover([str(tmp_path)], SMALL)
    assert [file.path for file in found.files] == ["bomb.zip!/00.log"]
    read_all(found)
    assert work.unpacked <= len(DULL) * 3 + (1 << 20)


@pytest.mark.parametrize("pack", [zipped, tarred], ids=["zip", "tar"])
def test_packed_members_share_the_budget_although_no_task_reads_all_of_them(
    tmp_path: Path, work: Work, pack: object
) -> None:
    assert callable(pack)
    (tmp_path / "bomb.pack").write_bytes(pack({f"{n}.log.gz": gzip.compress(LOG + DULL * 5) for n in range(8)}))
    found = discover([str(tmp_path)], Limits(least=4 << 20, ratio=20))
    assert found.errors == ()
    before = work.unpacked
    # Each by itself, as tasks on different machines would, and twice, for a log is looked at before it is read.
    number, said = read_all(found)
    assert work.unpacked - before <= 2 * (4 << 20) + 16 * PIECE
    assert number == 8 * 200
    assert len(said) == 8
    assert "its share of what its archive may (4 MiB, at least 20 times its packed size)" in said[0]


def test_shares_are_fair_to_logs_that_pack_as_logs_do(tmp_path: Path) -> None:
    logs = {f"{n}.log.gz": gzip.compress(LOG * (1 + n % 7)) for n in range(10)}
    (tmp_path / "logs.tgz").write_bytes(
        gzip.compress(tarred({**logs, "plain.log": LOG, "b.log.bz2": bz2.compress(LOG)}))
    )
    number, said = read_all(discover([str(tmp_path)]))
    assert (number, said) == (sum(200 * (1 + n % 7) for n in range(10)) + 400, [])


def test_a_file_that_takes_too_long_to_unpack_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1_000_000, 5))
    monkeypatch.setattr("time.thread_time", lambda: float(next(clock)))
    (tmp_path / "slow.log.bz2").write_bytes(bz2.compress(LOG * 80, 1))
    number, said = read_all(discover([str(tmp_path)], Limits(seconds=20, seconds_per_mib=0)))
    assert 0 < number < 200 * 80
    assert said[0].startswith("takes more than 20 seconds of computing to unpack; it is taken for a decompression bomb")


@pytest.mark.parametrize("ratio", [1, 1000, 5000])
def test_all_limits_follow_the_ratio(ratio: int) -> None:
    usual, given = Limits().allowance(1 << 20), Limits.of(ratio).allowance(1 << 20)
    assert (given.unpacked * 1000, round(given.seconds * 1000)) == (usual.unpacked * ratio, usual.seconds * ratio)


def test_a_file_beyond_the_last_limit_is_not_reported_for_its_compression_ratio() -> None:
    assert Limits().allowance(1 << 40).too_large().startswith("unpacks to more than 1 TiB; it is taken")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A broker log, a bomb, and an archive that is none."""
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "server.log").write_text(SHORT_LOG)
    (logs / "bomb.zip").write_bytes(nested(30))
    (logs / "logs.tgz").write_bytes(gzip.compress(tarred({f"{n}.log": SHORT_LOG.encode() for n in range(3)})))
    return logs


SAID = "bomb.zip: unpacks to more than 1 MiB, at least 4 times its packed size"
READ = ["logs.tgz!/0.log", "logs.tgz!/1.log", "logs.tgz!/2.log", "server.log"]


def test_analyze_names_the_bomb_and_reports_on_the_rest(logs: Path) -> None:
    report = analyze([str(logs)], AnalyzeOptions(engine="local", limits=Limits.of(4)))
    assert [error.startswith(SAID) for one in report.inputs for error in one.errors] == [True]
    assert [one.path for one in report.inputs if one.matched] == READ


@pytest.mark.spark
def test_spark_stops_the_same_bomb_at_the_same_place(logs: Path, spark: SparkSession) -> None:
    here = AnalyzeOptions(engine="local", limits=Limits.of(4), split_bytes=500)
    there = replace(here, engine="spark")
    reports = [analyze_with_events([str(logs)], options, keep_events=False, session=spark) for options in (here, there)]
    assert to_json(reports[0].report) == to_json(reports[1].report)


def test_the_job_names_the_bomb_and_writes_the_rest(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = {"input": logs, "output": tmp_path / "tables", "since": "2026-03-01", "until": "2026-03-02"}
    options = [part for name, value in given.items() for part in (f"--{name}", str(value))]
    assert main([*options, "--engine", "local", "--unpack-ratio", "4"]) == 3
    assert SAID in capsys.readouterr().err
    inputs = tables(tmp_path / "tables")["inputs"].to_arrow()
    assert sorted(row["path"] for row in inputs.to_pylist() if row["matched"]) == READ
