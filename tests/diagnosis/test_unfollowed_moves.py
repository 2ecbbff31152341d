from __future__ import annotations

from rebalance_forensics.diagnosis.case import investigate
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.coverage import LogSpan, logs_read
from tests.story import Story, ms

GC = "kafka.coordinator.group.GroupCoordinator"
SERVER = "kafka.server.BrokerServer"


def one_broker() -> Story:
    """Of three brokers only the log of the coordinator is at hand."""
    return Story(seen="brokers").formed("c-1", "c-2", "c-3")


def test_a_coordinator_that_unloads_a_group_with_members_has_lost_it_to_another() -> None:
    story = one_broker()
    story.broker("01:10:00.000", "[BrokerServer id=2] shutting down", logger=SERVER)
    story.broker("01:10:01.000", "[GroupCoordinator 2]: Unloading group metadata for payments with generation 1")
    assert story.causes() == ["coordinator-failover"]
    assert story.blamed() == ["broker-2"]
    assert story.the_incident().severity == "info"


def test_a_broker_that_unloads_an_empty_group_affects_no_member() -> None:
    story = Story(seen="brokers").formed("c-1")
    story.broker("01:05:00.000", story.words.left(story.id_of("c-1"), "the consumer is being closed"))
    story.says("01:05:00.010", story.words.empty(2))
    story.broker("01:10:01.000", "[GroupCoordinator 2]: Unloading group metadata for payments with generation 2")
    assert "coordinator-failover" not in story.causes()


def test_a_broker_whose_disks_failed_is_reported_with_advice() -> None:
    story = Story(seen="brokers")
    halted = "Shutdown broker because all log dirs in /var/lib/kafka have failed"
    story.broker("00:50:00.000", "[BrokerServer id=2] Transition from STARTING to STARTED", logger=SERVER)
    story.formed("c-1", "c-2", "c-3")
    story.broker("01:10:00.100", halted, logger="kafka.log.LogManager")
    cause = story.the_incident().root_causes[0]
    assert (cause.cause, [c.name for c in cause.culprits]) == ("coordinator-failover", ["broker-2"])
    assert "all of its log directories had failed" in cause.narrative
    assert cause.advice[0].action.startswith("Free or replace the disk")


def test_a_broker_that_loads_a_group_long_after_its_start_took_it_from_another() -> None:
    story = one_broker()
    story.broker("01:10:00.000", "[BrokerServer id=2] Starting broker", logger=SERVER)
    elected = "[GroupCoordinator 2]: Elected as the group coordinator for partition 13 in epoch 4"
    story.broker("01:12:00.000", elected, logger=GC)
    story.broker("01:12:00.100", "[GroupCoordinator 2]: Loading group metadata for payments with generation 1")
    incident = story.the_incident()
    assert "took it over again" not in incident.root_causes[0].narrative


def test_of_two_brokers_that_log_about_a_group_in_turn_the_first_handed_it_over() -> None:
    story = one_broker()
    story.coordinator = 3
    story.rebalanced("01:20:00.000", story.words.adding(story.id_of("c-4")), ["c-1", "c-2", "c-3", "c-4"])
    failover = next(i for i in story.case().incidents if i.root_causes[0].cause == "coordinator-failover")
    assert [c.name for c in failover.root_causes[0].culprits] == ["broker-2"]


def loaded_by_a_broker_heard_since(begin: str) -> list[str]:
    """What the report says of a group that broker 2 loads, whose log begins at that time."""
    story = Story(seen="brokers")
    story.broker("01:10:00.000", "[GroupCoordinator 2]: Loading group metadata for payments with generation 4")
    span = LogSpan(path="broker-2/server.log", host="broker-2", opening=ms(begin), closing=ms("01:20:00.000"))
    case = investigate("default", story.group, story.events, UngroupedEvents([], logs_read([span])))
    return [f"{i.root_causes[0].cause}: {i.root_causes[0].narrative}" for i in case.incidents]


def test_a_group_that_a_broker_loads_while_it_runs_came_from_a_broker_that_no_line_names() -> None:
    (move,) = loaded_by_a_broker_heard_since("00:10:00.000")
    moved = "coordinator-failover: Another broker stopped coordinating the group; broker-2 took over"
    assert move.startswith(moved)


def test_a_broker_whose_log_begins_as_it_loads_a_group_may_have_had_it_before() -> None:
    (unclear,) = loaded_by_a_broker_heard_since("01:09:50.000")
    assert unclear.startswith(
        "unexplained: broker-2 loaded the group as its coordinator: it started, or another broker"
    )


def test_a_group_that_a_broker_loads_at_its_start_may_have_been_its_own() -> None:
    story = Story(seen="brokers")
    story.broker("01:09:58.000", "[BrokerServer id=2] Starting broker", logger=SERVER)
    story.broker("01:10:00.000", "[GroupCoordinator 2]: Loading group metadata for payments with generation 4")
    assert story.causes() == []


def test_whom_a_broker_evicts_as_it_wakes_up_and_loses_the_group_is_still_a_member() -> None:
    story = one_broker()
    for client in ("c-1", "c-2"):
        story.broker("01:10:45.000", story.words.failed(story.id_of(client)))
    story.broker("01:10:46.000", "[GroupCoordinator 2]: Unloading group metadata for payments with generation 1")
    assert story.causes() == ["coordinator-failover"]


def test_whom_a_broker_evicted_long_before_it_lost_the_group_is_gone() -> None:
    story = one_broker()
    story.broker("01:10:15.000", story.words.failed(story.id_of("c-1")))
    story.broker("01:10:46.000", "[GroupCoordinator 2]: Unloading group metadata for payments with generation 1")
    assert len(story.timeline().departures) == 1
