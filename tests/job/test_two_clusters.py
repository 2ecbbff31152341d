"""Logs of two clusters in one directory, whose groups have one name: two groups, in the report and in the tables."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from rebalance_forensics.job.arguments import parse
from rebalance_forensics.job.job_run import run_job
from rebalance_forensics.job.steps.engines import InProcess
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from tests.job.conftest import rows

SAMPLES = Path(__file__).parents[2] / "sample_logs"
MINUTE = re.compile(r"2026-11-21 \d\d:\d\d")
CLUSTER_ID = re.compile(r"Cluster ID: \S+")


def put(directory: Path, sample: str, prefix: str, cluster_id: str | None, earlier: int = 0) -> None:
    """Put a sample's logs beside each other, with its group called `orders`, so many minutes earlier."""

    def moved(minute: re.Match[str]) -> str:
        return f"{datetime.strptime(minute[0], '%Y-%m-%d %H:%M') - timedelta(minutes=earlier):%Y-%m-%d %H:%M}"  # noqa: DTZ007

    logs = sorted((SAMPLES / sample).rglob("*.log"))
    group = next(found[1] for log in logs if (found := re.search(r"groupId=([\w.-]+)", log.read_text())))
    for log in logs:
        text = MINUTE.sub(moved, log.read_text().replace(group, "orders"))
        lines = text.splitlines()
        if cluster_id is None:
            lines = [line for line in lines if "Cluster ID" not in line]
        text = CLUSTER_ID.sub(f"Cluster ID: {cluster_id}", "\n".join(lines))
        (directory / f"{prefix}-{log.parent.name}-{log.name}").write_text(f"{text}\n")


@pytest.mark.parametrize(
    "ids",
    [("MkU3OEVBNTcwNTJENDM2Qk", "5L6g3nShT-eMCtK--X86sw"), ("MkU3OEVBNTcwNTJENDM2Qk",) * 2, (None, None)],
    ids=["two ids", "the id of Kafka's examples", "no id"],
)
def test_groups_of_one_name_in_two_clusters_are_two_groups(ids: tuple[str | None, str | None], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    put(logs, "slow-processing", "prod", ids[0])
    put(logs, "startup", "stage", ids[1], earlier=19)
    report = analyze([str(logs)], AnalyzeOptions(engine="local"))
    assert [len(group.identities) for group in report.groups] == [3, 3]
    assert len({group.cluster for group in report.groups}) == 2
    found = sorted(cause.cause for incident in report.incidents for cause in incident.root_causes[:1])
    assert found == ["slow-processing", "startup", "startup"]
    whenever = ("--since", "2000-01-01", "--until", "2090-01-01")
    outcome = run_job(
        parse(["--input", str(logs), "--output", str(tmp_path / "tables"), *whenever]).options, InProcess()
    )
    assert not outcome.failures
    assert sorted(row["cause"] for row in rows(tmp_path / "tables")["incidents"]) == found


def test_logs_of_one_cluster_stay_together(tmp_path: Path) -> None:
    put(tmp_path, "slow-processing", "prod", None)
    report = analyze([str(tmp_path)], AnalyzeOptions(engine="local"))
    assert [(group.cluster, len(group.identities)) for group in report.groups] == [("default", 3)]
