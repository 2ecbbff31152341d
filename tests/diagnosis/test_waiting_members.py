from __future__ import annotations

from pathlib import Path

import pytest

import rebalance_forensics as rf
from rebalance_forensics.pipeline.run import analyze
from tests.diagnosis.logs import Logs
from tests.incidents.sample import LOCAL
from tests.kafka_words import CONSUMER
from tests.story import Story, clock, ms

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
    assert "considered its session expired 12 times" in incident.summary


def test_a_member_that_gives_up_its_coordinator_and_is_not_evicted_lost_nothing() -> None:
    lost = (
        "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: session "
        "timed out without receiving a heartbeat response. isDisconnected: false. Rediscovery will be attempted."
    )
    story = Story().formed("c-1", "c-2").client("c-1", "01:10:00.000", lost)
    incident = story.goes_on("01:20:00.000").the_incident()
    assert incident.severity == "info"
    assert incident.summary.endswith("no heartbeat was answered in time, and it stayed in the group.")


def told_again_and_again(message: str, *, times: int = 20, until: str = "01:10:00.000") -> Story:
    """A consumer asks to join every 30 s and is told the same each time."""
    story = Story(seen="clients").started("c-1", "01:00:00.000").client("c-1", "01:00:00.100", SUBSCRIBED)
    for number in range(times):
        at = ms("01:00:01.000") + 30_000 * number
        story.client("c-1", clock(at), "(Re-)joining group")
        story.client("c-1", clock(at + 200), message)
    return story.goes_on(until)


LOADING = "JoinGroup failed: Coordinator b-2:9092 (id: 2147483645 rack: null) is loading the group."


def test_a_member_that_joins_repeatedly_is_named_with_the_responses_that_it_got() -> None:
    incident = told_again_and_again(LOADING).the_incident()
    assert incident.severity == "warning"
    assert incident.summary == (
        "c-1 asked to join 20 times but never got in: 10 min without an assignment; JoinGroup failed 20 times "
        "(COORDINATOR_LOAD_IN_PROGRESS)."
    )
    assert clock(incident.started_at) == "01:00:00.100"
    wanted = next(one for one in incident.would_decide if "coordinator" in one.needs)
    assert wanted.ended_at == ms("01:10:00.000")


def joined_in_vain(story: Story, at: int, generation: int) -> None:
    """It joins, and another rebalance begins before the leader has assigned."""
    story.client("c-1", clock(at), "(Re-)joining group")
    story.client("c-1", clock(at + 9_000), story.of("c-1").joined(generation, story.id_of("c-1")) or "")
    sent = f"Generation{{generationId={generation}, memberId='{story.id_of('c-1')}', protocol='range'}}"
    began = "SyncGroup failed: The group began another rebalance. Need to re-join the group. Sent generation was "
    story.client("c-1", clock(at + 9_500), began + sent)


def test_a_member_whose_sync_fails_each_time_has_joined_in_vain() -> None:
    story = Story(release=(3, 4), seen="clients").started("c-1", "01:00:00.000")
    for number in range(10):
        joined_in_vain(story, ms("01:00:10.000") + 10_000 * number, number + 3)
    sentences = [i.summary for i in story.goes_on("01:05:00.000").incidents() if i.severity == "warning"]
    assert len(sentences) == 1
    assert sentences[0].startswith("c-1 asked to join 10 times but never got in")
    assert sentences[0].endswith("SyncGroup failed 10 times (REBALANCE_IN_PROGRESS).")


def test_a_member_that_gets_in_after_a_rebalance_too_many_waits_no_more() -> None:
    story = Story(release=(3, 4), seen="clients").started("c-1", "01:00:00.000")
    joined_in_vain(story, ms("01:00:10.000"), 3)
    story.client("c-1", "01:00:20.000", "(Re-)joining group")
    story.client("c-1", "01:00:29.000", story.of("c-1").joined(4, story.id_of("c-1")) or "")
    story.client("c-1", "01:00:30.000", story.of("c-1").synced(4, story.id_of("c-1")) or "")
    assert not [i for i in story.goes_on("01:05:00.000").incidents() if i.severity == "warning"]


@pytest.mark.parametrize(("attempts", "found"), [(10, True), (2, False)])
def test_picked_lines_may_leave_out_that_it_got_in(attempts: int, found: bool, tmp_path: Path) -> None:  # noqa: FBT001
    message = f"INFO [main] {CONSUMER} - [Consumer clientId=c-1, groupId=payments] (Re-)joining group"
    lines = [f"2026-03-01 01:{minute:02}:00,000 {message}" for minute in range(attempts)]
    (tmp_path / "ticket.md").write_text("\n".join(["It never gets in:", "", "```", *lines, "```", ""]))
    sentences = [i.summary for i in analyze([str(tmp_path)], LOCAL).incidents]
    assert bool(sentences) == found
    assert all("these lines do not show that it got in" in summary for summary in sentences)


GENERATION_CLEARED = """\
2020-06-30 19:50:33.555  INFO 1 --- [main] o.a.k.c.c.internals.AbstractCoordinator  : \
[Consumer clientId=c-1, groupId=g] Successfully joined group with generation -1
2020-06-30 19:50:33.556 ERROR 1 --- [main] essageListenerContainer$ListenerConsumer : Consumer exception

java.lang.IllegalStateException: Coordinator selected invalid assignment protocol: null
\tat org.apache.kafka.clients.consumer.internals.ConsumerCoordinator.onJoinComplete(ConsumerCoordinator.java:346)
2020-06-30 19:50:33.655  INFO 1 --- [main] o.a.k.c.c.internals.AbstractCoordinator  : \
[Consumer clientId=c-1, groupId=g] (Re-)joining group
"""


def test_a_join_whose_generation_was_cleared_meanwhile_shows_the_bug(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(GENERATION_CLEARED)
    (incident,) = rf.analyze(tmp_path, engine="local").report.incidents
    assert incident.severity == "warning"
    assert [bug.jira for bug in incident.root_causes[0].known_bugs] == ["KAFKA-8104"]
