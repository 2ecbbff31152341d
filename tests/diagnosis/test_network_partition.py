from __future__ import annotations

import pytest

from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_process_pause import UNKNOWN
from tests.kafka_words import member_id
from tests.story import Side, Story

LOST = (
    "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: "
    "coordinator unavailable. isDisconnected: true. Rediscovery will be attempted."
)


def cut_off() -> Story:
    story = evicted()
    for time in ("01:09:20.000", "01:09:31.000", "01:09:42.000", "01:09:55.000", "01:10:07.000"):
        story.client("c-3", time, "Node 2 disconnected.", logger="org.apache.kafka.clients.NetworkClient")
        story.client("c-3", time.replace(".000", ".010"), LOST)
    story.reborn("c-3")
    return story.rebalanced("01:10:20.000", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])


def test_a_log_that_continues_with_disconnects_shows_a_live_member_that_was_cut_off() -> None:
    story = cut_off()
    assert story.causes() == ["network-partition"]
    assert story.blamed() == ["c-3"]


def test_the_process_is_cleared_of_standing_still() -> None:
    assert {"process-pause", "process-crash"} & {r.cause for r in cut_off().the_incident().ruled_out}


def test_a_disconnect_without_an_eviction_is_no_incident() -> None:
    story = Story().formed("c-1", "c-2")
    story.client("c-1", "01:05:00.000", "Node 2 disconnected.", logger="org.apache.kafka.clients.NetworkClient")
    assert story.causes() == []


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_before_3_1_a_coordinator_looked_for_in_vain_is_the_only_sign(seen: Side) -> None:
    story = looked_for_in_vain(seen, found="01:10:20.000")
    assert story.causes() == ["network-partition"]
    assert story.blamed() == ["c-3"]


def test_a_process_that_wakes_up_finds_its_coordinator_at_once() -> None:
    assert looked_for_in_vain("both", found="01:09:31.400").causes() == ["process-pause"]


OWN_DISCONNECT = "Client requested disconnect from node 2147483645"
THROTTLED = (
    "Cancelled in-flight OFFSET_COMMIT request with correlation id 136 due to node 2147483645 being disconnected "
    "(elapsed time since creation: 11456ms, elapsed time since send: 10112ms, throttle time: {ms}ms, request timeout: "
    "30000ms)"
)


CONNECTION_THROTTLED = "Connection to node +2 is throttled for {ms} ms until timestamp 1772330999000"


def held_back(*, by_ms: int | None, found: str) -> Story:
    story = looked_for_in_vain("both", found=found)
    network = "org.apache.kafka.clients.NetworkClient"
    story.client("c-3", "01:09:31.001", OWN_DISCONNECT, logger=network)
    if by_ms is not None:
        story.client("c-3", "01:09:31.002", THROTTLED.format(ms=by_ms), logger=network)
    return story


def test_a_client_whose_requests_a_quota_held_back_was_neither_cut_off_nor_paused() -> None:
    incident = held_back(by_ms=30_000, found="01:09:31.400").the_incident()
    assert [cause.cause for cause in incident.root_causes] == ["unexplained"]
    assert "a quota held its requests back for up to 30 s" in incident.summary
    assert incident.impact.rebalances


def test_a_connection_to_the_coordinator_that_is_throttled_until_the_session_is_over_carries_no_heartbeats() -> None:
    story = looked_for_in_vain("both", found="01:09:31.400")
    story.client("c-3", "01:09:35.000", CONNECTION_THROTTLED.format(ms=28_000))
    assert "a quota held its requests back for up to 28 s" in story.the_incident().summary
    other = looked_for_in_vain("both", found="01:09:31.400")
    other.client("c-3", "01:09:35.000", CONNECTION_THROTTLED.format(ms=28_000).replace("+2", "1"))
    assert other.causes() == ["process-pause"]


def test_a_member_that_learns_of_its_expulsion_long_after_it_was_throttled_was_throttled_all_the_same() -> None:
    story = looked_for_in_vain("clients", found="01:10:19.000")
    story.client("c-3", "01:09:34.000", CONNECTION_THROTTLED.format(ms=45_000))
    assert story.causes() == ["unexplained"]
    assert "a quota held its requests back for up to 45 s" in story.the_incident().summary


