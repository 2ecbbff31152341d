from __future__ import annotations

import pytest

from tests.diagnosis.old_threads import EVERYBODY, Threads, closed, expired, joined, old_shop
from tests.kafka_words import member_id
from tests.story import Side

BUT_ONE: Threads = ((1, 1), (2, 1), (2, 2))
EXCEPTION = "\njava.lang.IllegalStateException: schema 4711 not found\n\tat com.acme.Ledger.touch(Ledger.java:18)"


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_each_thread_of_an_instance_is_a_member_of_its_own_though_no_line_names_its_id(seen: Side) -> None:
    story = joined(old_shop(seen), "01:10:00.000", BUT_ONE)
    (departure,) = story.timeline().departures
    assert departure.participant.name == "node-1"
    assert [len(g.members) for g in story.history().generations] == [4, 3]


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_one_slow_thread_that_misses_a_rebalance_and_comes_back_is_slow_processing(seen: Side) -> None:
    story = joined(old_shop(seen), "01:10:00.000", BUT_ONE)
    joined(story, "01:10:08.000", EVERYBODY)
    assert story.causes() == ["slow-processing"]
    assert "out of the group for 8 s" in story.the_incident().summary, "it was away from its expiry until it was back"
    assert "-" not in story.the_incident().summary.rpartition("out of the group")[2]


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_thread_that_dies_of_an_exception_has_left_although_its_instance_continues(seen: Side) -> None:
    story = old_shop(seen)
    story.by_thread(1, 2, "01:09:52.000", f"Encountered the following error during processing:{EXCEPTION}", "ERROR")
    story.by_thread(1, 2, "01:09:52.001", "State transition from RUNNING to PENDING_SHUTDOWN")
    story.by_thread(1, 2, "01:09:52.020", "State transition from PENDING_SHUTDOWN to DEAD")
    joined(expired(story, "01:10:00.000", 1, 2), "01:10:00.001", BUT_ONE)
    assert story.causes() == ["member-left"]
    assert story.the_incident().severity == "warning"
    assert "StreamThread-2 of node-1 is gone, and the instance runs on without it" in story.the_incident().summary


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
    assert "its session expired;" in story.the_incident().summary


def test_an_application_that_closes_is_shut_down_although_no_remaining_member_logs_it() -> None:
    story = closed(closed(old_shop("clients"), "01:10:00.000", 1), "01:10:00.100", 2)
    cases = [i for i in story.case().incidents if i.root_causes[0].cause == "shutdown"]
    assert [i.severity for i in cases] == ["info"]


def test_an_instance_that_closes_and_returns_before_its_removal_is_still_a_member() -> None:
    story = closed(old_shop("clients"), "01:10:00.000", 2)
    joined(story, "01:10:05.000", EVERYBODY)
    assert all(d.returned is not None for d in story.timeline().departures)


@pytest.mark.parametrize(("others", "severity"), [(True, "warning"), (False, "critical")])
def test_instances_that_die_of_one_record_are_one_incident_and_critical_when_none_is_left(
    *, others: bool, severity: str
) -> None:
    story = old_shop("clients")
    for node, second in ((1, 2),) if others else ((1, 2), (2, 10)):
        for number in (1, 2):
            at = f"01:10:{second:02}.00{number}"
            story.by_thread(node, number, at, f"Encountered the following error during processing:{EXCEPTION}", "ERROR")
        closed(story, f"01:10:{second:02}.100", node)
    if others:
        joined(story, "01:10:10.000", ((2, 1), (2, 2)))
    assert story.causes() == ["member-left"]
    assert story.the_incident().severity == severity


def test_a_thread_added_to_a_running_instance_scales_out() -> None:
    story = joined(old_shop(), "01:00:15.000", (*EVERYBODY, (1, 3)))
    assert story.causes() == ["scale-out"]


def test_a_static_thread_is_one_member_though_its_id_names_its_instance() -> None:
    story = old_shop()
    for number in (1, 2):
        static = f"[Consumer instanceId=shop-2-{number}, clientId={story.consumer(2, number)}, groupId=shop]"
        story.line("node-2/app.log", "01:00:00.500", f"{static} Subscribed to topic(s): orders")
        story.broker("01:10:00.000", story.words.failed(member_id(f"shop-2-{number}")))
    joined(story, "01:10:00.001", ((1, 1), (1, 2)))
    assert story.causes() == ["static-member-expired"]
    assert len(story.timeline().departures) == 2
