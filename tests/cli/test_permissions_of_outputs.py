"""Outputs quote logs: a new file is its owner's alone, unless somebody says otherwise."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rebalance_forensics.job import main
from tests.conftest import Command

EVERYTHING = ("--html={}/report.html", "--json={}/report.json", "--events={}/events", "--tables={}/tables")
EXPORTS = ("--export=markdown={}/post-mortem.md", "--export=incidents-csv={}/incidents.csv")


def modes(directory: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("asked", "given"), [((), 0o600), (("--output-mode", "640"), 0o640)])
def test_every_output_is_private_by_default(
    command: Command, logs: Path, tmp_path: Path, asked: tuple[str, ...], given: int
) -> None:
    outputs = tmp_path / "outputs"
    outputs.mkdir()
    options = [option.format(outputs) for option in (*EVERYTHING, *EXPORTS)]
    done = command("analyze", logs, "--engine", "local", *options, *asked, umask=0o022)
    assert (done.returncode, done.stderr) == (0, "")
    assert len([path for path in outputs.rglob("*") if path.is_file()]) == 11
    assert modes(outputs) == {given}


def test_a_file_that_is_replaced_keeps_its_permissions(command: Command, logs: Path, tmp_path: Path) -> None:
    """Somebody chose them."""
    for name in ("report.json", "report.html"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o664)
    command("analyze", logs, "--engine", "local", "--json", tmp_path / "report.json")
    command("analyze", logs, "--engine", "local", "--html", tmp_path / "report.html", "--output-mode", "600")
    assert (tmp_path / "report.json").stat().st_mode & 0o777 == 0o664
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", ["rw", "888", "000", "40", "7777"])
def test_invalid_permissions(command: Command, logs: Path, mode: str) -> None:
    done = command("analyze", logs, "--engine", "local", "--output-mode", mode)
    assert done.returncode == 2
    assert f"--output-mode {mode}: write permissions as chmod does" in done.stderr


@pytest.mark.parametrize(("asked", "given"), [((), 0o600), (("--output-mode", "664"), 0o664)])
def test_the_tables_of_a_job_too(logs: Path, tmp_path: Path, asked: tuple[str, ...], given: int) -> None:
    output, metrics = tmp_path / "lake", tmp_path / "metrics.prom"
    arguments = ["--engine", "local", "--input", str(logs), "--output", str(output), "--since", "2020-01-01"]
    before = os.umask(0o022)
    try:
        assert main([*arguments, "--reports", "info", "--metrics", str(metrics), *asked]) == 0
    finally:
        os.umask(before)
    assert modes(output) == {given}
    assert metrics.stat().st_mode & 0o777 == 0o644
