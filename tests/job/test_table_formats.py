"""Delta and Iceberg tables, by their own packages, hold the rows of the Parquet tables, whatever runs came before."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.job.days import week
from tests.job.sparks import submit

RELEASE = "4.1.4"
"""The newest Spark that both have packages for."""
PACKAGES = {
    "delta": "io.delta:delta-spark_4.1_2.13:4.4.0",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
}
SETTINGS = {
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
RUNS = """
import json, shutil, sys
from pyspark.sql import SparkSession
from rebalance_forensics.job import main
from rebalance_forensics.pipeline.tables.schemas import PUBLIC

logs, late, output, kind = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
given = ["--input", logs, "--output", output, "--table-format", kind, "--cluster", "o'brien", "--since", "2026-03-01"]


def difference(name, there):
    lake, parquet = there.drop("date"), spark.read.schema(there.schema).parquet(f"{output}/{name}").drop("date")
    return lake.exceptAll(parquet).count() + parquet.exceptAll(lake).count()


def table(name):
    if kind == "delta":
        return spark.read.format("delta").load(f"{output}/delta/{name}")
    return spark.table(f"rebalance_forensics.iceberg.{name}")


told = []
for step, until in enumerate(["2026-03-02", "2026-03-04", "2026-03-04", "2026-03-04"]):
    if step == 2:
        shutil.copy(late, logs + "/broker-1")
    code = main([*given, "--until", until])
    rows = {name: table(name).count() for name in PUBLIC}
    filled = [name for name in PUBLIC if rows[name]]
    differ = {name: difference(name, table(name)) for name in filled} if step >= 2 else {}
    told.append({"code": code, "rows": rows, "differ": differ})
if kind == "delta":
    history = spark.sql(f"DESCRIBE HISTORY delta.`{output}/delta/incidents`").orderBy("version").collect()
    changed = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")
    merges = [[int(h.operationMetrics[name]) for name in changed] for h in history if h.operation == "MERGE"]
else:
    merges = spark.table("rebalance_forensics.iceberg.incidents.snapshots").count()
print(json.dumps({"told": told, "merges": merges}))
"""


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_delta_and_iceberg_tables_hold_what_the_parquet_tables_do(kind: str, tmp_path: Path) -> None:
    days = week(tmp_path / "logs" / "broker-1", days=3)
    late = Path(shutil.move(days[1], tmp_path / days[1].name))
    program = tmp_path / "runs.py"
    program.write_text(RUNS)
    output = tmp_path / "tables"
    settings = SETTINGS if kind == "delta" else {}
    done = submit(
        program, str(tmp_path / "logs"), str(late), str(output), kind,
        release=RELEASE, packages=[PACKAGES[kind]], settings=settings,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    report = json.loads(done.stdout.splitlines()[-1])
    assert [step["code"] for step in report["told"]] == [0, 0, 0, 0]
    assert all(not any(step["differ"].values()) for step in report["told"]), report
    incidents = [step["rows"]["incidents"] for step in report["told"]]
    assert (incidents[0], incidents[2:]) == (2, [6, 6])
    assert report["told"][-1]["rows"]["pauses"] == 0  # a broker tells of none
    if kind == "delta":
        # The late day adds its own, changes the verdict at the end of the day before it, and tells how many members the
        # group had on the day after it; what was right is not written again.
        inserted, updated, deleted = (sum(merge[index] for merge in report["merges"]) for index in range(3))
        assert (inserted - deleted, updated) == (4, 2), report["merges"]


@pytest.mark.long
@pytest.mark.spark
def test_a_format_that_spark_does_not_know_is_refused(tmp_path: Path) -> None:
    week(tmp_path / "logs" / "broker-1", days=1)
    program = tmp_path / "runs.py"
    program.write_text("import sys\nfrom rebalance_forensics.job import main\nsys.exit(main(sys.argv[1:]))\n")
    given = ["--input", str(tmp_path / "logs"), "--output", str(tmp_path / "tables"), "--since", "2026-03-01"]
    done = submit(program, *given, "--table-format", "delta")
    assert done.returncode == 2
    # spark-submit merges the streams of the program.
    assert "give Spark the package (io.delta:delta-spark_2.13)" in done.stdout
    assert not list((tmp_path / "tables").rglob("*.parquet"))
