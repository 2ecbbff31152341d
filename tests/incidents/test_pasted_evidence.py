"""Evidence suffices: what the report calls proof of an incident, pasted alone, leads to the same first cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.times import iso
from tests.incidents.sample import LOCAL, Sample, all_samples
from tests.pasting import SHAPES, Told

SAMPLES = {sample.folder.name: sample for sample in all_samples()}
IN_EVERY_SHAPE = ("slow-processing", "process-pause", "static-member-fenced", "rolling-restart", "enforced-rebalance")
NOT_SO = {("process-pause", "bare and wrapped"), ("rolling-restart", "bare, who said it in front")}
"""Without times and header, two lines may be joined that are two, and a name in front may be taken for a host."""


def pasted(sample: Sample) -> list[Told]:
    """The evidence of the sample's first incident in order of time, as people quote it."""
    evidence = sample.found()[0].root_causes[0].evidence
    records = sorted((iso(e.timestamp) or "", e.path.partition("/")[0].removesuffix(".log"), e.text) for e in evidence)
    return [Told(*record) for record in records]


def first_causes(sample: Sample, shape: str, directory: Path) -> list[str]:
    """The first cause of each incident in the paste, which is never said to show everything."""
    paste = directory / "paste.txt"
    paste.write_text(SHAPES[shape](pasted(sample)), newline="")
    report = analyze([str(paste)], LOCAL)
    assert report.gaps
    return [incident.root_causes[0].cause for incident in report.incidents]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_evidence_alone_leads_to_the_same_first_cause(name: str, tmp_path: Path) -> None:
    assert SAMPLES[name].expected.cause in first_causes(SAMPLES[name], "plain", tmp_path)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", IN_EVERY_SHAPE)
def test_it_does_so_however_it_was_pasted(name: str, shape: str, tmp_path: Path) -> None:
    if (name, shape) not in NOT_SO:
        assert SAMPLES[name].expected.cause in first_causes(SAMPLES[name], shape, tmp_path)
