from __future__ import annotations

import pytest

from tests.kafka_words import member_id
from tests.story import Story


def leadership_moves(leaders: list[str]) -> Story:
    story = Story().formed("c-1", "c-2", "c-3")
    for minute, leader in enumerate(leaders, 10):
        rest = [c for c in ("c-1", "c-2", "c-3") if c != leader]
        # Brokers of 2.4 to 3.1 print no client reason: nobody says why.
        reason = f"Updating metadata for member {member_id(leader)} during Stable; client reason: not provided"
        story.rebalanced(f"01:{minute}:00.000", reason, [leader, *rest])
    return story


@pytest.mark.parametrize("leaders", [["c-2", "c-3", "c-1"], ["c-2", "c-3", "c-1", "c-2", "c-3"]])
def test_leadership_that_moves_on_at_every_rebalance_is_unstable(leaders: list[str]) -> None:
    story = leadership_moves(leaders)
    assert "unstable-leader" in story.causes()
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "unstable-leader")
    assert [c.kind for c in found.root_causes[0].culprits] == ["group"]
    assert found.severity == "warning"


def test_a_leader_that_stays_is_stable() -> None:
    assert "unstable-leader" not in leadership_moves(["c-1", "c-1", "c-1", "c-1"]).causes()


def test_a_leader_that_is_replaced_once_is_no_pattern() -> None:
    assert "unstable-leader" not in leadership_moves(["c-2", "c-2"]).causes()
