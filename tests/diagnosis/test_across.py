from __future__ import annotations

from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import GroupCase
from rebalance_forensics.diagnosis.cluster.cross_group import MOST_IDS, related, relations_among
from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import known_partition, offsets_partition
from rebalance_forensics.diagnosis.model import Incident, Relation
from tests.diagnosis.closings import closes, comes
from tests.story import Story

LOST = (
    "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: coordinator "
    "unavailable. isDisconnected: true. Rediscovery will be attempted."
)
FOUND = "Discovered group coordinator broker-3:9092 (id: 2147483644 rack: null)"


def losing_its_coordinator(group: str, at: str = "01:10:00.000") -> GroupCase:
    """Both members of a group lose broker-2 and find broker-3."""
    members = (f"{group}-1", f"{group}-2")
    story = Story(group=group).formed(*members)
    for client in members:
        story.client(client, at, LOST).client(client, "01:30:00.000", FOUND)
    return story.case()


def losing(group: str, client: str, at: str) -> GroupCase:
    """One of three members, whose log stands in the directory of its name, sends no heartbeat any more."""
    stay = [f"{group}-1", f"{group}-2"]
    story = Story(group=group).formed(*stay, client)
    member = story.id_of(client)
    story.broker(at, story.words.failed(member))
    return story.rebalanced(at, f"removing member {member} on heartbeat expiration", stay).case()


def deployed(group: str, hour: int) -> GroupCase:
    """Its members are restarted one after another."""
    names = [f"{group}-{n}" for n in (1, 2, 3)]
    story = Story(group=group).formed(*names)
    for minute, client in enumerate(names, 10):
        stay = [c for c in names if c != client]
        closes(story, client, f"{hour:02}:{minute}:00.000", stay)
        comes(story, client, f"{hour:02}:{minute}:08.000", [*stay, client])
    return story.case()


def incidents(*cases: GroupCase) -> list[Incident]:
    """What is no start-up."""
    relations = relations_among(cases)
    told = [one for case in cases for one in related(case, relations).incidents]
    return [one for one in told if one.root_causes[0].cause not in {"startup", "shutdown"}]


def relations(*cases: GroupCase) -> list[tuple[Relation, ...]]:
    return [one.related for one in incidents(*cases)]


def test_groups_that_lose_the_same_coordinator_within_seconds_name_each_other() -> None:
    first, second = incidents(losing_its_coordinator("audit"), losing_its_coordinator("payments", "01:10:04.000"))
    (relation,) = first.related
    assert (relation.kind, relation.ids, relation.groups) == ("coordinator", (second.id,), 2)
    assert "2 groups lost the same coordinator, broker-2, within 4 s: audit, payments." in relation.why
    assert second.related[0].ids == (first.id,)


def living_in(partition: int | None) -> str:
    """What is said of two groups of which lines tell this partition, or none."""
    cases = (losing_its_coordinator("audit"), losing_its_coordinator("payments"))
    told = (replace(case, history=replace(case.history, offsets_partition=partition)) for case in cases)
    return relations(*told)[0][0].why


def test_the_partitions_they_live_in_are_named_and_how_they_are_known() -> None:
    assert "They live in partition 13 of __consumer_offsets." in living_in(13)
    assert "__consumer_offsets, by the hash of their names over 50 partitions." in living_in(None)


def test_where_another_group_shows_that_the_number_of_partitions_was_changed_none_is_guessed() -> None:
    told, untold = losing_its_coordinator("audit"), losing_its_coordinator("payments")
    cases = (
        replace(case, history=replace(case.history, offsets_partition=p)) for case, p in ((told, 3), (untold, None))
    )
    assert "They live in" not in relations(*cases)[0][0].why


def test_the_brokers_settings_tell_the_number_of_partitions() -> None:
    assert known_partition("payments", (), {"offsets.topic.num.partitions": "8"}) == offsets_partition("payments", 8)
    assert known_partition("payments", (), {}) is None


def test_a_group_that_hung_on_the_same_broker_and_shows_nothing_is_told_of() -> None:
    quiet = Story(group="reporting").formed("reporting-1").case()
    (first, _) = relations(losing_its_coordinator("audit"), losing_its_coordinator("payments"), quiet)
    assert "reporting depended on it as well, but no line shows that they were affected." in first[0].why


def test_two_losses_of_a_coordinator_on_two_occasions_have_nothing_to_do_with_each_other() -> None:
    assert relations(losing_its_coordinator("audit"), losing_its_coordinator("payments", "01:20:00.000")) == [(), ()]


def test_members_of_two_groups_on_one_host_that_fail_together_point_to_the_host() -> None:
    first, second = incidents(losing("audit", "node-7", "01:10:00.000"), losing("payments", "node-7", "01:10:12.000"))
    (relation,) = first.related
    assert (relation.kind, relation.ids) == ("host", (second.id,))
    assert "Members of 2 groups on host node-7 failed within" in relation.why


def test_members_on_different_hosts_that_fail_together_are_not_related() -> None:
    assert relations(losing("audit", "node-7", "01:10:00.000"), losing("payments", "node-8", "01:10:12.000")) == [
        (),
        (),
    ]


def test_groups_of_two_clusters_are_never_related() -> None:
    here, there = losing_its_coordinator("audit"), losing_its_coordinator("payments")
    elsewhere = replace(
        there,
        history=replace(there.history, cluster="other"),
        incidents=tuple(replace(one, cluster="other") for one in there.incidents),
    )
    assert relations(here, elsewhere) == [(), ()]


def test_groups_restarted_at_the_same_time_look_like_one_deployment() -> None:
    first, second = incidents(deployed("audit", 1), deployed("payments", 1))
    assert [(one.kind, one.ids) for one in first.related] == [("deployment", (second.id,))]
    assert relations(deployed("audit", 1), deployed("payments", 3)) == [(), ()]


def test_a_group_alone_is_related_to_nothing_and_stays_the_same() -> None:
    case = losing_its_coordinator("audit")
    assert related(case, relations_among([case])) == case


def test_of_many_groups_each_incident_names_twenty_and_the_sentence_counts_all() -> None:
    case = losing_its_coordinator("audit")
    many = [
        replace(
            case,
            history=replace(case.history, group=f"team-{number}"),
            incidents=tuple(replace(one, id=f"{one.id}-{number}", group=f"team-{number}") for one in case.incidents),
        )
        for number in range(100)
    ]
    for one in incidents(*many):
        (relation,) = one.related
        assert len(relation.ids) == MOST_IDS
        assert one.id not in relation.ids
        assert relation.groups == 100
        assert relation.why.startswith("100 groups lost the same coordinator, broker-2,")
