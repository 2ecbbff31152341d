"""The step of action.yml as a runner of GitHub starts it, with the program of this checkout."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, SAMPLES

ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEP = next(step for step in ACTION["runs"]["steps"] if step.get("id") == "analyze")
SCRIPT = ROOT / "deploy" / "github" / "analyze.sh"
SLOW, CRASH = SAMPLES / "slow-processing", SAMPLES / "process-crash"


def stepped(folder: Path, **inputs: str) -> dict[str, str]:
    """What the step tells those after it; the page and the findings are in `folder`."""
    program = folder / "program"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m rebalance_forensics "$@"\n')
    program.chmod(0o755)
    message = folder / "output"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PROGRAM": str(program),
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(message),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        **inputs,
    }
    done = subprocess.run(["bash", SCRIPT], env=environment, capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return dict(line.split("=", 1) for line in message.read_text().splitlines())


def test_findings_page_and_summary_are_written_also_where_something_is_found_that_fails_the_job(tmp_path: Path) -> None:
    done = stepped(tmp_path, LOGS=f"{SLOW}\n{CRASH}\n", FAIL_ON="warning", OPTIONS="")
    assert done["exit-code"] == "1"
    results = json.loads(Path(done["sarif"]).read_text())["runs"][0]["results"]
    assert {"slow-processing", "process-crash"} <= {one["ruleId"] for one in results}
    assert Path(done["html"]).stat().st_size > 10_000
    assert "### Timeline" in (tmp_path / "summary.md").read_text()


def test_options_are_handed_on_one_a_line_and_nothing_in_an_input_is_a_command(tmp_path: Path) -> None:
    strange = tmp_path / "$(touch hacked) logs"
    strange.symlink_to(SLOW)
    done = stepped(tmp_path, LOGS=str(strange), FAIL_ON="", OPTIONS="--anonymize\n--cluster=; touch hacked\n")
    assert done["exit-code"] == "0"
    assert "search-indexer" not in Path(done["sarif"]).read_text()
    assert not (tmp_path / "hacked").exists()


def test_logs_that_are_not_there_end_the_step_with_no_findings_to_upload(tmp_path: Path) -> None:
    assert stepped(tmp_path, LOGS=str(tmp_path / "none"), FAIL_ON="", OPTIONS="") == {"exit-code": "2"}


def test_the_action_passes_each_input_that_it_describes_and_the_script_reads_no_other() -> None:
    used = set(re.findall(r"inputs\.([\w-]+)", json.dumps(ACTION["runs"])))
    assert used == set(ACTION["inputs"])
    read = set(re.findall(r"\$\{?([A-Z_]+)", SCRIPT.read_text()))
    given = {"RUNNER_TEMP", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"}
    assert read - given == set(STEP["env"])
    for output in ACTION["outputs"].values():
        (name,) = re.findall(r"steps\.analyze\.outputs\.([\w-]+)", output["value"])
        assert f"{name}=" in SCRIPT.read_text()


@pytest.mark.parametrize("step", [step for step in ACTION["runs"]["steps"] if "run" in step])
def test_no_input_is_put_into_the_text_of_a_command(step: dict[str, str]) -> None:
    assert "${{" not in step["run"]
