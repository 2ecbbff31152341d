"""Whatever is wrong with the input: one clear sentence, the right exit code, nothing lost or invented."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from tests.conftest import SHORT_LOG, Command


def test_a_path_that_is_not_there(command: Command) -> None:
    done = command("analyze", "nowhere/", "--engine", "local")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "rebalance-forensics: nowhere/: no such file or directory.\n"


def test_an_empty_directory(command: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = command("analyze", tmp_path / "empty", "--engine", "local")
    assert done.returncode == 2
    assert str(tmp_path / "empty") in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_log_without_one_kafka_line(command: Command, tmp_path: Path) -> None:
    (tmp_path / "nginx.log").write_text('10.0.0.1 - - [01/Mar/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 612\n' * 20)
    done = command("analyze", tmp_path / "nginx.log", "--engine", "local")
    assert done.returncode == 2
    assert "no Kafka line found in 1 file with 20 lines" in done.stderr


def test_a_clients_log_that_says_nothing_of_a_group_is_named_for_what_it_is(command: Command, tmp_path: Path) -> None:
    timed_out = "the kafka reader got an unknown error reading partition 1 of orders at offset 60: i/o timeout"
    (tmp_path / "app.log").write_text(f"2026/03/01 10:00:00 {timed_out}\n" * 3)
    done = command("analyze", tmp_path / "app.log", "--engine", "local")
    assert done.returncode == 2
    assert "no line about a consumer group found in 1 file with 3 lines (kafka-go)" in done.stderr


def test_a_binary_file_next_to_a_log_is_named_and_the_log_is_read(command: Command, logs: Path) -> None:
    (logs / "core.dump").write_bytes(bytes(range(256)) * 40)
    done = command("analyze", logs, "--engine", "local", "--json", "-")
    assert done.returncode == 3
    assert "core.dump" in done.stderr
    assert [one["path"] for one in json.loads(done.stdout)["inputs"] if one["errors"]] == ["core.dump"]
    assert json.loads(done.stdout)["groups"][0]["group"] == "payments"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(command: Command, logs: Path) -> None:
    secret = logs / "secret.log"
    secret.write_text(SHORT_LOG)
    secret.chmod(0)
    done = command("analyze", logs, "--engine", "local")
    assert done.returncode == 3
    assert "secret.log" in done.stderr


def test_a_truncated_gzip_gives_what_is_left_of_it(command: Command, tmp_path: Path) -> None:
    packed = gzip.compress((SHORT_LOG * 50).encode())
    (tmp_path / "server.log.gz").write_bytes(packed[: len(packed) - 20])
    done = command("analyze", tmp_path / "server.log.gz", "--engine", "local", "--json", "-")
    assert done.returncode == 3
    assert "server.log.gz" in done.stderr
    (read,) = json.loads(done.stdout)["inputs"]
    assert read["matched"] > 100


def test_bytes_that_are_no_utf_8_are_read_around(command: Command, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(
        b"\xff\xfe\x80 not a record\n" + SHORT_LOG.encode() + b"[2026-03-01 10:06:00,000] INFO caf\xe9 (x.Y)\n"
    )
    done = command("analyze", log, "--engine", "local", "--json", "-")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert [group["group"] for group in report["groups"]] == ["payments"]


def test_a_file_name_that_is_no_utf_8(command: Command, tmp_path: Path) -> None:
    directory = tmp_path / "logs"
    directory.mkdir()
    Path(os.fsdecode(os.fsencode(directory) + b"/caf\xe9.log")).write_text(SHORT_LOG)
    done = command("analyze", directory, "--engine", "local", "--json", "-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["inputs"][0]["matched"] > 0


def test_a_zone_that_does_not_exist(command: Command, logs: Path) -> None:
    done = command("analyze", logs, "--tz", "Middle/Earth", "--engine", "local")
    assert done.returncode == 2
    assert "Middle/Earth" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_output_in_a_directory_that_is_not_there(command: Command, logs: Path) -> None:
    done = command("analyze", logs, "--html", "reports/today.html", "--engine", "local")
    assert done.returncode == 2
    assert done.stderr == ("rebalance-forensics: reports/today.html: there is no directory reports; create it first.\n")


def test_a_path_that_is_not_a_java_is_named_with_the_remedy(command: Command, logs: Path, tmp_path: Path) -> None:
    done = command("analyze", logs, "--java-home", tmp_path)
    assert done.returncode == 2
    assert f"no working Java at {tmp_path}/bin/java (--java-home)" in done.stderr
    assert "--engine local" in done.stderr


def test_a_machine_without_java(command: Command, logs: Path, tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path)}
    done = command("doctor", env=environment)
    assert "Java" in done.stdout
    assert command("analyze", logs, "--engine", "local", env=environment).returncode == 0


def test_an_own_pattern_with_a_mistake_is_named_before_anything_is_read(
    command: Command, logs: Path, tmp_path: Path
) -> None:
    own = tmp_path / "own" / "app"
    own.mkdir(parents=True)
    (own / "wrong.yaml").write_text("event: NoSuchEvent\nmeaning: none\ntemplates:\n  - text: 'x {y:nothing}'\n")
    done = command("analyze", logs, "--patterns", tmp_path / "own", "--engine", "local")
    assert done.returncode == 2
    assert "wrong.yaml:" in done.stderr
