"""A defect of ours: one sentence that says where it was, 3 where a report is left, 70 where none is, and never 1."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import rebalance_forensics
from rebalance_forensics.cli import analyze, output_files, program
from rebalance_forensics.cli.parts import Parts
from rebalance_forensics.defects import ASK, DefectError
from rebalance_forensics.job import main as job
from rebalance_forensics.job.fleet_tables import fleet_tables
from rebalance_forensics.pipeline import stages
from rebalance_forensics.pipeline.refusals import InputError
from rebalance_forensics.pipeline.spark import jvm_launch
from rebalance_forensics.pipeline.spark.java import Java
from rebalance_forensics.report.exports import formats
from tests.broken_causes import causes_but_for

OK, FOUND, REFUSED, PARTIAL, DEFECT = 0, 1, 2, 3, 70
Outcome = tuple[int, str, str]
Called = Callable[..., Outcome]


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str], logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Called:
    """A command called in this process as by a shell: its exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    # What sessions of other tests left must not end this process.
    monkeypatch.delitem(sys.modules, "py4j", raising=False)

    def called(command: str, *more: str) -> Outcome:
        parts = Parts(job=lambda given: job(list(given)), fleet_tables=fleet_tables)
        with pytest.raises(SystemExit) as left:
            program.main([command, str(logs), *more, "--engine", "local"], parts)
        code = left.value.code
        assert isinstance(code, int)
        return code, *capsys.readouterr()

    return called


def broken(*_given: Any, **_named: Any) -> Any:  # noqa: ANN401 - it stands in for stages of any type
    raise LookupError("no such case")


