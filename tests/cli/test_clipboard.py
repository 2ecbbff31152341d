"""`analyze --clipboard` reads what was copied through whatever program the system has for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.conftest import SHORT_LOG, Command


def program(name: str, directory: Path, script: str) -> Path:
    """A program of this name on PATH that does what the script says."""
    path = directory / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all of PATH, beside what a script itself needs."""
    only, needed = tmp_path / "bin", tmp_path / "needed"
    for made in (only, needed):
        made.mkdir()
    (needed / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", f"{only}{os.pathsep}{needed}")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    return only


@pytest.mark.parametrize("name", ["pbpaste", "wl-paste", "xclip", "xsel", "powershell"])
def test_what_was_copied_is_analyzed(name: str, path: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "copied").write_text(SHORT_LOG)
    program(name, path, f"cat {tmp_path / 'copied'}")
    done = command("analyze", "--clipboard", "--engine", "local", "--json", "-")
    report = json.loads(done.stdout)
    assert report["groups"][0]["group"] == "payments"
    assert [one["path"] for one in report["inputs"]] == ["clipboard.txt"]


def test_the_clipboard_itself_is_asked_for_and_not_the_selection(path: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "copied").write_text(SHORT_LOG)
    program("xclip", path, f'[ "$*" = "-selection clipboard -o" ] && cat {tmp_path / "copied"}')
    assert command("analyze", "--clipboard", "--engine", "local").returncode == 0


def test_the_next_program_is_asked_where_one_fails(path: Path, tmp_path: Path, command: Command) -> None:
    (tmp_path / "copied").write_text(SHORT_LOG)
    program("xclip", path, "echo 'Error: Can not open display' >&2; exit 1")
    program("xsel", path, f"cat {tmp_path / 'copied'}")
    assert command("analyze", "--clipboard", "--engine", "local").returncode == 0


def test_a_system_without_a_clipboard_program_is_reported_in_one_sentence(path: Path, command: Command) -> None:
    assert path.is_dir()
    done = command("analyze", "--clipboard", "--engine", "local")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no program that reads the clipboard was found" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_an_empty_clipboard_is_reported_in_one_sentence(path: Path, command: Command) -> None:
    program("xclip", path, "exit 0")
    done = command("analyze", "--clipboard", "--engine", "local")
    assert (done.returncode, done.stdout) == (2, "")
    assert "no text in the clipboard" in done.stderr


def test_an_input_without_logs_is_reported_in_one_sentence(command: Command) -> None:
    done = command("analyze", "--engine", "local")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--clipboard" in done.stderr
