from __future__ import annotations

from tests.diagnosis.logs import Logs
from tests.story import Story

SUBSCRIBED = "Subscribed to topic(s): orders"


def subscribed(*, until: str) -> Story:
    story = Story(seen="clients")
    for client in ("c-1", "c-2"):
        story.started(client, "01:00:00.000")
        story.client(client, "01:00:00.100", SUBSCRIBED)
        story.client(client, until, "Discovered group coordinator b-2:9092 (id: 2147483645 rack: null)")
    return story


def test_members_that_subscribe_and_never_join_are_an_incident() -> None:
    incident = subscribed(until="01:00:50.000").the_incident()
    assert incident.root_causes[0].cause == "unexplained"
    assert incident.severity == "warning"
    assert "2 members subscribed but never joined" in incident.summary


def test_members_that_subscribed_a_moment_ago_may_still_join() -> None:
    assert not subscribed(until="01:00:05.000").incidents()


def test_members_that_joined_do_not_wait() -> None:
    story = Story().formed("c-1", "c-2")
    for client in ("c-1", "c-2"):
        story.client(client, "00:59:59.000", SUBSCRIBED)
    assert not story.goes_on("01:10:00.000").incidents()


def test_generation_minus_one_is_no_generation() -> None:
    failed = "Successfully joined group with generation Generation{generationId=-1, memberId='', protocol='null'}"
    timeline = Logs().consumer(0, "(Re-)joining group").consumer(1, failed).timeline()
    assert [g.generation for g in timeline.generations] == []
    assert not timeline.rebalances


def test_expired_sessions_of_a_python_client_are_an_incident() -> None:
    story = Story(seen="clients")
    for hour in range(1, 13):
        at = f"{hour:02}:00"
        story.line("worker-1/app.log", f"{at}:00.000", f"(Re-)joining group {story.group}", logger="kafka.coordinator")
        story.line(
            "worker-1/app.log",
            f"{at}:04.000",
            "Heartbeat session expired, marking coordinator dead",
            logger="kafka.coordinator",
            level="WARNING",
        )
    incident = story.the_incident()
    assert incident.severity == "warning"
    assert "lost its session 12 times" in incident.summary


def test_a_member_that_gives_up_its_coordinator_and_is_not_evicted_lost_nothing() -> None:
    lost = (
        "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: session "
        "timed out without receiving a heartbeat response. isDisconnected: false. Rediscovery will be attempted."
    )
    story = Story().formed("c-1", "c-2").client("c-1", "01:10:00.000", lost)
    incident = story.goes_on("01:20:00.000").the_incident()
    assert incident.severity == "info"
    assert incident.summary.endswith("no heartbeat was answered in time, and it stayed in the group.")
