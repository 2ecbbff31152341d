from __future__ import annotations

import pytest

from tests.diagnosis.threads import Application
from tests.kafka_words import Release, generation_of, member_id
from tests.story import Side, Story


def more_partitions(release: Release = (3, 9), seen: Side = "both") -> Story:
    story = Story(release=release, seen=seen).formed("c-1", "c-2")
    before, after = ("NO_RACKS, NO_RACKS", "NO_RACKS, NO_RACKS, NO_RACKS") if release >= (3, 5) else ("2", "3")
    bracket = ("[{}]" if release >= (3, 5) else "{}").format
    change = f"(version2: {{orders={bracket(before)}}}) {{}} (version6: {{orders={bracket(after)}}})"
    if release >= (3, 0):
        story.client(
            "c-1",
            "01:10:00.000",
            "Request joining group due to: cached metadata has changed from "
            + change.replace("{}", "at the beginning of the rebalance to"),
        )
        reason = f"Leader {member_id('c-1')} re-joining group during Stable; client reason: cached metadata has changed"
    else:
        story.client(
            "c-1",
            "01:10:00.000",
            "Requesting to re-join the group and trigger rebalance since the assignment "
            "metadata has changed from " + change.replace("{}", "to"),
        )
        reason = f"leader {member_id('c-1')} re-joining group during Stable"
    return story.rebalanced("01:10:00.010", reason, ["c-1", "c-2"])


@pytest.mark.parametrize(("release", "seen"), [((2, 8), "both"), ((3, 9), "both"), ((3, 9), "clients")])
def test_the_group_leader_sees_the_topic_change(release: Release, seen: Side) -> None:
    story = more_partitions(release, seen)
    assert story.causes() == ["topic-metadata-change"]
    assert story.blamed() == ["orders"]
    assert story.the_incident().severity == "info"


def test_a_leader_that_repeats_the_change_until_it_is_heard_makes_one_rebalance_of_it() -> None:
    story = Story(release=(2, 8)).formed("c-1", "c-2")
    for time in ("01:10:00.000", "01:10:00.001", "01:10:00.200", "01:10:00.201", "01:10:00.400", "01:10:00.401"):
        change = "(version2: {orders=2}) to (version4: {orders=3})"
        story.client(
            "c-1",
            time,
            "Requesting to re-join the group and trigger rebalance since the assignment metadata has changed from "
            + change,
        )
    story.rebalanced("01:10:00.010", f"leader {member_id('c-1')} re-joining group during Stable", ["c-1", "c-2"])
    assert story.the_incident().severity == "info"


def test_the_client_reason_on_the_broker_is_enough() -> None:
    assert more_partitions((3, 9), "brokers").causes() == ["topic-metadata-change"]


@pytest.mark.parametrize(("others", "blamed"), [((), ["orders"]), (("sales",), [])])
def test_of_several_topics_that_brokers_changed_none_is_blamed_where_no_line_shows_what_the_group_reads(
    others: tuple[str, ...], blamed: list[str]
) -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    for topic in ("orders", *others):
        created = f"Created log for partition {topic}-4 in /var/kafka with properties {{}}."
        story.broker("01:09:58.000", created, logger="kafka.log.LogManager")
    reason = f"Leader {member_id('c-1')} re-joining group during Stable; client reason: cached metadata has changed"
    story.rebalanced("01:10:00.010", reason, ["c-1", "c-2"])
    assert story.the_incident().root_causes[0].cause == "topic-metadata-change"
    assert story.blamed() == blamed


def test_a_newcomer_changes_no_topic() -> None:
    story = Story().formed("c-1").started("c-2", "01:09:58.000")
    story.rebalanced("01:10:00.000", story.words.adding(story.id_of("c-2")), ["c-1", "c-2"])
    assert "topic-metadata-change" not in story.causes()


def grown_in_silence(release: Release, seen: Side = "both") -> Story:
    """A leader of 1.x to 2.6 rejoins for new partitions and says nothing; they are given out like all others."""
    story = Story(release=release, seen=seen).formed("c-1", "c-2")
    reason = f"Updating metadata for member {member_id('c-1')}"
    story.rebalanced("01:10:00.010", reason, ["c-1", "c-2"])
    return story.line("c-2/app.log", "01:10:00.530", story.of("c-2").assigned(("orders-3", "orders-4", "orders-5")))


@pytest.mark.parametrize("release", [(1, 1), (2, 0), (2, 2), (2, 5)])
@pytest.mark.parametrize("seen", ["both", "clients"])
def test_partitions_that_no_member_had_before_show_that_the_topic_grew(release: Release, seen: Side) -> None:
    story = grown_in_silence(release, seen)
    assert story.causes() == ["topic-metadata-change"]
    assert story.blamed() == ["orders"]


def test_a_log_created_on_a_broker_tells_why_a_member_of_old_rejoined() -> None:
    story = Story(release=(2, 2), seen="brokers").formed("c-1", "c-2")
    created = "Created log for partition orders-4 in /var/kafka with properties {}."
    story.broker("01:09:50.000", created, logger="kafka.log.LogManager")
    story.rebalanced("01:10:00.010", f"Updating metadata for member {member_id('c-1')}", ["c-1", "c-2"])
    assert story.causes() == ["topic-metadata-change"]
    assert story.blamed() == ["orders"]


