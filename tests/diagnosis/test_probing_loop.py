from __future__ import annotations

from tests.diagnosis.threads import Application, shop
from tests.kafka_words import member_id
from tests.story import ms


def probing(rounds: int, *, settles: bool = False, moving: bool = False) -> Application:
    story = shop()
    for number in range(rounds):
        last = settles and number == rounds - 1
        before, minute = f"01:{10 * number:02}:00", f"01:{10 * (number + 1):02}:00"
        due = ms(f"{minute}.000")
        story.by_assignor(
            1,
            1,
            f"{before}.330",
            f"Requesting followup rebalance be scheduled by {member_id(story.consumer(1, 1))} "
            f"for {due} ms to probe for caught-up replica tasks.",
        )
        story.by_assignor(
            1, 1, f"{before}.331", "Finished unstable assignment of tasks, a followup rebalance will be scheduled."
        )
        story.by_thread(1, 1, f"{minute}.000", f"Triggering the followup rebalance scheduled for {due} ms.")
        story.round(
            f"{minute}.000",
            f"Updating metadata for member {member_id(story.consumer(1, 1))} during Stable; client "
            "reason: Scheduled probing rebalance",
        )
        if moving:
            hand_over(story, minute)
        if last:
            story.by_assignor(
                1, 1, f"{minute}.331", "Finished stable assignment of tasks, no followup rebalances required."
            )
    return story


def hand_over(story: Application, minute: str) -> None:
    """A warm-up has caught up: its task moves at once; the next probing rebalance is another member's to ask for."""
    story.by_assignor(
        2,
        1,
        f"{minute}.360",
        "Requested to schedule immediate rebalance for new tasks to be safely revoked from current owner.",
    )
    story.by_assignor(1, 1, f"{minute}.390", f"Requested to schedule probing rebalance for {ms(minute + '.000')} ms.")
    soon = minute[:-2] + "01"
    story.by_thread(2, 1, f"{soon}.000", "Triggering the followup rebalance scheduled for 0 ms.")
    story.round(f"{soon}.000", f"Updating metadata for member {member_id(story.consumer(2, 1))} during Stable")


def test_probing_rebalances_that_never_end_are_a_loop() -> None:
    story = probing(4)
    assert "probing-loop" in story.causes()
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "probing-loop")
    assert [c.kind for c in found.root_causes[0].culprits] == ["group"]
    assert found.ongoing


def test_each_of_them_is_known_as_a_probing_followup() -> None:
    followups = [g.followup for g in probing(4).history().generations]
    assert followups == [None, "probing", "probing", "probing", "probing"]


def test_warmups_that_catch_up_end_the_loop() -> None:
    assert "probing-loop" not in probing(3, settles=True).causes()


def test_a_task_that_moves_at_once_moves_in_a_cooperative_followup() -> None:
    followups = [g.followup for g in probing(3, moving=True).history().generations]
    assert followups == [None, *["probing", "cooperative"] * 3]


def test_warmups_that_catch_up_one_after_the_other_are_no_loop() -> None:
    assert "probing-loop" not in probing(5, moving=True).causes()


def test_one_probing_rebalance_is_no_loop() -> None:
    assert "probing-loop" not in probing(1).causes()
