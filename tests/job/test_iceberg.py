"""Spark with Delta's package reads the tables; Iceberg tables hold the same rows, whatever runs came before."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path

import pytest

import rebalance_forensics as rf
from tests.job.conftest import Run
from tests.job.days import week
from tests.job.sparks import submit

RELEASE = "4.1.4"
"""The newest Spark that it has a package for."""
DELTA = "io.delta:delta-spark_4.1_2.13:4.4.0"
EXTENSIONS = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
READS = """
import sys
import rebalance_forensics as rf
from pyspark.sql import SparkSession

spark, tables, differ = SparkSession.builder.getOrCreate(), rf.tables(sys.argv[1]), {}
for name, table in tables.items():
    delta = spark.sql(f"SELECT * FROM delta.`{table.uri}` VERSION AS OF {table.version}")
    rows = table.to_spark(spark)
    differ[name] = (delta.count(), delta.exceptAll(rows).count() + rows.exceptAll(delta).count())
note = spark.sql(f"DESCRIBE HISTORY delta.`{tables['runs'].uri}`").orderBy("version").collect()[-1].userMetadata
print(differ, tables.edition.named.run in note)
"""
PACKAGE = "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"
RUNS = """
import json, shutil, sys
import rebalance_forensics as rf
from pyspark.sql import SparkSession
from rebalance_forensics.job import main
from rebalance_forensics.pipeline.tables.schemas import PUBLIC

logs, late, output = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
given = ["--input", logs, "--output", output, "--table-format", "iceberg", "--cluster", "o'brien"]


def snapshots(name):
    return spark.table(f"rebalance_forensics.iceberg.{name}.snapshots").count()


runs = []
for step, until in enumerate(["2026-03-02", "2026-03-04", "2026-03-04", "2026-03-04"]):
    if step == 2:
        shutil.copy(late, logs + "/broker-1")
    code = main([*given, "--since", "2026-03-01", "--until", until])
    tables, differ = rf.tables(output), {}
    for name in PUBLIC:
        lake, delta = spark.table(f"rebalance_forensics.iceberg.{name}"), tables[name].to_spark(spark)
        differ[name] = lake.exceptAll(delta).count() + delta.exceptAll(lake).count()
    rows = spark.table("rebalance_forensics.iceberg.incidents").count()
    runs.append({"code": code, "incidents": rows, "differ": differ, "snapshots": snapshots("incidents")})
print(json.dumps(runs))
"""


@pytest.mark.long
@pytest.mark.spark
def test_iceberg_tables_hold_what_the_tables_of_the_job_do(tmp_path: Path) -> None:
    days = week(tmp_path / "logs" / "broker-1", days=3)
    late = Path(shutil.move(days[1], tmp_path / days[1].name))
    program = tmp_path / "runs.py"
    program.write_text(RUNS)
    given = (str(tmp_path / "logs"), str(late), str(tmp_path / "tables"))
    done = submit(program, *given, release=RELEASE, packages=[PACKAGE])
    assert done.returncode == 0, done.stderr[-4000:]
    steps = json.loads(done.stdout.splitlines()[-1])
    assert [step["code"] for step in steps] == [0, 0, 0, 0]
    assert not [step for step in steps if any(step["differ"].values())]
    assert [step["incidents"] for step in steps][::2] == [2, 6]
    # A run that finds nothing new writes nothing.
    assert steps[-1]["snapshots"] == steps[-2]["snapshots"]


@pytest.mark.long
@pytest.mark.spark
def test_spark_with_deltas_package_reads_the_named_versions(run: Run, tmp_path: Path) -> None:
    run("2026-03-01", "2026-03-03", "--cluster", "o'b/rien")
    run("2026-03-01", "2026-03-04", "--cluster", "o'b/rien")
    program = tmp_path / "reads.py"
    program.write_text(READS)
    done = submit(program, str(tmp_path / "tables"), release=RELEASE, packages=[DELTA], settings=EXTENSIONS)
    assert done.returncode == 0, done.stderr[-4000:]
    printed, named = done.stdout.splitlines()[-1].rsplit(" ", 1)
    found = ast.literal_eval(printed)
    assert named == "True"
    assert {name: count for name, (count, _) in found.items()} == {
        n: t.rows for n, t in rf.tables(tmp_path / "tables").items()
    }
    assert not any(differing for _, differing in found.values())


@pytest.mark.long
@pytest.mark.spark
def test_a_format_that_spark_does_not_know_is_refused(tmp_path: Path) -> None:
    week(tmp_path / "logs" / "broker-1", days=1)
    program = tmp_path / "runs.py"
    program.write_text("import sys\nfrom rebalance_forensics.job import main\nsys.exit(main(sys.argv[1:]))\n")
    given = ["--input", str(tmp_path / "logs"), "--output", str(tmp_path / "tables"), "--since", "2026-03-01"]
    done = submit(program, *given, "--table-format", "iceberg")
    assert done.returncode == 2
    # spark-submit merges the streams of the program.
    assert "give Spark the package (org.apache.iceberg:iceberg-spark-runtime" in done.stdout
    assert not list((tmp_path / "tables").rglob("*.parquet"))
