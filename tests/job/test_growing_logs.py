"""A growing log is read from the end of its settled part; the tables equal those of a run over the whole log."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.job.conftest import Run, rows
from tests.job.days import START, failure, line

SINCE, UNTIL = "2026-03-01", "2026-03-04"
MIB = 1 << 20
TRACE = """
java.lang.IllegalStateException: no topic
\tat app.Worker.run(Worker.java:7)"""


def busy(hours: int) -> bytes:
    """What a broker writes in some hours: a failure in each, and half a megabyte about nothing in between."""
    said: list[str] = []
    for hour in range(hours):
        at = START + timedelta(hours=hour)
        said += [line(moment, words) for moment, words in failure(at, "payments", 10 * hour + 1)]
        said += [
            f"[{at:%Y-%m-%d %H}:10:00,{ms:03d}] INFO {'x' * 5000} (kafka.log.LogCleaner){TRACE * (ms == 7)}\n"
            for ms in range(100)
        ]
    return "".join(said).encode()


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs" / "broker-1").mkdir(parents=True)
    return tmp_path / "logs"


@pytest.mark.parametrize("cuts", [(2 * MIB, 4 * MIB), (2 * MIB + 77_777, 2 * MIB + 77_901, 5 * MIB)])
def test_a_log_that_grows_is_read_on(run: Run, logs: Path, tmp_path: Path, cuts: tuple[int, ...]) -> None:
    whole = busy(14)
    live = logs / "broker-1" / "server.log"
    before = 0
    for end in (*cuts, len(whole)):
        live.write_bytes(whole[:end])
        read = run(SINCE, UNTIL).summary["bytes"]
        assert isinstance(read, int)
        assert end - before <= read <= end - before + MIB + 2000
        before = end
    run(SINCE, UNTIL, output=tmp_path / "at-once")
    assert rows(tmp_path / "tables") == rows(tmp_path / "at-once")
    assert len(rows(tmp_path / "tables")["incidents"]) == 14


def test_a_recreated_log_is_another_log(run: Run, logs: Path, tmp_path: Path) -> None:
    live = logs / "broker-1" / "server.log"
    live.write_bytes(busy(8))
    run(SINCE, UNTIL)
    live.write_bytes(busy(9).replace(b"payments", b"shipping"))
    run(SINCE, UNTIL)
    # What was rolled away and is not listed any more has happened all the same.
    assert {row["group"] for row in rows(tmp_path / "tables")["incidents"]} == {"payments", "shipping"}
    assert run(SINCE, UNTIL).summary["scanned"] == 0


def test_a_log_in_another_zone_is_read_again(run: Run, logs: Path, tmp_path: Path) -> None:
    live = logs / "broker-1" / "server.log"
    live.write_bytes(busy(8))
    run(SINCE, UNTIL)
    live.write_bytes(busy(9))
    run(SINCE, UNTIL, "--tz", "+02:00")
    run(SINCE, UNTIL, "--tz", "+02:00", output=tmp_path / "at-once")
    assert rows(tmp_path / "tables")["incidents"] == rows(tmp_path / "at-once")["incidents"]
