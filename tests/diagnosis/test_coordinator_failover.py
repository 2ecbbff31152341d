from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from rebalance_forensics.diagnosis.engine.confidence import PROBABLE
from tests.diagnosis.test_slow_processing import slow_member
from tests.story import Side, Story, ms

GM = "kafka.coordinator.group.GroupMetadataManager"
GC = "kafka.coordinator.group.GroupCoordinator"
LOST = (
    "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: coordinator "
)
LOST += "unavailable. isDisconnected: true. Rediscovery will be attempted."
FOUND = "Discovered group coordinator broker-3:9092 (id: 2147483644 rack: null)"


def moved(found_by: tuple[str, ...] = ("c-1", "c-2")) -> Story:
    story = Story().formed("c-1", "c-2")
    for client in ("c-1", "c-2"):
        story.client(client, "01:10:00.000", LOST)
    story.broker(
        "01:10:05.000", "[GroupCoordinator 3]: Elected as the group coordinator for partition 13 in epoch 4", 3, GC
    )
    story.broker(
        "01:10:05.001",
        "[GroupMetadataManager brokerId=3] Scheduling loading of offsets and group metadata from "
        "__consumer_offsets-13 for epoch 4",
        3,
        GM,
    )
    story.broker("01:10:05.020", "[GroupCoordinator 3]: Loading group metadata for payments with generation 1", 3, GC)
    for client in found_by:
        story.client(client, "01:10:05.500", FOUND)
    return story


def test_a_coordinator_that_dies_is_blamed_though_no_generation_was_lost() -> None:
    story = moved()
    assert story.causes() == ["coordinator-failover"]
    assert story.blamed() == ["broker-2"]
    assert story.the_incident().generations == ()


def test_the_group_has_two_coordinators_one_after_the_other() -> None:
    assert [term.broker for term in moved().history().coordinators] == ["broker-2", "broker-3"]


def test_clients_alone_notice_it() -> None:
    story = Story(seen="clients").formed("c-1", "c-2")
    for client in ("c-1", "c-2"):
        story.client(client, "01:10:00.000", LOST).client(client, "01:10:05.500", FOUND)
    assert story.causes() == ["coordinator-failover"]
    assert story.blamed() == ["broker-2"]


@pytest.mark.parametrize("refused", [False, True])
def test_a_coordinator_that_refuses_a_login_is_not_lost(refused: bool) -> None:  # noqa: FBT001 - a case of the test
    """The broker closes the connection of a client whose credential is no longer valid."""
    story = Story(seen="clients").formed("c-1", "c-2")
    denied = "Authentication failed during re-authentication due to invalid credentials with SASL mechanism SCRAM"
    for client in ("c-1", "c-2"):
        if refused:
            node = "Connection to node 2147483645 (broker-2/10.0.0.2:9092) failed authentication due to"
            story.client(client, "01:09:59.998", f"{node}: {denied}")
        story.client(client, "01:10:00.000", LOST)
    assert ("coordinator-failover" in story.causes()) is not refused


def test_looking_for_the_coordinator_at_the_start_is_no_failover() -> None:
    story = Story()
    story.client("c-1", "00:59:58.500", "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)")
    assert story.formed("c-1", "c-2").causes() == []


def stopping(story: Story, time: str, number: int) -> Story:
    return story.broker(time, f"[BrokerServer id={number}] shutting down", number, "kafka.server.BrokerServer")


def test_members_that_lose_a_coordinator_while_another_loads_the_group_lose_it_in_the_same_move() -> None:
    """Loading a large partition of `__consumer_offsets` takes longer than members need to notice."""
    story = stopping(Story().formed("c-1", "c-2"), "01:10:00.000", 2)
    loading = "[GroupCoordinator 3]: Loading group metadata for payments with generation 1"
    story.broker("01:10:20.000", loading, 3, GC)
    for client in ("c-1", "c-2"):
        story.client(client, "01:10:25.000", LOST)
    (cause, *_) = story.the_incident().root_causes
    assert "for up to 25 s" in cause.advice[0].why


