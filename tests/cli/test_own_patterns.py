"""A user's own patterns: used by every command that reads lines, checked like ours before anything is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import SHORT_LOG, Command

PATTERN = """\
event: MemberLeft
meaning: Our wrapper says that a member went.
templates:
  - text: "member {member:id} of {group:id} wandered off"
    logged_by: Wrapper.java
samples:
  - name: gone
    message: "member c-1 of payments wandered off"
    fields: {member: c-1, group: payments}
rejects:
  - name: hired
    message: "member c-1 of payments hired"
"""
LINE = "[2026-03-01 10:04:00,000] INFO member c-1-77aa of payments wandered off (com.acme.Wrapper)"


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The file of a sound pattern, in a directory of its own."""
    file = tmp_path / "own" / "wrapper" / "wandered_off.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(PATTERN)
    return file


def directory(file: Path) -> Path:
    return file.parents[1]


def test_events_come_from_lines_that_only_the_user_knows(command: Command, own: Path, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(f"{SHORT_LOG}{LINE}\n")
    done = command("events", tmp_path / "app.log", "--engine", "local", "--patterns", directory(own))
    assert (done.returncode, done.stderr) == (0, "")
    found = [event for event in map(json.loads, done.stdout.splitlines()) if event["pattern"] == "wrapper/wandered-off"]
    assert [(event["event"], event["group"], event["member"]) for event in found] == [
        ("MemberLeft", "payments", "c-1-77aa")
    ]


def test_coverage_counts_them_as_matched(command: Command, own: Path, tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(f"{SHORT_LOG}{LINE}\n")
    without = command("coverage", tmp_path / "app.log", "--engine", "local")
    done = command("coverage", tmp_path / "app.log", "--engine", "local", "--patterns", directory(own))
    assert ": 6 recognized" in without.stdout
    assert ": 7 recognized" in done.stdout


def test_match_and_list_and_explain_know_them(command: Command, own: Path) -> None:
    matched = command("patterns", "match", "--patterns", directory(own), input=LINE + "\n")
    assert json.loads(matched.stdout) == {
        "pattern": "wrapper/wandered-off",
        "event": "MemberLeft",
        "fields": {"group": "payments", "member": "c-1-77aa"},
    }
    assert "\nwrapper/wandered-off " in command("patterns", "list", "--patterns", directory(own)).stdout
    assert "Our wrapper says" in command("explain", "--line", LINE, "--patterns", directory(own)).stdout


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("event: MemberLeft", "event: [", ":3: this is not YAML"),
        ("event: MemberLeft", "event: MemberWandered", ":1: there is no event MemberWandered"),
        ("{member:id}", "{member:id", ":4: a lone {"),
        ("of payments wandered off", "of payments walked off", ":4: no sample matches this template"),
        ("{member: c-1, group: payments}", "&a [*a]", ":1: the file contains itself"),
        ("group: payments}", "group: orders}", ":8: sample 'gone': group is payments, not orders"),
        ("payments hired", "payments wandered off", ":12: the reject 'hired' matches all the same"),
    ],
    ids=["no YAML", "no event", "lone brace", "sample fails", "endless", "wrong field", "reject matches"],
)
def test_a_wrong_pattern_is_refused_with_its_file_and_line(
    command: Command, own: Path, logs: Path, before: str, after: str, said: str
) -> None:
    own.write_text(PATTERN.replace(before, after, 1))
    done = command("events", logs, "--engine", "local", "--patterns", directory(own))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"rebalance-forensics: {own}{said}")
    assert len(done.stderr.splitlines()) == 1


def test_bytes_that_are_no_text_are_refused(command: Command, own: Path) -> None:
    own.write_bytes(b"\xff\xfe\x00")
    done = command("patterns", "match", "--patterns", directory(own), input=LINE)
    assert done.returncode == 2
    assert done.stderr.startswith(f"rebalance-forensics: {own}:1: the file cannot be read")


def test_a_directory_without_patterns_is_refused(command: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = command("patterns", "list", "--patterns", tmp_path / "empty")
    assert done.returncode == 2
    assert done.stderr == (
        f"rebalance-forensics: --patterns {tmp_path / 'empty'}: no pattern in it; "
        "a pattern is a file FOLDER/NAME.yaml.\n"
    )
