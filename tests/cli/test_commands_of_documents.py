"""Every command of README and docs: its options are those of today, and what needs nobody else is run as it stands."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rebalance_forensics.cli.examples import EXAMPLES
from tests.conftest import ROOT, Command

DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        ROOT / "lab" / "README.md",
        ROOT / "deploy" / "cli" / "Dockerfile",
    ]
)
BLOCK = re.compile(r"^```(?:console|sh|bash|text)?\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`((?:\.venv/bin/)?rebalance-forensics [^`]+)`")
OURS = re.compile(
    r"(?:^\$ |^|\| ?|\$\(|rebalance-forensics:cli )(?:\.venv/bin/)?rebalance-forensics +([^|\n)]+)", re.MULTILINE
)
SUBCOMMANDS = frozenset({name.split()[0] for name in EXAMPLES} | {"job"})
PROGRAM_OPTIONS = {"--config", "--version", "--help"}


def texts() -> Iterator[tuple[str, str]]:
    """What stands as code in each document, long lines put together."""
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for code in [*BLOCK.findall(text), *INLINE.findall(text)]:
            yield str(document.relative_to(ROOT)), code.replace("\\\n", " ")


def commands() -> Iterator[tuple[str, str]]:
    """Each call of the program: the document, and what follows its name."""
    for document, code in texts():
        for call in OURS.findall(code):
            words = call.partition("  #")[0].split()
            if any(word in SUBCOMMANDS for word in words[:3]):
                yield document, call.partition("  #")[0].strip()


CALLS = sorted(set(commands()))


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    """The options of each command, as they are asked for the first time."""
    return {}


def test_commands_are_found_in_the_documents_that_teach_them() -> None:
    teaching = {document for document, _ in CALLS}
    assert {"README.md", "CONTRIBUTING.md", "docs/outputs.md", "docs/getting-logs.md"} <= teaching
    assert len(CALLS) >= 30


@pytest.mark.parametrize(("document", "call"), CALLS, ids=[call for _, call in CALLS])
def test_an_option_in_a_document_is_one_of_the_command(
    command: Command, options: dict[str, set[str]], document: str, call: str
) -> None:
    words = call.split()
    name = next(word for word in words if word in SUBCOMMANDS)
    several = " ".join(words[words.index(name) :][:2])
    name = several if several in EXAMPLES else name
    if name not in options:
        options[name] = set(re.findall(r"(?<!\w)--?[a-z][a-z-]*", command(*name.split(), "--help").stdout))
    used = set(re.findall(r"(?<=\s)--?[a-z][a-z-]*", call.partition(" > ")[0]))
    assert used <= options[name] | PROGRAM_OPTIONS, document


def runnable() -> Iterator[str]:
    """Commands of docs/ in blocks for the console that need no service, with what stands behind their pipes."""
    for document, code in texts():
        if not document.startswith("docs/"):
            continue  # those of README are run with their output by the tour
        for step in re.findall(r"^\$ (rebalance-forensics .*)$", code, re.MULTILINE):
            if not re.search(r"curl|while|\$[A-Z]|…", step):
                yield step


@pytest.mark.parametrize("step", sorted(set(runnable())))
def test_a_command_of_the_docs_runs_unchanged(command: Command, tmp_path: Path, step: str) -> None:
    here = tmp_path / "cwd"
    (here / "sample_logs").symlink_to(ROOT / "sample_logs")
    sample = ROOT / "sample_logs" / "slow-processing"
    (here / "logs").symlink_to(sample)
    shutil.copy(sample / "broker-3" / "server.log", here / "brokers.log")
    shutil.copy(sample / "node-2" / "app.log", here / "apps.log")
    ours, _, behind = step.partition("  #")[0].partition(" | ")
    done = command(*shlex.split(ours)[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout
    for written in re.findall(r"(?:--\w+ |=)([\w-]+\.(?:html|json|sarif|md))\b", ours):
        assert (here / written).stat().st_size > 0, written
    assert behind.split(" ")[0] in ("", "jq")
    if behind and shutil.which("jq"):
        text = subprocess.run(shlex.split(behind), input=done.stdout, capture_output=True, text=True, check=True).stdout
        assert text.strip()


def test_one_input_of_the_fuzzer_is_shown_as_the_docs_say() -> None:
    text = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    line = re.search(r"^\$ python (-m benchmarks\.fuzz --show [^#\n]+)", text, re.MULTILINE)
    assert line
    shown = subprocess.run(
        [sys.executable, *line[1].split()], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert shown.returncode == 0, shown.stderr
    assert "---" in shown.stdout
