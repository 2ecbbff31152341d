"""The manual page says what `--help` says."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from rebalance_forensics.cli.examples import EXAMPLES
from tests.conftest import Command


def test_the_manual_page_has_every_command_with_its_options_and_examples(command: Command) -> None:
    page = command("man").stdout.replace("\\-", "-")
    assert page.startswith(".TH REBALANCE-FORENSICS 1 ")
    for name in EXAMPLES:
        assert f"\n.SS {name}\n" in page
        assert all(meaning in page for _, meaning in EXAMPLES[name])
    assert "\n.B -g, --group G\nReport on this consumer group only.\n" in page
    assert "config.toml" in page


def test_groff_reads_it_without_a_warning(command: Command) -> None:
    if shutil.which("groff") is None:
        pytest.skip("no groff on this machine")
    page = command("man").stdout
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-K", "utf8"], input=page, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "timeline" in done.stdout
