from __future__ import annotations

import pytest

from tests.diagnosis.test_coordinator_failover import LOST
from tests.story import Side, Story, ms

REFUSED = {
    "The request timed out.": "error response REQUEST_TIMED_OUT",
    "The coordinator is not available.": "error response COORDINATOR_NOT_AVAILABLE",
}


@pytest.mark.parametrize("seen", ["both", "clients"])
@pytest.mark.parametrize("message", REFUSED)
@pytest.mark.parametrize("found", [2, 1])
def test_a_coordinator_that_answers_a_commit_and_is_found_again_was_never_lost(
    message: str, seen: Side, found: int
) -> None:
    """With a dead follower of the offsets topic a commit waits in vain, and the consumer looks for its coordinator."""
    story = Story(seen=seen).formed("c-1", "c-2", "c-3")
    for place, client in enumerate(("c-1", "c-2", "c-3")):
        at = f"01:10:00.{place}"
        refused = f"Offset commit failed on partition orders-{place} at offset 201: {message}"
        story.client(client, f"{at}00", refused, level="WARN")
        for then, cause in (("00", REFUSED[message]), ("03", "coordinator unavailable")):
            lost = "Group coordinator b-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: "
            why = f"{cause}. isDisconnected: false. Rediscovery will be attempted."
            story.client(client, f"{at}{then}", lost + why)
            again = f"Discovered group coordinator b-{found}:9092 (id: {2147483647 - found} rack: null)"
            story.client(client, f"{at}{int(then) + 2:02}", again)
    causes = story.goes_on("01:20:00.000").causes()
    assert causes == ([] if found == 2 else ["coordinator-failover"])


@pytest.mark.parametrize("number", [3, 2])
def test_one_member_that_finds_another_coordinator_was_not_cut_off(number: int) -> None:
    """A group has one coordinator at a time; a member that alone is cut off finds the same again."""
    story = Story(seen="clients", release=(4, 1)).formed("c-1")
    lost = LOST.replace("coordinator unavailable", "session timed out without receiving a heartbeat response")
    for at, found in (("01:10:00", 2), ("01:10:10", number)):
        story.client("c-1", f"{at}.000", lost.replace("isDisconnected: true", "isDisconnected: false"))
        again = f"Discovered group coordinator broker-{found}:9092 (id: {2147483647 - found} rack: null)"
        story.client("c-1", f"{at}.200", again)
    causes = "Request joining group due to: encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"
    story.client("c-1", "01:10:11.000", causes)
    story.generation += 1
    story.reborn("c-1").assigned(ms("01:10:14.000"), ["c-1"])
    assert (story.causes()[0] == "coordinator-failover") == (number == 3)


@pytest.mark.parametrize("lost", [True, False])
def test_a_broker_that_knows_no_partitions_yet_after_its_start_changed_no_topic(*, lost: bool) -> None:
    story = Story(seen="clients", release=(4, 1)).formed("c-1", "c-2")
    if lost:
        for client in ("c-1", "c-2"):
            story.client(client, "01:10:00.000", LOST)
            again = "Discovered group coordinator broker-2:9092 (id: 2147483645 rack: null)"
            story.client(client, "01:10:13.000", again)
    noticed = "cached metadata has changed from (version2: {orders=[NO_RACKS]}) at the beginning of the rebalance to "
    story.client("c-1", "01:10:13.003", f"Request joining group due to: {noticed}(version50: {{orders=[]}})")
    story.rebalanced("01:10:13.500", "the leader rejoined", ["c-1", "c-2"])
    expected = "coordinator-failover" if lost else "topic-metadata-change"
    assert story.goes_on("01:20:00.000").causes() == [expected]


def given_up(cause: str) -> str:
    return f"unavailable or invalid due to cause: {cause}. Rediscovery will be attempted."


@pytest.mark.parametrize("loading", [True, False])
@pytest.mark.parametrize("number", [1, 2])
def test_a_broker_that_has_not_loaded_the_group_yet_is_not_the_coordinator_that_was_lost(
    number: int, *, loading: bool
) -> None:
    """Brokers name the coordinator that died until they learn of its successor, which still has to load the group.

    The client finds a coordinator and gives it up within one millisecond.
    """
    story = Story(seen="clients", release=(3, 3)).formed("c-1", "c-2")
    died = "broker-3:9092 (id: 2147483644 rack: null)"
    story.client("c-1", "01:10:00.000", f"Group coordinator {died} is {given_up('null. isDisconnected: true')}")
    for at in ("01:10:00.200", "01:10:05.700"):
        story.client("c-1", at, f"Discovered group coordinator {died}")
        lost = given_up("coordinator unavailable. isDisconnected: false")
        story.client("c-1", at, f"Group coordinator {died} is {lost}")
    successor = f"broker-{number}:9092 (id: {2147483647 - number} rack: null)"
    if loading:
        story.client("c-1", "01:10:06.000", f"Discovered group coordinator {successor}")
        refused = given_up("error response NOT_COORDINATOR. isDisconnected: false")
        story.client("c-1", "01:10:06.010", f"Group coordinator {successor} is {refused}")
    story.client("c-1", "01:10:06.030", f"Discovered group coordinator {successor}")
    assert story.goes_on("01:20:00.000").causes() == ["coordinator-failover"]
    assert story.blamed() == ["broker-3"]
