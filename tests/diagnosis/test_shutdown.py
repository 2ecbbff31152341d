from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes
from tests.diagnosis.statics import static_group
from tests.kafka_words import Release, member_id
from tests.story import Story


@pytest.mark.parametrize("release", [(2, 2), (2, 4), (2, 8), (3, 9), (4, 1)])
def test_all_members_that_close_shut_the_group_down(release: Release) -> None:
    story = Story(release=release).formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"])
    closes(story, "c-1", "01:10:02.000", [])
    last = story.case().incidents[-1]
    assert last.root_causes[0].cause == "shutdown"
    assert last.severity == "info"
    assert last.summary == "The last 2 members shut down cleanly; the group is empty."
    assert story.causes() == []


def test_who_went_long_before_the_others_went_in_a_row_was_removed() -> None:
    story = Story().formed("c-1", "c-2", "c-3", "c-4")
    closes(story, "c-4", "01:10:00.000", ["c-1", "c-2", "c-3"])
    for second, client, stay in ((19, "c-3", ["c-1", "c-2"]), (20, "c-2", ["c-1"]), (21, "c-1", [])):
        closes(story, client, f"01:10:{second}.000", stay)
    assert story.causes() == ["scale-in"]
    assert story.blamed() == ["c-4"]
    assert story.case().incidents[-1].root_causes[0].cause == "shutdown"


def test_members_that_go_at_an_even_pace_are_one_shutdown() -> None:
    story = Story().formed("c-1", "c-2", "c-3", "c-4")
    members = ["c-1", "c-2", "c-3", "c-4"]
    for second in (0, 12, 24, 36):
        client = members.pop()
        closes(story, client, f"01:10:{second:02}.000", list(members))
    assert story.causes() == []


def test_the_group_ends_empty() -> None:
    story = Story().formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"])
    closes(story, "c-1", "01:10:02.000", [])
    assert story.history().generations[-1].outcome == "empty"


def test_one_member_that_stays_keeps_the_group_up() -> None:
    story = closes(Story().formed("c-1", "c-2"), "c-2", "01:10:00.000", ["c-1"])
    assert "shutdown" not in [i.root_causes[0].cause for i in story.case().incidents]


def expiring(*pods: str) -> Story:
    story = static_group("pod-1", "pod-2", "pod-3")
    for second, pod in enumerate(pods):
        story.broker(f"01:10:0{second}.000", story.words.failed(story.id_of(pod)))
    reason = f"removing member {story.id_of(pods[0])} on heartbeat expiration"
    return story.broker("01:10:00.001", story.words.preparing(1, reason))


def test_static_members_that_all_expire_together_were_stopped() -> None:
    story = expiring("pod-1", "pod-2", "pod-3").broker("01:10:02.001", Story().words.empty(2))
    assert "shutdown" in [i.root_causes[0].cause for i in story.case().incidents]
    assert "static-member-expired" not in story.causes()


def test_one_static_member_that_expires_was_away_too_long() -> None:
    story = expiring("pod-3").broker("01:10:00.500", Story().words.stabilized(2, 2))
    assert story.causes() == ["static-member-expired"]


def test_one_clients_log_does_not_show_that_the_member_that_closed_was_the_last() -> None:
    story = Story(seen="clients").started("c-1", "00:59:58.000")
    for time, message in (
        ("01:00:00.000", story.of("c-1").joining()),
        ("01:00:03.000", story.of("c-1").joined(1, story.id_of("c-1"))),
        ("01:00:03.010", story.of("c-1").synced(1, story.id_of("c-1"))),
        ("01:00:03.020", story.of("c-1").assigned(("orders-0", "orders-1"))),
    ):
        story.line("c-1/app.log", time, message or "")
    last = closes(story, "c-1", "01:10:00.000", []).case().incidents[-1]
    assert last.severity == "info"
    assert last.root_causes[0].confidence < 0.9
    assert "The last member" not in last.summary


def test_an_only_member_that_left_without_a_reason_and_came_back_need_not_have_been_shut_down() -> None:
    """A coordinator before 3.2 prints the same for a poll timeout."""
    story = closes(Story(release=(2, 4), seen="brokers").formed("c-1"), "c-1", "01:10:00.000", [])
    story.generation += 1
    story.formed("c-1", at="01:10:09.000").goes_on("01:30:00.000")
    (first, *others) = next(
        i.root_causes for i in story.case().incidents if i.root_causes[0].cause in ("shutdown", "slow-processing")
    )
    assert first.confidence <= 0.55
    assert {first.cause, *(other.cause for other in others)} >= {"shutdown", "slow-processing"}
    assert "cleanly" not in first.narrative


def test_members_that_leave_for_their_own_reason_are_not_reported_as_closed() -> None:
    story = Story(release=(3, 9), seen="brokers").formed("c-1", "c-2")
    closes(story, "c-2", "01:10:00.000", ["c-1"], "done for today")
    closes(story, "c-1", "01:10:02.000", [], "done for today")
    message = "The last 2 members left; the group is empty; only their own logs would show why."
    assert story.case().incidents[-1].summary == message


def test_one_member_that_closes_is_no_sure_shutdown_while_nothing_tells_of_the_others() -> None:
    story = Story(seen="clients", release=(2, 2), generation=7).formed("c-1").goes_on("01:10:00.000")
    closes(story, "c-1", "01:10:00.000", [])
    causes = [i.root_causes[0] for i in story.case().incidents if i.root_causes[0].cause == "shutdown"]
    assert [cause.confidence for cause in causes] == [0.55]


@pytest.mark.parametrize("release", [(2, 2), (2, 3)])
def test_a_generation_that_is_stabilized_after_the_only_member_that_brokers_name_left_has_others(
    release: Release,
) -> None:
    """Before 2.4 a coordinator names the first newcomer of a rebalance only, and counts nobody."""
    story = Story(release=release, seen="brokers").formed("c-1", "c-2", "c-3")
    gone = story.id_of("c-1")
    story.broker("01:10:00.000", story.words.left(gone, "the consumer is being closed"))
    story.broker("01:10:00.001", story.words.preparing(1, story.words.leaving(gone, "")))
    story.broker("01:10:03.000", story.words.prefixed("Stabilized group payments generation 2 (__consumer_offsets-13)"))
    assert "shutdown" not in {i.root_causes[0].cause for i in story.case().incidents}


def test_a_process_that_asks_to_join_again_was_not_shut_down_even_if_its_log_ends_before_the_answer() -> None:
    story = Story(release=(2, 2), seen="clients").formed("c-1")
    coordinator = "broker-2:9092 (id: 2147483645 rack: null)"
    leaves = f"Member {member_id('c-1')} sending LeaveGroup request to coordinator {coordinator}"
    story.client("c-1", "01:10:00.000", leaves)
    assert story.case().incidents[-1].root_causes[0].cause == "shutdown"
    story.client("c-1", "01:10:20.000", "(Re-)joining group")
    assert "shutdown" not in [i.root_causes[0].cause for i in story.case().incidents]
