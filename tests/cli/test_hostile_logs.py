"""Lines and file names written to do harm reach no terminal: neither in results nor in warnings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import SHORT_LOG, Command

HARM = "\x1b[31m\x1b]0;owned\x07\x9b2J\u202egnp.exe\u2066</pre><script>alert(1)</script>"
RAW = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Logs of a group, a member and files with names of an enemy, and one line of a megabyte."""
    directory = tmp_path / "hostile" / "\x1b[31m<b>x\u202e"
    directory.mkdir(parents=True)
    log = SHORT_LOG.replace("payments", f"pay{HARM}ments").replace("c-1-77aa", f"c{HARM}-77aa")
    (directory / "server.log").write_text(log + "Z" * 1_000_000 + "\n")
    (directory / "\x1b[31mcore.bin").write_bytes(bytes(range(256)) * 8)
    return tmp_path / "hostile"


@pytest.mark.parametrize(
    "arguments",
    [
        ("analyze", "--verbose"),
        ("analyze", "--quiet"),
        ("analyze", "--json", "-"),
        ("analyze", "--export", "markdown=-"),
        ("analyze", "--html", "-"),
        ("timeline", "--group", "nobody"),
        ("coverage",),
        ("events",),
    ],
    ids=" ".join,
)
def test_nothing_of_them_moves_a_cursor_or_turns_a_line(
    command: Command, hostile: Path, arguments: tuple[str, ...]
) -> None:
    name, *options = arguments
    done = command(name, hostile, *options, "--engine", "local")
    assert done.stdout or done.stderr
    assert not RAW.search(done.stdout)
    assert not RAW.search(done.stderr)


def test_whois_and_explain_print_them_as_escapes(command: Command, hostile: Path) -> None:
    output = command("whois", hostile, "pay", "--engine", "local").stdout
    line = f"[2026-03-01 10:00:00,000] INFO [{HARM}] (kafka.{HARM}): Member c in group g has failed"
    explained = command("explain", "--line", line).stdout
    assert not RAW.search(output + explained)


def test_patterns_match_answers_in_plain_ascii(command: Command) -> None:
    line = (
        f"[2026-03-01 10:05:00,000] INFO [GroupCoordinator 1]: Member c{HARM[11:]} in group pay has failed, removing it"
    )
    done = command("patterns", "match", input=f"{line} from the group (kafka.coordinator.group.GroupCoordinator)\n")
    assert done.returncode == 0
    assert done.stdout.isascii()