def test_a_cluster_that_is_shut_down_as_a_whole_is_planned() -> None:
    story = stopping(moved(), "01:09:59.000", 2)
    assert story.the_incident().severity == "warning", "another broker takes over"
    assert stopping(story, "01:10:09.000", 3).the_incident().severity == "info"


def test_a_broker_that_stops_after_all_members_left_disturbs_no_group() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2")
    for second, client in enumerate(("c-1", "c-2")):
        story.broker(f"01:09:0{second}.000", story.words.left(story.id_of(client), "the consumer is being closed"))
    stopping(story, "01:09:20.000", 2)
    assert "coordinator-failover" not in {i.root_causes[0].cause for i in story.case().incidents}


def test_processes_that_look_for_the_coordinator_before_they_join_move_nothing() -> None:
    story = Story(seen="clients").formed("c-1", "c-2")
    for client in ("c-3", "c-4"):
        story.started(client, "01:00:05.000").client(client, "01:00:06.000", LOST)
        story.client(client, "01:00:07.000", FOUND.replace("broker-3", "broker-2"))
    story.rebalanced("01:00:09.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3", "c-4"])
    assert "coordinator-failover" not in story.causes()


def test_members_that_give_their_coordinator_up_one_after_another_have_not_lost_the_broker() -> None:
    story = Story(seen="clients").formed("c-1", "c-2", "c-3")
    for second, client in ((0, "c-1"), (8, "c-2"), (16, "c-3")):
        story.client(client, f"01:10:{second:02}.000", LOST)
        story.client(
            client, f"01:10:{second:02}.100", FOUND.replace("3:9092 (id: 2147483644", "2:9092 (id: 2147483645")
        )
    assert "coordinator-failover" not in story.causes()


def test_a_frozen_coordinator_that_wakes_up_expires_sessions_of_a_group_it_has_lost() -> None:
    story = moved()
    for client in ("c-1", "c-2"):
        expired = f"Member {story.id_of(client)} in group payments has failed, removing it from the group"
        story.broker("01:10:40.000", f"[GroupCoordinator 2]: {expired}", 2, GC)
    assert story.causes() == ["coordinator-failover"]
    assert story.the_incident().severity == "warning"


def woken_up() -> Story:
    """The former coordinator evicts c-1 when it wakes up, and then learns that it lost the group."""
    story = moved()
    expired = f"Member {story.id_of('c-1')} in group payments has failed, removing it from the group"
    story.broker("01:10:40.000", f"[GroupCoordinator 2]: {expired}", 2, GC)
    unloading = "[GroupCoordinator 2]: Unloading group metadata for payments with generation 1"
    return story.broker("01:10:42.000", unloading, 2, GC).goes_on("01:15:00.000")


def test_whom_a_former_coordinator_evicts_reads_on() -> None:
    story = woken_up()
    assert story.causes() == ["coordinator-failover"]
    assert not story.history().unread
    assert [d.stayed for d in story.timeline().departures] == [True]


def test_a_member_that_its_stale_coordinator_evicts_and_that_rejoins_under_a_new_id_did_not_crash() -> None:
    """Its old id was loaded with the group, and expires at the new coordinator one session later."""
    story = woken_up()
    story.events = [event for event in story.events if event.speaker.role == "broker"]
    story.coordinator, story.seen = 3, "brokers"
    old, new = story.id_of("c-1"), story.reborn("c-1").id_of("c-1")
    joins = f"Dynamic member with unknown member id joins group payments in Stable state. Created a new member id {new}"
    story.says("01:10:41.000", f"{joins} and request the member to rejoin with this id.")
    story.broker("01:10:41.010", story.words.preparing(1, story.words.adding(new)))
    story.says("01:10:50.000", f"Member {old} in group payments has failed, removing it from the group")
    story.broker("01:10:50.010", story.words.stabilized(2, 2))
    story.broker("01:10:50.020", story.words.assigned(2, 2, story.id_of("c-2")))
    assert story.causes() == ["coordinator-failover"]


