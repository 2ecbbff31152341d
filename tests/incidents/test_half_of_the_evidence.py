"""One side's logs alone: the same first cause where the lines allow it, and no false alarm elsewhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report.model import Report
from tests.incidents.sample import LOCAL, Sample, all_samples

UNSURE = 0.6
"""Below this a cause is a guess, and says so."""
BENIGN = {"startup", "shutdown", "unexplained"}


def half(sample: Sample, side: str, directory: Path) -> Report:
    """The report of one side's logs."""
    for host in (path for path in sample.folder.iterdir() if path.is_dir()):
        if host.name.startswith("broker") == (side == "brokers"):
            shutil.copytree(host, directory / host.name)
    return analyze([str(directory)], LOCAL)


def sides() -> list[object]:
    return [
        pytest.param(sample, side, right, id=f"{sample.folder.name} from {side}")
        for sample in all_samples()
        for side, right in (("brokers", sample.expected.brokers), ("clients", sample.expected.clients))
        if right is not None
    ]


@pytest.mark.parametrize(("sample", "side", "right"), sides())
def test_half_of_the_evidence_names_the_same_cause_or_stays_modest(
    sample: Sample, side: str, right: tuple[str, ...], tmp_path: Path
) -> None:
    mine = [i for i in half(sample, side, tmp_path).incidents if i.group == sample.expected.group]
    causes = {i.root_causes[0].cause for i in mine}
    allowed = {*right, *sample.expected.also, sample.expected.cause}
    if right:
        assert causes & set(right)
    sure = {i.root_causes[0].cause for i in mine if i.root_causes[0].confidence >= UNSURE and i.severity != "info"}
    assert sure <= allowed | BENIGN


@pytest.mark.parametrize(("side", "known"), [("brokers", False), ("clients", True)])
def test_only_a_log_of_a_client_tells_whether_members_paused(side: str, known: bool, tmp_path: Path) -> None:  # noqa: FBT001
    sample = next(one for one in all_samples() if one.folder.name == "process-crash")
    costs = [one.impact for one in half(sample, side, tmp_path).incidents if one.group == sample.expected.group]
    assert costs
    assert all((cost.pause_ms is not None) == known for cost in costs)
