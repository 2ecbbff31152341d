from __future__ import annotations

import pytest

from tests.diagnosis.test_slow_processing import EXPIRED
from tests.epochs import HEARTBEAT, IDS, EpochStory, three_members
from tests.story import Side, Story

ASYNC = "org.apache.kafka.clients.consumer.internals.AsyncKafkaConsumer"
EVERY_SIDE = pytest.mark.parametrize("seen", ["both", "brokers", "clients"])


@EVERY_SIDE
def test_a_member_that_falls_silent_for_good_has_died(seen: Side) -> None:
    story = three_members(seen).expires("c-3", "01:10:00.000", "c-1", "c-2").goes_on("01:15:00.000")
    assert story.causes() == ["process-crash"]
    _, lower = story.the_incident().root_causes[0].advice
    assert lower.action.startswith("Lower the group's consumer.session.timeout.ms (kafka-configs.sh")
    assert "(not below group.consumer.min.session.timeout.ms, 45000 by default)" in lower.action
    assert story.the_incident().severity == "critical"


@EVERY_SIDE
def test_a_new_process_belongs_to_the_crash_it_follows(seen: Side) -> None:
    story = three_members(seen).expires("c-3", "01:10:00.000", "c-1", "c-2")
    story.restarts("c-3", "01:10:07.000", "c-1", "c-2")
    assert story.causes() == ["process-crash"]
    assert story.the_incident().severity == "warning"


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_whose_partitions_are_given_away_while_it_held_them_is_the_one_that_is_gone(seen: Side) -> None:
    assert three_members(seen).expires("c-3", "01:10:00.000", "c-1", "c-2").blamed() == ["c-3"]


def revokes_unseen(seen: Side) -> Story:
    """c-1 is given a partition of c-3, of which a collector lost the lines by which it joined and gave that up."""
    story = EpochStory(release=(4, 1), seen=seen)
    story.started("c-3", "01:00:01.000")
    for second, client in enumerate(("c-3", "c-1", "c-2"), 2):
        story.joins(client, f"01:00:0{second}.000")
    story.events = [e for e in story.events if not (e.speaker.client_id == "c-3" and "JOINING" in e.text)]
    story.client("c-1", "01:00:55.000", "Adding newly assigned partitions: [orders-3]")
    return story.moves("c-3", "01:00:55.500", "RECONCILING", "ACKNOWLEDGING").goes_on("01:20:00.000")


def test_a_partition_that_another_is_given_shows_no_death_of_which_the_coordinator_knows_nothing() -> None:
    assert set(revokes_unseen("both").causes()) <= {"startup", "scale-out"}


def test_a_process_that_started_before_its_member_was_heard_of_is_no_restart_of_it() -> None:
    assert "restarted" not in " ".join(i.summary for i in revokes_unseen("clients").incidents())


@EVERY_SIDE
def test_closes_and_restarts_that_walk_over_the_members_are_a_deployment(seen: Side) -> None:
    story = three_members(seen)
    for minute, client in ((10, "c-1"), (11, "c-2"), (12, "c-3")):
        others = [c for c in ("c-1", "c-2", "c-3") if c != client]
        story.closes(client, f"01:{minute}:00.000", *others).restarts(client, f"01:{minute}:10.000", *others)
    assert story.causes() == ["rolling-restart"]


def back_to_the_classic_protocol() -> Story:
    """Three members are restarted with group.protocol=classic; with the last one the group is converted."""
    story = three_members("brokers")
    for minute, client, newcomer in ((10, "c-1", "AmLpbxkxSp2tnYJrWNCOCA"), (11, "c-2", "laZNEwfWTk6WdVL4mp7Klw")):
        story.closes(client, f"01:{minute}:00.000")
        at = f"01:{minute}:16.000"
        story.group_says(at, f"Member {newcomer} joins the consumer group using the classic protocol.").bumped(at)
    story.group_says("01:12:00.000", f"Member {story.member('c-3')} left the consumer group.")
    words, leader = story.words, "AmLpbxkxSp2tnYJrWNCOCA"
    reason = f"Downgrade group {story.group} from consumer to classic for member leaving."
    for second, why, members in ((0, reason, 2), (10, words.adding(story.id_of("c-3")), 3)):
        story.broker(f"01:12:{second:02}.010", words.preparing(story.generation, why))
        story.generation += 1
        story.broker(f"01:12:{second:02}.900", words.stabilized(story.generation, members))
        story.broker(f"01:12:{second:02}.950", words.assigned(story.generation, members, leader))
    return story


