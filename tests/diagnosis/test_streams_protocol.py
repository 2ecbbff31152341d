from __future__ import annotations

import pytest

from tests.diagnosis.test_slow_processing import EXPIRED
from tests.story import Side
from tests.streams_group import StreamsStory, two_nodes

EVERY_SIDE = pytest.mark.parametrize("seen", ["both", "brokers", "clients"])


@EVERY_SIDE
def test_a_node_whose_tasks_go_to_another_without_a_word_has_died(seen: Side) -> None:
    story = two_nodes(seen).dies("node-2", "01:10:00.000", "node-1").goes_on("01:15:00.000")
    assert story.causes() == ["process-crash"]
    assert story.the_incident().severity == "critical"


@EVERY_SIDE
def test_its_restart_belongs_to_it(seen: Side) -> None:
    story = two_nodes(seen).dies("node-2", "01:10:00.000", "node-1")
    story.reborn("node-2")
    assert story.comes("node-2", "01:10:09.000").causes() == ["process-crash"]


@EVERY_SIDE
def test_a_new_node_is_a_scale_out(seen: Side) -> None:
    assert two_nodes(seen).comes("node-3", "01:10:00.000").causes() == ["scale-out"]


@EVERY_SIDE
def test_a_node_that_closes_for_good_is_a_scale_in(seen: Side) -> None:
    assert two_nodes(seen).closes("node-2", "01:10:00.000", "node-1").causes() == ["scale-in"]


@EVERY_SIDE
def test_nodes_that_close_and_come_one_after_another_are_a_deployment(seen: Side) -> None:
    story = two_nodes(seen)
    for minute, node, other in ((10, "node-1", "node-2"), (11, "node-2", "node-1")):
        story.closes(node, f"01:{minute}:00.000", other)
        story.reborn(node)
        story.comes(node, f"01:{minute}:10.000")
    assert story.causes() == ["rolling-restart"]


@EVERY_SIDE
def test_a_thread_that_is_given_tasks_after_its_neighbour_takes_none_of_them(seen: Side) -> None:
    story = two_nodes(seen)
    story.given("node-2", 2, "01:05:00.000", "0_4")
    assert story.dies("node-2", "01:10:00.000", "node-1").causes() == ["process-crash"]


def with_statuses(story: StreamsStory, what: str, *times: str) -> StreamsStory:
    """The story with a status in the response to each heartbeat of a thread."""
    for time in times:
        story.thread_says("node-1", 1, time, f"Membership is in the following statuses: {what}")
    return story


MISSING = "(1) Source topics orders, refunds are missing."


def test_topics_that_are_missing_from_the_start_keep_the_application_from_any_task() -> None:
    story = StreamsStory(seen="clients", release=(4, 1))
    with_statuses(story, MISSING, "01:00:02.000", "01:00:07.000", "01:00:12.500")
    assert story.causes() == ["assignment-failure"]
    assert story.blamed() == ["orders", "refunds"]


def test_topics_that_appear_in_time_are_no_failure() -> None:
    story = StreamsStory(seen="clients", release=(4, 1))
    assert with_statuses(story, MISSING, "01:00:02.000", "01:00:07.000").causes() == []


def test_topics_deleted_under_a_running_application_are_the_reason_that_it_stops() -> None:
    story = with_statuses(two_nodes("clients"), MISSING, "01:10:00.000", "01:10:05.000", "01:10:20.000")
    assert story.causes() == ["topic-metadata-change"]
    assert story.the_incident().severity == "critical"


def test_a_thread_that_waits_for_a_missing_topic_until_its_poll_timeout_is_not_slow() -> None:
    story = with_statuses(two_nodes("clients"), MISSING, "01:10:00.000", "01:10:05.000", "01:10:20.000")
    story.thread_says("node-1", 1, "01:10:20.100", EXPIRED)
    story.moves("node-1", 1, "01:10:20.101", "RECONCILING", "PREPARE_LEAVING")
    assert story.causes() == ["topic-metadata-change"]


