from __future__ import annotations

import pytest

from tests.diagnosis.closings import APP_INFO, LEAVING
from tests.diagnosis.test_slow_processing import EXPIRED, SHORT
from tests.kafka_words import Release
from tests.story import Side, Story, clock, ms

SINCE_3_7 = "The mbean of App info: [kafka.consumer], id: [c-3] already exists, so skipping a new mbean creation."
UNTIL_3_6 = (
    "Error registering AppInfo mbean\n"
    "javax.management.InstanceAlreadyExistsException: kafka.consumer:type=app-info,id=c-3\n"
    "\tat java.management/com.sun.jmx.mbeanserver.Repository.addMBean(Repository.java:436)"
)


def made_anew(release: Release = (3, 9), seen: Side = "both", *, says: str | None = SINCE_3_7) -> tuple[Story, str]:
    """A process builds a second consumer and forgets the first, whose heartbeat thread goes on; the old member id."""
    story = Story(release=release, seen=seen).formed("c-1", "c-2", "c-3")
    old = story.id_of("c-3")
    story.reborn("c-3").started("c-3", "01:10:00.000")
    if says is not None:
        level = "INFO" if says == SINCE_3_7 else "WARN"
        story.line("c-3/app.log", "01:10:00.020", says, level=level, logger=APP_INFO)
    new = story.id_of("c-3")
    story.broker("01:10:00.090", story.words.introduced(new))
    story.client("c-3", "01:10:00.095", story.of("c-3").introduced(new).split("] ", 1)[1])
    story.broker("01:10:00.100", story.words.preparing(story.generation, story.words.adding(new)))
    for second in (3, 6, 9):
        story.client("c-3", f"01:10:{second:02}.000", "Request joining group due to: group is already rebalancing")
    return story, old


def times_out(story: Story, old: str) -> Story:
    """The old one has not been polled for long enough, leaves, and lets the others go on."""
    story.client("c-3", "01:14:50.000", EXPIRED, level="WARN")
    story.client("c-3", "01:14:50.001", LEAVING.format(old, SHORT))
    story.broker("01:14:50.010", story.words.left(old, SHORT))
    for client in ("c-1", "c-2"):
        story.client(client, "01:14:50.020", "(Re-)joining group")
    story.generation += 1
    return story.assigned(story.events[-1].at or 0, ["c-1", "c-2", "c-3"]).goes_on("01:30:00.000")


@pytest.mark.parametrize("seen", ["both", "clients"])
@pytest.mark.parametrize("says", [SINCE_3_7, UNTIL_3_6, None])
def test_a_consumer_created_in_addition_to_an_old_one_leaves_the_old_one_unpolled(seen: Side, says: str | None) -> None:
    incident = times_out(*made_anew(seen=seen, says=says)).the_incident()
    cause = incident.root_causes[0]
    assert (cause.cause, [c.name for c in cause.culprits]) == ("slow-processing", ["c-3"])
    assert incident.summary.startswith("c-3 made a new consumer and did not close the old one")
    assert cause.advice[0].action.startswith("Close the old consumer")
    assert incident.severity == "warning"


@pytest.mark.parametrize("says", [SINCE_3_7, UNTIL_3_6])
def test_a_process_that_holds_two_consumers_has_not_died(says: str) -> None:
    story, _ = made_anew(says=says)
    assert "process-crash" not in story.causes()


def test_a_process_that_restarts_without_such_a_line_has_lost_the_previous_consumer() -> None:
    assert story_of_a_crash().causes() == ["process-crash"]


def story_of_a_crash() -> Story:
    story, old = made_anew(says=None)
    story.broker("01:10:30.000", story.words.failed(old))
    for client in ("c-1", "c-2"):
        story.client(client, "01:10:02.020", "(Re-)joining group")
    story.generation += 1
    return story.assigned(story.events[-1].at or 0, ["c-1", "c-2", "c-3"]).goes_on("01:30:00.000")


def test_the_member_that_left_is_the_old_one_not_the_one_that_was_made_last() -> None:
    story, old = made_anew()
    departures = times_out(story, old).timeline().departures
    assert [d.member for d in departures] == [old]


@pytest.mark.parametrize("joined", ["with it", "long before"])
def test_threads_of_one_client_id_do_not_take_each_others_place(joined: str) -> None:
    """Six consumers of one process may bear one client id; one of them that does not poll was not made anew."""
    story = Story().formed("c-1", "c-2")
    first, second = story.id_of("c-3"), story.reborn("c-3").id_of("c-3")
    came = {first: "01:10:00.000", second: "01:10:00.500" if joined == "with it" else "01:10:30.000"}
    for member, at in came.items():
        story.broker(at, story.words.introduced(member))
        story.client("c-3", at, story.of("c-3").introduced(member).split("] ", 1)[1])
    for begin in ("01:10:01.000", "01:10:30.000")[: 1 if joined == "with it" else 2]:
        story.broker(begin, story.words.preparing(story.generation, story.words.adding(second)))
        story.generation += 1
        story.assigned(ms(begin), ["c-1", "c-2", "c-3"])
    expired = ms("01:14:55.000" if joined == "with it" else "01:16:00.000")
    story.client("c-3", clock(expired), EXPIRED, level="WARN")
    story.client("c-3", clock(expired + 1), LEAVING.format(first, SHORT))
    story.broker(clock(expired + 10), story.words.left(first, SHORT))
    incident = next(i for i in story.goes_on("01:30:00.000").case().incidents if i.severity != "info")
    assert incident.root_causes[0].cause == "slow-processing"
    assert "did not close the old one" not in incident.summary
