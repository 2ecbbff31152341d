"""What cannot work is refused in one sentence and touches no table; what cannot be read is named, the rest written."""

from __future__ import annotations

import errno
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rebalance_forensics.job import job_run, main
from rebalance_forensics.sources.files.decompression import chunks_of
from rebalance_forensics.sources.files.places import Place
from rebalance_forensics.sources.records import record_reader
from tests.job.conftest import Run, rows

PARTIAL, REFUSED, FOUND, OK = 3, 2, 1, 0
Outcome = tuple[int, str]
Job = Callable[..., Outcome]


@pytest.fixture
def job(logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Job:
    """The job as called by a scheduler: its exit code and its standard error."""

    def job(*more: str, **changed: str) -> Outcome:
        given = {"input": str(logs), "output": str(tmp_path / "tables"), "since": "2026-03-01", "until": "2026-03-04"}
        named = [part for name, value in (given | changed).items() for part in (f"--{name}", value)]
        code = main(["--engine", "local", *named, *more])
        return code, capsys.readouterr().err

    return job


def test_a_run_that_finds_nothing_bad_enough_ends_with_0(job: Job) -> None:
    assert job() == (OK, "")


def test_a_run_that_finds_something_as_bad_as_asked_ends_with_1(job: Job) -> None:
    assert job("--fail-on", "info")[0] == FOUND


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"until": "2026-02-01"}, "the interval ends (2026-02-01T00:00:00Z) before it starts (2026-03-01T00:00:00Z)"),
        ({"input": "/no/such/logs"}, "--input /no/such/logs: no such file or directory."),
        ({"output": "/proc/tables"}, "--output /proc/tables cannot be written"),
        ({"output": "ftp://host/tables"}, "--output ftp://host/tables cannot be reached: ftp:// is not known"),
        ({"since": "yesterday"}, "cannot parse time 'yesterday'"),
        ({"table-format": "orc"}, "argument --table-format: invalid choice: 'orc'"),
        ({"lookback": "2026-03-01"}, "'2026-03-01' is a point in time; write how long, like 24h."),
    ],
)
def test_what_cannot_work_is_refused(job: Job, tmp_path: Path, changed: dict[str, str], sentence: str) -> None:
    code, printed = job(**changed)
    assert code == REFUSED
    assert sentence in printed
    assert len(printed.splitlines()) == 1
    assert not list(tmp_path.rglob("*.parquet"))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--output", "tables"], "--input is missing"),
        (["logs", "--output", "tables"], "name the logs with --input: --input logs;"),
        (["--inptu", "logs"], "there is no option --inptu; did you mean --input? See"),
        (["--turbo"], "there is no option --turbo; see"),
    ],
)
def test_the_option_that_is_missing_or_meant_is_named(
    capsys: pytest.CaptureFixture[str], arguments: list[str], sentence: str
) -> None:
    assert main(arguments) == REFUSED
    assert sentence in capsys.readouterr().err


def test_logs_without_a_kafka_line_are_refused(job: Job, logs: Path, tmp_path: Path) -> None:
    for path in (logs / "broker-1").iterdir():
        path.write_text("2026-03-01 10:00:00 INFO hello\n")
    code, printed = job()
    assert (code, "no Kafka line found in 3 file(s)" in printed) == (REFUSED, True)
    assert not list(tmp_path.rglob("*.parquet"))