def test_who_is_evicted_by_a_broker_that_reaches_a_generation_afterwards_has_gone() -> None:
    """How it got the group back, a line that is missing told."""
    story = moved()
    expired = f"Member {story.id_of('c-1')} in group payments has failed, removing it from the group"
    story.broker("01:10:40.000", f"[GroupCoordinator 2]: {expired}", 2, GC)
    stabilized = "[GroupCoordinator 2]: Stabilized group payments generation 2 (__consumer_offsets-13) with 1 members"
    story.broker("01:10:41.000", stabilized, 2, GC)
    unloading = "[GroupCoordinator 2]: Unloading group metadata for payments with generation 2"
    story.broker("01:15:42.000", unloading, 2, GC)
    assert [d.stayed for d in story.timeline().departures] == [False]


def test_a_controller_and_members_notice_a_silent_broker_too_late_to_tell_how_long_it_was() -> None:
    story = moved()
    fencing = "[QuorumController id=3] Fencing broker 2 because its session has timed out."
    story.broker("01:10:02.000", fencing, 3, "org.apache.kafka.controller.ReplicationControlManager")
    assert "for at least 5 s" in story.the_incident().root_causes[0].advice[0].why


def fenced(gone: int) -> Story:
    """The controller, on another broker, fences the coordinator; a third one loads the group."""
    story = Story(coordinator=gone, seen="brokers").formed("c-1", "c-2")
    fencing = f"[QuorumController id=3] Fencing broker {gone} because its session has timed out."
    story.broker("01:10:00.000", fencing, 3, "org.apache.kafka.controller.ReplicationControlManager")
    loading = "[GroupCoordinator 1]: Loading group metadata for payments with generation 1"
    return story.broker("01:10:05.000", loading, 1, GC)


def test_a_broker_whose_id_is_0_is_fenced_like_any_other() -> None:
    for gone in (2, 0):
        story = fenced(gone)
        assert story.blamed() == [f"broker-{gone}"]
        incident = story.the_incident()
        assert any("Fencing broker" in line.text for line in incident.root_causes[0].evidence), gone
        asked = [log.needs for log in incident.would_decide]
        assert any(
            need.startswith(f"the kernel and supervisor logs from the host of broker-{gone} (") for need in asked
        )


@pytest.mark.parametrize(("controller", "causes"), [(2, []), (3, ["coordinator-failover"])])
def test_a_controller_that_was_fenced_itself_fences_no_living_broker_as_it_wakes_up(
    controller: int, causes: list[str]
) -> None:
    story = Story(coordinator=1, seen="brokers").formed("c-1", "c-2")
    story.broker(
        "01:05:00.000", "[GroupMetadataManager brokerId=2] Removed 0 expired offsets in 1 milliseconds.", 2, GM
    )
    for time, by, fenced in (("01:10:00.000", 3, 2), ("01:10:40.000", controller, 1)):
        fencing = f"[QuorumController id={by}] Fencing broker {fenced} because its session has timed out."
        story.broker(time, fencing, by, "org.apache.kafka.controller.ReplicationControlManager")
    assert story.causes() == causes


HEARTBEAT = (
    "[BrokerLifecycleManager id=2] Unable to send a heartbeat because the RPC got timed out before it could be sent."
)
OVERLOADED = (
    "[QuorumController id=3] processExpiredBrokerHeartbeat: controller event queue overloaded. "
    "Timed out heartbeat from broker 2."
)


