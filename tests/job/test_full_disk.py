"""A disk that is full or turns read-only: one sentence, and never half a table taken for a whole one."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from rebalance_forensics.job import main
from rebalance_forensics.job.lake.leases import NumberedFiles
from rebalance_forensics.pipeline.refusals import InputError
from tests.job.conftest import Run, rows
from tests.job.test_changing_listing import WhileReading
from tests.job.test_leases import Time, held, somebody, watch

SINCE, UNTIL = "2026-03-01", "2026-03-04"
REFUSED = 2
Remount = Callable[[str], None]


def mount(place: Path, options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=False, capture_output=True
    )


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    try:
        mounted = mount(place, "size=16m")
    except OSError:
        pytest.skip("there is no mount here")
    if mounted.returncode:
        pytest.skip("mounting a disk is not allowed here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.fixture
def remount(disk: Path) -> Remount:
    """Make the disk smaller, larger, or read-only."""

    def remount(options: str) -> None:
        done = mount(disk, f"remount,{options}")
        assert not done.returncode, done.stderr

    return remount


def job(logs: Path, output: Path) -> int:
    given = ["--engine", "local", "--input", str(logs), "--output", str(output), "--since", SINCE, "--until", UNTIL]
    return main(given)


@pytest.mark.parametrize(
    "room",
    [
        "size=16k",
        "size=64k",
        "size=100k",
        "size=130k",
        "nr_inodes=50",
        "nr_inodes=75",
    ],
)
def test_a_full_disk_is_reported_and_the_next_run_catches_up(
    room: str, run: Run, logs: Path, disk: Path, remount: Remount, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remount(room)
    code, said = job(logs, disk / "tables"), capsys.readouterr().err
    assert code == REFUSED
    assert len(said.splitlines()) == 1
    assert f"--output {disk / 'tables'} cannot be written: no space left on device" in said
    assert "make room there, or name another --output" in said
    if "are unchanged" in said:
        assert not list((disk / "tables").glob("[!_]*/**/*.parquet"))
    remount("size=16m,nr_inodes=10000")
    assert job(logs, disk / "tables") == 0
    run(SINCE, UNTIL, output=tmp_path / "undisturbed")
    assert rows(disk / "tables") == rows(tmp_path / "undisturbed")
    assert not list((disk / "tables" / "_work").rglob("*.*"))


def test_a_disk_that_turns_read_only_is_named_and_the_tables_stay(
    run: Run, logs: Path, disk: Path, remount: Remount, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = disk / "tables"
    run(SINCE, "2026-03-02", output=output)
    before = rows(output)
    with (logs / "broker-1" / "server.log.2026-03-03").open("a") as stream:
        stream.write("\n")
    with pytest.raises(InputError, match="read-only file system; the tables are unchanged; mount it for writing"):
        run(SINCE, UNTIL, output=output, engine=WhileReading(happens=lambda: remount("ro")))
    assert rows(output) == before
    assert job(logs, output) == REFUSED
    said = capsys.readouterr().err
    assert (len(said.splitlines()), f"--output {output} cannot be written" in said) == (1, True)
    remount("rw")
    run(SINCE, UNTIL, output=output)
    run(SINCE, UNTIL, output=tmp_path / "undisturbed")
    assert rows(output) == rows(tmp_path / "undisturbed")


def test_a_lease_is_released_on_a_full_disk(disk: Path, remount: Remount) -> None:
    slot, time = NumberedFiles(disk / "blue.lease"), Time()
    lease = held(watch(slot, time).take(somebody(1)))
    with suppress(OSError), (disk / "logs").open("wb", buffering=0) as full:
        while full.write(bytes(1 << 20)):
            pass
    lease.release()
    remount("size=32m")
    held(watch(slot, time).take(somebody(2)))


def test_a_lease_on_a_disk_that_turned_read_only_is_had_by_the_next_run_of_the_same_process(
    disk: Path, remount: Remount
) -> None:
    slot, time = NumberedFiles(disk / "blue.lease"), Time()
    lease = held(watch(slot, time).take(somebody(1)))
    remount("ro")
    with pytest.raises(OSError, match="Read-only"):
        lease.release()
    remount("rw")
    held(watch(slot, time).take(somebody(1)))


def test_tables_within_the_input_are_not_read_as_logs(run: Run, logs: Path, tmp_path: Path) -> None:
    run(SINCE, UNTIL, output=tmp_path / "beside")
    for _ in range(2):
        outcome = run(SINCE, UNTIL, output=logs / "tables")
        assert (outcome.summary["listed"], outcome.summary["exit_code"]) == (3, 0)
        (note,) = outcome.notes
        assert "is within --input" in note
    assert rows(logs / "tables") == rows(tmp_path / "beside")


def test_tables_in_the_place_of_the_input_are_refused(run: Run, logs: Path) -> None:
    with pytest.raises(InputError, match="is also an --input; choose another directory"):
        run(SINCE, UNTIL, output=logs)
