"""The job, its stream and logs in SQL on every release of Spark 4."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.job.conftest import Run, rows
from tests.job.sparks import submit

SINCE, UNTIL = "2026-03-01", "2026-03-04"
PROGRAM = """
import sys
from pyspark.sql import SparkSession
from rebalance_forensics.job import main
from rebalance_forensics.pipeline.datasource import RebalanceLogs

logs, output, *interval = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()
spark.dataSource.register(RebalanceLogs)
spark.read.format("rebalance_logs").load(logs).createOrReplaceTempView("events")
print("events", spark.sql("SELECT count(*) FROM events").collect()[0][0])
for name, more in (("run", []), ("stream", ["--stream", "available-now"])):
    assert main(["--input", logs, "--output", f"{output}/{name}", *interval, *more]) == 0
assert main(["--input", logs, "--output", f"{output}/stream", *interval, "--stream", "available-now"]) == 0
"""


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.parametrize("release", ["4.0.5", "4.1.4", "4.3.0"])
def test_a_release_of_spark(release: str, run: Run, logs: Path, tmp_path: Path) -> None:
    run(SINCE, UNTIL)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    interval = ("--since", SINCE, "--until", UNTIL)
    done = submit(program, str(logs), str(tmp_path / "spark"), *interval, release=release)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    assert rows(tmp_path / "spark" / "run") == rows(tmp_path / "tables")
    assert rows(tmp_path / "spark" / "stream") == rows(tmp_path / "tables")
    assert (
        f"events {len(rows(tmp_path / 'tables')['events']) + len(rows(tmp_path / 'tables')['_pending'])}" in done.stdout
    )
