"""Spark and the plain process give the same report, byte for byte, however the input is cut and dealt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rebalance_forensics.pipeline import planning
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze_keeping
from rebalance_forensics.report.json_report import to_json
from tests.conftest import SAMPLES, SHORT_LOG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def report_of(path: Path, session: SparkSession | None = None, split_bytes: int = 64 << 20) -> str:
    options = AnalyzeOptions(
        engine="spark" if session else "local", split_bytes=split_bytes, cluster_per_directory=True
    )
    return to_json(analyze_keeping([str(path)], options, keep_events=False, session=session).report)


@pytest.mark.parametrize("split_bytes", [1, 200, 1000, 5000])
def test_the_size_of_the_splits_does_not_matter(logs: Path, split_bytes: int) -> None:
    (logs / "broker-1" / "server.log").write_text(SHORT_LOG * 3)
    assert report_of(logs, split_bytes=split_bytes) == report_of(logs)


@pytest.mark.spark
def test_one_worker_gives_the_report_of_the_plain_process(spark: SparkSession, logs: Path) -> None:
    assert report_of(logs, spark) == report_of(logs)


@pytest.mark.spark
def test_the_samples_through_a_shuffle(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    alone = report_of(SAMPLES)
    monkeypatch.setattr(planning, "SMALL_BYTES", 0)
    assert report_of(SAMPLES, spark, split_bytes=50_000) == alone


@pytest.mark.spark
def test_a_job_is_one_shuffle(
    spark: SparkSession, logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rebalance_forensics.pipeline.spark_engine import cases  # noqa: PLC0415 - Spark only where it is tested

    monkeypatch.setattr(planning, "SMALL_BYTES", 0)
    plan = planning.plan_reading([str(logs)], AnalyzeOptions(split_bytes=300), workers=2)
    cases(spark, plan, keep_events=False).explain()
    described = capsys.readouterr().out
    assert described.count("Exchange") == 1
    assert described.count("MapInArrow") == 2
