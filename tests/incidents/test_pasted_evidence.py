"""Evidence suffices: what the report calls proof of an incident, pasted alone, leads to the same first cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.times import iso
from tests.incidents.sample import LOCAL, Sample, all_samples
from tests.pasting import SHAPES, Record

SAMPLES = {sample.folder.name: sample for sample in all_samples()}
NO_TIMES = ("bare", "bare and wrapped", "bare, who said it in front", "a category line above")
NOT_SO = {
    *(("rebalance-straggler", shape) for shape in NO_TIMES),
    ("connect-config-change", "bare and wrapped"),
    ("group-max-size", "bare and wrapped"),
    ("probing-loop", "bare and wrapped"),
    ("streams-shutdown", "bare and wrapped"),
}
"""Without times nobody sees how long a member held up a rebalance; without times and header, two lines may be joined
that are two."""


def pasted(sample: Sample) -> list[Record]:
    """The evidence of the sample's first incident in order of time, as people quote it."""
    evidence = sample.found()[0].root_causes[0].evidence
    records = sorted((iso(e.timestamp) or "", e.path.partition("/")[0].removesuffix(".log"), e.text) for e in evidence)
    return [Record(*record) for record in records]


def first_causes(sample: Sample, shape: str, directory: Path) -> list[str]:
    """The first cause of each incident in the paste, which is never said to show everything."""
    paste = directory / "paste.txt"
    paste.write_text(SHAPES[shape](pasted(sample)), newline="")
    report = analyze([str(paste)], LOCAL)
    assert report.gaps
    return [incident.root_causes[0].cause for incident in report.incidents]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_the_evidence_alone_leads_to_the_same_first_cause_in_every_shape(name: str, tmp_path: Path) -> None:
    shapes = [shape for shape in SHAPES if (name, shape) not in NOT_SO]
    causes = {shape: first_causes(SAMPLES[name], shape, tmp_path) for shape in shapes}
    assert {shape: found for shape, found in causes.items() if SAMPLES[name].expected.cause not in found} == {}
