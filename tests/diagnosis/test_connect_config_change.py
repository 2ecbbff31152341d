from __future__ import annotations

import pytest

from tests.kafka_words import member_id
from tests.story import Story, clock, ms

HERDER = "org.apache.kafka.connect.runtime.distributed.DistributedHerder"
JOINED = (
    "Joined group at generation {n} with protocol version 2 and got assignment: Assignment{{error=0, "
    "leader='{leader}', "
    "leaderUrl='http://w1:8083/', offset={n}, connectorIds=[sink-a], taskIds=[sink-a-0], revokedConnectorIds=[], "
    "revokedTaskIds=[], delay=0}} with rebalance delay: 0"
)


def worker_says(story: Story, time: str, message: str) -> None:
    story.line("worker-1/connect.log", time, f"[Worker clientId=connect-w1:8083, groupId=kc] {message}", logger=HERDER)


def cluster(*created: str, every_s: int = 60) -> Story:
    story = Story(group="kc")
    leader = member_id("connect-w1:8083")
    story.broker("00:59:59.980", story.words.introduced(leader))
    for number, name in enumerate(["", *created]):
        at = ms("01:01:00.000") + 1_000 * every_s * (number - 1) if number else ms("01:00:00.000")
        minute = clock(at).removesuffix(".000")
        if name:
            worker_says(story, f"{minute}.000", f"Connector {name} config updated")
        reason = f"Updating metadata for member {leader} during Stable; client reason: connect config changed"
        story.broker(f"{minute}.010", story.words.preparing(number, reason if name else story.words.adding(leader)))
        worker_says(story, f"{minute}.011", "Rebalance started")
        story.broker(f"{minute}.500", story.words.stabilized(number + 1, 1))
        story.broker(f"{minute}.510", story.words.assigned(number + 1, 1, leader))
        worker_says(story, f"{minute}.520", JOINED.format(n=number + 1, leader=leader))
    return story


def test_a_connector_whose_configuration_changes_rebalances_the_workers() -> None:
    story = cluster("sink-a")
    assert story.causes() == ["connect-config-change"]
    assert story.blamed() == ["sink-a"]


@pytest.mark.parametrize("every_s", [60, 90])
def test_changes_that_continue_for_a_quarter_of_an_hour_are_not_planned(every_s: int) -> None:
    assert cluster(*["sink-a"] * 15, every_s=every_s).the_incident().severity == "warning"


@pytest.mark.parametrize("connectors", [1, 6, 12])
def test_connectors_that_are_created_one_right_after_the_other_are_planned(connectors: int) -> None:
    created = [f"sink-{n}" for n in range(connectors)]
    assert cluster(*created, every_s=2).the_incident().severity == "info"


def test_a_worker_that_starts_changes_no_configuration() -> None:
    assert "connect-config-change" not in cluster().causes()


def revoking(work: str) -> Story:
    """A second worker comes; the first gives up work and rejoins as soon as it has stopped it."""
    story = Story(group="kc", release=(3, 3))
    leader, newcomer = member_id("connect-1", 1), member_id("connect-2", 1)
    again = f"Leader {leader} re-joining group during Stable; client reason: "
    reasons = [story.words.adding(leader), story.words.adding(newcomer), again]
    for number, (at, reason) in enumerate(zip(("01:00:00", "01:10:00", "01:10:04"), reasons, strict=True)):
        given = JOINED.format(n=number + 1, leader=leader)
        if number == 1:
            given = given.replace("revokedTaskIds=[]", f"revokedTaskIds=[{work}]")
        if number < 2:
            story.broker(f"{at}.000", story.words.introduced((leader, newcomer)[number]))
        story.broker(f"{at}.010", story.words.preparing(number, reason))
        worker_says(story, f"{at}.011", "Rebalance started")
        story.broker(f"{at}.500", story.words.stabilized(number + 1, min(number + 1, 2)))
        story.broker(f"{at}.510", story.words.assigned(number + 1, min(number + 1, 2), leader))
        worker_says(story, f"{at}.520", given)
    return story


def test_a_worker_that_stopped_revoked_work_rejoins_to_hand_it_over() -> None:
    story = revoking("sink-a-0")
    assert [g.followup for g in story.history().generations] == [None, None, "cooperative"]
    assert story.causes() == ["scale-out"]
    assert story.the_incident().generations == (2, 3)


def test_a_rejoin_for_which_nothing_was_revoked_is_unexplained_and_says_who_rejoined() -> None:
    story = revoking("")
    assert story.causes() == ["scale-out", "unexplained"]
    assert f"its leader {member_id('connect-1', 1)} rejoined" in story.incidents()[1].summary


def test_the_advice_asks_for_no_batch_that_connects_rest_interface_does_not_have() -> None:
    (advice,) = cluster("sink-a").the_incident().root_causes[0].advice
    assert advice.action == "Submit changes together, or stop the loop that rewrites configurations."


WORKERS = [member_id("connect-w1:8083"), member_id("connect-w2:8083")]


def seen_by_brokers(*rejoins: tuple[str, str], left: str | None = None, reason: str = "not provided") -> Story:
    """Two workers form the cluster at one o'clock; then one rejoins at each of these times."""
    story = Story(group="kc", seen="brokers")
    for worker in WORKERS:
        story.broker("00:59:59.980", story.words.introduced(worker))
    lines = [("01:00:00.000", story.words.adding(WORKERS[0])), *rejoins]
    if left is not None:
        story.broker(left, story.words.left(WORKERS[1]))
        lines[1:1] = [(left, story.words.leaving(WORKERS[1]))]
    for number, (at, what) in enumerate(lines):
        story.broker(at, story.words.preparing(number, what.replace("not provided", reason)))
        after = clock(ms(at) + 300)
        story.broker(after, story.words.stabilized(number + 1, 1 if left and number else 2))
        story.broker(after, story.words.assigned(number + 1, 1 if left and number else 2, WORKERS[0]))
    return story.goes_on("01:30:00.000")


UNASKED = f"Updating metadata for member {WORKERS[0]} during Stable; client reason: not provided"


@pytest.mark.parametrize("reason", ["not provided", ""])
def test_workers_that_rejoin_unasked_show_a_changed_configuration_to_brokers_alone(reason: str) -> None:
    incident = seen_by_brokers(("01:10:00.000", UNASKED), reason=reason).the_incident()
    (cause,) = incident.root_causes
    assert (cause.cause, cause.confidence, incident.severity) == ("connect-config-change", 0.75, "info")
    assert "the log of worker connect-w1:8083" in {wanted.needs for wanted in incident.would_decide}


def test_workers_never_rejoin_for_a_topic() -> None:
    story = seen_by_brokers(("01:10:00.000", UNASKED))
    created = "Created log for partition sink-a-0 in /var/kafka with properties {}."
    story.broker("01:09:59.000", created, logger="kafka.log.LogManager")
    assert story.causes() == ["connect-config-change"]


def test_a_worker_that_rejoins_after_another_left_may_be_handing_over_its_work() -> None:
    story = seen_by_brokers(("01:15:00.000", UNASKED), left="01:10:00.000")
    (rejoined,) = (i for i in story.incidents() if i.root_causes[0].cause == "connect-config-change")
    assert rejoined.root_causes[0].confidence == 0.4