@pytest.mark.parametrize(
    ("lines", "links"),
    [
        ([("01:09:53.000", 2, HEARTBEAT), ("01:09:57.000", 2, HEARTBEAT)], ["session-lost"]),
        ([("01:09:53.000", 2, HEARTBEAT), ("01:09:57.000", 3, OVERLOADED)], ["session-lost", "controller-overloaded"]),
        ([("01:10:09.000", 2, HEARTBEAT)], []),
        ([("01:08:53.000", 2, HEARTBEAT)], []),
        ([("01:09:46.000", 2, HEARTBEAT)], []),
        ([("01:09:46.000", 3, OVERLOADED)], []),
        ([("01:09:53.000", 1, HEARTBEAT.replace("=2", "=1"))], []),
    ],
    ids=[
        "before",
        "an overloaded controller",
        "as it wakes up",
        "long before",
        "long enough before for the next to get through",
        "likewise, by the controller",
        "another broker's",
    ],
)
def test_failed_heartbeats_are_the_cause_behind_the_fencing_of_a_running_broker(
    lines: list[tuple[str, int, str]], links: list[str]
) -> None:
    story = fenced(2)
    for time, broker, message in lines:
        story.broker(time, message, broker, "kafka.server.BrokerLifecycleManager")
    cause = story.the_incident().root_causes[0]
    assert [link.what for link in cause.behind] == links
    assert all(cause.narrative.endswith(link.why) for link in cause.behind[-1:])


def test_a_broker_that_asks_to_be_fenced_as_it_starts_has_lost_no_session() -> None:
    story = fenced(2)
    asked = "[QuorumController id=3] Unfenced broker 2 has requested and been granted fencing"
    story.events = [e for e in story.events if "Fencing broker" not in e.text]
    story.broker("01:10:00.000", asked, 3, "org.apache.kafka.controller.BrokerHeartbeatManager")
    story.broker("01:09:57.000", HEARTBEAT, 2, "kafka.server.BrokerLifecycleManager")
    assert story.the_incident().root_causes[0].behind == ()


def test_a_broker_that_names_the_members_it_loads_does_not_coordinate_them_yet() -> None:
    """Brokers of 2.x print a line a member, then the group's, which may take a while."""
    story = Story(release=(2, 8), seen="brokers").formed("c-1", "c-2")
    for client in ("c-1", "c-2"):
        member = f"memberId={story.id_of(client)}, groupInstanceId=None, clientId={client}, clientHost=/10.0.0.7"
        timeouts = "sessionTimeoutMs=10000, rebalanceTimeoutMs=20000, supportedProtocols=List(range)"
        loaded = f"Loaded member MemberMetadata({member}, {timeouts}) in group payments with generation 1"
        story.broker("01:10:05.000", f"{loaded}.", 3, "kafka.coordinator.group.GroupMetadata$")
    story.broker("01:10:05.035", "[GroupCoordinator 3]: Loading group metadata for payments with generation 1", 3, GC)
    expired = f"Member {story.id_of('c-1')} in group payments has failed, removing it from the group"
    story.broker("01:10:25.000", f"[GroupCoordinator 2]: {expired}", 2, GC)
    assert story.causes() == ["coordinator-failover"]
    assert story.blamed() == ["broker-2"]


def test_a_frozen_coordinator_that_wakes_up_and_cannot_write_has_lost_the_group_not_the_offsets_topic() -> None:
    story = moved()
    lost = "Failed to write empty metadata for group payments: This is not the correct coordinator."
    story.broker("01:10:40.000", f"[GroupCoordinator 2]: {lost}", 2, GC)
    assert story.causes() == ["coordinator-failover"]


def loaded_by_another(story: Story, session_ms: int = 10_000) -> None:
    """Another broker loads the group of c-1 and c-2 at 01:10:05."""
    for client in ("c-1", "c-2"):
        member = f"memberId={story.id_of(client)}, groupInstanceId=None, clientId={client}, clientHost=/10.0.0.7"
        timeouts = f"sessionTimeoutMs={session_ms}, rebalanceTimeoutMs=60000, supportedProtocols=List(range)"
        loaded = f"Loaded member MemberMetadata({member}, {timeouts}) in group payments with generation 1"
        story.broker("01:10:05.000", f"{loaded}.", 3, "kafka.coordinator.group.GroupMetadata$")
    story.broker("01:10:05.020", "[GroupCoordinator 3]: Loading group metadata for payments with generation 1", 3, GC)
    story.coordinator = 3


