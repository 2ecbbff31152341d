"""`demo` shows one ordinary incident, and says how to see the others."""

from __future__ import annotations

import re
from pathlib import Path

from tests.conftest import SAMPLES, Command


def test_the_demo_shows_one_slow_consumer_in_full_and_as_a_page(command: Command, tmp_path: Path) -> None:
    done = command("demo")
    assert done.returncode == 0
    assert "Most likely slow-processing" in done.stdout
    assert "What to do" in done.stdout
    assert "Proof" in done.stdout
    assert "more incident" not in done.stdout
    assert "slow-processing" in (tmp_path / "cwd" / "rebalance-report.html").read_text()
    assert f"{sum(one.is_dir() for one in SAMPLES.iterdir()) - 1} more samples: demo --all" in done.stderr


def test_another_sample_is_shown_by_its_name(command: Command) -> None:
    assert "Most likely member-left" in command("demo", "member-left").stdout


def test_all_samples_are_in_one_report_each_as_a_separate_cluster(command: Command) -> None:
    done = command("demo", "--all")
    assert re.search(r" on [a-z-]+  incident", done.stdout), "each sample is a cluster"
    assert "more incidents" in done.stdout


def test_a_sample_that_is_not_there_is_refused_with_names_like_it(command: Command) -> None:
    done = command("demo", "member-lost")
    assert done.returncode == 2
    assert "no sample is called 'member-lost'; did you mean member-left" in done.stderr