def test_what_a_newcomer_takes_over_is_no_new_partition() -> None:
    story = Story(release=(2, 5)).formed("c-1").started("c-2", "01:09:58.000")
    story.rebalanced("01:10:00.000", story.words.adding(story.id_of("c-2")), ["c-1", "c-2"])
    assert "topic-metadata-change" not in story.causes()


def test_a_reason_cut_short_is_completed_by_the_log_that_a_broker_created() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    created = "Created log for partition orders-4 in /var/kafka with properties {}."
    story.broker("01:09:50.000", created, logger="kafka.log.LogManager")
    reason = f"Leader {member_id('c-1')} re-joining group during Stable; client reason: cached metadata has changed"
    assert story.rebalanced("01:10:00.010", reason, ["c-1", "c-2"]).blamed() == ["orders"]


def test_a_coordinator_of_1_x_gives_no_reason_but_a_topic_that_just_changed_may_be_one() -> None:
    story = Story(release=(1, 1), seen="brokers").formed("c-1", "c-2")
    created = "Created log for partition orders-4 in /var/kafka with properties {}."
    story.broker("01:09:50.000", created, logger="kafka.log.LogManager")
    story.rebalanced("01:10:00.010", "", ["c-1", "c-2"]).rebalanced("01:11:00.010", "", ["c-1", "c-2"])
    incidents = story.incidents()
    assert [i.root_causes[0].cause for i in incidents] == ["topic-metadata-change", "unexplained"]
    assert incidents[0].root_causes[0].confidence < 0.6


@pytest.mark.parametrize(
    "topic", ["payments-counts-changelog", "payments-by-customer-repartition", "__consumer_offsets"]
)
def test_topics_that_streams_or_kafka_makes_for_itself_are_no_reason_to_rejoin(topic: str) -> None:
    story = Story(release=(2, 2), seen="brokers").formed("c-1", "c-2")
    created = f"Created log for partition {topic}-4 in /var/kafka with properties {{}}."
    story.broker("01:09:50.000", created, logger="kafka.log.LogManager")
    story.rebalanced("01:10:00.010", f"Updating metadata for member {member_id('c-1')}", ["c-1", "c-2"])
    assert "topic-metadata-change" not in story.causes()


@pytest.mark.parametrize(("topic", "causes"), [("orders", ["topic-metadata-change"]), ("refunds", ["unexplained"])])
def test_a_topic_that_the_members_do_not_read_makes_none_of_them_rejoin(topic: str, causes: list[str]) -> None:
    story = Story(release=(2, 5)).formed("c-1", "c-2")
    created = f"Created log for partition {topic}-4 in /var/kafka with properties {{}}."
    story.broker("01:09:50.000", created, logger="kafka.log.LogManager")
    story.rebalanced("01:10:00.010", f"Updating metadata for member {member_id('c-1')}", ["c-1", "c-2"])
    assert story.causes() == causes


def test_partitions_that_a_cooperative_rebalance_withheld_are_not_new() -> None:
    """What another member must revoke first is in nobody's assignment until the rebalance after it."""
    story = Application(group="shop")
    first, second = (member_id(story.consumer(node, 1)) for node in (1, 2))
    revoking = "need to revoke partitions [orders-0] as indicated by the current assignment and re-join"
    for generation, began, given in (
        (2, "group is already rebalancing", ""),
        (3, revoking, "orders-0, orders-2, orders-3"),
    ):
        at, told = f"01:10:0{generation}", generation_of(generation, first)
        by_id = f"{first}=Assignment(partitions=[{given}]), {second}=Assignment(partitions=[orders-1])"
        for time, message in (
            ("000", f"Request joining group due to: {began}"),
            ("001", "(Re-)joining group"),
            ("100", f"Successfully joined group with generation {told}"),
            ("200", f"Finished assignment for group at generation {generation}: {{{by_id}}}"),
            ("300", f"Successfully synced group in generation {told}"),
        ):
            story.by_consumer(1, 1, f"{at}.{time}", message)
    assert "topic-metadata-change" not in {c.cause for i in story.incidents() for c in i.root_causes}


def test_replicas_on_other_racks_are_a_change_of_the_topic_and_not_another_topic() -> None:
    """KIP-881: a consumer with client.rack remembers the racks of each partition."""
    story = Story(release=(3, 6)).formed("c-1", "c-2")
    before, after = "[racks=[a, b], racks=[b, c]]", "[racks=[a, b], racks=[a, b]]"
    story.client(
        "c-1",
        "01:10:00.000",
        f"Request joining group due to: cached metadata has changed from (version2: {{orders={before}}}) at the "
        f"beginning of the rebalance to (version6: {{orders={after}}})",
    )
    reason = f"Leader {member_id('c-1')} re-joining group during Stable; client reason: cached metadata has changed"
    story.rebalanced("01:10:00.010", reason, ["c-1", "c-2"])
    assert story.causes() == ["topic-metadata-change"]
    assert story.blamed() == ["orders"]