def lost_in_the_move(expired_at: str) -> Story:
    """The group's broker stopped, another loaded the group, and c-2 sends that one no heartbeat: session 10 s."""
    story = Story(release=(2, 8), seen="brokers").formed("c-1", "c-2")
    loaded_by_another(story)
    gone = story.id_of("c-2")
    story.says(expired_at, f"Member {gone} in group payments has failed, removing it from the group")
    story.broker(expired_at, story.words.preparing(1, f"removing member {gone} on heartbeat expiration"))
    story.generation = 2
    story.broker(expired_at.replace(".100", ".900"), story.words.stabilized(2, 1))
    return story.goes_on("01:12:00.000")


def test_a_member_that_expires_one_session_after_the_group_was_loaded_was_lost_in_the_move() -> None:
    story = lost_in_the_move("01:10:15.100")
    assert story.causes() == ["coordinator-failover"]
    assert 2 in story.the_incident().generations


def test_members_that_come_back_under_new_ids_before_the_old_ones_expire_were_lost_in_the_move() -> None:
    """KafkaJS makes its consumer anew while no broker answers; the join that this begins ends with the old ids."""
    story = Story(release=(2, 8)).formed("c-1", "c-2")
    old = [story.id_of(client) for client in ("c-1", "c-2")]
    loaded_by_another(story, session_ms=45_000)
    for client, second in (("c-1", 6), ("c-2", 8)):
        new = story.reborn(client).id_of(client)
        story.broker(f"01:10:{second:02}.000", story.words.introduced(new))
        story.broker(f"01:10:{second:02}.010", story.words.preparing(1, story.words.adding(new)))
    for member in old:
        story.says("01:10:50.100", f"Member {member} in group payments has failed, removing it from the group")
    story.generation = 2
    story.assigned(ms("01:10:50.120"), ["c-1", "c-2"]).goes_on("01:12:00.000")
    assert "coordinator-failover" in story.causes()
    assert not {"slow-processing", "process-crash", "process-pause"} & set(story.causes())


def test_clients_that_count_their_sessions_out_while_no_broker_coordinates_them_owe_that_to_the_outage() -> None:
    """A client such as aiokafka says that its session expired until the restarted broker loads the group."""
    story = Story(release=(2, 8)).formed("c-1", "c-2")
    story.broker("01:10:00.000", "[KafkaServer id=2] shutting down", 2, "kafka.server.KafkaServer")
    logger = "aiokafka.consumer.group_coordinator"
    for second in (11, 12, 13):
        for client in ("c-1", "c-2"):
            expired = "Heartbeat session expired - marking coordinator dead"
            story.line(f"{client}/app.log", f"01:10:{second}.000", expired, level="ERROR", logger=logger)
    story.broker("01:10:20.000", "[GroupCoordinator 2]: Loading group metadata for payments with generation 1", 2, GC)
    assert story.goes_on("01:12:00.000").causes() == ["coordinator-failover"]


def test_a_member_that_expires_at_another_time_has_its_own_cause() -> None:
    assert "process-crash" in lost_in_the_move("01:10:50.100").causes()


def expired_after_a_load(*expiries: str) -> Story:
    """Another broker loads the group of c-1 and c-2; no line has their session timeout, and none of them comes back."""
    story = Story(release=(2, 8), seen="brokers").formed("c-1", "c-2")
    story.broker("01:10:05.020", "[GroupCoordinator 3]: Loading group metadata for payments with generation 1", 3, GC)
    story.coordinator = 3
    for client, at in zip(("c-1", "c-2"), expiries, strict=True):
        story.says(at, f"Member {story.id_of(client)} in group payments has failed, removing it from the group")
        story.broker(at, story.words.preparing(1, f"removing member {story.id_of(client)} on heartbeat expiration"))
    story.broker(expiries[-1], story.words.empty(2))
    return story.goes_on("01:12:00.000")


