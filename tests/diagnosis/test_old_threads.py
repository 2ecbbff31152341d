from __future__ import annotations

import pytest

from tests.diagnosis.old_threads import EVERYBODY, Threads, closed, expired, joined, old_shop
from tests.story import Side

BUT_ONE: Threads = ((1, 1), (2, 1), (2, 2))
EXCEPTION = "\njava.lang.IllegalStateException: schema 4711 not found\n\tat com.acme.Ledger.touch(Ledger.java:18)"


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_each_thread_of_an_instance_is_a_member_of_its_own_though_no_line_names_its_id(seen: Side) -> None:
    story = joined(old_shop(seen), "01:10:00.000", BUT_ONE)
    (departure,) = story.timeline().departures
    assert departure.actor.name == "node-1"
    assert [len(g.members) for g in story.history().generations] == [4, 3]


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_one_slow_thread_that_misses_a_rebalance_and_comes_back_is_slow_processing(seen: Side) -> None:
    story = joined(old_shop(seen), "01:10:00.000", BUT_ONE)
    joined(story, "01:10:08.000", EVERYBODY)
    assert story.causes() == ["slow-processing"]
    assert "8." in story.the_incident().summary, "it was away from its expiry until it was back"
    assert "-" not in story.the_incident().summary.rpartition("took")[2]


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_thread_that_dies_of_an_exception_has_left_though_its_instance_goes_on(seen: Side) -> None:
    story = old_shop(seen)
    story.by_thread(1, 2, "01:09:52.000", f"Encountered the following error during processing:{EXCEPTION}", "ERROR")
    story.by_thread(1, 2, "01:09:52.001", "State transition from RUNNING to PENDING_SHUTDOWN")
    story.by_thread(1, 2, "01:09:52.020", "State transition from PENDING_SHUTDOWN to DEAD")
    joined(expired(story, "01:10:00.000", 1, 2), "01:10:00.001", BUT_ONE)
    assert story.causes() == ["member-left"]
    assert story.the_incident().severity == "warning"


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_an_instance_that_closes_sends_no_leave_and_is_scaled_in(seen: Side) -> None:
    story = closed(old_shop(seen), "01:09:52.000", 2)
    for number in (1, 2):
        expired(story, "01:10:00.000", 2, number)
    joined(story, "01:10:00.001", ((1, 1), (1, 2)))
    assert story.causes() == ["scale-in"]


def test_a_session_timeout_that_no_log_tells_is_not_guessed() -> None:
    story = old_shop("brokers")
    for number in (1, 2):
        expired(story, "01:10:00.000", 2, number)
    joined(story, "01:10:00.001", ((1, 1), (1, 2)))
    assert "its session expired and" in story.the_incident().summary