def test_an_output_that_cannot_be_written_is_a_gap_of_the_others(
    called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = formats()
    monkeypatch.setattr(output_files, "formats", lambda: whole | {"slack": broken})
    monkeypatch.setattr("rebalance_forensics.report.html.to_html", broken)
    outputs = ("--export", "slack=s.json", "--export", "markdown=m.md", "--html", "r.html", "--json", "r.json")
    code, shown, said = called("analyze", *outputs)
    assert (code, "payments" in shown) == (PARTIAL, True)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["m.md", "r.json"]
    gaps = [gap["what"] for gap in json.loads((tmp_path / "r.json").read_text())["gaps"]]
    for name in ("--export slack", "--html"):
        assert any(gap.startswith(f"{name} could not be written: LookupError: no such case (") for gap in gaps)
        assert f"rebalance-forensics: {name} could not be written: " in said
    assert "Traceback" not in said


def test_a_report_that_cannot_be_printed_is_left_in_the_files(
    called: Called, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyze, "_as_text", broken)
    code, shown, said = called("analyze", "--json", "r.json")
    assert (code, shown) == (PARTIAL, "")
    assert said.startswith("rebalance-forensics: the report could not be printed: LookupError: no such case (")
    assert json.loads((tmp_path / "r.json").read_text())["groups"]


@pytest.mark.parametrize(("place", "name"), [(analyze, "_as_text"), (output_files, "write_outputs"), (analyze, "run")])
def test_a_defect_that_leaves_no_report_ends_with_70_and_one_sentence(
    called: Called, monkeypatch: pytest.MonkeyPatch, place: object, name: str
) -> None:
    monkeypatch.setattr(place, name, broken)
    code, shown, said = called("analyze", "--fail-on", "info")
    assert (code, shown) == (DEFECT, "")
    assert said.startswith("rebalance-forensics: analyze broke off and left no report: LookupError: no such case (")
    assert said.endswith(f"; {ASK}.\n")
    assert len(said.splitlines()) == 1


def test_the_only_output_that_cannot_be_written_ends_with_70(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_files, "json_pieces", broken)
    code, shown, said = called("analyze", "--json", "-")
    assert (code, shown, said.splitlines()[-1]) == (
        DEFECT,
        "",
        f"rebalance-forensics: nothing could be written; {ASK}.",
    )


def test_the_whole_trace_of_a_defect_is_printed_on_request(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "investigate", broken)
    assert "Traceback" not in called("coverage")[2]
    monkeypatch.setenv("REBALANCE_FORENSICS_TRACE", "1")
    code, _, said = called("coverage")
    assert code == PARTIAL
    assert "Traceback (most recent call last)" in said
    assert "could not be investigated: LookupError: no such case (pipeline/stages.py:" in said


def test_a_rule_that_breaks_off_ends_with_3_whatever_was_found(called: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    causes = causes_but_for("startup")
    monkeypatch.setattr("rebalance_forensics.diagnosis.engine.discovery.all_causes", lambda: causes)
    code, _, said = called("analyze", "--fail-on", "info", "--quiet")
    assert code == PARTIAL
    assert "Whether group payments had a case of startup could not be evaluated: LookupError" in said


def test_python_gets_one_exception_that_names_the_defect(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rebalance_forensics.api.analyze_with_events", broken)
    with pytest.raises(DefectError, match=r"broke off: LookupError: no such case \(") as raised:
        rebalance_forensics.analyze(logs, engine="local")
    assert isinstance(raised.value.__cause__, LookupError)


def test_a_program_that_cannot_be_loaded_says_so(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise ImportError('no typer here')\n")
    done = subprocess.run(
        [sys.executable, "-m", "rebalance_forensics", "doctor"], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{Path(rebalance_forensics.__file__).parents[1]}"},
    )  # fmt: skip
    assert done.returncode == DEFECT
    assert done.stderr.startswith("rebalance-forensics: the program could not be loaded: ImportError: no typer here (")
    assert len(done.stderr.splitlines()) == 1


@pytest.fixture
def jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[jvm_launch.Booting]:
    """A process in the place of a JVM that runs."""
    process = subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE)
    java = Java(executable=Path("/usr/bin/java"), source="PATH", release=17)
    (tmp_path / "jvm.log").write_text("Setting default log level\n")
    booting = jvm_launch.Booting(java=java, process=process, address=tmp_path / "gateway", log=tmp_path / "jvm.log")
    monkeypatch.setattr(jvm_launch, "_running", [booting])
    yield booting
    process.kill()
    booting.end()


def test_a_java_that_is_killed_while_spark_is_running_is_reported_as_killed(jvm: jvm_launch.Booting) -> None:
    jvm.process.send_signal(signal.SIGKILL)
    sentence = rf"Java 17 \(process {jvm.process.pid}\) was killed by signal 9 while Spark was at work\."
    with pytest.raises(InputError, match=sentence), jvm_launch.reporting_lost_jvm():
        raise ConnectionRefusedError("Connection refused")


def test_a_java_that_is_killed_while_starting_is_not_reported_as_failed_to_start(jvm: jvm_launch.Booting) -> None:
    jvm.process.send_signal(signal.SIGKILL)
    jvm.process.wait()
    with pytest.raises(InputError, match="was killed by signal 9 before Spark was up"):
        jvm.gateway()


def test_an_error_while_java_keeps_running_is_reported_unchanged(jvm: jvm_launch.Booting) -> None:
    with pytest.raises(LookupError), jvm_launch.reporting_lost_jvm():
        raise LookupError
    assert jvm.ended_by is None


def test_a_job_with_a_defect_of_ours_leaves_its_tables_alone_and_ends_with_70(
    logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rebalance_forensics.job.job_run.chosen_days", broken)
    given = [
        "--input",
        str(logs),
        "--output",
        str(tmp_path / "tables"),
        "--since",
        "2026-03-01",
        "--until",
        "2026-03-02",
    ]
    assert job([*given, "--engine", "local", "--fail-on", "info"]) == DEFECT
    errors = capsys.readouterr().err
    assert errors.startswith("rebalance-forensics: the run broke off: LookupError: no such case (")
    assert len(errors.splitlines()) == 1
    assert not list((tmp_path / "tables").rglob("*.parquet"))
