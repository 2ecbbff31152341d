"""What happens to files while a run is at work: no run fails of it, and the next one puts it right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rebalance_forensics.job.steps.engines import InProcess
from rebalance_forensics.job.steps.scan_step import Scan
from rebalance_forensics.pipeline.schemas import TaskMessages
from tests.job.conftest import Run, rows
from tests.job.days import packed

SINCE, UNTIL = "2026-03-01", "2026-03-04"


@dataclass(frozen=True, slots=True)
class WhileReading(InProcess):
    """Does something between the listing and the reading."""

    happens: Callable[[], object] = print

    def scan(self, scan: Scan) -> TaskMessages:
        """Read all portions of what has changed in the meantime."""
        self.happens()
        return InProcess.scan(self, scan)


def as_if_undisturbed(run: Run, tmp_path: Path) -> None:
    """One more run leaves what a single run over the files would, however they are called now."""
    run(SINCE, UNTIL)
    run(SINCE, UNTIL, output=tmp_path / "undisturbed")
    assert rows(tmp_path / "tables") == rows(tmp_path / "undisturbed")


def test_a_file_that_goes_is_named(run: Run, logs: Path, tmp_path: Path) -> None:
    gone = logs / "broker-1" / "server.log.2026-03-02"
    outcome = run(SINCE, UNTIL, engine=WhileReading(happens=gone.unlink))
    assert outcome.summary["exit_code"] == 3
    assert any("server.log.2026-03-02" in sentence for sentence in outcome.errors)
    assert len(rows(tmp_path / "tables")["incidents"]) > 0


def test_a_file_that_comes_waits_for_the_next_run(run: Run, logs: Path, tmp_path: Path) -> None:
    late = logs / "broker-1" / "server.log.2026-03-02"
    text = late.read_text()
    late.unlink()
    outcome = run(SINCE, UNTIL, engine=WhileReading(happens=lambda: late.write_text(text)))
    assert outcome.summary["listed"] == 2
    as_if_undisturbed(run, tmp_path)


def test_a_file_that_grows_loses_nothing(run: Run, logs: Path, tmp_path: Path) -> None:
    live = logs / "broker-1" / "server.log.2026-03-03"
    text = live.read_text()
    live.write_text(text[:-700])
    run(SINCE, UNTIL, engine=WhileReading(happens=lambda: live.write_text(text)))
    as_if_undisturbed(run, tmp_path)


def test_a_file_that_is_rolled_and_packed_is_not_read_twice(run: Run, logs: Path, tmp_path: Path) -> None:
    run(SINCE, UNTIL, engine=WhileReading(happens=lambda: packed(logs / "broker-1" / "server.log.2026-03-01")))
    as_if_undisturbed(run, tmp_path)