def test_members_that_all_expire_at_once_after_a_load_never_reached_the_new_coordinator() -> None:
    """Loading a group restarts the sessions of all its members, so they end together, after any session timeout.

    Members that sent it heartbeats and crashed then expire at times of their own.
    """
    lost, crashed = (
        max(c.confidence for i in story.incidents() for c in i.root_causes if c.cause == "process-crash")
        for story in (
            expired_after_a_load("01:10:17.100", "01:10:17.110"),
            expired_after_a_load("01:10:15.100", "01:10:17.900"),
        )
    )
    assert lost < PROBABLE <= crashed


DENIED = (
    "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: "
    "error response NOT_COORDINATOR. isDisconnected: false. Rediscovery will be attempted."
)
CUT_OFF = DENIED.replace("error response NOT_COORDINATOR. isDisconnected: false", "null. isDisconnected: true")


def one_of_two(line: str) -> Story:
    return Story(seen="clients").formed("c-1", "c-2").client("c-1", "01:10:00.000", line)


def test_the_answer_of_a_broker_that_it_is_not_the_coordinator_is_enough_from_one_member() -> None:
    story = one_of_two(DENIED)
    assert story.causes() == ["coordinator-failover"]
    assert story.blamed() == ["broker-2"]
    assert "answered" in story.the_incident().root_causes[0].narrative


def test_a_connection_that_one_member_lost_says_nothing_of_the_coordinator() -> None:
    assert "coordinator-failover" not in one_of_two(CUT_OFF).causes()


def test_a_member_that_starts_and_asks_the_wrong_broker_first_moves_nothing() -> None:
    story = Story(seen="clients").client("c-1", "00:59:58.700", DENIED)
    assert story.formed("c-1", "c-2").causes() == []


def test_who_left_a_coordinator_that_died_before_it_wrote_that_down_has_left_though_the_next_one_evicts_it() -> None:
    """The group is read from `__consumer_offsets` as its last generation was written: with those who left since."""
    story = Story(seen="brokers").formed("c-1", "c-2", "c-3")
    left = story.id_of("c-3")
    story.broker("01:10:00.000", story.words.preparing(1, story.words.leaving(left)))
    story.broker("01:10:00.001", story.words.left(left))
    story.broker("01:10:12.000", "[GroupCoordinator 3]: Loading group metadata for payments with generation 1", 3, GC)
    story.coordinator = 3
    story.broker("01:10:57.000", story.words.failed(left))
    story.broker("01:10:57.001", story.words.preparing(1, f"removing member {left} on heartbeat expiration"))
    story.generation = 2
    story.broker("01:10:59.000", story.words.stabilized(2, 2)).goes_on("01:20:00.000")
    causes = story.causes()
    assert "coordinator-failover" in causes
    assert "process-crash" not in causes
    left_by_itself = next(i for i in story.incidents() if i.root_causes[0].cause == "scale-in")
    assert [c.name for c in left_by_itself.root_causes[0].culprits] == ["c-3"]


def test_clients_of_4_4_number_their_coordinators_with_a_plus() -> None:
    story = Story(seen="clients", release=(4, 4)).formed("c-1", "c-2")
    for client in ("c-1", "c-2"):
        story.client(
            client, "01:10:00.000", LOST.replace("id: 2147483645 rack: null", "id: +2 rack: null isFenced: false")
        )
        story.client(
            client, "01:10:05.500", FOUND.replace("id: 2147483644 rack: null", "id: +3 rack: null isFenced: false")
        )
    assert story.causes() == ["coordinator-failover"]
    assert story.blamed() == ["broker-2"]


