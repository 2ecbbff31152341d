"""The same from Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import rebalance_forensics as rf


def test_a_notebook_gets_frames(logs: Path) -> None:
    found = rf.analyze(logs, engine="local")
    assert list(found.events.event).count("MemberFailed") == 1
    assert str(found.events.timestamp.dtype).endswith("UTC]")
    assert 1 in set(found.generations.generation)
    assert set(found.incidents.group) == {"payments"}
    assert found.pauses.empty


def test_a_report_can_be_printed_and_written(logs: Path, tmp_path: Path) -> None:
    found = rf.analyze(str(logs), engine="local", tz="Europe/Berlin")
    assert "payments" in str(found)
    assert '"zone": "Europe/Berlin"' in found.to_json()
    found.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_the_import_starts_nothing() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import rebalance_forensics, sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    ).stdout.split()  # fmt: skip
    assert not {"pyspark", "pandas", "pyarrow", "regex", "yaml"} & set(loaded)