def test_topics_with_the_wrong_number_of_partitions_never_fit() -> None:
    unfit = "(2) Existing topic shop-counts has different number of partitions: expected 9, found 6"
    assert with_statuses(two_nodes("clients"), unfit, "01:10:00.000").blamed() == ["shop-counts"]


def test_internal_topics_that_are_about_to_be_made_are_no_failure() -> None:
    story = StreamsStory(seen="clients", release=(4, 1))
    with_statuses(story, "(3) Internal topics are missing: [shop-counts]", "01:00:02.000", "01:00:30.000")
    assert story.causes() == []


LOST = "(3) Internal topics are missing: orders-app-counts-repartition"
NOT_FOUND = (
    "Valid topic configuration found in 1ms, but internal topics are missing for topology epoch 0: "
    "orders-app-counts-repartition"
)
FOUND = "Valid topic configuration found in 0ms, topology epoch 0 is now initialized."


def an_internal_topic_is_deleted(story: StreamsStory) -> StreamsStory:
    """The coordinator finds it missing, revokes all tasks, and assigns them again when a member has created it."""
    member = story.member("node-1", 1)
    removed = (
        "[QuorumController id=2] Replayed RemoveTopicRecord for topic orders-app-counts-repartition with ID bx-d7A."
    )
    story.broker("01:09:59.000", removed, logger="org.apache.kafka.controller.ReplicationControlManager")
    story.coordinator_says("01:10:00.000", NOT_FOUND, member).bumped("01:10:00.010", "node-1")
    story.thread_says("node-1", 1, "01:10:00.100", f"Membership is in the following statuses: {LOST}")
    story.given("node-1", 1, "01:10:00.200")
    story.coordinator_says("01:10:01.000", FOUND, member).bumped("01:10:01.010", "node-1")
    story.given("node-1", 1, "01:10:01.200", "0_1").goes_on("01:15:00.000")
    return story


@EVERY_SIDE
def test_a_repartition_topic_that_is_deleted_under_a_running_application_takes_all_its_tasks_away(seen: Side) -> None:
    story = an_internal_topic_is_deleted(two_nodes(seen))
    assert story.causes() == ["topic-metadata-change"]
    assert story.blamed() == ["orders-app-counts-repartition"]
    assert story.the_incident().severity == "warning"


def test_an_application_that_is_reset_while_it_is_stopped_creates_its_internal_topics_again() -> None:
    story = two_nodes("both")
    story.closes("node-1", "01:10:00.000", "node-2").closes("node-2", "01:10:00.500", "node-1")
    story.reborn("node-1")
    story.comes("node-1", "01:10:30.000")
    story.coordinator_says("01:10:30.100", NOT_FOUND, story.member("node-1", 1))
    story.thread_says("node-1", 1, "01:10:30.200", f"Membership is in the following statuses: {LOST}")
    assert "topic-metadata-change" not in story.causes()


REFUSED_LEAVE = (
    "StreamsGroupHeartbeatRequest failed because of UNKNOWN_MEMBER_ID: ClientResponse(receivedTimeMs=1795843285966, "
    "latencyMs=11, disconnected=false, timedOut=false, responseBody=StreamsGroupHeartbeatResponseData(errorCode=25, "
    "errorMessage='Member {} is not a member of group orders-app.', memberId='', memberEpoch=0))"
)
REJOINS = (
    "Time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, exceeded "
    "approximately by 5308 ms. Member {} will rejoin the group now."
)


