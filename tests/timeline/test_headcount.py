from __future__ import annotations

from tests.diagnosis.closings import closes
from tests.kafka_words import generation_of, member_id
from tests.story import Story


def three_restarts(counts: tuple[int, int, int, int, int]) -> Story:
    """A coordinator of 2.8 alone: c-2 comes back while the barrier for c-3 is open."""
    story = Story(release=(2, 8), seen="brokers").formed("c-1", "c-2", "c-3")
    lines = [
        story.words.leaving(member_id("c-1")),
        story.words.adding(member_id("c-1", 2)),
        story.words.leaving(member_id("c-2")),
        story.words.leaving(member_id("c-3")),
        story.words.adding(member_id("c-3", 2)),
    ]
    for number, (reason, count) in enumerate(zip(lines, counts, strict=True)):
        at = f"01:10:{5 * number:02}"
        story.broker(f"{at}.000", story.words.preparing(number + 1, reason))
        story.broker(f"{at}.400", story.words.stabilized(number + 2, count))
        story.broker(f"{at}.410", story.words.assigned(number + 2, count, member_id("c-1")))
    return story


def test_a_member_that_left_is_back_when_the_coordinator_counts_one_more_than_it_named() -> None:
    story = three_restarts((2, 3, 2, 2, 3))
    assert [(a.participant.name, a.ends is not None) for a in story.timeline().arrivals][1:] == [
        ("c-1", True),
        ("c-2", True),
        ("c-3", True),
    ]
    assert story.causes() == ["rolling-restart"]
    assert story.blamed() == ["payments"]


def test_a_member_that_left_stays_away_while_the_coordinator_counts_those_it_named() -> None:
    story = three_restarts((2, 3, 2, 1, 2))
    assert "c-2" not in [a.participant.name for a in story.timeline().arrivals]


def test_the_response_to_a_join_in_flight_brings_no_member_back() -> None:
    """The last consumer of a shutdown closes between its JoinGroup and the answer."""
    story = Story().formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"])
    mine, node = member_id("c-1"), "broker-2:9092 (id: 2147483645 rack: null)"
    for at, told in (
        ("000", "(Re-)joining group"),
        ("100", f"Member {mine} sending LeaveGroup request to coordinator {node} due to the consumer is being closed"),
        ("101", f"Successfully joined group with generation {generation_of(3, mine)}"),
        ("102", f"Finished assignment for group at generation 3: {{{mine}=Assignment(partitions=[orders-0])}}"),
    ):
        story.client("c-1", f"01:10:01.{at}", told)
    assert [a.participant.name for a in story.timeline().arrivals if a.ends is not None] == []
