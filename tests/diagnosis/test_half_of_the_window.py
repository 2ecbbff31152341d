from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes
from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_coordinator_failover import FOUND, LOST
from tests.diagnosis.test_process_pause import UNKNOWN
from tests.diagnosis.test_slow_processing import slow_member
from tests.diagnosis.windows import begun_at
from tests.kafka_words import Release
from tests.story import Side, Story
from tests.timeline.test_follow_ups import handed_over

LATER = "01:05:00.000"


@pytest.mark.parametrize("release", [(2, 8), (3, 9)])
def test_a_client_whose_membership_ended_was_a_member_before_the_logs_began(release: Release) -> None:
    story = evicted(release, "clients")
    message = f"Generation{{generationId=1, memberId='{story.id_of('c-3')}', protocol='range'}}"
    story.client("c-3", "01:10:20.000", UNKNOWN.format(message))
    story.reborn("c-3").rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert begun_at(story, LATER).causes()[-1] == "process-pause"


@pytest.mark.parametrize("release", [(2, 8), (3, 9)])
@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_a_poll_timeout_is_reported_without_the_start_of_the_group(release: Release, seen: Side) -> None:
    story = begun_at(slow_member(release, seen), LATER)
    assert story.causes() == ["slow-processing"]
    assert story.blamed() == ["c-3"]


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_a_close_is_reported_without_the_start_of_the_group(seen: Side) -> None:
    story = closes(Story(seen=seen).formed("c-1", "c-2", "c-3"), "c-3", "01:10:00.000", ["c-1", "c-2"])
    assert begun_at(story, LATER).causes() == ["scale-in"]


def test_everybody_who_loses_the_coordinator_shows_a_failover_of_a_group_that_never_rebalances() -> None:
    story = Story(seen="clients").formed("c-1", "c-2")
    for client in ("c-1", "c-2"):
        story.client(client, "01:10:00.000", LOST).client(client, "01:10:05.500", FOUND)
    assert begun_at(story, LATER).causes() == ["coordinator-failover"]


def test_the_first_rebalance_of_logs_that_begin_later_needs_a_cause_too() -> None:
    story = Story(release=(1, 1), seen="brokers").formed("c-1", "c-2")
    story.rebalanced("01:10:00.000", "brokers before 2.1 do not print it", ["c-1", "c-2"])
    assert begun_at(story, LATER).causes() == ["unexplained"]


def test_those_who_stay_are_no_newcomers_because_the_logs_begin_late() -> None:
    story = begun_at(evicted((3, 9), "clients"), LATER)
    assert {"startup", "scale-out"}.isdisjoint(i.root_causes[0].cause for i in story.case().incidents)


def test_a_subscription_in_the_middle_of_a_log_is_no_start_of_a_process() -> None:
    story = evicted((3, 9), "clients")
    story.client("c-1", "01:10:00.900", "Subscribed to topic(s): orders")
    assert begun_at(story, LATER).timeline().starts == []


def test_a_hand_over_is_not_a_second_unexplained_incident_next_to_its_rebalance() -> None:
    story = begun_at(handed_over((3, 9), "brokers"), "01:10:00.100")
    assert story.causes() == ["unexplained"]
    assert story.the_incident().followups == ("cooperative",)
    assert [g.trigger for g in story.history().generations] == ["unexplained", "cooperative"]
