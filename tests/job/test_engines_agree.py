"""The job on Spark writes what the job in this process writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.running import run_job
from rebalance_forensics.pipeline.tables.engines import InProcess, JobEngine, OnSpark
from tests.conftest import SAMPLES
from tests.job.conftest import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tables_of(output: Path, engine: JobEngine) -> None:
    given = ["--input", str(SAMPLES), "--output", str(output), "--since", "2000-01-01", "--until", "2099-01-01"]
    run_job(parse([*given, "--cluster-per-directory"]).options, engine)


@pytest.mark.spark
def test_the_samples_through_spark(spark: SparkSession, tmp_path: Path) -> None:
    tables_of(tmp_path / "spark", OnSpark(session=spark, workers=2))
    tables_of(tmp_path / "alone", InProcess())
    assert rows(tmp_path / "spark") == rows(tmp_path / "alone")
    assert len(rows(tmp_path / "spark")["incidents"]) > 0


@pytest.mark.spark
def test_spark_reads_the_tables_by_their_partitions(spark: SparkSession, tmp_path: Path) -> None:
    tables_of(tmp_path / "tables", InProcess())
    incidents = spark.read.parquet(str(tmp_path / "tables" / "incidents"))
    assert dict(incidents.dtypes)["date"] == "date"
    assert incidents.where("cluster = 'startup'").count() == 1