def test_a_request_that_was_not_throttled_rules_nothing_out() -> None:
    assert held_back(by_ms=0, found="01:09:31.400").causes() != ["unexplained"]


@pytest.mark.parametrize(("node", "age", "ms"), [(1, 120, 400), (2147483645, 0, 1), (2147483645, 5_000, 4_500)])
def test_a_throttle_too_short_for_a_session_clears_nobody(node: int, age: int, ms: int) -> None:
    story = cut_off()
    line = THROTTLED.format(ms=ms).replace("2147483645", str(node)).replace("11456", str(age))
    story.client("c-3", "01:09:41.000", line, logger="org.apache.kafka.clients.NetworkClient")
    assert story.causes() == ["network-partition"]


def test_connections_that_outlast_the_request_timeout_while_nobody_answers_were_not_cut_off() -> None:
    incident = held_back(by_ms=None, found="01:10:20.000").the_incident()
    assert [cause.cause for cause in incident.root_causes] == ["unexplained"]
    assert "none of its connections broke" in incident.summary


def looked_for_in_vain(seen: Side, found: str) -> Story:
    story = evicted((2, 8), seen)
    story.client("c-3", "01:09:31.000", LOST.replace(" isDisconnected", "isDisconnected"))
    story.client("c-3", found, "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)")
    message = f"Generation{{generationId=1, memberId='{story.id_of('c-3')}', protocol='range'}}"
    story.client("c-3", "01:10:20.020", UNKNOWN.format(message))
    story.reborn("c-3")
    return story.rebalanced("01:10:20.100", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])


NETWORK = "org.apache.kafka.clients.NetworkClient"


def back_soon(*told: tuple[str, str], found: str = "01:10:03.200") -> Story:
    """c-3 reaches its coordinator again 3.2 s after its eviction, and says things before."""
    story = evicted()
    for time, message in told:
        story.client("c-3", time, message, logger=NETWORK)
    story.client("c-3", found, "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)")
    generation = f"Generation{{generationId=1, memberId='{story.id_of('c-3')}', protocol='range'}}"
    story.client("c-3", "01:10:03.220", UNKNOWN.format(generation))
    story.reborn("c-3")
    return story.rebalanced("01:10:03.300", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])


CANCELLED = (
    "Cancelled in-flight {} request with correlation id 42 due to node 2147483645 being disconnected (elapsed "
    "time since creation: {}ms, elapsed time since send: {}ms, throttle time: 0ms, request timeout: 30000ms)"
)
REFUSED = "Error connecting to node broker-2:9092 (id: 2 rack: null)\njava.net.SocketException: Network is unreachable"


def test_connections_that_fail_again_and_again_are_no_pause_however_short_the_outage() -> None:
    story = back_soon(*((f"01:10:0{second}.400", REFUSED) for second in (0, 1, 2)))
    assert story.causes() == ["network-partition"]


@pytest.mark.parametrize("api", ["HEARTBEAT", "FIND_COORDINATOR"])
def test_requests_of_different_ages_that_nobody_answered_were_sent_while_it_was_cut_off(api: str) -> None:
    story = back_soon(*(("01:10:00.100", CANCELLED.format(api, age, age)) for age in (6158, 3142, 101)))
    assert story.causes() == ["network-partition"]


def test_one_old_heartbeat_and_one_just_sent_are_what_a_process_that_wakes_up_gives_up() -> None:
    story = back_soon(*(("01:10:03.100", CANCELLED.format("HEARTBEAT", age, age)) for age in (48_158, 101)))
    assert story.causes() == ["process-pause"]