@EVERY_SIDE
def test_a_process_that_is_silent_until_its_poll_timeout_was_paused_if_its_session_ended_before(seen: Side) -> None:
    story = two_nodes(seen)
    for thread in (1, 2):
        fenced = f"Streams member {story.member('node-2', thread)} fenced from the group because the member session "
        story.coordinator_says("01:10:08.000", f"{fenced}expired..")
    story.bumped("01:10:08.010", "node-1")
    for thread in (1, 2):
        story.thread_says("node-2", thread, "01:10:25.000", EXPIRED)
        story.moves("node-2", thread, "01:10:25.001", "STABLE", "PREPARE_LEAVING")
        story.moves("node-2", thread, "01:10:25.002", "LEAVING", "STALE")
        story.thread_says("node-2", thread, "01:10:25.050", REFUSED_LEAVE.format(story.member("node-2", thread)))
    for thread in (1, 2):
        story.thread_says("node-2", thread, "01:10:25.300", REJOINS.format(story.member("node-2", thread)))
        story.moves("node-2", thread, "01:10:25.301", "STALE", "JOINING")
        story.coordinator_says("01:10:25.310", "Member joins the streams group.", story.member("node-2", thread))
    story.bumped("01:10:25.320", "node-2")
    for thread in (1, 2):
        story.moves("node-2", thread, "01:10:25.400", "JOINING", "RECONCILING")
        story.given("node-2", thread, "01:10:25.500", f"0_{2 + thread}")
    story.goes_on("01:15:00.000")
    assert story.causes() == ["process-pause"]
    assert "slow-processing" not in [r.cause for r in story.the_incident().root_causes if r.confidence >= 0.55]


def test_a_source_topic_that_its_coordinator_misses_stops_the_application_though_no_client_has_a_log() -> None:
    story = two_nodes("brokers")
    member = story.member("node-1", 1)
    story.coordinator_says("01:01:00.000", FOUND, member)
    missing = "Topic configuration failed for topology epoch 0 in 0ms: Source topics orders are missing."
    story.coordinator_says("01:10:00.000", missing, member).bumped("01:10:00.010", "node-1")
    late = f"Member {member} fenced from the group because it failed to transition from epoch 3 within 20000ms."
    story.coordinator_says("01:10:20.000", late)
    story.goes_on("01:15:00.000")
    assert story.causes() == ["topic-metadata-change"]
    assert story.blamed() == ["orders"]
    assert story.the_incident().severity == "critical"


def test_the_member_that_asks_for_a_shutdown_is_named_by_the_coordinator_and_by_the_status_of_another() -> None:
    asked = two_nodes("brokers")
    member = asked.member("node-1", 1)
    asked.coordinator_says("01:10:00.000", "Shutdown requested for the streams application.", member)
    received = two_nodes("clients")
    status = f"(4) Streams group member {member} encountered a fatal error and requested a shutdown for the entire "
    with_statuses(received, f"{status}application.", "01:10:00.000")
    assert [story.causes() for story in (asked, received)] == [["streams-shutdown"]] * 2
    assert [story.blamed() for story in (asked, received)] == [[member], ["node-1"]]


def test_an_instance_with_another_topology_is_refused_by_its_streams_group() -> None:
    story = two_nodes("clients")
    refused = "StreamsGroupHeartbeatRequest failed due to INVALID_REQUEST: Topology updates are not supported yet."
    story.thread_says("node-3", 1, "01:10:00.000", refused)
    assert story.causes() == ["inconsistent-protocol"]
    assert "its topology differs from that of the running application" in story.the_incident().summary


def test_an_instance_that_joins_without_a_new_epoch_may_have_been_refused() -> None:
    story = two_nodes("brokers")
    story.coordinator_says("01:10:00.000", "Member joins the streams group.", story.member("node-3", 1))
    (cause,) = story.goes_on("01:15:00.000").the_incident().root_causes
    assert (cause.cause, cause.confidence) == ("scale-out", 0.4)
    assert "may have refused" in cause.narrative
    added = two_nodes("brokers").comes("node-3", "01:10:00.000").goes_on("01:15:00.000").the_incident()
    assert added.root_causes[0].confidence >= 0.9
