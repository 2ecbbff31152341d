"""Answers of the coordinator that a client takes for final, as the application prints what it threw."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze


@pytest.mark.parametrize(
    ("thrown", "request_failed"),
    [
        ("Unexpected error in join group response: The group is rebalancing, so a rejoin is needed.", "JoinGroup"),
        ("Unexpected error from SyncGroup: The server experienced an unexpected error.", "SyncGroup"),
        ("Unexpected error in heartbeat response: The server experienced an unexpected error.", "Heartbeat"),
    ],
)
@pytest.mark.parametrize("record", ["ERROR {}", "FATAL An unexpected error occurred! {{:error=>{}, :backtrace=>[]}}"])
def test_an_answer_that_a_client_takes_for_final_is_reported_though_no_line_names_the_group(
    tmp_path: Path, thrown: str, request_failed: str, record: str
) -> None:
    line = "[2020-12-11 23:14:38,087] " + record.format(f"org.apache.kafka.common.KafkaException: {thrown}")
    (tmp_path / "app.log").write_text(f"{line} (org.example.Main)\n", encoding="utf-8")
    (incident,) = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    assert f"{request_failed} failed with" in incident.summary
    assert incident.severity == "warning"
    bugs = [bug.jira for cause in incident.root_causes for bug in cause.known_bugs]
    assert ("KAFKA-10870" in bugs) == ("rebalancing" in thrown)
