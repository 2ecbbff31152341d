from __future__ import annotations

import pytest

from rebalance_forensics.diagnosis.engine.confidence import PROBABLE
from tests.diagnosis.test_rebalance_straggler import alone
from tests.diagnosis.test_slow_processing import EXPIRED, LEAVING, SHORT
from tests.story import Side, Story, clock, ms

DELETED = "Removed topic orders with ID 4Yk0lTA8R0yTTTSrgBS8eg."
REFUSED = "Offset commit failed on partition orders-0 at offset 42: This server does not host this topic-partition."


def refused(story: Story, client: str, seconds: int, begin: str = "01:10:00.000") -> Story:
    """A member that tries to commit what it read of a topic, each half second."""
    for half in range(seconds * 2):
        story.client(client, clock(ms(begin) + half * 500), REFUSED, level="WARN")
    return story


def deleted(story: Story) -> Story:
    return story.broker("01:09:59.900", DELETED, logger="kafka.server.metadata.BrokerMetadataPublisher")


def test_members_that_cannot_commit_what_they_read_of_a_deleted_topic_are_held_up_by_it() -> None:
    story = refused(deleted(Story().formed("c-1", "c-2")), "c-1", 20)
    cause = story.goes_on("01:12:00.000").the_incident().root_causes[0]
    assert (cause.cause, story.blamed()) == ("topic-metadata-change", ["orders"])
    assert cause.confidence >= 0.9
    assert "tried for 19.6 s" in cause.narrative


def test_a_member_that_misses_the_poll_interval_while_it_repeats_a_commit_is_not_slow() -> None:
    story = refused(deleted(Story().formed("c-1", "c-2")), "c-2", 30)
    old = story.id_of("c-2")
    story.client("c-2", "01:10:30.000", EXPIRED, level="WARN")
    story.client("c-2", "01:10:30.001", LEAVING.format(old, SHORT))
    story.broker("01:10:30.010", story.words.left(old, SHORT))
    story.rebalanced("01:10:30.011", story.words.leaving(old, SHORT), ["c-1"])
    assert story.causes() == ["topic-metadata-change"]
    assert story.the_incident().severity == "warning"


def test_without_the_brokers_it_is_reported_with_less_confidence() -> None:
    story = refused(Story(seen="clients").formed("c-1", "c-2"), "c-1", 20)
    cause = story.goes_on("01:12:00.000").the_incident().root_causes[0]
    assert cause.cause == "topic-metadata-change"
    assert cause.confidence < 0.9


def test_a_broker_that_does_not_know_its_partitions_for_a_moment_deleted_nothing() -> None:
    story = refused(Story().formed("c-1", "c-2"), "c-1", 3)
    assert story.goes_on("01:12:00.000").causes() == []


def test_an_excerpt_that_ends_with_refused_commits_may_show_a_deleted_topic() -> None:
    cause = refused(Story(seen="clients"), "c-1", 1).the_incident().root_causes[0]
    assert (cause.cause, cause.culprits[0].name) == ("topic-metadata-change", "orders")
    assert 0.4 < cause.confidence < PROBABLE


@pytest.mark.parametrize(("until", "over"), [("01:10:20.000", False), ("01:13:00.000", True)])
def test_it_is_ongoing_at_the_end_of_the_logs(until: str, *, over: bool) -> None:
    story = refused(deleted(Story().formed("c-1", "c-2")), "c-1", 20).goes_on(until)
    assert story.the_incident().ongoing is not over


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_leader_that_notices_the_deletion_tells_of_nothing_else(seen: Side) -> None:
    story = deleted(Story(seen=seen).formed("c-1", "c-2"))
    noticed = "cached metadata has changed from (version2: {orders=[NO_RACKS], refunds=[NO_RACKS]}) at the beginning "
    story.client("c-1", "01:09:59.990", f"Request joining group due to: {noticed}of the rebalance to "
                 "(version6: {refunds=[NO_RACKS]})")  # fmt: skip
    incident = refused(story, "c-1", 40).goes_on("01:12:00.000").the_incident()
    assert (incident.severity, incident.occurrences) == ("warning", 1)
    assert "did not rejoin meanwhile" in incident.root_causes[0].narrative
    assert incident.root_causes[0].confidence >= 0.9


@pytest.mark.parametrize("busy", [True, False])
def test_a_member_that_retries_a_commit_instead_of_rejoining_is_not_the_cause_of_the_delay(*, busy: bool) -> None:
    story = alone((3, 9), 30, rejoins=True)
    if busy:
        refused(story, "c-1", 31)
    assert ("rebalance-straggler" in story.causes()) == (not busy)


SNAPSHOT = "Request joining group due to: cached metadata has changed from (version{}: {{{}}}) at the beginning of the "
REBALANCE = "rebalance to (version{}: {{{}}})"


@pytest.mark.parametrize("seen", ["both", "clients"])
@pytest.mark.parametrize("at", ["01:10:15.000", "01:10:25.000"])
def test_partitions_added_to_another_topic_in_the_meantime_are_reported_separately(seen: Side, at: str) -> None:
    story = deleted(Story(seen=seen).formed("c-1", "c-2"))
    gone = SNAPSHOT.format(2, "orders=[NO_RACKS], refunds=[NO_RACKS]") + REBALANCE.format(6, "refunds=[NO_RACKS]")
    grown = SNAPSHOT.format(6, "refunds=[NO_RACKS]") + REBALANCE.format(7, "refunds=[NO_RACKS, NO_RACKS]")
    story.client("c-1", "01:09:59.990", gone)
    refused(story, "c-2", 20)
    story.client("c-1", at, grown)
    causes = {i.root_causes[0].culprits[0].name: i for i in story.goes_on("01:12:00.000").incidents()}
    assert sorted(causes) == ["orders", "refunds"]
    assert "did not rejoin meanwhile" in causes["orders"].root_causes[0].narrative
    assert [culprit.name for culprit in causes["refunds"].root_causes[0].culprits] == ["refunds"]
