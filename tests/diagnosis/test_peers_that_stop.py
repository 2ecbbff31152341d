"""Workers of which a stream of containers shows nothing but that they stopped."""

from __future__ import annotations

from pathlib import Path

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

COORDINATOR = "org.apache.kafka.connect.runtime.distributed.WorkerCoordinator"
STOPPED = "INFO Kafka Connect stopped (org.apache.kafka.connect.runtime.Connect)"
JOINING = f"INFO [Worker clientId=connect-1, groupId=workers] (Re-)joining group ({COORDINATOR})"
JOINED = (
    "INFO [Worker clientId=connect-1, groupId=workers] Successfully joined group with generation "
    "Generation{generationId=5, memberId='connect-1-d24c7c49-2e9f-47ea-96e2-4232d3f39d64', protocol='sessioned'} "
    f"({COORDINATOR})"
)


def blamed(tmp_path: Path, *before: str) -> set[tuple[str, str]]:
    lines = [
        *before,
        f"connect-b-1  | [2024-08-11 19:33:56,019] {JOINING}",
        f"connect-b-1  | [2024-08-11 19:33:56,022] {JOINED}",
    ]
    (tmp_path / "compose.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = analyze([str(tmp_path)], AnalyzeOptions(engine="local")).incidents
    return {(i.root_causes[0].cause, c.name) for i in found for c in i.root_causes[0].culprits}


def test_a_worker_that_stops_just_before_the_others_rebalance_has_left(tmp_path: Path) -> None:
    named = blamed(tmp_path, f"connect-a-1  | [2024-08-11 19:33:55,645] {STOPPED}")
    assert named & {("scale-in", "connect-a-1"), ("member-left", "connect-a-1")}


def test_without_that_line_no_member_is_reported_to_have_left(tmp_path: Path) -> None:
    assert blamed(tmp_path) == set()
