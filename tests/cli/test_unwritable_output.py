"""An output that cannot be written: one sentence, exit code 2, no half file."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Command

FULL = Path("/dev/full")
PROGRAM = (sys.executable, "-m", "rebalance_forensics")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this machine")


@needs_full
@pytest.mark.parametrize("option", ["--json", "--html", "--export=markdown"])
def test_a_disk_that_is_full(command: Command, logs: Path, option: str) -> None:
    arguments = [f"{option}={FULL}"] if "=" in option else [option, str(FULL)]
    done = command("analyze", logs, "--engine", "local", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "rebalance-forensics: cannot write /dev/full: no space left on device; "
        "free some space there or choose another place\n"
    )


def no_file_beyond(size: int) -> Callable[[], None]:
    """A limit as a full disk sets it: the first bytes of a file are written, the rest is not."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@pytest.mark.parametrize("option", ["--json={}/new", "--html={}/old", "--export=markdown={}/new", "--events={}/e"])
def test_a_file_that_does_not_fit_is_not_left_half(logs: Path, tmp_path: Path, option: str) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    (outputs / "old").write_text("of yesterday")
    (tmp_path / "cache").mkdir()
    done = subprocess.run(
        [*PROGRAM, "analyze", str(logs), "--engine", "local", option.format(outputs)], capture_output=True, text=True,
        check=False, preexec_fn=no_file_beyond(100), env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.startswith(f"rebalance-forensics: cannot write {outputs}/")
    assert done.stderr.endswith("; free some space there or choose another place\n")
    assert [path.name for path in outputs.rglob("*") if path.is_file()] == ["old"]
    assert (outputs / "old").read_text() == "of yesterday"


@needs_full
@pytest.mark.parametrize("arguments", [["analyze"], ["analyze", "--json", "-"], ["events"], ["coverage"]])
def test_a_standard_output_that_is_full(logs: Path, arguments: list[str]) -> None:
    name, *options = arguments
    with FULL.open("w") as full:
        done = subprocess.run(
            [*PROGRAM, name, str(logs), "--engine", "local", *options],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == (
        "rebalance-forensics: cannot write to standard output: no space left on device; send it elsewhere\n"
    )


def test_no_standard_output_at_all_still_writes_files(logs: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    line = f"exec {' '.join(PROGRAM)} analyze {logs} --engine local --json {target} >&-"
    done = subprocess.run(["sh", "-c", line], stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert target.read_text().startswith("{")


def test_a_reader_that_has_seen_enough_is_no_error(logs: Path) -> None:
    line = f"{' '.join(PROGRAM)} events {logs} --engine local | head -c 10"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ('{"event": ', "")


def test_events_are_written_whole_or_not_at_all(command: Command, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "lake" / "events.parquet").mkdir(parents=True)
    done = command("analyze", logs, "--engine", "local", "--events", tmp_path / "lake")
    assert done.returncode == 2
    assert done.stderr.startswith(f"rebalance-forensics: cannot write {tmp_path}/lake/events.parquet: ")
    assert [one.name for one in (tmp_path / "lake").iterdir()] == ["events.parquet"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("option", ["--html={}/report.html", "--events={}/deep/er", "--tables={}"])
def test_a_directory_without_permission_is_named_before_anything_is_read(
    command: Command, tmp_path: Path, option: str
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    done = command("analyze", "nowhere/", "--engine", "local", option.format(closed))
    assert done.returncode == 2
    assert "permission denied" in done.stderr


def test_two_outputs_in_one_file_are_refused(command: Command, logs: Path, tmp_path: Path) -> None:
    done = command("analyze", logs, "--engine", "local", "--json", tmp_path / "x", "--html", tmp_path / "x")
    assert done.returncode == 2
    assert done.stderr.endswith("x is named for two outputs; give each a file of its own.\n")
    assert not (tmp_path / "x").exists()


def test_a_link_that_leads_to_itself_is_replaced(command: Command, logs: Path, tmp_path: Path) -> None:
    loop = tmp_path / "report.json"
    loop.symlink_to(loop)
    done = command("analyze", logs, "--engine", "local", "--json", loop)
    assert (done.returncode, done.stderr) == (0, "")
    assert loop.read_text().startswith("{")
