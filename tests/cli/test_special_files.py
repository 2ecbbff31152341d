"""Paths that lead to no file: pipes are read as they come, what never ends is refused, nothing waits for ever."""

from __future__ import annotations

import errno
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from rebalance_forensics.job import main
from rebalance_forensics.sources.files.decompression import chunks_of
from rebalance_forensics.sources.files.places import Place
from rebalance_forensics.sources.files.walk import discover
from tests.conftest import ROOT, SHORT_LOG, Command

NOBODY = 65534
ANALYZE = f"{sys.executable} -m rebalance_forensics analyze --engine local --json -"


def in_bash(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A shell, for it has the pipes."""
    return subprocess.run(
        ["bash", "-c", script],
        cwd=cwd, capture_output=True, text=True, timeout=120, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("script", "path"),
    [
        (f"{ANALYZE} <(cat server.log)", "/dev/fd/63"),
        (f"gzip -c server.log | {ANALYZE} /dev/stdin", "/dev/stdin"),
        (f"{ANALYZE} /dev/stdin < server.log", "/dev/stdin"),
        (f"mkfifo pipe; cat server.log > pipe & {ANALYZE} pipe", "pipe"),
    ],
)
def test_a_pipe_that_is_named_is_read_as_standard_input_is(tmp_path: Path, script: str, path: str) -> None:
    (tmp_path / "server.log").write_text(SHORT_LOG)
    done = in_bash(script, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    assert [(one["path"], one["matched"]) for one in report["inputs"]] == [(path, 6)]


@contextmanager
def listening(path: Path) -> Iterator[None]:
    with socket.socket(socket.AF_UNIX) as server:
        here = Path.cwd()
        os.chdir(path.parent)  # a socket's name may be no longer than 107 bytes
        try:
            server.bind(path.name)
        finally:
            os.chdir(here)
        yield


@pytest.mark.parametrize("target", ["/dev/zero", "/dev/full"])
def test_a_device_that_is_named_is_refused(command: Command, target: str) -> None:
    done = command("analyze", target, "--engine", "local")
    assert done.returncode == 2
    assert f"{target} is a device, not a log" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.skipif(not os.access("/proc/kmsg", os.R_OK), reason="the kernel's messages are root's")
def test_a_link_to_what_is_written_for_ever_is_named(tmp_path: Path) -> None:
    (tmp_path / "kmsg.log").symlink_to("/proc/kmsg")
    for given in (tmp_path, tmp_path / "kmsg.log", Path("/proc/kmsg")):
        ((_, errors, _),) = discover([str(given)]).errors
        assert "cannot be read (it has no end: its reader waits for more to be written)" in errors


class _Torn(io.RawIOBase):
    """A pipe that breaks in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.left = [SHORT_LOG.encode()]

    def read(self, _size: int = -1) -> bytes:
        if self.left:
            return self.left.pop()
        raise OSError(errno.EIO, os.strerror(errno.EIO))


def test_an_input_that_breaks_off_is_not_blamed_on_the_temporary_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=_Torn()))
    ((path, errors, _),) = discover(["-"]).errors
    assert (path, errors) == ("-", "standard input cannot be read (input/output error); send it again")


def test_a_socket_that_is_named_is_refused(tmp_path: Path) -> None:
    with listening(tmp_path / "control"):
        found = discover([str(tmp_path / "control")])
    ((_, errors, _),) = found.errors
    assert errors.startswith(f"{tmp_path / 'control'} is a socket, not a log; name a file")


def with_odd_neighbours(logs: Path) -> list[str]:
    """Everything in a directory that is no file, and what is said of it."""
    (logs / "zero.log").symlink_to("/dev/zero")
    (logs / "nowhere.log").symlink_to(logs / "nothing")
    (logs / "round.log").symlink_to(logs / "round.log")
    os.mkfifo(logs / "pipe")
    return ["nowhere.log", "pipe", "round.log", "zero.log"]


