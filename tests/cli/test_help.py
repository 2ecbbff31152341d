"""Every command teaches itself: what it does, its options, and examples that use only what it has."""

from __future__ import annotations

import re

import pytest

from rebalance_forensics.cli.examples import EXAMPLES
from tests.conftest import Command

COMMANDS = sorted(EXAMPLES)


def help_of(command: Command, name: str) -> str:
    done = command(*name.split(), "--help")
    assert done.returncode == 0
    return done.stdout


def test_the_first_help_lists_every_command_and_says_where_to_begin(command: Command) -> None:
    text = help_of(command, "")
    listed = set(re.findall(r"^  (\w+)  +[A-Z]", text, re.MULTILINE))
    assert listed == {name for name in COMMANDS if " " not in name} | {"job"}
    assert "rebalance-forensics demo" in text
    assert "..." not in text.partition("Commands:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_has_examples_of_its_options(command: Command, name: str) -> None:
    text = help_of(command, name)
    options, _, shown = text.partition("  Examples:\n")
    assert shown
    for line, meaning in EXAMPLES[name]:
        assert f"{line}\n      " in shown
        assert f"      {meaning}\n" in shown
        own = line.split(" | ")[0] if line.startswith(name) else line.split("rebalance-forensics ")[-1]
        assert set(re.findall(r"--[a-z-]+", own)) <= set(re.findall(r"--[a-z-]+", options))


def test_the_job_gives_examples_as_well(command: Command) -> None:
    options, _, shown = help_of(command, "job").partition("Examples:\n")
    assert set(re.findall(r"--[a-z-]+", shown)) <= set(re.findall(r"--[a-z-]+", options))
    assert shown.count("rebalance-forensics job ") == 3
