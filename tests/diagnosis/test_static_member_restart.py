from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from rebalance_forensics.diagnosis.episodes.members.restarts import static_returns
from tests.diagnosis.static_epochs import AGAIN, FORMED, OTHER, two_pods
from tests.diagnosis.statics import replaced, said_by_static, static_group
from tests.story import Story, ms


def test_a_static_member_that_returns_in_time_costs_no_rebalance() -> None:
    story = replaced(static_group("pod-1", "pod-2"), "pod-2", "01:10:00.000")
    assert story.causes() == ["static-member-restart"]
    assert story.blamed() == ["pod-2"]
    assert story.the_incident().severity == "info"
    assert story.the_incident().generations == ()


def test_a_static_member_that_comes_back_after_its_coordinator_moved_may_never_have_stopped() -> None:
    """A coordinator that stood still gives it up before it learns that another broker loaded the group."""
    story = static_group("pod-1", "pod-2").says("01:09:55.000", "Loading group metadata for payments with generation 1")
    replaced(story, "pod-2", "01:10:00.000").goes_on("01:20:00.000")
    restart = next(c for i in story.incidents() for c in i.root_causes if c.cause == "static-member-restart")
    assert restart.confidence < 0.75


def test_all_of_them_one_after_another_are_still_no_rolling_restart() -> None:
    story = static_group("pod-1", "pod-2", "pod-3")
    for minute, pod in ((10, "pod-1"), (11, "pod-2"), (12, "pod-3")):
        replaced(story, pod, f"01:{minute}:00.000")
    assert story.causes() == ["static-member-restart"]


def restarted_without_a_word() -> Story:
    """Log4j 2 ends before the consumer is closed: the log of the old process just stops."""
    story = static_group("pod-1", "pod-2")
    for number in (1, 2):
        pod = f"pod-{number}"
        story.started(f"c-{number}", "00:59:58.000", group_instance_id=pod, session_timeout_ms=45_000)
    joins(story, "c-1", "pod-1", "01:00:03.020")
    joins(story, "c-2", "pod-2", "01:00:03.020")
    story.started("c-2", "01:10:00.000", group_instance_id="pod-2", session_timeout_ms=45_000)
    replaced(story, "pod-2", "01:10:00.500")
    joins(story, "c-2", "pod-2", "01:10:00.600")
    return story.goes_on("01:15:00.000")


def joins(story: Story, client: str, pod: str, time: str) -> None:
    joined = story.of(client).joined(1, story.id_of(pod)).split("] ", 1)[1]
    said_by_static(story, client, pod, time, joined)
    said_by_static(story, client, pod, time, f"Adding newly assigned partitions: orders-{pod[-1]}")


def test_a_log_that_stops_before_the_consumer_closes_makes_no_crash_of_a_return_in_time() -> None:
    (restart,) = [
        c for c in restarted_without_a_word().the_incident().root_causes if c.cause == "static-member-restart"
    ]
    assert restart.confidence >= 0.9


def test_what_a_process_read_that_stopped_without_a_word_is_unread_for_about_a_restart() -> None:
    (span,) = restarted_without_a_word().history().unread
    assert (span.why, span.certain, span.partition) == ("dead", False, "orders-2")
    assert ms("01:09:50.000") < span.started_at < ms("01:10:00.000"), "most are started again at once"
    assert span.from_earliest == ms("01:09:15.000"), "its session had not expired"


def test_dynamic_members_have_no_static_restart() -> None:
    story = Story().formed("c-1", "c-2").reborn("c-2")
    story.rebalanced("01:10:00.000", story.words.adding(story.id_of("c-2")), ["c-1", "c-2"])
    assert "static-member-restart" not in story.causes()


def test_a_kip_848_member_that_leaves_with_epoch_minus_two_and_is_back_in_the_same_epoch_costs_no_rebalance() -> None:
    story = two_pods().closes("pod-1", FORMED, "01:10:00.000", 2, leaves_with=-2)
    story.joins("pod-1", AGAIN, "01:10:04.000", 2, "orders-0, orders-1")
    assert story.causes() == ["static-member-restart"]
    assert story.blamed() == ["pod-1"]
    assert story.the_incident().severity == "info"


