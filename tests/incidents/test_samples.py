"""Every sample incident is explained as its incident.yaml says, and no other rule speaks up."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import jsonschema
import pytest

from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.json_report import schema_text, to_json
from tests.incidents.sample import LOCAL, Sample, all_samples, report_of

SAMPLES = all_samples()
SCHEMA = json.loads(schema_text())
FEW_KILOBYTES = 260 * 1024

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=[sample.folder.name for sample in SAMPLES])


@each_sample
def test_the_first_cause_is_found_once(sample: Sample) -> None:
    assert [i.root_causes[0].cause for i in sample.found()] == [sample.expected.cause]


@each_sample
def test_the_culprits_are_exactly_the_expected_ones(sample: Sample) -> None:
    blamed = {culprit.name for incident in sample.found() for culprit in incident.root_causes[0].culprits}
    assert blamed == set(sample.expected.culprits)


@each_sample
def test_the_severity_is_what_it_did_to_the_group(sample: Sample) -> None:
    assert {incident.severity for incident in sample.found()} == {sample.expected.severity}


@each_sample
def test_its_generations_are_its_own(sample: Sample) -> None:
    if sample.expected.generations is not None:
        assert [g for incident in sample.found() for g in incident.generations] == list(sample.expected.generations)


@each_sample
def test_its_followups_are_named(sample: Sample) -> None:
    assert {f for incident in sample.found() for f in incident.followups} >= set(sample.expected.followups)


@each_sample
def test_the_telling_lines_are_among_the_evidence(sample: Sample) -> None:
    evidence = [e for incident in sample.found() for e in incident.root_causes[0].evidence]
    assert {f"{e.path}:{e.line}" for e in evidence} >= set(sample.expected.evidence)


@each_sample
def test_no_other_cause_has_a_separate_incident(sample: Sample) -> None:
    causes = {incident.root_causes[0].cause for incident in report_of(sample.folder).incidents}
    assert causes - {sample.expected.cause} <= set(sample.expected.also)


@each_sample
def test_other_groups_have_no_incident(sample: Sample) -> None:
    beside = [i for i in report_of(sample.folder).incidents if i.group in sample.expected.healthy]
    assert [i.summary for i in beside if i.severity != "info"] == []


@each_sample
def test_the_report_is_written_in_whole_sentences(sample: Sample) -> None:
    report = report_of(sample.folder)
    causes = [cause for incident in report.incidents for cause in incident.root_causes]
    sentences = [text for cause in causes for text in (cause.narrative, *(link.why for link in cause.behind))]
    sentences += [incident.summary for incident in report.incidents]
    sentences += [text for gap in report.gaps for text in gap.sentences if text]
    assert [text for text in sentences if not text.endswith(".")] == []


@each_sample
def test_the_report_keeps_to_its_schema(sample: Sample) -> None:
    jsonschema.validate(json.loads(to_json(report_of(sample.folder))), SCHEMA)


@each_sample
def test_a_sample_is_small_and_tells_its_story(sample: Sample) -> None:
    files = [path for path in sample.folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < FEW_KILOBYTES
    assert sample.story.endswith((".", ")"))
    assert re.fullmatch(r"\d+\.\d+\.\d+", sample.kafka)


@pytest.mark.parametrize("name", ["process-crash", "slow-processing", "unexplained"])
def test_an_incident_keeps_its_id_wherever_its_logs_lie(name: str, tmp_path: Path) -> None:
    sample = next(s for s in SAMPLES if s.folder.name == name)
    elsewhere = tmp_path / "somewhere" / "else"
    shutil.copytree(sample.folder, elsewhere)
    moved = analyze([str(elsewhere)], LOCAL)
    assert [i.id for i in moved.incidents] == [i.id for i in report_of(sample.folder).incidents]


def test_ids_tell_all_incidents_apart() -> None:
    ids = [i.id for sample in SAMPLES for i in report_of(sample.folder).incidents]
    assert len(ids) == len(set(ids))


def test_no_complete_log_is_reported_to_lack_lines() -> None:
    assert not [g.what for sample in SAMPLES for g in report_of(sample.folder).gaps if g.what.startswith("Lines of")]
