"""Names found in the raw logs by other means than the product's are nowhere in anonymized outputs."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rebalance_forensics.cli.output_files import Outputs, shown
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze_with_events
from rebalance_forensics.report.exports import formats
from rebalance_forensics.report.html import to_html
from rebalance_forensics.report.json_report import to_json
from rebalance_forensics.report.model import Report
from rebalance_forensics.report.terminal import render, render_coverage, render_timeline
from tests.conftest import SAMPLES

USUAL = ("authorization-failure", "connect-config-change", "streams-endpoint-change", "topic-metadata-change")
EVERY = sorted(path.parent.name for path in SAMPLES.glob("*/incident.yaml"))
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
SAID = (
    r"clientId=([\w.-]+)",
    r"groupId=([\w.-]+)",
    r"group\.instance\.id = ([\w.-]+)",
    r"application\.server = ([\w.-]+)",
    r"topic\(s\):? \[?([\w.-]+)",
    r"topics \[([\w.-]+)",
    r"partitions: \[?([\w.-]+)-\d+",
    r"Connector ([\w-]+) config updated",
    rf"({UUID})",
    r"((?:\d{1,3}\.){3}\d{1,3})",
)
NOBODY = {"null", "consumer"}
"""Clients of that name are looked for in vain: our own sentences use the words."""


def names_in(folder: Path) -> Iterator[str]:
    for log in (*folder.rglob("*.log"), *folder.rglob("*.ndjson")):
        text = log.read_text(errors="replace")
        for pattern in SAID:
            yield from (name.rstrip(".") for name in re.findall(pattern, text))


def every_output(report: Report) -> str:
    exported = [export(report) for export in formats().values()]
    timelines = [render_timeline(group) for group in report.groups]
    printed = [render(report, verbosity=1), render_coverage(report.inputs), *timelines]
    return "\n".join([to_json(report), to_html(report), *printed, *exported])


def words_of(report: Report, names: set[str]) -> Iterator[list[str]]:
    """Yield the plain words of each sentence and stretch, in order: what is left of it without names."""
    parts = {part for name in names for part in re.findall(r"[a-z]+", name)}
    for case in report.incidents:
        for text in (case.summary, *(cause.narrative for cause in case.root_causes)):
            yield [word for word in re.findall(r"(?<![\w.…/-])[a-z]{2,}(?![\w…/-]|\.\w)", text) if word not in parts]
    yield from ([span.label] for group in report.groups for lane in group.lanes for span in lane.spans)


@pytest.mark.parametrize(
    "sample", [*USUAL, *(pytest.param(name, marks=pytest.mark.long) for name in EVERY if name not in USUAL)]
)
def test_no_name_of_the_logs_is_left_in_any_output(sample: str) -> None:
    analysis = analyze_with_events([str(SAMPLES / sample)], AnalyzeOptions(engine="local"), keep_events=True)
    text = every_output(shown(analysis, Outputs(anonymize=True)))
    names = {name for name in names_in(SAMPLES / sample) if not name.startswith("__")} - NOBODY
    assert names or sample == "unexplained"
    assert [*words_of(analysis.report, names)] == [*words_of(shown(analysis, Outputs(anonymize=True)), names)]
    left = [name for name in sorted(names) if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]
    assert left == []


POD = "zebra-7d9f8b6c5d-x2x7k"
ROW = "shop-zebra   2026-11-21T01:58:5{}Z   Normal   {}   {}/{}   {}\n"
EVENTS = (
    ROW.format(0, "ScalingReplicaSet", "deployment", "zebra", "Scaled down replica set zebra-7d9f8b6c5d from 3 to 2"),
    ROW.format(1, "Killing", "pod", POD, "Stopping container zebra"),
)


def test_no_name_of_a_pod_or_its_workload_is_left(tmp_path: Path) -> None:
    logs = shutil.copytree(SAMPLES / "process-crash", tmp_path / "logs")
    (logs / "node-1").rename(logs / POD)
    (logs / "events.txt").write_text("".join(EVENTS))
    analysis = analyze_with_events([str(logs)], AnalyzeOptions(engine="local"), keep_events=True)
    whole, anonymous = to_json(analysis.report), to_json(shown(analysis, Outputs(anonymize=True)))
    assert f"container zebra of {POD}" in whole.lower()
    assert "zebra" not in anonymous