def test_an_empty_directory_is_refused(job: Job, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert job(input=str(tmp_path / "empty"))[0] == REFUSED


def test_tables_of_another_version_are_not_touched(job: Job, tmp_path: Path) -> None:
    job()
    (tmp_path / "tables" / "_schema.json").write_text('{"version": 99}')
    before = rows(tmp_path / "tables")
    code, printed = job(until="2026-03-05")
    assert (code, "schema version 99" in printed) == (REFUSED, True)
    assert rows(tmp_path / "tables") == before


def test_a_damaged_file_is_named_and_the_rest_is_written(job: Job, logs: Path, tmp_path: Path) -> None:
    damaged = logs / "broker-1" / "server.log.2026-03-02.gz"
    damaged.write_bytes(b"\x1f\x8b\x08\x00")
    (logs / "broker-1" / "core").write_bytes(bytes(range(256)) * 64)
    code, printed = job()
    assert code == PARTIAL
    assert "core is a binary file" in printed
    noted = {row["path"]: row["errors"] for row in rows(tmp_path / "tables")["inputs"] if row["errors"]}
    assert any(path.endswith("core") for path in noted)
    assert len(rows(tmp_path / "tables")["incidents"]) > 0
    assert job()[0] == PARTIAL


def test_a_file_with_a_torn_line_is_named_by_every_run_and_read_by_one(run: Run, logs: Path) -> None:
    log = logs / "broker-1" / "server.log.2026-03-03"
    log.write_text(log.read_text().rpartition("(reason: ")[0] + "(reason: rem")
    first = run("2026-03-01", "2026-03-04")
    again = run("2026-03-01", "2026-03-04")
    assert len(first.errors) == 1
    assert again.errors == first.errors
    assert (first.summary["scanned"], again.summary["scanned"]) == (3, 0)
    assert again.summary["exit_code"] == PARTIAL


def test_a_bomb_is_not_unpacked_again_until_more_is_allowed(run: Run, logs: Path) -> None:
    day = logs / "broker-1" / "server.log.2026-03-03"
    lines = day.read_text() + "[2026-03-03 23:00:00,000] INFO waiting (com.example.Loop)\n" * 500_000
    day.with_name("server.log.2026-03-03.gz").write_bytes(gzip.compress(lines.encode()))
    day.unlink()
    small = ("--unpack-ratio", "20")
    first = run("2026-03-01", "2026-03-04", *small)
    assert "--unpack-ratio" in first.errors[0]
    again = run("2026-03-01", "2026-03-04", *small)
    assert (again.errors, again.summary["scanned"]) == (first.errors, 0)
    larger = run("2026-03-01", "2026-03-04")
    assert (larger.errors, larger.summary["scanned"]) == ([], 1)


def test_a_file_that_the_disk_would_not_give_is_read_again(
    run: Run, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(place: Place, start: int = 0) -> Iterator[bytes]:
        yield from () if start else [next(chunks_of(place, 0))[:4000]]
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as disk:
        disk.setattr(record_reader, "chunks_of", failing)
        assert len(run("2026-03-01", "2026-03-04").errors) == len(list((logs / "broker-1").iterdir()))
    assert not run("2026-03-01", "2026-03-04").errors
    undisturbed = tmp_path / "undisturbed"
    run("2026-03-01", "2026-03-04", output=undisturbed)
    assert rows(tmp_path / "tables") == rows(undisturbed)


def test_a_file_that_can_be_read_again_is_no_longer_named(run: Run, logs: Path, tmp_path: Path) -> None:
    core = logs / "broker-1" / "core"
    core.write_bytes(bytes(range(256)) * 64)
    run("2026-03-01", "2026-03-04")
    core.write_text("a note\n")
    run("2026-03-01", "2026-03-04")
    noted = rows(tmp_path / "tables")["inputs"]
    assert [row["errors"] for row in noted if row["path"].endswith("core")] == [[]]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ('clutser = "blue"', "job.toml:3: unknown setting clutser; did you mean cluster?"),
        ('fail-on = "bad"', "job.toml:3: fail-on = 'bad': use one of info, warning, critical."),
        ('tz = "UTC"', "job.toml:3: tz = 'UTC': write a list of strings"),
        ("tasks = true", "job.toml:3: tasks = True: write a positive number"),
        ('since = "yesterday"', "job.toml:3: cannot parse time 'yesterday'"),
        ('tz = ["Mars/Phobos"]', "job.toml:3: "),
        ('webhook = ["slack=hooks.slack.com"]', "job.toml:3: --webhook slack=…: write slack=URL"),
        ('column = ["time=ts"]', "job.toml:3: --column message=… is missing"),
        ("cluster =", "this is not TOML"),
    ],
)
def test_a_wrong_setting_is_named_with_its_line(
    tmp_path: Path, logs: Path, capsys: pytest.CaptureFixture[str], line: str, sentence: str
) -> None:
    config = tmp_path / "job.toml"
    config.write_text(f'# the nightly run\n\n{line}\ninput = ["{logs}"]\noutput = "{tmp_path / "tables"}"\n')
    code = main(["--config", str(config)])
    printed = capsys.readouterr().err
    assert (code, sentence in printed, len(printed.splitlines())) == (REFUSED, True, 1), printed
    assert not (tmp_path / "tables").exists()


def test_settings_of_a_file_count_where_the_command_line_says_nothing(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "job.toml"
    output = tmp_path / "tables"
    config.write_text(
        f'input = ["{logs}"]\noutput = "{output}"\nsince = 2026-03-01\nuntil = 2026-03-04T00:00:00Z\n'
        'engine = "local"\ncluster = "blue"\nfail-on = "info"\n'
    )
    assert main(["--config", str(config), "--cluster", "green"]) == FOUND
    assert json.loads(capsys.readouterr().out)["incidents"] > 0
    assert {row["cluster"] for row in rows(output)["incidents"]} == {"green"}


@pytest.mark.parametrize("kept", ["*.parquet", "_delta_log/*.json"])
def test_damaged_output_of_an_earlier_run_is_named(job: Job, tmp_path: Path, kept: str) -> None:
    assert job()[0] == OK
    paths = [path for path in (tmp_path / "tables").rglob("*") if path.match(kept) and path.is_file()]
    assert paths
    for path in paths:
        path.write_bytes(b"{" * (path.stat().st_size // 2))
    code, printed = job()
    assert code == REFUSED
    assert "cannot be read: " in printed
    assert len(printed.splitlines()) == 1


def test_a_host_whose_clock_is_an_hour_slow_continues_and_is_named(
    run: Run, job: Job, logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    late = max((logs / "broker-1").iterdir())
    text = late.read_text()
    late.unlink()
    run("2026-03-01", "2026-03-04")
    late.write_text(text)
    monkeypatch.setattr(job_run, "now_ms", lambda: 1_772_578_800_000)  # 2026-03-03T23:00:00Z
    assert main(["--engine", "local", "--input", str(logs), "--output", str(tmp_path / "tables")]) == OK
    printed = capsys.readouterr().err
    assert "cover the time up to 2026-03-04T00:00:00Z, but the clock of this host shows 2026-03-03T23:00:00Z" in printed
    assert job(output=str(tmp_path / "at-once"))[0] == OK
    assert rows(tmp_path / "tables") == rows(tmp_path / "at-once")
