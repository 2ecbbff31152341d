from __future__ import annotations

from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.engine.contest import consequences_of, contest
from rebalance_forensics.diagnosis.engine.weights import Weighed
from rebalance_forensics.diagnosis.model import Culprit
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.timeline.facts import Departure, Fact
from rebalance_forensics.timeline.identity.participants import Participant
from tests.conftest import SAMPLES
from tests.diagnosis.threads import Application, shop
from tests.incidents.sample import LOCAL
from tests.kafka_words import member_id

EXCEPTION = (
    "\norg.apache.kafka.streams.errors.StreamsException: Exception caught in process. taskId=0_3, "
    "processor=KSTREAM-SOURCE-0000000000, topic=orders, partition=3, offset=724"
)


def dying(*, thread_replaced: bool) -> Application:
    story = shop()
    for number in (1, 2, 3):
        minute = f"01:{10 + number}:00"
        if thread_replaced:
            story.by_instance(
                2, f"{minute}.000", f"Replacing thread in the streams uncaught exception handler{EXCEPTION}", "ERROR"
            )
        story.by_thread(2, 1, f"{minute}.010", "State transition from RUNNING to PENDING_SHUTDOWN")
        story.round(f"{minute}.100", story.words.adding(member_id(story.consumer(2, 1))))
    return story


def test_an_instance_that_replaces_dying_threads_is_blamed() -> None:
    story = dying(thread_replaced=True)
    assert "thread-replacement" in story.causes()
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "thread-replacement")
    assert "node-2" in {n for c in found.root_causes[0].culprits for n in (c.name, *c.names)}
    assert found.severity != "info"


def test_threads_that_stop_without_an_exception_are_not_replaced() -> None:
    assert "thread-replacement" not in dying(thread_replaced=False).causes()


def test_threads_that_leave_soon_after_the_start_of_their_group_replace_no_threads() -> None:
    story = Application(group="shop", seen="brokers")
    threads = [(node, number) for node in (1, 2) for number in (1, 2)]
    members = [member_id(story.consumer(node, number)) for node, number in threads]
    for member in members:
        story.broker("01:00:00.000", story.words.introduced(member))
    story.broker("01:00:00.010", story.words.preparing(0, story.words.adding(members[0])))
    story.broker("01:00:06.000", story.words.stabilized(1, 4))
    for member in members:
        story.broker("01:00:06.400", story.words.left(member))
    assert "thread-replacement" not in story.causes()


def test_a_flap_caused_by_replaced_threads_is_reported_with_them() -> None:
    replacement = _told_of("thread-replacement", 2)
    others = _told_of("scaling-flap", 1).hypothesis.explains
    flap = _weighed("scaling-flap", (*replacement.hypothesis.explains, *others), odds=4)
    outcome = contest([flap, replacement], consequences_of({"thread-replacement": ["scaling-flap"]}))
    assert outcome.standing == [replacement]
    assert outcome.explains[flap.hypothesis.explains[-1].id] is replacement


def test_a_flap_of_other_members_is_reported_separately_from_replaced_threads() -> None:
    replacement = _told_of("thread-replacement", 2)
    others = _told_of("scaling-flap", 1).hypothesis.explains
    flap = _weighed("scaling-flap", (*replacement.hypothesis.explains, *others), odds=4, name="node-3")
    outcome = contest([flap, replacement], consequences_of({"thread-replacement": ["scaling-flap"]}))
    assert set(map(id, outcome.standing)) == {id(flap), id(replacement)}


def _told_of(cause: str, number: int) -> Weighed:
    participant = Participant(kind="instance", name="node-2")
    gone = (Departure(participant, f"m-{i}", i + 1, id=f"departure-of-{cause}-{i}") for i in range(number))
    return _weighed(cause, tuple(gone), odds=5)


def _weighed(cause: str, explains: tuple[Fact, ...], *, odds: int, name: str = "node-2") -> Weighed:
    hypothesis = Hypothesis(
        because=(dying(thread_replaced=True).events[0],),
        culprits=(Culprit(kind="instance", name=name),),
        narrative="It happened.",
        severity="warning",
        explains=explains,
    )
    subject = hypothesis.subject()
    return Weighed(cause=cause, hypothesis=hypothesis, subject=subject, rows=(), given=(), odds=odds)


def test_an_instance_whose_other_threads_stayed_in_was_not_slow() -> None:
    report = analyze([str(SAMPLES / "thread-replacement" / "node-1")], LOCAL)
    assert {i.root_causes[0].cause for i in report.incidents} == {"startup", "unexplained"}