def begun_in_the_middle(seen: Side = "both") -> Story:
    """The logs begin when c-3 leaves; its coordinator dies at once, and the next one lets the group rebalance."""
    story = Story(generation=4, seen=seen)
    for client in ("c-1", "c-2", "c-3"):
        story.holds[client] = ("orders-0", "orders-1")
    left = story.id_of("c-3")
    story.broker("01:10:00.000", story.words.preparing(4, story.words.leaving(left)))
    story.broker("01:10:00.001", story.words.left(left))
    for client in ("c-1", "c-2"):
        story.client(client, "01:10:01.000", LOST)
    fencing = "[QuorumController id=3] Fencing broker 2 because its session has timed out."
    story.broker("01:10:11.000", fencing, 3, "org.apache.kafka.controller.ReplicationControlManager")
    story.broker("01:10:12.000", "[GroupCoordinator 3]: Loading group metadata for payments with generation 4", 3, GC)
    story.coordinator = 3
    for client, time in (("c-1", "01:10:13.000"), ("c-2", "01:10:19.000")):
        story.client(client, "01:10:12.500", FOUND)
        story.client(client, time, "(Re-)joining group")
    story.generation = 5
    return story.assigned(ms("01:10:20.000"), ["c-1", "c-2"])


def test_a_coordinator_that_dies_before_the_first_generation_of_the_logs_is_no_start_of_the_group() -> None:
    assert "coordinator-failover" in begun_in_the_middle().causes()


def test_members_that_wait_for_another_coordinator_delay_no_rebalance() -> None:
    causes = {c.cause for i in begun_in_the_middle("brokers").incidents() for c in i.root_causes}
    assert "rebalance-straggler" not in causes


def test_a_client_that_asks_a_broker_before_the_first_generation_shows_no_move() -> None:
    story = Story()
    for client in ("c-1", "c-2"):
        story.client(client, "00:59:59.000", DENIED)
    assert story.rebalanced("01:00:00.000", story.words.adding(story.id_of("c-1")), ["c-1", "c-2"]).causes() == []


def test_brokers_alone_do_not_show_since_when_a_fenced_coordinator_was_gone() -> None:
    advice = fenced(2).the_incident().root_causes[0].advice
    assert "could not commit or send heartbeats." in advice[0].why


def held_up(gave_up: str) -> Story:
    """c-2 is late to a rebalance; the others wait in their JoinGroup requests, and lose their coordinator then."""
    story = Story(release=(2, 7)).formed("c-1", "c-2", "c-3", "c-5")
    for client in ("c-1", "c-2", "c-3", "c-5"):
        story.started(client, "00:59:58.100", max_poll_interval_ms=30_000)
    story.started("c-4", "01:09:58.000")
    story.broker("01:10:00.000", story.words.preparing(1, story.words.adding(story.id_of("c-4"))))
    for client in ("c-1", "c-3", "c-5"):
        story.client(client, "01:10:01.000", "(Re-)joining group")
        story.client(client, gave_up, LOST).client(client, gave_up.replace(".1", ".2"), FOUND.replace("3", "2"))
        story.client(client, gave_up.replace(".1", ".3"), "(Re-)joining group")
    story.client("c-2", "01:10:50.000", "(Re-)joining group")
    story.generation = 2
    return story.assigned(ms("01:10:50.010"), ["c-1", "c-2", "c-3", "c-4", "c-5"])


def test_members_whose_joins_time_out_in_a_long_rebalance_lost_no_coordinator() -> None:
    assert "coordinator-failover" not in held_up("01:10:36.100").causes()


def test_members_that_lose_it_while_they_wait_at_another_time_did_lose_it() -> None:
    assert "coordinator-failover" in held_up("01:10:20.100").causes()