def test_a_deployment_that_goes_back_to_the_classic_protocol_fails_no_assignment() -> None:
    assert back_to_the_classic_protocol().causes() == ["rolling-restart"]


@EVERY_SIDE
def test_one_place_that_is_left_and_taken_again_and_again_flaps(seen: Side) -> None:
    story = three_members(seen)
    for minute in (10, 12, 14):
        story.closes("c-3", f"01:{minute}:00.000", "c-1", "c-2")
        story.restarts("c-3", f"01:{minute + 1}:02.000", "c-1", "c-2")
    assert story.causes() == ["scaling-flap"]


def test_members_that_are_replaced_after_others_left_for_good_were_restarted_and_not_removed() -> None:
    """The coordinator names ids alone; a process that starts has another one, one that was not restarted keeps it."""
    story = three_members("brokers").closes("c-3", "01:10:00.000", "c-1", "c-2")
    story.closes("c-1", "01:11:00.000", "c-2").joins("c-1", "01:11:15.000")
    for client, other, time in (("c-1", "c-2", "01:11:45"), ("c-2", "c-1", "01:11:57")):
        story.closes(client, f"{time}.000", other)
        story.reborn(client)
        story.joins(client, f"{time}.000".replace("45.", "47.").replace("57.", "59."))
    assert sorted(story.causes()) == ["rolling-restart", "scale-in", "slow-processing"]


def come_and_go(story: EpochStory, minute: int, *members: str) -> EpochStory:
    """Members come together and close together five seconds later; the coordinator names their ids alone."""
    for member in members:
        story.group_says(
            f"01:{minute}:00.000", f"Member {member} joins the consumer group using the consumer protocol."
        )
        story.bumped(f"01:{minute}:00.001")
    for member in members:
        story.group_says(f"01:{minute}:05.000", f"Member {member} left the consumer group.")
        story.bumped(f"01:{minute}:05.001")
    return story


def test_two_that_come_and_go_together_under_ever_new_ids_flap() -> None:
    story = come_and_go(three_members("brokers"), 10, "NumIrqd5TvuRVPCyRltyEg", "5hglwW8QScGiAxlEWGacWQ")
    come_and_go(story, 11, "CTOH0dPORqak1OuRuD7lKg", "ucwjzGZFTGmnbhdwtotZlA")
    come_and_go(story, 12, "gkG3yO_SQfiI2zSX3zZGIw", "aEFaMZvXT3OngdSBS_5LrA")
    assert story.causes() == ["scaling-flap"]


def test_two_that_come_and_go_once_do_not_flap() -> None:
    story = come_and_go(three_members("brokers"), 10, "NumIrqd5TvuRVPCyRltyEg", "5hglwW8QScGiAxlEWGacWQ")
    assert "scaling-flap" not in story.causes()


@EVERY_SIDE
def test_a_member_that_gives_its_partitions_up_before_others_take_them_is_not_gone(seen: Side) -> None:
    story = three_members(seen)
    story.client("c-3", "01:10:00.000", "Revoke previously assigned partitions [orders-3]")
    story.client("c-1", "01:10:00.500", "Adding newly assigned partitions: [orders-3]")
    assert story.timeline().departures == []


def test_a_member_that_gave_some_partitions_up_and_died_is_known_by_those_it_had_left() -> None:
    story = three_members("clients")
    story.client("c-3", "01:05:00.000", "Adding newly assigned partitions: [orders-4, orders-5]")
    story.client("c-3", "01:06:00.000", "Revoke previously assigned partitions [orders-5]")
    story.client("c-2", "01:06:00.500", "Adding newly assigned partitions: [orders-5]")
    story.expires("c-3", "01:10:00.000", "c-1", "c-2")
    assert story.causes() == ["process-crash"]
    assert story.blamed() == ["c-3"]


