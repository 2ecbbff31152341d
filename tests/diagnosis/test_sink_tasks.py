from __future__ import annotations

import pytest

from tests.diagnosis.closings import closes, comes
from tests.kafka_words import Release
from tests.story import Story

CONFIG = "org.apache.kafka.clients.consumer.ConsumerConfig"
TASK = "connector-consumer-jdbc-2"


def moved(client: str = TASK) -> Story:
    """Worker w-3 dies at 01:09:15; after 33 s, before that session is over, w-1 runs the consumer of the same task."""
    story = Story(group="connect-jdbc").formed("c-1")
    lost = story.id_of(TASK)
    for path in ("w-3/connect.log", "w-1/connect.log"):
        at = "01:05:00" if path[2] == "3" else "01:09:48"
        name = TASK if path[2] == "3" else client
        member = story.reborn(name).id_of(name) if path[2] == "1" else lost
        message = f"ConsumerConfig values: \n\tclient.id = {name}\n\tgroup.id = connect-jdbc\n"
        story.line(path, f"{at}.000", message, logger=CONFIG)
        story.line(path, f"{at}.100", story.of(name).joining())
        story.broker(f"{at}.100", story.words.introduced(member))
        story.line(path, f"{at}.110", story.of(name).introduced(member))
        story.broker(f"{at}.120", story.words.preparing(story.generation, story.words.adding(member)))
        if path[2] == "1":
            story.broker("01:10:00.000", story.words.failed(lost))
        story.generation += 1
        end = "01:05:03" if path[2] == "3" else "01:10:00"
        story.broker(f"{end}.010", story.words.stabilized(story.generation, 2))
        story.line(path, f"{end}.020", story.of(name).joined(story.generation, member))
    return story.goes_on("01:30:00.000")


def test_the_consumer_of_a_task_that_moved_to_another_worker_is_no_scale_out() -> None:
    came, lost = moved().incidents()
    assert [i.root_causes[0].cause for i in (came, lost)] == ["scale-out", "process-crash"]
    assert [c.name for c in lost.root_causes[0].culprits] == ["w-3"]
    assert lost.summary.endswith("a newcomer took its place.")


@pytest.mark.parametrize("other", ["connector-consumer-jdbc-3", "connector-consumer-s3-2"])
def test_the_consumer_of_another_task_is_new(other: str) -> None:
    crash = next(i for i in moved(other).incidents() if i.root_causes[0].cause == "process-crash")
    assert "newcomer" not in crash.summary


@pytest.mark.parametrize("release", [(3, 2), (4, 1)])
@pytest.mark.parametrize("client", [TASK, "payments-2"])
def test_one_sink_task_that_leaves_alone_may_have_failed(release: Release, client: str) -> None:
    """A task that throws closes its consumer; a connector that is changed or stopped closes all of them."""
    story = Story(group="connect-jdbc", release=release, seen="brokers").formed("c-0", "c-1", client)
    closes(story, client, "01:10:00.000", ["c-0", "c-1"]).goes_on("01:30:00.000")
    cause = story.the_incident().root_causes[0]
    assert (cause.cause, cause.confidence) == ("member-left" if client == TASK else "scale-in", 0.55)


def test_tasks_that_workers_stop_and_start_in_turn_are_no_sure_deployment() -> None:
    """Each rebalance of the workers closes consumers and opens them again, on the same worker or another."""
    tasks = [f"connector-consumer-jdbc-{number}" for number in range(3)]
    story = Story(group="connect-jdbc", seen="brokers").formed(*tasks)
    for second, task in zip((10, 20, 30), tasks, strict=True):
        stay = [other for other in tasks if other != task]
        closes(story, task, f"01:10:{second}.000", stay)
        comes(story, task, f"01:10:{second + 4}.000", [*stay, task])
    restarts = [c for i in story.incidents() for c in i.root_causes if c.cause == "rolling-restart"]
    assert all(cause.confidence < 0.75 for cause in restarts)