def test_a_kip_848_member_that_comes_back_in_a_later_epoch_had_been_removed() -> None:
    story = two_pods().closes("pod-1", FORMED, "01:10:00.000", 2, leaves_with=-2)
    story.joins("pod-1", AGAIN, "01:12:00.000", 4, "orders-0, orders-1")
    assert "static-member-restart" not in story.causes()


@pytest.mark.parametrize(("heard", "epoch"), [("both pods", 2), ("pod-1", 2), ("pod-1", 1)])
def test_a_kip_848_process_that_ends_without_a_line_and_is_back_in_the_same_epoch_kept_its_place(
    heard: str, epoch: int
) -> None:
    """Log4j 2 stops logging in a shutdown hook of its own, so that a process may log no close of its consumer."""
    story = two_pods()
    if heard == "pod-1":
        story.events = [e for e in story.events if e.origin.path.startswith("pod-1-client/")]
    story.joins("pod-1", AGAIN, "01:10:04.000", epoch, "orders-0, orders-1")
    assert story.causes() == ["static-member-restart"]
    assert story.blamed() == ["pod-1"]


def test_a_kip_848_process_that_ends_without_a_line_and_is_back_two_epochs_later_had_been_removed() -> None:
    story = two_pods().joins("pod-1", AGAIN, "01:12:00.000", 4, "orders-0, orders-1")
    assert "static-member-restart" not in story.causes()


def test_a_kip_848_member_that_leaves_with_epoch_minus_one_leaves_for_good() -> None:
    story = two_pods().closes("pod-1", FORMED, "01:10:00.000", 2, leaves_with=-1)
    story.given("pod-2", OTHER, "01:10:00.500", 3, "orders-0, orders-1")
    assert story.causes() == ["scale-in"]


def test_the_word_of_the_coordinator_and_that_of_the_member_are_of_one_return_across_a_full_minute() -> None:
    story = static_group("pod-1", "pod-2")
    story.started("c-2", "00:59:58.000", group_instance_id="pod-2")
    for time in ("01:00:03.000", "01:11:00.100"):
        said_by_static(story, "c-2", "pod-2", time, story.of("c-2").joined(1, story.id_of("pod-2")).split("] ", 1)[1])
        if time < "01:10":
            story.started("c-2", "01:10:57.000", group_instance_id="pod-2")
            replaced(story, "pod-2", "01:10:59.900")
    assert [[one.participant.name for one in walk] for walk in static_returns(story.timeline())] == [["c-2"]]


def test_without_the_coordinator_the_same_generation_shows_that_it_was_never_removed() -> None:
    story = Story(seen="clients")
    for start, join in (("00:59:58.000", "01:00:03.000"), ("01:00:19.000", "01:00:20.000")):
        story.started("c-1", start, group_instance_id="pod-1", session_timeout_ms=10_000)
        said_by_static(story, "c-1", "pod-1", join, "(Re-)joining group")
        said_by_static(story, "c-1", "pod-1", join, story.of("c-1").joined(1, story.id_of("pod-1")).split("] ", 1)[1])
        said_by_static(story, "c-1", "pod-1", join, "Adding newly assigned partitions: orders-0, orders-1")
        story.reborn("pod-1")
    assert story.causes() == ["static-member-restart"]
    assert "static-member-expired" not in [c.cause for c in story.the_incident().root_causes]


def rejoin(story: Story, pods: str, generation: int, time: str) -> None:
    for pod in pods:
        said_by_static(story, f"c-{pod}", f"pod-{pod}", time, "(Re-)joining group")
    for pod in pods:
        joined = f"Successfully joined group with generation {generation}"
        said_by_static(story, f"c-{pod}", f"pod-{pod}", f"{time[:-3]}900", joined)
        said_by_static(
            story, f"c-{pod}", f"pod-{pod}", f"{time[:-3]}910", f"Setting newly assigned partitions [o-{pod}]"
        )


