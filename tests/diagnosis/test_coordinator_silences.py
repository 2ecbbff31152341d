from __future__ import annotations

from pathlib import Path

from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze

COORDINATOR = "(kafka.coordinator.group.GroupCoordinator)"
REBALANCES = (("01:00:00", "01:00:10"), ("01:01:00", "01:09:30"), ("01:09:40", "01:09:50"), ("01:20:00", "01:20:10"))
"""Each ends with the removal of a member, one of them more than eight minutes after it began."""


def member(number: int) -> str:
    return f"app-{str(number) * 8}-1111-4111-8111-111111111111"


def log(directory: Path, *between: str) -> list[tuple[str, float, tuple[str, ...]]]:
    """The first cause of each incident, how sure, and whom it blames."""
    lines = [f"[2026-03-02 {line}" for line in between]
    for number, (began, ended) in enumerate(REBALANCES):
        newcomer, removed = member(number + 1), member(number)
        words = {
            f"{began},000": "Preparing to rebalance group g in state PreparingRebalance with old generation "
            f"{70 + number} (__consumer_offsets-31) (reason: Adding new member {newcomer} with group instance id None)",
            f"{ended},000": f"Group g removed dynamic members who haven't joined: Set({removed})",
            f"{ended},002": f"Stabilized group g generation {71 + number} (__consumer_offsets-31) with 9 members",
        }
        lines += [f"[2026-03-02 {at}] INFO [GroupCoordinator 3]: {text} {COORDINATOR}" for at, text in words.items()]
    (directory / "server.log").write_text("\n".join(sorted(lines)) + "\n")
    causes = [i.root_causes[0] for i in analyze([str(directory)], AnalyzeOptions(engine="local")).incidents]
    return [(c.cause, c.confidence, tuple(culprit.name for culprit in c.culprits)) for c in causes]


def test_a_coordinator_that_is_silent_beyond_the_rebalance_timeout_was_paused(
    tmp_path: Path,
) -> None:
    found = log(tmp_path)
    assert ("coordinator-failover", ("broker-3",)) in [(cause, blamed) for cause, _, blamed in found]
    began, ended = REBALANCES[1]
    assert began < ended  # its members are blamed for none of it
    assert all(member(1) not in blamed for cause, _, blamed in found if cause == "rebalance-straggler")


def test_a_coordinator_that_logs_in_the_meantime_was_not_paused(tmp_path: Path) -> None:
    joins = "01:05:00,000] INFO [GroupCoordinator 3]: Dynamic member with unknown member id joins group g in "
    joins += (
        f"PreparingRebalance state. Created a new member id {member(9)} and request the member to rejoin with this "
    )
    found = log(tmp_path, f"{joins}id. {COORDINATOR}")
    assert "coordinator-failover" not in [cause for cause, _, _ in found]
