"""Spark and the plain process give the same report, byte for byte, however the input is cut and dealt."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from rebalance_forensics.pipeline import read_plan
from rebalance_forensics.pipeline.options import AnalyzeOptions, Wanted
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.run import analyze_with_events
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.neighbours import profiles as told
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.times.zones import ZoneRules
from tests.conftest import ROOT, SHORT_LOG, some_samples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def report_of(path: Path, session: SparkSession | None = None, split_bytes: int = 64 << 20) -> str:
    options = AnalyzeOptions(
        engine="spark" if session else "local", split_bytes=split_bytes, cluster_per_directory=True
    )
    return to_json(analyze_with_events([str(path)], options, keep_events=False, session=session).report)


@pytest.mark.parametrize("split_bytes", [1, 200, 1000, 5000])
def test_the_size_of_the_splits_does_not_matter(logs: Path, split_bytes: int) -> None:
    (logs / "broker-1" / "server.log").write_text(SHORT_LOG * 3)
    assert report_of(logs, split_bytes=split_bytes) == report_of(logs)


@pytest.mark.spark
def test_one_worker_gives_the_report_of_the_plain_process(spark: SparkSession, logs: Path) -> None:
    assert report_of(logs, spark) == report_of(logs)


@pytest.mark.spark
def test_samples_through_a_shuffle(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = some_samples(tmp_path)
    alone = report_of(samples)
    monkeypatch.setattr(read_plan, "workload", lambda _splits, _catalog: sys.maxsize)
    assert report_of(samples, spark, split_bytes=50_000) == alone


@pytest.mark.spark
def test_an_incident_of_a_cluster_through_a_shuffle(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    night = ROOT / "tests" / "incidents" / "nights" / "broker-stalls-3.9.1.tgz"
    alone = report_of(night)
    assert '"scope": "cluster"' in alone or '"scope":"cluster"' in alone
    monkeypatch.setattr(read_plan, "workload", lambda _splits, _catalog: sys.maxsize)
    assert report_of(night, spark, split_bytes=50_000) == alone


@pytest.mark.spark
def test_a_job_is_one_shuffle(
    spark: SparkSession, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rebalance_forensics.pipeline.spark.engine import cases  # noqa: PLC0415 - Spark only where it is tested

    monkeypatch.setattr(read_plan, "workload", lambda _splits, _catalog: sys.maxsize)
    plan = read_plan.plan_reading([str(logs)], AnalyzeOptions(split_bytes=300), workers=2)
    cases(spark, plan, Wanted()).explain()
    described = capsys.readouterr().out
    assert described.count("Exchange") == 1
    assert described.count("MapInArrow") == 2


@pytest.mark.spark
def test_what_a_defect_spoils_is_named_alike(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The defect is a zone that no clock has, told by the driver: it breaks off in the workers."""

    def broken(files: Sequence[InputFile], zones: ZoneRules) -> tuple[FileProfile, ...]:
        return tuple(
            replace(found, zone="-79:00") if file.path == "bad.log" else found
            for file, found in zip(files, told(files, zones), strict=True)
        )

    monkeypatch.setattr(read_plan, "profiles", broken)
    (tmp_path / "bad.log").write_text(SHORT_LOG)
    (tmp_path / "good.log").write_text(SHORT_LOG.replace("payments", "orders"))
    report = report_of(tmp_path, spark)
    assert report == report_of(tmp_path)
    assert "the record at byte 0 and 5 more could not be read: UnknownZoneError" in report
    assert [group["group"] for group in json.loads(report)["groups"]] == ["orders"]


@pytest.mark.spark
def test_files_without_a_line_are_no_defect(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "core.dump").write_bytes(bytes(range(256)) * 40)
    with pytest.raises(InputError, match="no Kafka line found"):
        report_of(tmp_path, spark)
