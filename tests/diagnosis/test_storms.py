"""A storm has more hypotheses than answers are kept for: its report is the one of a group with few."""

from __future__ import annotations

import pytest

from rebalance_forensics.diagnosis.engine import discovery
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.json_report import to_json
from tests.conftest import SAMPLES
from tests.incidents.sample import LOCAL


@pytest.mark.parametrize("sample", ["process-crash", "process-pause", "network-partition", "scaling-flap"])
def test_signs_that_are_asked_again_for_a_storm_give_the_same_answers(
    sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = to_json(analyze([str(SAMPLES / sample)], LOCAL))
    monkeypatch.setattr(discovery, "MOST_ANSWERED", 0)
    assert to_json(analyze([str(SAMPLES / sample)], LOCAL)) == kept
