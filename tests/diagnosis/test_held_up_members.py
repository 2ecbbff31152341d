from __future__ import annotations

from msgspec.structs import replace

from tests.diagnosis.test_coordinator_failover import FOUND, GC, moved
from tests.diagnosis.test_slow_processing import EXPIRED
from tests.story import Story

NETWORK = "org.apache.kafka.clients.NetworkClient"
NOT_REJOINED = "[GroupCoordinator 2]: Group payments removed dynamic members who haven't joined: Set({})"


def test_a_join_that_expires_after_its_broker_unloaded_the_group_removes_no_member() -> None:
    story = moved()
    story.broker("01:10:06.000", "[GroupCoordinator 2]: Unloading group metadata for payments with generation 1", 2, GC)
    story.broker("01:10:26.000", NOT_REJOINED.format(story.id_of("c-1")), 2, GC)
    story.broker("01:10:26.001", "[GroupCoordinator 2]: Group payments is dead, skipping rebalance stage", 2, GC)
    assert story.causes() == ["coordinator-failover"]
    assert not story.timeline().departures


def unpolled(story: Story, time: str) -> Story:
    """The consumer says that its poll timeout (5 min) expired, and leaves."""
    story.client("c-1", time, EXPIRED, level="WARN")
    return story.broker(time, story.words.left(story.id_of("c-1"), "consumer poll timeout has expired."), 3)


def test_a_commit_that_waits_for_a_coordinator_is_no_slow_loop() -> None:
    story = moved(found_by=("c-2",))
    story.client("c-1", "01:15:10.000", FOUND)
    assert "slow-processing" not in unpolled(story, "01:15:10.003").causes()


def test_a_slow_loop_after_a_short_failover_has_its_own_cause() -> None:
    assert set(unpolled(moved(), "01:10:20.000").causes()) == {"coordinator-failover", "slow-processing"}


def test_a_request_that_hangs_at_the_broker_that_froze_keeps_its_member_from_poll() -> None:
    story = moved()
    story.client("c-1", "01:14:30.000", "Disconnecting from node 2 due to request timeout.", logger=NETWORK)
    cancelled = (
        "Cancelled in-flight OFFSET_COMMIT request with correlation id 7 due to node 2147483645 being disconnected"
    )
    ages = "elapsed time since creation: 268000ms, elapsed time since send: 268000ms, throttle time: 0ms, request"
    story.client("c-1", "01:14:30.001", f"{cancelled} ({ages} timeout: 268000ms)", logger=NETWORK)
    assert "slow-processing" not in unpolled(story, "01:14:30.010").causes()


FAILED = "[Producer clientId={}-producer] Connection to node 3 (/10.0.0.3:9092) could not be established. "
FAILED += "Node may not be available."


def writers_without(broker_since: str, *clients: str) -> Story:
    """Members that write to a topic of broker 3, which dies; their poll timeout of 5 min expires at 01:15:00."""
    story = Story(release=(3, 9)).formed("c-1", "c-2", "c-3")
    minute, seconds = broker_since.rsplit(":", 1)
    for client in clients:
        for later in range(0, 9, 2):
            time = f"{minute}:{int(seconds) + later:02}.000"
            story.line(f"{client}/app.log", time, FAILED.format(client), level="WARN", logger=NETWORK)
    for client in clients:
        story.client(client, "01:15:00.000", EXPIRED, level="WARN")
        story.broker("01:15:00.010", story.words.left(story.id_of(client), "consumer poll timeout has expired."))
    return story


def test_members_that_all_stop_polling_as_a_broker_dies_wait_for_that_broker() -> None:
    cause = writers_without("01:10:02", "c-1", "c-2").the_incident().root_causes[0]
    assert (cause.cause, [c.name for c in cause.culprits]) == ("slow-processing", ["broker-3"])
    assert "broker-3 was out of reach" in cause.narrative
    assert "broker-3" in cause.advice[0].action


def test_a_single_member_that_stops_polling_as_a_broker_dies_most_likely_waited_for_it() -> None:
    cause = writers_without("01:10:02", "c-1").the_incident().root_causes[0]
    assert ([c.name for c in cause.culprits], cause.confidence) == (["broker-3"], 0.75)
    assert cause.narrative.startswith("c-1 did not call poll()")
    assert "broker-3 was out of reach" in cause.narrative


def test_a_broker_that_dies_late_in_a_slow_loop_did_not_slow_it_down() -> None:
    cause = writers_without("01:14:30", "c-1", "c-2").the_incident().root_causes[0]
    assert "out of reach" not in cause.narrative


def test_a_member_that_waits_for_a_broker_is_reported_separately_from_an_earlier_slow_member() -> None:
    story = writers_without("01:10:02", "c-1", "c-2")
    story.client("c-3", "01:12:00.000", EXPIRED, level="WARN")
    story.broker("01:12:00.010", story.words.left(story.id_of("c-3"), "consumer poll timeout has expired."))
    blamed = {tuple(c.name for c in i.root_causes[0].culprits) for i in story.incidents()}
    assert blamed == {("broker-3",), ("c-3",)}


def test_in_a_log_of_several_processes_only_a_members_own_clients_show_what_it_waited_for() -> None:
    story = writers_without("01:10:02", "c-1", "c-2")
    story.client("c-3", "01:15:00.000", EXPIRED, level="WARN")
    story.broker("01:15:00.010", story.words.left(story.id_of("c-3"), "consumer poll timeout has expired."))
    story.events = [
        replace(e, origin=replace(e.origin, path="merged.log")) if e.speaker.role != "broker" else e
        for e in story.events
    ]
    blamed = {tuple(c.name for c in i.root_causes[0].culprits) for i in story.incidents()}
    assert ("c-3",) in blamed
