"""Shells complete commands, options, causes and samples; a shell that is not installed here is skipped by name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, Command

PROGRAM = f"""#!/bin/sh
exec {sys.executable} -m rebalance_forensics "$@"
"""
BASH = """
eval "$(rebalance-forensics completion bash)"
COMP_WORDS=({words}); COMP_CWORD={last}; _rebalance_forensics rebalance-forensics; printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def in_shell(shell: str, script: str, tmp_path: Path) -> list[str]:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} on this machine")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "rebalance-forensics"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    path = f"{program.parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    done = subprocess.run([shell, "-c", script], capture_output=True, text=True, env=env, check=True)
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("rebalance-forensics time", ["timeline"]),
        ("rebalance-forensics analyze --anon", ["--anonymize"]),
        ("rebalance-forensics explain slow", ["slow-processing"]),
        ("rebalance-forensics demo static-member-r", ["static-member-restart"]),
    ],
)
def test_bash_completes_commands_options_causes_and_samples(words: str, completed: list[str], tmp_path: Path) -> None:
    assert in_shell("bash", BASH.format(words=words, last=len(words.split()) - 1), tmp_path) == completed


def test_fish_completes_commands(tmp_path: Path) -> None:
    script = "rebalance-forensics completion fish | source; complete -C 'rebalance-forensics time'"
    assert [line.split("\t")[0] for line in in_shell("fish", script, tmp_path)] == ["timeline"]


def test_zsh_takes_the_script(tmp_path: Path) -> None:
    load = 'autoload -U compinit; compinit -u; eval "$(rebalance-forensics completion zsh)"'
    script = f"{load}; echo $_comps[rebalance-forensics]"
    assert in_shell("zsh", script, tmp_path) == ["_rebalance_forensics"]


@pytest.mark.parametrize(
    ("shell", "settings", "completed"),
    [
        ("zsh", {"_TYPER_COMPLETE_ARGS": "rebalance-forensics time"}, "timeline"),
        (
            "fish",
            {"_TYPER_COMPLETE_ARGS": "rebalance-forensics time", "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
            "timeline",
        ),
    ],
)
def test_what_the_scripts_of_zsh_and_fish_ask_for_is_answered(
    command: Command, shell: str, settings: dict[str, str], completed: str
) -> None:
    script = command("completion", shell).stdout
    assert all(name in script for name in settings)
    asked = {"_REBALANCE_FORENSICS_COMPLETE": f"complete_{shell}", **settings}
    assert completed in command(env={**os.environ, **asked}).stdout
