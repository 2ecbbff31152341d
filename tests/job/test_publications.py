"""Reports, index, metrics and JSON logs beside the tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rebalance_forensics.job import main
from tests.job.conftest import rows


def publish(logs: Path, tmp_path: Path) -> None:
    given = ["--input", str(logs), "--output", str(tmp_path / "tables"), "--since", "2026-03-01", "--cluster", "b/ue"]
    more = ["--until", "2026-03-04", "--reports", "info", "--metrics", str(tmp_path / "job.prom"), "--log", "json"]
    assert main(["--engine", "local", *given, *more]) == 0


@pytest.fixture
def published(logs: Path, tmp_path: Path) -> Path:
    """Tables of a run with everything around them."""
    publish(logs, tmp_path)
    return tmp_path / "tables"


def test_the_index_leads_to_a_page_of_every_incident(published: Path) -> None:
    index = (published / "reports" / "index.html").read_text()
    pages = [published / "reports" / link.replace("%25", "%") for link in re.findall(r'href="([^"]+)"', index)]
    assert {page.stem for page in pages} == {row["id"] for row in rows(published)["incidents"]}
    assert all(page.is_file() for page in pages)


def test_metrics_are_prometheus_text(published: Path, tmp_path: Path) -> None:
    lines = (tmp_path / "job.prom").read_text().splitlines()
    assert "rebalance_forensics_files_scanned 3" in lines
    samples = [line for line in lines if not line.startswith("#")]
    assert all(re.fullmatch(r'[a-z_]+(\{([a-z]+="[^"]*",?)+\})? -?[0-9.]+', line) for line in samples)
    counted = [line for line in samples if line.startswith("rebalance_forensics_incidents{")]
    assert sum(int(line.rpartition(" ")[2]) for line in counted) == len(rows(published)["incidents"])


def test_the_log_is_one_json_document_a_line(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(logs, tmp_path)
    told = capsys.readouterr()
    said = [json.loads(line) for line in told.err.splitlines()]
    assert all({"ts", "level", "logger", "msg", "context"} == set(line) for line in said)
    assert json.loads(told.out)["scanned"] == 3
