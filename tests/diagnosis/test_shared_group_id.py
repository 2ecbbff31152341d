from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from tests.diagnosis.closings import closes, comes
from tests.kafka_words import Release
from tests.story import Side, Story

CLASSIC = "org.apache.kafka.clients.consumer.internals.ClassicKafkaConsumer"


def intruded(topic: str) -> Story:
    story = Story()
    for client in ("pay-1", "pay-2"):
        story.client(client, "00:59:59.000", "Subscribed to topic(s): orders", logger=CLASSIC)
    story.formed("pay-1", "pay-2")
    story.client("export-1", "01:09:59.000", f"Subscribed to topic(s): {topic}", logger=CLASSIC)
    return comes(story, "export-1", "01:10:00.000", ["pay-1", "pay-2", "export-1"])


def test_another_application_with_other_topics_intrudes() -> None:
    story = intruded("invoices")
    assert story.causes() == ["shared-group-id"]
    assert story.blamed() == ["export-1"]
    assert story.the_incident().severity == "warning"


def test_a_newcomer_with_the_same_topics_belongs_there() -> None:
    assert "shared-group-id" not in intruded("orders").causes()


@pytest.mark.parametrize("release", [(1, 1), (2, 0), (2, 5)])
@pytest.mark.parametrize("seen", ["both", "clients"])
def test_where_no_line_tells_the_subscription_what_each_is_given_does(release: Release, seen: Side) -> None:
    story = Story(release=release, seen=seen, reads={"export-1": "invoices", "export-2": "invoices"})
    story.formed("pay-1", "pay-2").started("export-1", "01:09:57.000")
    comes(story, "export-2", "01:10:00.000", ["pay-1", "pay-2", "export-1", "export-2"])
    assert story.causes() == ["shared-group-id"]
    assert story.blamed() == ["export-1", "export-2"]


def test_a_topic_with_too_few_partitions_for_all_members_distinguishes_no_member() -> None:
    story = Story(release=(2, 5), reads={"pay-3": "refunds"}).formed("pay-1", "pay-2")
    assert "shared-group-id" not in comes(story, "pay-3", "01:10:00.000", ["pay-1", "pay-2", "pay-3"]).causes()


def narrow(strategy: str) -> Story:
    """The group has more members than the intruder's topic has partitions, so that some would be given none of it."""
    reads = {"export-1": "invoices", "export-2": "invoices"}
    story = Story(release=(1, 1), seen="clients", reads=reads)
    for client in ("pay-1", "pay-2"):
        story.started(client, "00:59:57.000", partition_assignment_strategy=strategy)
    story.rebalanced("01:00:00.000", "", ["pay-1", "pay-2"], takes_ms=3_000).started("export-1", "01:09:57.000")
    return comes(story, "export-1", "01:10:00.000", ["pay-1", "pay-2", "export-1"])


def test_who_is_given_two_partitions_of_a_topic_before_others_have_one_reads_it_alone() -> None:
    story = narrow("[class org.apache.kafka.clients.consumer.RangeAssignor]")
    assert story.causes() == ["shared-group-id"]
    assert story.blamed() == ["export-1"]


def test_a_sticky_assignor_may_leave_one_member_all_partitions_of_a_topic() -> None:
    story = narrow("[class org.apache.kafka.clients.consumer.StickyAssignor]")
    assert "shared-group-id" not in story.causes()


def test_an_assignor_that_balances_totals_may_give_one_member_all_of_a_topic_as_wide_as_the_group() -> None:
    """Cooperative-sticky: two members of one application hold two partitions each, of one topic each."""
    story = Story(release=(2, 5), seen="clients", reads={"pay-2": "invoices"})
    cooperative = "[class org.apache.kafka.clients.consumer.CooperativeStickyAssignor]"
    story.started("pay-1", "00:59:57.000", partition_assignment_strategy=cooperative)
    story.rebalanced("01:00:00.000", "", ["pay-1"], takes_ms=3_000).started("pay-2", "01:09:57.000")
    assert "shared-group-id" not in comes(story, "pay-2", "01:10:00.000", ["pay-1", "pay-2"]).causes()


def test_a_release_that_reads_another_topic_and_takes_over_is_no_other_application() -> None:
    story = intruded("orders-v2")
    closes(story, "pay-1", "01:10:30.000", ["pay-2", "export-1"])
    closes(story, "pay-2", "01:11:00.000", ["export-1"])
    assert "shared-group-id" not in story.causes()


def in_two_languages(seen: Side) -> Story:
    """Clients in Python log nothing by default."""
    story = Story(seen=seen).formed("pay-1", "pay-2")
    for client in ("py-1", "py-2"):
        story.says("01:10:00.000", story.words.introduced(story.id_of(client)))
    reason = story.words.adding(story.id_of("py-1"))
    story.rebalanced("01:10:00.000", reason, ["pay-1", "pay-2", "py-1", "py-2"])
    story.events = [e for e in story.events if not e.speaker.file.startswith("py-")]
    return story


def test_different_names_alone_are_a_hint_without_an_alarm() -> None:
    (incident,) = [i for i in in_two_languages("brokers").incidents() if i.root_causes[0].cause == "shared-group-id"]
    assert incident.severity == "info"


