"""What README and CONTRIBUTING tell a newcomer to type, in a checkout that is new: installing takes minutes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.long
MINUTES = 10
LINES = [
    line.partition("  #")[0].strip()
    for document in ("README.md", "CONTRIBUTING.md")
    for line in re.findall(r"^\$ (.*)", (ROOT / document).read_text(encoding="utf-8"), re.MULTILINE)
]
INSTALLING = sorted({line for line in LINES if re.match(r"(?:pipx|uv tool) install '\.", line)})
MAKING = ("make demo", "make check", "make lint", "make test-patterns")
VERDICT = "Most likely slow-processing (97 % sure)."


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What somebody who clones the repository has: what is committed, and no environment."""
    directory = tmp_path_factory.mktemp("clone") / "rebalance-forensics"
    subprocess.run(["git", "clone", "--quiet", ROOT, directory], check=True)
    return directory


def typed(line: str, directory: Path, env: Mapping[str, str] = os.environ) -> str:
    """What a line prints that is typed there."""
    done = subprocess.run(
        ["bash", "-c", line],
        check=False, cwd=directory, env=env, capture_output=True, text=True, timeout=60 * MINUTES,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return done.stdout


def test_the_readme_says_how_to_install_with_either_tool() -> None:
    assert [line.partition(" ")[0] for line in INSTALLING] == ["pipx", "uv"]
    assert set(MAKING) <= set(LINES)


@pytest.mark.parametrize("line", INSTALLING)
def test_who_installs_as_the_readme_says_sees_the_incident_that_it_shows(
    line: str, checkout: Path, tmp_path: Path
) -> None:
    tool = line.partition(" ")[0]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    there = {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "UV_TOOL_DIR": "uv", "UV_TOOL_BIN_DIR": "bin"}
    env = os.environ | {name: str(tmp_path / directory) for name, directory in there.items()}
    typed(line, checkout, env)
    assert VERDICT in typed(f"{tmp_path}/bin/rebalance-forensics demo --engine local", tmp_path)


@pytest.mark.parametrize("line", MAKING)
def test_a_new_checkout_makes_what_the_docs_say(line: str, checkout: Path) -> None:
    done = typed(line, checkout)
    assert line != "make demo" or VERDICT in done
