"""The tables of the job, read again over weeks."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from rebalance_forensics.cli import program
from rebalance_forensics.cli.parts import Parts
from rebalance_forensics.job.fleet_tables import fleet_tables
from rebalance_forensics.pipeline.options import parse_instant
from rebalance_forensics.pipeline.refusals import InputError
from tests.job.conftest import Run, rows


@pytest.fixture(autouse=True)
def _no_session_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    # What sessions of other tests left must not end this process.
    monkeypatch.delitem(sys.modules, "py4j", raising=False)


def fleet(*arguments: str) -> int:
    with pytest.raises(SystemExit) as left:
        program.main(["fleet", *arguments], Parts(job=len, fleet_tables=fleet_tables))
    assert isinstance(left.value.code, int)
    return left.value.code


def test_every_incident_and_rebalance_of_the_period_is_read_and_shown(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run("2026-03-01", "2026-03-04")
    tables = tmp_path / "tables"
    written = rows(tables)
    assert written["incidents"]
    read = fleet_tables(str(tables), None)
    assert sorted(each.id for each in read.incidents) == sorted(row["id"] for row in written["incidents"])
    assert len(read.rebalances) == len(written["generations"])
    assert sum(len(each.costs) for each in read.incidents) == len(written["incident_groups"])
    far, later = (fleet_tables(str(tables), parse_instant(since)) for since in ("0001-01-01", "1d"))
    assert far.period == read.period
    assert not far.is_comparable
    assert later.period.end - later.period.start == 86_400_000

    page = tmp_path / "fleet.html"
    assert fleet(str(tables), "--html", str(page), "--export", f"groups-csv={tmp_path / 'groups.csv'}") == 0
    shown = capsys.readouterr().out
    assert "Groups" in shown
    assert all(row["group"] in page.read_text() for row in written["incidents"] if row["group"])
    assert (tmp_path / "groups.csv").read_text().startswith("group,")

    (damaged, *_) = (tables / "generations").rglob("*.parquet")
    damaged.write_bytes(b"PAR1")
    assert fleet(str(tables)) == 3
    assert damaged.name in capsys.readouterr().err


def test_the_period_ends_now_where_a_run_was_asked_for_days_to_come(run: Run, tmp_path: Path) -> None:
    run("2026-03-01", "2099-01-01")
    assert fleet_tables(str(tmp_path / "tables"), None).period.end <= time.time() * 1000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ('[[known]]\ncauses = "startup"', "unknown field `causes`"),
        ('[[known]]\ncause = "proces-crash"', "did you mean process-crash?"),
        ('[[known]]\nwhy = "x"', "would mute everything"),
        ('[[known]]\ngroup = "x"\nuntil = "soon"', "Invalid RFC3339"),
        ("known = 1", "Expected `array`, got `int`"),
        ("[[known", "not valid TOML"),
    ],
)
def test_a_file_of_known_incidents_that_says_nothing_is_refused_with_the_reason(
    text: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "known.toml").write_text(text)
    assert fleet(str(tmp_path), "--known", str(tmp_path / "known.toml")) == 2
    assert sentence in capsys.readouterr().err


def test_a_directory_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no tables of the job"):
        fleet_tables(str(tmp_path), None)
