from __future__ import annotations

import pytest

from rebalance_forensics.diagnosis.model import RootCause
from tests.kafka_words import member_id
from tests.story import Story

CAUSE = "unstable-leader"


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


def test_the_leader_before_the_first_move_is_shown_as_well() -> None:
    found = next(i for i in leadership_moves(["c-2", "c-3", "c-1"]).incidents() if i.root_causes[0].cause == CAUSE)
    assigned = [line.text for line in found.root_causes[0].evidence if "for generation 1" in line.text]
    assert any(member_id("c-1") in text for text in assigned)


def led_by(*leaders: str, members: tuple[int, ...] = (3, 3, 3, 3)) -> list[RootCause]:
    """What a coordinator's lines about its leaders show, and nothing else."""
    story = Story(seen="brokers")
    for number, (leader, count) in enumerate(zip(leaders, members, strict=True), 1):
        story.broker(
            f"01:{10 * number}:00.000",
            f"Assignment received from leader {member_id(leader)} for group {story.group} for generation {number}. "
            f"The group has {count} members, 0 of which are static.",
        )
    return [i.root_causes[0] for i in story.incidents() if i.root_causes[0].cause == CAUSE]


def test_lines_that_count_members_and_name_none_show_it_less_surely() -> None:
    (cause,) = led_by("c-1", "c-2", "c-3", "c-1")
    assert cause.confidence < 0.75
    assert "as many members each time" in cause.narrative
    assert not led_by("c-1", "c-2", "c-3", "c-1", members=(3, 2, 3, 3))


def test_a_leader_that_stays_is_stable() -> None:
    assert "unstable-leader" not in leadership_moves(["c-1", "c-1", "c-1", "c-1"]).causes()


def test_a_leader_that_is_replaced_once_is_no_pattern() -> None:
    assert "unstable-leader" not in leadership_moves(["c-2", "c-2"]).causes()


def test_leaders_that_are_evicted_and_rejoin_at_once_show_no_unstable_leader() -> None:
    story, line = Story(seen="brokers").formed("c-1", "c-2", "c-3"), ["c-1", "c-2", "c-3"]
    for minute in range(10, 16):
        leader, *stay = line
        expired = story.id_of(leader)
        story.broker(f"01:{minute}:00.000", story.words.failed(expired))
        story.reborn(leader)
        line = [*stay, leader]
        story.rebalanced(f"01:{minute}:00.001", f"removing member {expired} on heartbeat expiration", line)
    assert CAUSE not in story.causes()
