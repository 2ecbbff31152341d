from __future__ import annotations

from pathlib import Path

import pytest

from tests.diagnosis.closings import comes
from tests.diagnosis.other_clients import incidents
from tests.kafka_words import member_id
from tests.story import Story


def throws(times: int) -> Story:
    story = comes(Story().formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    words = story.words
    reason = "rebalance failed due to 'weights do not add up' (IllegalStateException)"
    for second in range(1, times + 1):
        at = f"01:10:{second:02}"
        story.client("c-1", f"{at}.000", f"Request joining group due to: {reason}")
        story.broker(
            f"{at}.100",
            words.preparing(
                story.generation,
                f"Leader {member_id('c-1')} re-joining group during "
                f"CompletingRebalance; client reason: rebalance failed due to IllegalStateException",
            ),
        )
        story.generation += 1
        story.broker(f"{at}.300", words.stabilized(story.generation, 3))
    return story


def test_an_assignor_that_throws_again_and_again_is_the_leaders_fault() -> None:
    story = throws(8)
    assert "assignment-failure" in story.causes()
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "assignment-failure")
    assert [c.name for c in found.root_causes[0].culprits] == ["c-1"]
    assert found.severity == "critical"


def unassigned() -> Story:
    """Four generations in a row get no assignment, by the coordinator's log alone."""
    story = comes(Story().formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    for second in range(20, 60, 10):
        adding = story.words.adding(member_id(f"n-{second}"))
        story.broker(f"01:10:{second}.000", story.words.preparing(story.generation, adding))
        story.generation += 1
        story.broker(f"01:10:{second + 3}.000", story.words.stabilized(story.generation, 3))
    return story


def test_without_the_leaders_log_a_reason_to_rebalance_is_not_read_as_the_failure() -> None:
    story = unassigned()
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "assignment-failure")
    assert found.summary == (
        "4 generations in a row got no assignment: the leader could not assign partitions, or could not deliver them."
    )
    assert found.root_causes[0].advice[0].why.startswith("No assignment arrived: 4 times")


def test_generations_without_an_assignment_are_a_fault_that_is_over_once_a_later_one_has_it() -> None:
    story = unassigned()
    story.rebalanced("01:11:00.000", story.words.adding(member_id("n-60")), ["c-1", "c-2", "c-3"])
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "assignment-failure")
    assert (found.severity, found.ongoing) == ("critical", False)


def test_the_evidence_shows_where_the_assignor_threw_and_the_effects_in_addition_to_repeated_lines() -> None:
    story = throws(30)
    trace = (
        "java.lang.IllegalStateException: weights do not add up\n\tat org.example.WeightedAssignor.assign(W.java:41)"
    )
    story.client("c-1", "01:10:01.010", f"Poll failed\n{trace}", level="ERROR", logger="com.acme.Loop")
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "assignment-failure")
    texts = [line.text for line in found.root_causes[0].evidence]
    assert len(texts) == 20
    assert any(text.endswith("at org.example.WeightedAssignor.assign(W.java:41)") for text in texts)
    assert any("Preparing to rebalance" in text for text in texts)


def test_one_lost_member_id_is_no_assignment_failure() -> None:
    assert "assignment-failure" not in throws(0).causes()


STACK = (
    "\n\tat org.example.WeightedAssignor.assign(WeightedAssignor.java:41)\n\tat java.lang.Thread.run(Thread.java:829)"
)
SAYS = {
    (2, 5): "Join group failed with {}",
    (2, 8): "Rebalance failed.\n{}" + STACK,
}


