"""The job under spark-submit with Delta: the Delta tables hold the rows of the Parquet tables."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

PACKAGE = "io.delta:delta-spark_2.13:4.4.0"
SUBMIT = Path(sys.executable).parent / "spark-submit"
READS_BOTH = """
import sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
for table in ("events", "generations", "incidents", "findings", "inputs", "runs"):
    delta = spark.read.format("delta").load(f"{sys.argv[1]}/delta/{table}")
    parquet = spark.read.schema(delta.schema).parquet(f"{sys.argv[1]}/{table}")
    assert delta.count() > 0, table
    assert delta.exceptAll(parquet).count() == parquet.exceptAll(delta).count() == 0, table
assert spark.read.format("delta").load(f"{sys.argv[1]}/delta/pauses").count() == 0  # a broker tells of none
"""


def submit(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    delta = ["--conf", "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension"]
    delta += ["--conf", "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"]
    quiet = [
        "--conf",
        "spark.ui.enabled=false",
        "--conf",
        "spark.log.level=ERROR",
        "--conf",
        "spark.sql.shuffle.partitions=2",
    ]
    quiet += ["--conf", "spark.databricks.delta.snapshotPartitions=1", "--master", "local[2]"]
    return subprocess.run(
        [SUBMIT, "--packages", PACKAGE, *delta, *quiet, program, *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": sys.executable},
        capture_output=True, text=True, check=False, timeout=400,
    )  # fmt: skip


@pytest.mark.long
@pytest.mark.spark
def test_delta_tables_hold_what_the_parquet_tables_do(logs: Path, tmp_path: Path) -> None:
    output = str(tmp_path / "tables")
    given = ["--input", str(logs), "--output", output, "--table-format", "delta", "--cluster", "o'brien"]
    for until in ("2026-03-02", "2026-03-04"):
        done = submit(ROOT / "deploy" / "run_job.py", *given, "--since", "2026-03-01", "--until", until)
        if "unresolved dependency" in done.stderr:
            pytest.skip(f"{PACKAGE} cannot be fetched here")
        assert done.returncode == 0, done.stderr
    (tmp_path / "compare.py").write_text(READS_BOTH)
    compared = submit(tmp_path / "compare.py", output)
    assert compared.returncode == 0, compared.stderr
