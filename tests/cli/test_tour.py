"""The tour in the README shows what the commands print; `…` stands for what is left out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, Command

README = (ROOT / "README.md").read_text(encoding="utf-8")
TOUR = README.partition("## Install")[2].partition("## All commands")[0]
WITHOUT_LOGS = ("explain",)


def steps() -> Iterator[tuple[str, list[str]]]:
    """Each command of the tour with the lines shown below it."""
    for block in re.findall(r"```console\n(.*?)```", TOUR, re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = step.splitlines()
            if shown or "sample_logs" in line:
                yield line.partition("  #")[0].rstrip(), [text for text in shown if text != "…"]


STEPS = list(steps())


def test_the_tour_has_its_steps() -> None:
    named = [line.split()[1] for line, _ in STEPS]
    assert named == ["demo", "analyze", "analyze", "explain", "timeline", "whois", "compare", "analyze", "analyze"]


@pytest.mark.parametrize(("line", "shown"), STEPS, ids=[line for line, _ in STEPS])
def test_a_step_of_the_tour_prints_what_the_readme_shows(
    command: Command, tmp_path: Path, line: str, shown: list[str]
) -> None:
    (tmp_path / "cwd" / "sample_logs").symlink_to(ROOT / "sample_logs")
    _, name, *arguments = shlex.split(line)
    engine = [] if name in WITHOUT_LOGS or "--engine" in line else ["--engine", "local"]
    done = command(name, *arguments, *engine)
    assert done.returncode == 0
    printed = iter(done.stdout.splitlines())
    for text in shown:
        assert text in printed, f"{text!r} does not come after what stands before it"
