"""Members that join, close and lose their sessions at random show no deployment or other plan."""

from __future__ import annotations

from pathlib import Path

from benchmarks.coordinator_log import write
from rebalance_forensics.diagnosis.engine.confidence import PROBABLE
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

GROUPS = 40


def test_random_joins_leaves_and_evictions_look_like_a_plan_in_at_most_one_of_ten_groups(tmp_path: Path) -> None:
    # By chance, members of a small group are now and then replaced in turn.
    log = write(tmp_path / "server.log", 150 * GROUPS, groups=GROUPS)
    incidents = analyze([str(log)], AnalyzeOptions(engine="local")).incidents
    verdicts = [(incident, incident.root_causes[0]) for incident in incidents]
    planned = [i for i, v in verdicts if v.cause not in {"startup", "scale-out"} and v.confidence >= PROBABLE]
    assert len({name for incident in planned for name in incident.group_names}) <= GROUPS / 10