CREATED = "Created log for partition {topic}-4 in /var/kafka with properties {{}}."


def test_what_a_member_asked_for_when_it_joined_does_not_explain_partitions_that_come_later() -> None:
    story = EpochStory(release=(4, 1), seen="clients")
    for second, client in enumerate(("c-1", "c-2", "c-3")):
        story.client(client, f"00:59:59.{second}00", "Subscribed to topic(s): orders")
        story.joins(client, f"01:00:0{second}.000")
    story.client("c-1", "01:00:03.000", "Adding newly assigned partitions: [orders-0]")
    story.bumped("01:00:14.000").others_reconcile("01:00:14.000", "c-1")
    story.client("c-1", "01:00:14.360", "Adding newly assigned partitions: [orders-4]")
    assert story.causes() == ["topic-metadata-change"]
    assert story.blamed() == ["orders"]


def bumped_after(topic: str, metadata_hash: int | None) -> EpochStory:
    """A topic changes, a second later the group epoch rises and no reason was logged."""
    story = three_members("brokers")
    story.broker("01:10:00.000", CREATED.format(topic=topic), logger="kafka.log.LogManager")
    message = "" if metadata_hash is None else f" with metadata hash {metadata_hash}"
    story.group_says("01:10:01.000", f"Bumped group epoch to 4{message}.")
    return story


@pytest.mark.parametrize("metadata_hash", [None, 77])
def test_an_epoch_that_rises_right_after_a_topic_changed_rose_for_it(metadata_hash: int | None) -> None:
    assert bumped_after("orders", metadata_hash).causes() == ["topic-metadata-change"]


def test_an_epoch_with_the_metadata_of_the_one_before_rose_for_no_topic() -> None:
    assert "topic-metadata-change" not in bumped_after("orders", 8761535610101143541).causes()


def test_a_topic_that_no_member_reads_bumps_no_epoch() -> None:
    story = three_members()
    story.broker("01:10:00.000", CREATED.format(topic="invoices"), logger="kafka.log.LogManager")
    story.group_says("01:10:01.000", "Bumped group epoch to 4.")
    assert "topic-metadata-change" not in story.causes()


@pytest.mark.parametrize("back_at", ["01:10:10.000", "01:11:00.000"])
def test_a_coordinator_sees_the_same_of_a_member_that_was_paused_and_of_one_that_was_cut_off(back_at: str) -> None:
    story = three_members("brokers").expires("c-3", "01:10:00.000", "c-1", "c-2")
    incident = story.joins("c-3", back_at).goes_on("01:20:00.000").the_incident()
    sure = {cause.cause: cause.confidence for cause in incident.root_causes}
    assert sure["process-pause"] < 0.5
    assert sure["network-partition"] >= 0.1
    decides = next(wanted for wanted in incident.would_decide if wanted.who == IDS["c-3"])
    assert {"process-pause", "network-partition"} <= set(decides.between)


def test_the_log_of_a_member_that_does_not_mention_lost_connections_shows_that_it_was_paused() -> None:
    story = three_members().expires("c-3", "01:10:00.000", "c-1", "c-2").joins("c-3", "01:11:00.000")
    incident = story.goes_on("01:20:00.000").the_incident()
    assert incident.root_causes[0].cause == "process-pause"
    assert incident.root_causes[0].confidence >= 0.9


def taken_over_at(time: str) -> Story:
    """A newcomer is given what c-3 had, whose log ended at 01:00:02.200."""
    story = three_members("clients")
    story.client("c-1", time, "Adding newly assigned partitions: [orders-3]")
    return story.goes_on("01:30:00.000")


def test_no_member_is_lost_before_its_session_expires_whatever_its_log_omits() -> None:
    assert not taken_over_at("01:00:07.000").timeline().departures
    assert [d.why for d in taken_over_at("01:10:00.000").timeline().departures] == ["vanished"]