@pytest.mark.parametrize("release", SAYS)
def test_before_3_0_the_leader_names_what_its_assignor_threw_in_other_words(release: tuple[int, int]) -> None:
    story = comes(Story(release=release, seen="clients").formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    for second in range(1, 6):
        thrown = "java.lang.IllegalStateException: weights do not add up"
        story.client("c-1", f"01:10:{second:02}.000", SAYS[release].format(thrown))
        story.client("c-1", f"01:10:{second:02}.100", "(Re-)joining group")
    assert "assignment-failure" in story.causes()


@pytest.mark.parametrize("release", SAYS)
def test_the_round_trip_for_a_member_id_fails_no_assignment(release: tuple[int, int]) -> None:
    story = Story(release=release, seen="clients").formed("c-1", "c-2")
    thrown = (
        "org.apache.kafka.common.errors.MemberIdRequiredException: "
        "The group member needs to have a valid member id before actually entering a consumer group."
    )
    story.client("c-1", "01:10:01.000", SAYS[release].format(thrown))
    assert "assignment-failure" not in story.causes()


def test_a_leader_that_assigns_for_longer_than_its_session_is_slow_to_assign_and_no_frozen_process() -> None:
    story = Story().formed("c-1", "c-2", "c-3")
    old = story.id_of("c-1")
    story.broker("01:10:00.000", story.words.preparing(1, story.words.adding("c-4-77aa")))
    story.broker("01:10:00.990", story.words.stabilized(2, 4))
    story.generation = 2
    story.client("c-1", "01:10:01.000", f"Successfully joined group with generation {generation(2, old)}")
    given = ", ".join(f"{story.id_of(c)}=Assignment(partitions=[orders-{c[-1]}])" for c in ("c-1", "c-2", "c-3"))
    expired = f"Member {old} in group payments has failed, removing it from the group"
    story.says("01:10:46.000", expired)
    story.client("c-1", "01:10:55.000", f"Finished assignment for group at generation 2: {{{given}}}")
    unknown = (
        "SyncGroup failed: The coordinator is not aware of this member. Need to re-join the group. Sent generation "
    )
    story.client("c-1", "01:10:55.010", unknown + f"was {generation(2, old)}")
    story.reborn("c-1")
    story.rebalanced("01:10:55.100", story.words.adding(story.id_of("c-1")), ["c-1", "c-2", "c-3"])
    assert "assignment-failure" in story.causes()
    assert "process-pause" not in story.causes()


def generation(number: int, member: str) -> str:
    return f"Generation{{generationId={number}, memberId='{member}', protocol='range'}}"


def test_before_2_5_only_the_application_tells_that_the_assignor_threw() -> None:
    story = Story(release=(1, 1)).formed("c-1", "c-2", "c-3")
    story.broker("01:10:00.000", story.words.preparing(1, ""))
    story.broker("01:10:01.000", story.words.stabilized(2, 4))
    thrown = "Stopping\njava.lang.IllegalArgumentException: no weight\n\tat com.acme.Weighted.assign(Weighted.java:10)"
    thrown += (
        "\n\tat org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.performAssignment(Consumer.java:358)"
    )
    story.line("c-1/app.log", "01:10:01.010", thrown, level="ERROR", logger="com.acme.Worker")
    expired = f"Member {story.id_of('c-1')} in group payments has failed, removing it from the group"
    story.says("01:10:09.000", expired)
    assert story.causes() == ["assignment-failure"]
    assert story.blamed() == ["c-1"]


def stuck(until: str) -> Story:
    """The leader joins generation 3 and never delivers its assignment; the coordinator's log continues."""
    story = comes(Story(seen="brokers").formed("c-1", "c-2"), "c-3", "01:10:00.000", ["c-1", "c-2", "c-3"])
    story.broker("01:20:00.000", story.words.preparing(2, story.words.adding(member_id("c-4"))))
    story.broker("01:20:03.000", story.words.stabilized(3, 4))
    return story.broker(until, story.words.introduced(member_id("c-5")))


def test_a_generation_that_never_gets_its_assignment_is_an_ongoing_fault_and_not_a_scale_out() -> None:
    found = next(i for i in stuck("01:25:00.000").incidents() if i.root_causes[0].cause == "assignment-failure")
    assert found.severity == "critical"
    assert found.ongoing


def test_a_generation_without_an_assignment_for_less_than_a_session_is_on_its_way() -> None:
    assert "assignment-failure" not in stuck("01:20:20.000").causes()


def test_an_assignor_exception_that_stops_all_reading_is_critical_and_ongoing() -> None:
    found = next(i for i in throws(1).incidents() if i.root_causes[0].cause == "assignment-failure")
    assert found.severity == "critical"
    assert found.ongoing


@pytest.mark.parametrize("error", ["NodeNotReadyError: coordinator-2", "KafkaConnectionError: Connection refused"])
def test_an_error_of_a_python_client_on_its_way_to_the_coordinator_is_no_exception_of_an_assignor(error: str) -> None:
    story, python = Story(seen="clients"), {"logger": "kafka.coordinator"}
    expired = "Heartbeat poll expired, leaving group"
    story.line("worker-1/app.log", "01:10:00.000", expired, level="WARNING", logger="kafka.coordinator.heartbeat")
    for second in (1, 2, 3):
        story.line("worker-1/app.log", f"01:10:0{second}.000", "(Re-)joining group payments", **python)
        story.line("worker-1/app.log", f"01:10:0{second}.500", f"Failed to join group payments: {error}", **python)
    assert "assignment-failure" not in {c.cause for i in story.incidents() for c in i.root_causes}


def test_a_member_that_claims_what_it_had_two_generations_ago_fails_no_assignment() -> None:
    """A sticky assignor honors the newer claim and carries on, as whenever a member returns after a poll timeout."""
    story = Story().formed("c-1", "c-2")
    claimed = (
        f"Consumer {story.id_of('c-2')} in generation 1 and consumer {story.id_of('c-1')} in generation 2 claiming the "
        "same TopicPartition orders-3 in different generations. The topic partition wil be assigned to the member with "
        "the higher generation 2."
    )
    sticky = "org.apache.kafka.clients.consumer.internals.AbstractStickyAssignor"
    for _ in range(2):
        story.line("c-1/app.log", "01:10:00.000", claimed, level="WARN", logger=sticky)
    assert story.causes() == []


ONLY_INCREMENTAL = (
    "Changes to the current assignment must be made using rd_kafka_incremental_assign() or "
    "rd_kafka_incremental_unassign() when rebalance protocol type is COOPERATIVE"
)


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (ONLY_INCREMENTAL, "In the rebalance callback call incremental_assign()"),
        ("Local: Erroneous state", "assignor"),
    ],
)
def test_a_callback_for_another_rebalance_protocol_is_fixed_in_the_callback(error: str, remedy: str) -> None:
    story = Story(seen="clients")
    failed = f'[thrd:main]: Group "payments": application *assign() call failed: {error}'
    story.line("worker-1/app.log", "01:10:00.000", failed, level="ERROR", logger="rdkafka")
    (cause,) = story.the_incident().root_causes
    assert cause.cause == "assignment-failure"
    assert any(remedy in advice.action for advice in cause.advice)


def test_a_member_for_which_the_leader_returned_no_assignment_is_not_the_culprit(tmp_path: Path) -> None:
    (incident,) = incidents(
        tmp_path,
        "2026-03-01 01:10:00.123 ERROR 1 --- [main] com.acme.Orders : java.lang.IllegalStateException: There are "
        "insufficient bytes available to read assignment from the sync-group response (actual byte size 0) , this is "
        "not expected; it is possible that the leader's assign function is buggy and did not return any assignment "
        "for this member, or because static member is configured and the protocol is buggy hence did not get the "
        "assignment for this member",
    )
    assert incident.root_causes[0].cause == "assignment-failure"
    assert incident.root_causes[0].culprits == ()
    assert "got no assignment (once): the leader's assignor returned none for it." in incident.summary