def test_who_looks_for_its_coordinator_for_seconds_may_have_been_cut_off() -> None:
    story = back_soon()
    assert story.the_incident().root_causes[0].confidence >= 0.9
    unsure = evicted()
    unsure.client("c-3", "01:10:00.100", LOST)
    unsure.client("c-3", "01:10:03.200", "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)")
    unsure.reborn("c-3")
    unsure.rebalanced("01:10:03.300", unsure.words.adding(unsure.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert "network-partition" not in {r.cause for r in unsure.the_incident().ruled_out}


NO_GENERATION = "Generation{generationId=-1, memberId='', protocol='null'}"
FROM_HEARTBEAT = "Resetting generation due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"
NEED_ID = "Request joining group due to: need to re-join with the given member-id: {}"


def test_a_heartbeat_without_a_member_id_that_is_refused_ends_no_second_membership() -> None:
    """It was sent between the commit that was refused, and that reset the generation, and the next JoinGroup."""
    story = cut_off_and_told_by_a_commit()
    story.client("c-3", "01:10:22.000", UNKNOWN.format(NO_GENERATION))
    story.client("c-3", "01:10:22.001", FROM_HEARTBEAT)
    story.rebalanced("01:10:22.010", story.words.adding(story.id_of("c-3")), ["c-1", "c-2", "c-3"])
    assert story.causes() == ["network-partition"]
    assert [d.member for d in story.timeline().departures] == [member_id("c-3")]


def cut_off_and_told_by_a_commit() -> Story:
    """c-3 hears of its eviction from a commit, and is given a new member id."""
    story = evicted()
    for time in ("01:09:20.000", "01:09:31.000", "01:09:42.000", "01:09:55.000", "01:10:07.000"):
        story.client("c-3", time, "Node 2 disconnected.", logger="org.apache.kafka.clients.NetworkClient")
        story.client("c-3", time.replace(".000", ".010"), LOST)
    reset = "Resetting generation due to: encountered UNKNOWN_MEMBER_ID from OFFSET_COMMIT response"
    story.client("c-3", "01:10:20.000", reset)
    story.client("c-3", "01:10:20.100", "(Re-)joining group")
    new = story.reborn("c-3").id_of("c-3")
    return story.client("c-3", "01:10:20.900", NEED_ID.format(new))


@pytest.mark.parametrize(("found", "is_sure"), [("01:09:58.400", False), ("01:10:03.200", True)])
def test_a_member_that_another_broker_names_its_coordinator_at_once_was_not_surely_cut_off(
    found: str, *, is_sure: bool
) -> None:
    """Its coordinator stood still: the member gives it up, and finds it again by the answer of another broker."""
    cancelled = [("01:09:58.000", CANCELLED.format("HEARTBEAT", age, age)) for age in (6670, 3334)]
    verdict = back_soon(*cancelled, ("01:09:58.010", LOST), found=found).the_incident().root_causes[0]
    assert (verdict.cause == "network-partition" and verdict.confidence >= 0.75) is is_sure


NO_ROUTE = "Error connecting to node {} (id: {} rack: null)\njava.net.SocketException: Network is unreachable"


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_host_without_a_route_to_the_brokers_was_cut_off(seen: Side) -> None:
    story = evicted(seen=seen)
    for second in range(0, 50, 10):
        for node in (1, 2):
            lost = NO_ROUTE.format(f"broker-{node}:9092", node)
            story.client("c-3", f"01:10:{second:02}.000", lost, logger="org.apache.kafka.clients.NetworkClient")
    incident = story.goes_on("01:15:00.000").the_incident()
    assert [cause.cause for cause in incident.root_causes] == ["network-partition"]
    assert incident.root_causes[0].confidence >= 0.9
    assert "no route to the brokers" in incident.summary


def test_a_member_whose_session_ended_on_a_host_without_a_route_is_not_said_to_be_unexplained_by_its_log() -> None:
    story = Story(seen="clients").formed("c-1")
    expired = LOST.replace("coordinator unavailable", "session timed out without receiving a heartbeat response")
    story.client("c-1", "01:05:00.000", expired.replace("isDisconnected: true", "isDisconnected: false"))
    for second in range(10, 60, 10):
        lost = NO_ROUTE.format("broker-2:9092", 2)
        story.client("c-1", f"01:05:{second:02}.000", lost, logger="org.apache.kafka.clients.NetworkClient")
    (sentence,) = [incident.summary for incident in story.incidents() if incident.severity == "warning"]
    assert sentence.endswith("its host had no route to the brokers (network unreachable).")