def test_where_some_clients_log_unlike_names_say_nothing() -> None:
    assert "shared-group-id" not in in_two_languages("both").causes()


def joined_later(*newcomers: str) -> Story:
    story = Story(seen="brokers").formed("pay-1", "pay-2")
    inside = ["pay-1", "pay-2"]
    for minute, client in enumerate(newcomers, 10):
        inside.append(client)
        story.rebalanced(f"01:{minute}:00.000", story.words.adding(story.id_of(client)), inside)
    return story


def test_members_of_another_name_that_came_later_may_be_another_application() -> None:
    assert "shared-group-id" in joined_later("export-1", "export-2").causes()


def test_default_client_ids_belong_to_no_application() -> None:
    assert "shared-group-id" not in joined_later("consumer-payments-1", "consumer-payments-2").causes()


def test_the_hash_of_a_deployment_in_a_name_makes_no_other_application() -> None:
    assert "shared-group-id" not in joined_later("pay-5bd44f-1", "pay-5bd44f-2").causes()


def test_who_takes_the_places_of_all_others_is_their_next_release() -> None:
    story = joined_later("green-1", "green-2")
    inside = ["pay-1", "pay-2", "green-1", "green-2"]
    for minute, client in enumerate(("pay-1", "pay-2"), 20):
        inside.remove(client)
        closes(story, client, f"01:{minute}:00.000", inside)
    assert "shared-group-id" not in story.causes()


@pytest.mark.parametrize(("its_cluster", "least", "most"), [("A", 0.75, 1.0), ("B", 0.0, 0.6)])
def test_what_members_of_another_cluster_read_says_nothing_of_a_group_of_the_same_name(
    its_cluster: str, least: float, most: float
) -> None:
    story = intruded("invoices")
    for client, cluster in (("pay-1", "A"), ("pay-2", "A"), ("export-1", its_cluster)):
        story.client(client, "01:10:09.000", f"Cluster ID: {cluster}")
    assert least <= story.the_incident().root_causes[0].confidence <= most


ENTERS = "Pending dynamic member with id {} joins group dup in {} state. Adding to the group now."
OPENS = "Preparing to rebalance group dup in state PreparingRebalance with old generation {} (reason: {})."
ADDS = "Adding new member {0} with group instance id null; client reason: need to re-join with the given member-id: {0}"
UPDATES = (
    "Updating metadata for member {} during Stable; client reason: received assignment does not match the current "
)
UPDATES += "subscription"
STABLE = "Stabilized group dup generation {} with {} members."
LEADS = "Assignment received from leader {} for group dup for generation {}. The group has {} members, 0 of which are "
LEADS += "static."


def two_topologies(rejoins: int) -> str:
    """What the coordinator of Kafka 4.1 logs of an instance whose topics the leader's topology does not have."""
    leader, other, foreign = (f"dup-{n}-StreamThread-1-consumer-61ecc28c-d748-4fb5-bdde-7777f9c7b33{n}" for n in "123")
    lines = [
        ("00:00", ENTERS.format(leader, "Empty")),
        ("00:00", OPENS.format(0, ADDS.format(leader))),
        ("00:01", ENTERS.format(other, "PreparingRebalance")),
        ("00:06", STABLE.format(1, 2)),
        ("00:06", LEADS.format(leader, 1, 2)),
        ("01:00", ENTERS.format(foreign, "Stable")),
        ("01:00", OPENS.format(1, ADDS.format(foreign))),
        ("01:01", STABLE.format(2, 3)),
        ("01:01", LEADS.format(leader, 2, 3)),
    ]
    for number in range(rejoins):
        second, generation = 2 + 3 * number, 2 + number
        lines += [
            (f"01:{second:02}", OPENS.format(generation, UPDATES.format(foreign))),
            (f"01:{second + 2:02}", STABLE.format(generation + 1, 3)),
            (f"01:{second + 2:02}", LEADS.format(leader, generation + 1, 3)),
        ]
    prefix, logger = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0]", "GroupMetadataManager"
    return "".join(
        f"[2026-11-28 09:{time},{n:03}] INFO {prefix} {said} ({logger})\n" for n, (time, said) in enumerate(lines)
    )


def test_an_instance_that_is_assigned_foreign_topics_again_and_again_has_another_topology(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(two_topologies(rejoins=5))
    started, loop = rf.analyze(tmp_path, engine="local").report.incidents
    assert [cause.cause for cause in loop.root_causes] == ["shared-group-id"]
    assert [culprit.name for culprit in loop.root_causes[0].culprits] == ["dup-3"]
    assert (started.severity, loop.severity) == ("info", "warning")


def test_a_topic_that_appears_while_an_instance_is_assigned_foreign_topics_is_not_the_cause(tmp_path: Path) -> None:
    created = (
        "[2026-11-28 09:01:01,500] INFO Created log for partition bills-0 in /data/bills-0 (kafka.log.LogManager)\n"
    )
    (tmp_path / "server.log").write_text(two_topologies(rejoins=1) + created)
    (found,) = [c for i in rf.analyze(tmp_path, engine="local").report.incidents[1:] for c in i.root_causes]
    assert found.cause == "shared-group-id"
    assert found.confidence < 0.9
