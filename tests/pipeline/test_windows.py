"""`--since` and `--until` show what was going on in between."""

from __future__ import annotations

from pathlib import Path

from rebalance_forensics.pipeline.options import AnalyzeOptions, parse_instant
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report


def shown(logs: Path, since: str | None = None, until: str | None = None) -> Report:
    return analyze(
        [str(logs)],
        AnalyzeOptions(
            engine="local",
            since=parse_instant(since) if since else None,
            until=parse_instant(until) if until else None,
        ),
    )


def generations(report: Report) -> list[int]:
    return [one.generation for group in report.groups for one in group.generations]


def test_everything_is_shown_without_them(logs: Path) -> None:
    report = shown(logs)
    assert 1 in generations(report)
    assert report.incidents


def test_an_incident_after_the_window_is_left_out(logs: Path) -> None:
    report = shown(logs, until="2026-03-01T10:04:00Z")
    assert all(incident.started_at < 1_772_359_440_000 for incident in report.incidents)
    assert 1 in generations(report)


def test_a_generation_that_lived_into_the_window_is_kept(logs: Path) -> None:
    assert 1 in generations(shown(logs, since="1m"))


def test_inputs_stay_whole(logs: Path) -> None:
    assert shown(logs, since="1m").inputs == shown(logs).inputs
