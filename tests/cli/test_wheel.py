"""The wheel holds everything: patterns, samples, templates."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.conftest import ROOT


@pytest.mark.long
def test_a_fresh_environment_runs_from_the_wheel(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, ROOT],
        check=True, env={**os.environ, "PROJECT_URL": "https://git.example/rf"},
    )  # fmt: skip
    (wheel,) = tmp_path.glob("rebalance_forensics-*.whl")
    with ZipFile(wheel) as archive:
        (about,) = (archive.read(name).decode() for name in archive.namelist() if name.endswith("/METADATA"))
    assert "](https://git.example/rf/raw/HEAD/docs/images/report.png)" in about
    assert not re.search(r"\]\((?!https?:|#)", about)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    installed = tmp_path / "venv" / "bin"
    subprocess.run([installed / "pip", "install", "--quiet", wheel], check=True)

    def output_of(*arguments: str) -> str:
        program: list[str | Path] = [installed / "rebalance-forensics", *arguments]
        return subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert "MemberFailed" in output_of("patterns", "list")
    assert "Most likely slow-processing" in output_of("demo", "--engine", "local")
    assert (tmp_path / "rebalance-report.html").stat().st_size > 10_000
