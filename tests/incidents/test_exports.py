from __future__ import annotations

import pytest

from rebalance_forensics.report.exports import formats
from tests.incidents.sample import Sample, all_samples, report_of
from tests.report.export_rules import RULES

SAMPLES = all_samples()


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.folder.name for sample in SAMPLES])
def test_the_receivers_of_exports_take_every_sample(sample: Sample) -> None:
    report = report_of(sample.folder)
    for name, obeys in RULES.items():
        obeys(formats()[name](report))
