from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab.cost import cost_of, length

PROJECT = Path(__file__).parents[2]
MISSING = [tool for tool in ("java", "javac", "mvn") if shutil.which(tool) is None]


@pytest.mark.long
@pytest.mark.skipif(bool(MISSING), reason=f"the lab needs {', '.join(MISSING)}")
def test_a_member_killed_in_the_lab_is_found_and_no_process_stays(tmp_path: Path) -> None:
    out, scratch = tmp_path / "incident", tmp_path / "scratch"
    scratch.mkdir()
    lab = [sys.executable, "-m", "lab", "process-crash", "--members", "3", "--partitions", "6", "--out", str(out)]
    subprocess.run(lab, check=True, timeout=420, cwd=PROJECT, env={**os.environ, "TMPDIR": str(scratch)})
    assert not [command for command in commands() if str(scratch) in command]
    dead = [spans for spans in cost_of(out).unread.values() if length(spans) > 5_000]
    assert len(dead) == 2
    expected = json.loads((out / "truth.json").read_text())["expected"]
    analyze = [sys.executable, "-m", "rebalance_forensics", "analyze", str(out / "logs"), "--engine", "local"]
    report = json.loads(subprocess.run([*analyze, "--json", "-"], check=True, cwd=PROJECT, capture_output=True).stdout)
    found = [one["root_causes"][0] for one in report["incidents"] if one["severity"] != "info"]
    assert [cause["cause"] for cause in found] == [expected["cause"]]
    assert [culprit["name"] for culprit in found[0]["culprits"]] == [expected["culprit"]]


def commands() -> list[str]:
    """The command lines of all processes of this machine."""
    found = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(process.read_bytes().decode(errors="replace"))
        except OSError:
            continue
    return found