def test_a_member_that_was_removed_before_is_no_part_of_a_deployment_that_costs_no_rebalance() -> None:
    story = Story(seen="clients", release=(2, 3))

    def starts(pod: str, time: str) -> None:
        story.started(f"c-{pod}", time, group_instance_id=f"pod-{pod}", session_timeout_ms=10_000)

    for pod in "123":
        starts(pod, "01:00:00.000")
    rejoin(story, "123", 1, "01:00:03.000")
    rejoin(story, "23", 2, "01:10:00.000")
    starts("1", "01:10:05.000")
    rejoin(story, "123", 3, "01:10:05.100")
    for pod, time in (("1", "01:12:00"), ("2", "01:12:12"), ("3", "01:12:24")):
        starts(pod, f"{time}.000")
        rejoin(story, pod, 3, f"{time}.100")
    assert story.causes() == ["static-member-expired", "static-member-restart"]
    assert [i.generations for i in story.incidents()] == [(2, 3), ()]


def test_the_proof_shows_that_the_coordinator_did_not_rebalance_and_which_generation_the_member_joined() -> None:
    (restart,) = [
        c for c in restarted_without_a_word().the_incident().root_causes if c.cause == "static-member-restart"
    ]
    texts = [line.text for line in restart.evidence]
    assert any("will not trigger rebalance" in text for text in texts)
    assert any("Successfully joined group with generation Generation{generationId=1" in text for text in texts)


def test_whether_a_member_that_takes_the_place_of_one_without_a_log_was_restarted_is_not_known() -> None:
    story = Story(seen="clients").started("c-1", "00:59:58.000", group_instance_id="pod-1")
    joins(story, "c-1", "pod-1", "01:00:03.000")
    story.started("c-9", "01:10:00.000", group_instance_id="pod-2")
    joins(story, "c-9", "pod-2", "01:10:03.000")
    (cause,) = story.the_incident().root_causes
    assert cause.cause == "static-member-restart"
    assert cause.confidence < 0.6


def test_other_processes_lines_in_a_members_file_are_not_from_its_former_process() -> None:
    story = Story(seen="clients").started("c-1", "00:59:58.000", group_instance_id="pod-1")
    joins(story, "c-1", "pod-1", "01:00:03.000")
    app_info = "org.apache.kafka.common.utils.AppInfoParser"
    story.line("c-9/app.log", "01:09:59.000", f"Kafka startTimeMs: {ms('01:09:59.000')}", logger=app_info)
    story.started("c-9", "01:10:00.000", group_instance_id="pod-2")
    joins(story, "c-9", "pod-2", "01:10:03.000")
    assert story.the_incident().root_causes[0].confidence < 0.6


def test_a_log_that_ends_with_the_return_leaves_open_whether_the_former_process_still_runs(tmp_path: Path) -> None:
    # A second process with the same group.instance.id is fenced only at the next request of the first (KIP-345).
    when = "[2026-11-21 02:07:{},000] INFO [GroupCoordinator 2]: {} (kafka.coordinator.group.GroupCoordinator)"
    replaces = (
        "Static member with groupInstanceId=inst-2 and unknown member id joins group g in Stable state. Replacing "
        "previously mapped member inst-2-36673da4-8815-44af-b474-fc4b4ffa24a4 with this groupInstanceId."
    )
    lines = (("27", "Stabilized group g generation 1 (__consumer_offsets-1) with 3 members"), ("55", replaces))
    (tmp_path / "server.log").write_text("".join(when.format(*each) + "\n" for each in lines))
    found = {
        i.root_causes[0].cause: i.root_causes[0].confidence
        for i in rf.analyze(tmp_path, engine="local").report.incidents
    }
    assert found["static-member-restart"] <= 0.55


def test_a_member_that_rejoins_in_its_process_after_its_coordinator_refused_it_did_not_restart() -> None:
    """A coordinator that stood still expires the session, and replaces the id that its lost answer had given out."""
    story = static_group("pod-1", "pod-2")
    refused = "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"
    said_by_static(story, "c-2", "pod-2", "01:09:54.000", refused)
    replaced(story, "pod-2", "01:10:00.000")
    assert "static-member-restart" not in story.causes()
