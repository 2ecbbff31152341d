"""The job on Spark writes what the job in this process writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rebalance_forensics import tables
from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.job_run import run_job
from rebalance_forensics.job.steps.engines import InProcess, JobEngine, OnSpark
from tests.conftest import SOME_OF_EVERY_KIND, some_samples
from tests.job.conftest import rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def tables_of(logs: Path, output: Path, engine: JobEngine) -> Path:
    given = ["--input", str(logs), "--output", str(output), "--since", "2000-01-01", "--until", "2099-01-01"]
    run_job(parse([*given, "--cluster-per-directory"]).options, engine)
    return output


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Samples of every kind of group; test_samples.py tries all of them in this process."""
    return some_samples(tmp_path_factory.mktemp("samples"))


@pytest.fixture(scope="module")
def alone(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tables that this process writes of them."""
    return tables_of(samples, tmp_path_factory.mktemp("alone") / "tables", InProcess())


@pytest.mark.spark
def test_the_samples_through_spark(spark: SparkSession, samples: Path, alone: Path, tmp_path: Path) -> None:
    tables_of(samples, tmp_path / "spark", OnSpark(session=spark, workers=2))
    assert rows(tmp_path / "spark") == rows(alone)
    assert {row["kind"] for row in rows(alone)["generations"]} == {"consumer", "streams", "connect"}
    assert {row["cluster"] for row in rows(alone)["incidents"]} == set(SOME_OF_EVERY_KIND)


@pytest.mark.spark
def test_spark_reads_the_tables_by_their_partitions(spark: SparkSession, alone: Path) -> None:
    incidents = tables(alone)["incidents"].to_spark(spark)
    assert dict(incidents.dtypes)["date"] == "date"
    told = [row for row in rows(alone)["incidents"] if row["cluster"] == "process-crash"]
    assert incidents.where("cluster = 'process-crash'").count() == len(told) > 0