def test_a_group_that_waits_for_the_same_broker_is_advised_to_check_its_replicas() -> None:
    story = stopping(Story().formed("c-1", "c-2"), "01:10:00.000", 2)
    story.broker("01:10:20.000", "[GroupCoordinator 2]: Loading group metadata for payments with generation 1", 2, GC)
    (advice,) = story.the_incident().root_causes[0].advice
    assert advice.action.startswith("Check that __consumer_offsets has replicas on several brokers")
    assert "for up to 20 s until the same broker was back" in advice.why


@pytest.mark.parametrize("seen", ["both", "brokers", "clients"])
def test_a_member_that_was_not_polled_and_comes_back_owes_that_to_no_move(seen: Side) -> None:
    story = slow_member((3, 9), seen)
    for client in ("c-1", "c-2", "c-3"):
        story.client(client, "01:10:11.500", LOST)
        story.client(client, "01:10:11.700", FOUND)
    found = {i.root_causes[0].cause: i.root_causes[0].confidence for i in story.incidents()}
    assert found["slow-processing"] >= 0.9


def test_members_that_were_expired_before_any_of_them_found_the_coordinator_again_were_not_cut_off_from_it() -> None:
    story = Story(seen="clients").formed("c-1", "c-2")
    for client in ("c-1", "c-2"):
        story.client(client, "01:10:00.000", LOST)
    for client in ("c-1", "c-2"):
        story.client(client, "01:10:40.000", FOUND)
        expired = "Resetting generation and member id due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"
        story.client(client, "01:10:40.010", expired)
        story.reborn(client)
    story.rebalanced("01:10:41.000", "", ["c-1", "c-2"])
    assert story.causes() == ["coordinator-failover"]


def test_the_broker_that_refused_is_the_one_found_before_even_where_times_are_whole_seconds(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(
        "[sarama] 2021/05/05 10:00:00 client/coordinator coordinator for consumergroup orders is #2 (kafka-2:9092)\n"
        "2021/05/05 10:05:00 Error from consumer: kafka server: Request was for a consumer group that is not "
        "coordinated by this broker.\n"
        "[sarama] 2021/05/05 10:05:00 client/coordinator requesting coordinator for consumergroup orders from a:9092\n"
        "[sarama] 2021/05/05 10:05:00 client/coordinator coordinator for consumergroup orders is #3 (kafka-3:9092)\n"
    )
    (incident,) = rf.analyze(tmp_path, engine="local").report.incidents
    assert [culprit.name for culprit in incident.root_causes[0].culprits] == ["broker-2"]


LOADING = (
    "Offset commit failed on partition orders-0 at offset 42: The coordinator is loading and hence can't process "
    "requests."
)
STOPPING = (
    "Attempt to heartbeat with Generation{generationId=5, memberId='c-1-0a', protocol='range'} and group instance id "
    "Optional.empty failed due to COORDINATOR_NOT_AVAILABLE, resetting generation"
)


@pytest.mark.parametrize("line", [LOADING, STOPPING])
def test_a_member_that_meets_a_loading_or_stopping_coordinator_shows_that_it_moves(line: str) -> None:
    cause = Story(seen="clients").client("c-1", "01:10:00.000", line).the_incident().root_causes[0]
    assert cause.cause == "coordinator-failover"
    assert "was stopping, or had not loaded it yet" in cause.narrative
    assert cause.confidence < PROBABLE


def test_a_start_that_another_host_dates_late_is_no_move_while_the_broker_logs_on() -> None:
    story = Story().formed("c-1", "c-2")
    unfenced = "[QuorumController id=1] The request from broker 2 to unfence has been granted because it has caught up "
    unfenced += "with the offset of its register broker record 6."
    story.broker("01:00:07.000", unfenced, 1, "org.apache.kafka.controller.BrokerHeartbeatManager")
    story.rebalanced("01:00:09.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert "coordinator-failover" not in story.causes()
    start = "[BrokerLifecycleManager id=2] The broker has been unfenced. Transitioning from RECOVERY to RUNNING."
    story.broker("01:00:07.010", start, 2, "kafka.server.BrokerLifecycleManager")
    assert "coordinator-failover" in story.causes()
