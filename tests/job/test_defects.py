"""A defect of ours that one file, rule or page meets: the tables of the rest are written, and it is tried again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rebalance_forensics.job import main, publications
from rebalance_forensics.sources.profiles import profile
from rebalance_forensics.sources.profiles.sample import sample_of
from tests.broken_causes import causes_but_for
from tests.job.conftest import rows
from tests.job.days import week

OK, PARTIAL = 0, 3
Job = Callable[..., tuple[int, str]]


@pytest.fixture
def job(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Job:
    """The job as a scheduler calls it; its exit code and what it printed."""

    def job(*more: str) -> tuple[int, str]:
        where = ["--input", str(logs), "--output", str(tmp_path / "tables"), "--engine", "local"]
        code = main([*where, "--since", "2026-03-01", "--until", "2026-03-04", *more])
        return code, capsys.readouterr().err

    return job


def broken(*_given: Any, **_named: Any) -> Any:  # noqa: ANN401 - it stands in for stages of any type
    raise LookupError("no such case")


def test_a_file_that_spoils_its_own_reading_is_noted_and_tried_again_until_it_is_read(
    job: Job, logs: Path, tmp_path: Path
) -> None:
    week(logs / "broker-2", days=3)

    def spoiled(file: Any) -> Any:  # noqa: ANN401
        return broken() if file.path.startswith("broker-2/") else sample_of(file)

    with pytest.MonkeyPatch.context() as defect:
        defect.setattr(profile, "sample_of", spoiled)
        code, printed = job()
        assert code == PARTIAL
        assert (
            "broker-2/server.log.2026-03-01: its layout could not be determined: LookupError: no such case (" in printed
        )
        first = rows(tmp_path / "tables")
        assert first["incidents"]
        assert {row["path"].partition("/")[0] for row in first["events"]} == {"broker-1"}
        noted = {row["path"].partition("/")[0] for row in first["inputs"] if row["errors"]}
        assert noted == {"broker-2"}
        assert job()[0] == PARTIAL
        assert rows(tmp_path / "tables") == first
    assert job()[0] == OK
    healed = rows(tmp_path / "tables")
    assert not [row for row in healed["inputs"] if row["errors"]]
    assert {row["path"].partition("/")[0] for row in healed["events"]} == {"broker-1", "broker-2"}


def test_a_rule_that_fails_is_reported_although_its_group_has_no_incident(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    causes = causes_but_for("startup")
    monkeypatch.setattr("rebalance_forensics.diagnosis.engine.discovery.all_causes", lambda: causes)
    code, printed = job()
    assert code == PARTIAL
    assert "had a case of startup could not be evaluated: LookupError: " in printed


def test_a_page_that_cannot_be_written_is_named_and_the_tables_are_written(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publications, "to_html", broken)
    code, printed = job("--reports", "info")
    assert code == PARTIAL
    assert "the page of incident " in printed
    assert rows(tmp_path / "tables")["incidents"]


def test_an_index_that_cannot_be_written_is_named_and_the_tables_are_written(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rebalance_forensics.job.publications.write_index", broken)
    code, printed = job("--reports", "info")
    assert code == PARTIAL
    assert "the index of the reports could not be written: LookupError: no such case (" in printed
    assert rows(tmp_path / "tables")["incidents"]