def test_what_is_no_file_in_a_directory_is_named_and_the_rest_is_read(logs: Path) -> None:
    odd = with_odd_neighbours(logs)
    with listening(logs / "socket"):
        found = discover([str(logs), str(logs / "broker-1")])
    assert [unread.path for unread in found.errors] == sorted(f"logs/{name}" for name in [*odd, "socket"])
    errors = " ".join(unread.sentence for unread in found.errors)
    for sentence in ("zero.log is a device", "pipe is a pipe", "socket is a socket"):
        assert f"{sentence}, not a file; it was left out" in errors
    assert "nowhere.log is a link that leads nowhere" in errors
    assert len(found.files) == 2


def test_the_job_names_what_is_no_file_and_reads_the_rest(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_odd_neighbours(logs)
    given = ["--input", str(logs), "--output", str(tmp_path / "tables"), "--engine", "local"]
    assert main([*given, "--since", "2026-03-01", "--until", "2026-03-02"]) == 3
    errors = capsys.readouterr()
    assert "zero.log is a device, not a file; it was left out" in errors.err
    assert "pipe is a pipe, not a file; it was left out" in errors.err
    assert "nowhere.log cannot be read (no such file or directory)" in errors.err
    assert json.loads(errors.out)["incidents"] > 0


def test_the_job_refuses_an_input_that_is_no_file(
    logs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_odd_neighbours(logs)
    for odd, kind in (("/dev/zero", "a device"), (str(logs / "pipe"), "a pipe")):
        given = ["--input", odd, "--output", str(tmp_path / "tables"), "--engine", "local"]
        assert main([*given, "--since", "2026-03-01", "--until", "2026-03-02"]) == 2
        assert f"{odd} is {kind}, not a file; it was left out" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["/dev/zero", "pipe"])
def test_what_is_no_file_is_not_even_opened_when_it_took_the_place_of_one(tmp_path: Path, target: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"it is a (device|pipe), not a file"):
        next(chunks_of(Place(str(tmp_path / target))))


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A directory of an ordinary user, and this process as that user."""
    if os.geteuid() != 0:
        with tempfile.TemporaryDirectory() as own:
            yield Path(own)
        return
    with tempfile.TemporaryDirectory() as own:
        os.chown(own, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield Path(own)
        finally:
            os.seteuid(0)


def test_what_a_user_may_not_read_is_named_and_the_rest_is_read(as_nobody: Path) -> None:
    for name in ("closed", "unlisted", "open"):
        (as_nobody / name).mkdir()
        (as_nobody / name / "server.log").write_text(SHORT_LOG)
    (as_nobody / "secret.log").write_text(SHORT_LOG)
    for name, mode in (("secret.log", 0), ("closed", 0o400), ("unlisted", 0o300), ("open", 0o500)):
        (as_nobody / name).chmod(mode)
    try:
        found = discover([str(as_nobody)])
        direct = discover([str(as_nobody / "closed" / "server.log")])
    finally:
        for name in ("closed", "unlisted", "open"):
            (as_nobody / name).chmod(0o700)
    assert [file.path for file in found.files] == ["open/server.log"]
    errors = {path: sentence for path, sentence, _ in found.errors}
    assert sorted(errors) == ["closed/server.log", "secret.log", "unlisted"]
    assert "closed/server.log cannot be looked at (permission denied); it was left out" in errors["closed/server.log"]
    assert "secret.log cannot be read: permission denied" in errors["secret.log"]
    assert "unlisted cannot be listed (Permission denied); check its permissions" in errors["unlisted"]
    assert "server.log cannot be read: permission denied" in direct.errors[0][1]


def test_a_read_only_directory_is_read(as_nobody: Path) -> None:
    (as_nobody / "server.log").write_text(SHORT_LOG)
    (as_nobody / "server.log").chmod(0o400)
    as_nobody.chmod(0o500)
    try:
        assert discover([str(as_nobody)]).errors == ()
    finally:
        as_nobody.chmod(0o700)
