"""Defaults of options come from a file of the user's, and the command line overrides them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_own_patterns import PATTERN
from tests.conftest import ROOT, Command


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Where the file of the user lies in these tests."""
    path = tmp_path / "config" / "rebalance-forensics" / "config.toml"
    path.parent.mkdir(parents=True)
    return path


def test_zones_cluster_and_outputs_come_from_the_users_file(
    command: Command, logs: Path, config: Path, tmp_path: Path
) -> None:
    config.write_text(
        'zones = ["+02:00"]\ncluster = "prod"\nengine = "local"\n[outputs]\njson = "report.json"\n', encoding="utf-8"
    )
    done = command("analyze", logs)
    assert done.returncode == 0
    report = json.loads((tmp_path / "cwd" / "report.json").read_text())
    assert report["incidents"][0]["cluster"] == "prod"
    assert report["inputs"][0]["first"] == "2026-03-01T08:00:00.000Z"
    assert "payments on other" in command("analyze", logs, "--cluster", "other").stdout
    assert "payments on prod" in command("timeline", logs, "--group", "payments").stdout


def test_the_demo_runs_on_the_engine_of_the_users_file_and_keeps_the_names_of_its_logs(
    command: Command, config: Path
) -> None:
    config.write_text('engine = "local"\ncluster = "prod"\njava_home = "/no/such/java"\n', encoding="utf-8")
    done = command("demo")
    assert done.returncode == 0, done.stderr
    assert "slow-processing" in done.stdout
    assert " on prod" not in done.stdout


def test_config_names_another_file_whose_patterns_are_next_to_it(command: Command, logs: Path, tmp_path: Path) -> None:
    team = tmp_path / "team.toml"
    team.write_text('cluster = "team"\nengine = "local"\n', encoding="utf-8")
    assert "payments on team" in command("--config", team, "timeline", logs, "-g", "payments").stdout
    team.write_text('patterns = ["own"]\nengine = "local"\n', encoding="utf-8")
    (tmp_path / "own").mkdir()
    assert f"{tmp_path}/own: no pattern in it" in command("--config", team, "analyze", logs).stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('zone = ["UTC"]', "unknown setting zone; did you mean zones?"),
        ('zones = "UTC"', "zones must be a list of strings."),
        ("zones = [", "not valid TOML"),
        ("outputs = 1", "outputs is a table"),
        ('[outputs]\nhtm = "a"', "unknown setting htm; did you mean html?"),
    ],
)
def test_a_fault_in_the_file_is_reported_in_one_sentence(
    command: Command, logs: Path, config: Path, text: str, told: str
) -> None:
    config.write_text(text, encoding="utf-8")
    done = command("analyze", logs, "--engine", "local")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"rebalance-forensics: {config}: ")
    assert told in done.stderr


def test_the_config_file_of_the_readme_is_accepted_unchanged(
    command: Command, logs: Path, config: Path, tmp_path: Path
) -> None:
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("```toml\n")[2].partition("```")[0]
    config.write_text(shown, encoding="utf-8")
    (config.parent / "patterns" / "own").mkdir(parents=True)
    (config.parent / "patterns" / "own" / "greeting.yaml").write_text(PATTERN, encoding="utf-8")
    assert command("analyze", logs).returncode == 0
    assert (tmp_path / "cwd" / "report.html").exists()
    assert (tmp_path / "cwd" / "ticket.md").exists()
