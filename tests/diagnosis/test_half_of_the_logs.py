"""What the logs of one member, or of some, leave open is not told as if it were known."""

from __future__ import annotations

from tests.diagnosis.expiries import evicted
from tests.kafka_words import Release, member_id
from tests.story import Story, ms


def as_seen_by(story: Story, *clients: str) -> Story:
    """Only these members' own logs are at hand."""
    hosts = [f"{client}/" for client in clients]
    story.events = [e for e in story.events if e.origin.path.startswith(tuple(hosts))]
    return story


def evidence_types(story: Story) -> dict[str, float]:
    """How sure each cause is."""
    return {i.root_causes[0].cause: i.root_causes[0].confidence for i in story.incidents()}


def taken_over(release: Release) -> Story:
    """Of three members c-3 closes; c-1 is given what it had."""
    story = Story(release=release).formed("c-1", "c-2", "c-3")
    story.rebalanced("01:10:00.000", story.words.leaving(story.id_of("c-3")), ["c-2", "c-1"])
    return story.rebalanced("01:12:00.000", story.words.adding(story.id_of("c-4")), ["c-2", "c-4", "c-1"])


def test_a_leader_that_sees_a_member_appear_cannot_tell_a_newcomer_from_one_that_is_back() -> None:
    story = Story(release=(3, 9)).formed("c-2", "c-1")
    story.rebalanced("01:10:00.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    story.rebalanced("01:12:00.000", story.words.adding(story.id_of("c-4")), ["c-1", "c-2", "c-3", "c-4"])
    sure = evidence_types(as_seen_by(story, "c-1"))
    assert sure.get("scale-out", 0.4) < 0.5


def test_partitions_that_one_member_had_not_before_are_no_new_partitions_while_others_may_have_had_them() -> None:
    for release in ((1, 1), (2, 3)):
        assert "topic-metadata-change" not in evidence_types(as_seen_by(taken_over(release), "c-1"))


def test_partitions_that_a_member_gave_back_before_are_not_new() -> None:
    story = as_seen_by(taken_over((2, 3)), "c-1", "c-2")
    assert "topic-metadata-change" in evidence_types(story)
    story.client("c-2", "01:05:00.000", "Revoking previously assigned partitions [orders-4, orders-5]")
    assert "topic-metadata-change" not in evidence_types(story)


def test_one_client_that_lost_one_broker_cannot_distinguish_a_broken_link_from_a_paused_coordinator() -> None:
    story = evicted((3, 9), "clients")
    lost = "Group coordinator b-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: {}"
    for time in ("01:09:40.000", "01:09:51.000", "01:10:02.000"):
        why = "session timed out without receiving a heartbeat response. isDisconnected: false"
        story.client("c-3", time, f"{lost.format(why)}. Rediscovery will be attempted.")
    story.client(
        "c-3",
        "01:10:05.000",
        "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response",
    )
    story.reborn("c-3").rebalanced("01:10:06.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert evidence_types(story)["network-partition"] >= 0.9
    assert evidence_types(as_seen_by(story, "c-3"))["network-partition"] < 0.9


def test_a_member_that_joined_within_a_session_timeout_was_not_paused_for_that_long() -> None:
    story = Story(release=(3, 9)).formed("c-1", "c-2")
    story.client(
        "c-1",
        "01:00:08.000",
        "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response",
    )
    story.reborn("c-1").rebalanced("01:00:08.100", story.words.adding(story.id_of("c-1")), ["c-1", "c-2"])
    assert evidence_types(as_seen_by(story, "c-1")).get("process-pause", 0.4) < 0.5


def test_a_member_that_never_subscribed_in_its_log_reads_a_pattern() -> None:
    story = Story(release=(3, 9)).formed("c-1", "c-2")
    changed = "subscription has changed from [orders] at the beginning of the rebalance to [orders-eu, orders]"
    story.client("c-2", "01:10:00.000", f"Request joining group due to: {changed}")
    story.rebalanced("01:10:00.100", f"Updating metadata for member {story.id_of('c-2')}", ["c-1", "c-2"])
    assert story.causes() == ["topic-metadata-change"]
    assert story.blamed() == ["orders-eu"]


def test_a_topic_of_another_group_is_a_weak_reason_for_members_that_asked_for_theirs_by_name() -> None:
    story = Story(release=(2, 5)).formed("c-1", "c-2")
    story.client("c-1", "00:59:58.000", "Subscribed to topic(s): orders")
    created = "Created log for partition refunds-0 in /var/kafka with properties {}."
    story.broker("01:09:50.000", created, logger="kafka.log.LogManager")
    story.rebalanced("01:10:00.010", f"Updating metadata for member {story.id_of('c-2')}", ["c-1", "c-2"])
    story.events = [e for e in story.events if not e.origin.path.startswith("c-2/")]
    assert evidence_types(story).get("topic-metadata-change", 0.4) < 0.5


def test_what_one_member_alone_is_given_in_the_leaders_list_it_asked_for() -> None:
    story = Story(release=(3, 9)).formed("c-1", "c-2")
    story.client("c-1", "00:59:58.000", "Subscribed to topic(s): orders")
    story.reads["c-2"] = "refunds"
    story.rebalanced("01:10:00.000", f"Updating metadata for member {story.id_of('c-2')}", ["c-1", "c-2"])
    assert story.causes() == ["subscription-change"]
    assert as_seen_by(story, "c-1").causes() == ["subscription-change"]
    assert story.blamed() == ["c-2"]


def test_a_member_that_learns_of_a_rebalance_was_in_the_group_before_the_logs_begin() -> None:
    story = (
        Story(release=(2, 8))
        .formed("c-1")
        .rebalanced("01:10:00.000", Story(release=(2, 8)).words.adding(member_id("c-2")), ["c-1", "c-2"])
    )
    story.events = [e for e in story.events if (e.at or 0) >= ms("01:09:00.000") or "Kafka version" in e.text]
    assert story.causes() == ["scale-out"]
    assert story.blamed() == ["c-2"]


def test_a_member_without_a_log_changed_its_mind_where_the_others_ask_by_name_and_nothing_of_theirs_is_new() -> None:
    story = Story(release=(3, 9)).formed("c-1", "c-2")
    story.client("c-1", "00:59:58.000", "Subscribed to topic(s): orders")
    created = "Created log for partition refunds-0 in /var/kafka with properties {}."
    story.broker("01:09:50.000", created, logger="kafka.log.LogManager")
    reason = f"Updating metadata for member {story.id_of('c-2')} during Stable; client reason: subscription has changed"
    story.rebalanced(
        "01:10:00.000", f"{reason} from [orders] at the beginning of the rebalance to [orders, x]", ["c-1"]
    )
    story.events = [e for e in story.events if not e.origin.path.startswith("c-2/")]
    assert "topic-metadata-change" not in evidence_types(story)


def test_a_broker_that_coordinated_the_group_before_and_after_does_not_show_who_joined_in_between() -> None:
    story = as_seen_by(taken_over((3, 9)), "c-2")
    found = "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)"
    story.client("c-2", "00:59:59.000", found)
    former = "kafka.coordinator.group.GroupCoordinator"
    unloads, loads = (f"[GroupCoordinator 3]: {verb} group metadata for payments" for verb in ("Unloading", "Loading"))
    story.broker("00:59:58.000", f"{unloads} with generation 0", 3, former)
    story.broker("01:20:00.000", f"{loads} with generation 3", 3, former)
    unexplained = [i for i in story.incidents() if i.root_causes[0].cause == "unexplained"]
    assert unexplained
    for incident in unexplained:
        assert "without the coordinator's log" in incident.summary
        assert next(log.who for log in incident.would_decide) == "broker-2"