def test_of_topics_that_changed_together_a_group_under_a_pattern_reads_those_that_it_is_given() -> None:
    story = three_members()
    for client in IDS:
        story.client(client, "01:00:30.000", "Subscribed to pattern: 'orders.*'", logger=ASYNC)
    for partition in ("orders-9", "billing-0"):
        made = f"Created log for partition {partition} in /var/kafka/{partition} with properties {{}}"
        story.broker("01:10:00.000", made, logger="kafka.log.LogManager")
    story.generation += 1
    story.group_says("01:10:03.000", f"Bumped group epoch to {story.generation} with metadata hash 17.")
    story.others_reconcile("01:10:03.000", *IDS)
    story.client("c-1", "01:10:03.310", "Adding newly assigned partitions: [orders-9]")
    assert story.goes_on("01:30:00.000").causes() == ["topic-metadata-change"]
    assert story.blamed() == ["orders"]


@pytest.mark.parametrize("before", [0, 9])
def test_a_member_whose_first_epoch_is_a_later_one_does_not_tell_that_it_is_alone(before: int) -> None:
    story = EpochStory(release=(4, 1), seen="clients", generation=before)
    story.started("c-1", "00:59:58.000")
    story.joins("c-1", "01:00:00.000").goes_on("01:10:00.000")
    causes = [i.root_causes[0] for i in story.case().incidents]
    assert [(cause.cause, cause.confidence < 0.6) for cause in causes] == [("startup", before > 0)]


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_topics_that_a_new_pattern_matches_were_there_before(seen: Side) -> None:
    story = three_members(seen)
    for client in IDS:
        story.client(client, "00:59:59.000", "Subscribing to regular expression orders.*", logger=ASYNC)
    story.client("c-3", "01:10:00.000", "Subscribing to regular expression orders.*|refunds.*", logger=ASYNC)
    story.bumped("01:10:01.800").moves("c-3", "01:10:01.900", "STABLE", "RECONCILING")
    story.client("c-3", "01:10:01.910", "Adding newly assigned partitions: [refunds-0, refunds-1]")
    story.moves("c-3", "01:10:02.000", "RECONCILING", "ACKNOWLEDGING").goes_on("01:15:00.000")
    assert story.causes() == ["subscription-change"]
    assert story.blamed() == ["c-3"]
    assert "from orders.* to orders.*|refunds.*" in story.the_incident().summary


@pytest.mark.parametrize("pattern", ["(a|aa)*x|refunds", "(?!orders).*"])
def test_no_pattern_in_a_log_holds_up_the_diagnosis(pattern: str) -> None:
    story = three_members()
    story.client("c-1", "01:00:00.300", "Adding newly assigned partitions: [orders-0]")
    for client in IDS:
        story.client(client, "00:59:59.000", "Subscribing to regular expression orders.*", logger=ASYNC)
    story.client("c-3", "01:10:00.000", f"Subscribing to regular expression {pattern}", logger=ASYNC)
    story.bumped("01:10:01.800").moves("c-3", "01:10:01.900", "STABLE", "RECONCILING")
    story.client("c-3", "01:10:01.910", f"Adding newly assigned partitions: [{'a' * 240}-0, refunds-0]")
    story.moves("c-3", "01:10:02.000", "RECONCILING", "ACKNOWLEDGING").goes_on("01:15:00.000")
    assert story.causes() == ["subscription-change"]


def test_the_limit_of_a_late_poll_is_that_of_the_late_member() -> None:
    story = EpochStory(release=(4, 1))
    for client, limit in (("c-1", 15_000), ("c-2", 30_000), ("c-3", 30_000)):
        story.started(client, "00:59:50.000", group_protocol="consumer", max_poll_interval_ms=limit)
        story.joins(client, f"01:00:0{client[-1]}.000")
    story.client("c-1", "01:10:00.000", EXPIRED, logger=HEARTBEAT)
    story.closes("c-1", "01:10:00.001", "c-2", "c-3").goes_on("01:15:00.000")
    assert story.causes() == ["slow-processing"]
    assert "max.poll.interval.ms (15000 ms)" in story.the_incident().summary
