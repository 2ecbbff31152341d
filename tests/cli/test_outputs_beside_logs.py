"""People write reports into the directory of the logs: no log is lost by it, and no report is read as a log."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from rebalance_forensics.report.exports import formats
from tests.conftest import Command

LOCAL = ("--engine", "local")


def test_outputs_of_an_earlier_run_are_no_logs(command: Command, logs: Path, tmp_path: Path) -> None:
    case = tmp_path / "case"
    shutil.copytree(logs, case)
    first = command("analyze", case, *LOCAL, "--json", "-").stdout
    exports = [f"--export={name}={case / name}" for name in formats()]
    tables = ["--events", str(case / "ev"), "--tables", str(case)]
    done = command("analyze", case, *LOCAL, "--json", case / "r.json", "--html", case / "r.html", *exports, *tables)
    (case / "report.txt").write_text(done.stdout)
    (case / "events.jsonl").write_text(command("events", case, *LOCAL).stdout)
    again = command("analyze", case, *LOCAL, "--json", "-")
    assert again.returncode == 0
    notice = (
        r"rebalance-forensics: \S+ and \d\d more: written by an earlier run of this program, so not read as logs\.\n"
    )
    assert re.fullmatch(notice, again.stderr)
    assert json.loads(again.stdout) == json.loads(first)


def test_a_log_is_not_written_over(command: Command, logs: Path, tmp_path: Path) -> None:
    case = tmp_path / "case"
    shutil.copytree(logs, case)
    log = next(path for path in sorted(case.rglob("*")) if path.is_file())
    before = log.read_bytes()
    done = command("analyze", case, *LOCAL, "--json", log, "--html", case / "new.html")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"rebalance-forensics: {log} is one of the files that were read; give the output a name of its own.\n"
    )
    assert log.read_bytes() == before
    assert not (case / "new.html").exists()


def test_a_report_is_replaced_by_the_next(command: Command, logs: Path, tmp_path: Path) -> None:
    case = tmp_path / "case"
    shutil.copytree(logs, case)
    target = case / "report.json"
    assert command("analyze", case, *LOCAL, "--json", target).returncode == 0
    first = target.read_bytes()
    again = command("analyze", case, *LOCAL, "--json", target)
    assert again.returncode == 0
    assert "report.json: written by an earlier run of this program, so not read as a log." in again.stderr
    assert target.read_bytes() == first


def test_a_report_alone_is_refused_as_what_it_is(command: Command, logs: Path, tmp_path: Path) -> None:
    target = tmp_path / "report.json"
    command("analyze", logs, *LOCAL, "--json", target)
    done = command("analyze", target, *LOCAL)
    assert done.returncode == 2
    assert "report.json was written by this program; name the logs." in done.stderr


def test_two_outputs_that_are_one_file_by_two_names(command: Command, logs: Path, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    done = command("analyze", logs, *LOCAL, "--json", tmp_path / "o", "--html", tmp_path / "a" / ".." / "o")
    assert (done.returncode, done.stderr.count("named for two outputs")) == (2, 1)
