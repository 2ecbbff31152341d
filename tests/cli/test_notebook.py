"""The same from Python."""

from __future__ import annotations

import html
import subprocess
import sys
from pathlib import Path

import pytest

import rebalance_forensics as rf


def test_a_notebook_gets_frames(logs: Path) -> None:
    found = rf.analyze(logs, engine="local")
    assert list(found.events.event).count("MemberFailed") == 1
    assert str(found.events.timestamp.dtype).endswith("UTC]")
    assert 1 in set(found.generations.generation)
    assert set(found.incidents.group) == {"payments"}
    assert found.pauses.empty
    assert {"group", "from", "ms"} <= set(found.pauses)


def test_a_report_can_be_printed_and_written(logs: Path, tmp_path: Path) -> None:
    found = rf.analyze(str(logs), engine="local", tz="Europe/Berlin")
    assert "payments" in str(found)
    assert repr(found).startswith("<AnalyzedLogs: 1 fault, first: ")
    assert '"zone": "Europe/Berlin"' in found.to_json()
    found.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 1000


def test_the_import_starts_nothing() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", "import rebalance_forensics, sys; print(*sys.modules)"],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    ).stdout.split()  # fmt: skip
    assert not {"pyspark", "pandas", "pyarrow", "regex", "yaml"} & set(loaded)


def test_a_notebook_shows_the_page(logs: Path, tmp_path: Path) -> None:
    found = rf.analyze(logs)
    found.to_html(tmp_path / "report.html")
    page = html.escape((tmp_path / "report.html").read_text())
    assert found._repr_html_().partition(" srcdoc=")[2] == f'"{page}"></iframe>'


def test_little_is_read_without_spark(logs: Path) -> None:
    script = f"import rebalance_forensics as rf, sys; rf.analyze({str(logs)!r}); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    ).stdout.split()
    assert "pyspark.sql" not in loaded


def test_the_package_lists_what_it_offers_and_its_errors(tmp_path: Path) -> None:
    assert {"analyze", "AnalyzedLogs", "InputError", "DefectError"} <= set(dir(rf))
    with pytest.raises(rf.InputError, match="no such file"):
        rf.analyze(tmp_path / "missing")
    with pytest.raises(rf.InputError, match="there is no engine 'sprak'; did you mean spark"):
        rf.analyze(tmp_path, engine="sprak")  # type: ignore[arg-type]
