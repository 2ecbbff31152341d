from __future__ import annotations

import pytest

from tests.conftest import SAMPLES
from tests.diagnosis.expiries import evicted
from tests.diagnosis.test_process_stops import OOM
from tests.diagnosis.threads import PROCESS, Application, shop
from tests.incidents.sample import report_of
from tests.kafka_words import member_id
from tests.story import Story

UNABLE = {"stuck", "dead", "frozen", "cut-off", "silent", "holding-up"}


def test_members_come_first_the_second_before_the_tenth_then_the_coordinator() -> None:
    lanes = Story(release=(3, 9)).formed("c-10", "c-2").history().lanes
    assert [(lane.name, lane.kind) for lane in lanes][:2] == [("c-2", "client"), ("c-10", "client")]
    assert lanes[-1].kind == "broker"


def test_a_member_is_drawn_joining_then_member_of_its_generation() -> None:
    lane = Story(release=(3, 9)).formed("c-1", "c-2").history().lanes[0]
    assert [(span.kind, span.generation) for span in lane.spans] == [("joining", 1), ("member", 1)]


def test_threads_of_an_instance_are_listed_below_it() -> None:
    story = shop()
    lanes = story.history().lanes
    below = [(lane.owner, lane.name, lane.kind) for lane in lanes if lane.kind != "broker"]
    assert below == [
        (None, "node-1", "instance"),
        ("node-1", story.thread(1, 1), "thread"),
        (None, "node-2", "instance"),
        ("node-2", story.thread(2, 1), "thread"),
    ]
    thread = next(lane for lane in lanes if lane.kind == "thread")
    assert [span.kind for span in thread.spans] == ["joining", "member"]


def test_a_fault_of_a_thread_is_also_in_the_lane_of_its_instance() -> None:
    story = shop()
    story.broker("01:05:00.000", story.words.failed(member_id(story.consumer(2, 1))))
    faults = {
        lane.name: [mark.kind for mark in lane.marks if mark.severity == "fault"]
        for lane in story.history().lanes
        if lane.name in ("node-2", story.thread(2, 1), "node-1")
    }
    assert faults == {"node-1": [], "node-2": ["member-failed"], story.thread(2, 1): ["member-failed"]}


def test_an_instances_lines_about_itself_are_in_its_own_lane() -> None:
    story = shop()
    story.by_instance(1, "01:05:00.000", "State transition from RUNNING to PENDING_SHUTDOWN")
    lanes = {lane.name: [mark.kind for mark in lane.marks] for lane in story.history().lanes}
    assert lanes["node-1"][-1] == "streams-state-changed"


@pytest.mark.parametrize(
    ("sample", "member", "kind"),
    [
        ("slow-processing", "search-indexer-v2-2", "stuck"),
        ("process-crash", "etl-prod-1", "dead"),
        ("process-pause", "billing-v2-3", "frozen"),
        ("rebalance-straggler", "search-indexer-prod-2", "holding-up"),
    ],
)
def test_a_member_that_does_not_read_or_holds_up_the_group_does_not_look_healthy(
    sample: str, member: str, kind: str
) -> None:
    lanes = [lane for group in report_of(SAMPLES / sample).groups for lane in group.lanes]
    unavailable_spans = {lane.name: {span.kind for span in lane.spans} & UNABLE for lane in lanes}
    assert {name: kinds for name, kinds in unavailable_spans.items() if kinds} == {member: {kind}}


def test_a_member_is_unable_until_the_group_gives_it_up_and_away_from_then_on() -> None:
    (group,) = [group for group in report_of(SAMPLES / "process-crash").groups if group.group == "etl-prod"]
    (lane,) = [lane for lane in group.lanes if lane.name == "etl-prod-1"]
    dead, away = (next(span for span in lane.spans if span.kind == kind) for kind in ("dead", "away"))
    assert dead.ended_at == away.started_at


def test_from_brokers_alone_no_member_is_called_dead_or_frozen() -> None:
    lanes = evicted(seen="brokers").history().lanes
    assert not {span.kind for lane in lanes for span in lane.spans} & {"dead", "frozen", "cut-off"}


@pytest.mark.parametrize("session_ms", [10_000, 45_000])
def test_a_member_is_unable_for_as_long_as_its_own_session_lasts(session_ms: int) -> None:
    """The client logs end before anybody is given a partition; each shows a session of its own."""
    story = evicted(seen="brokers")
    story.seen = "both"
    for client, start, shown_ms in (("c-3", "00:59:58", session_ms), ("c-1", "00:59:59", 55_000 - session_ms)):
        story.started(client, f"{start}.000", session_timeout_ms=shown_ms)
        story.client(client, f"{start}.500", "(Re-)joining group")
    lane = next(lane for lane in story.history().lanes if lane.name == "c-3")
    unable = next(span for span in lane.spans if span.kind in UNABLE)
    assert unable.ended_at is not None
    # Half an interval later than the earliest time of its last heartbeat: the middle of what is possible.
    assert unable.ended_at - unable.started_at == session_ms - 3_000 // 2


def lanes_after_losing(*lost: int) -> dict[str, list[str]]:
    """An instance with two threads loses some of them: what its lanes show, by their names, without generations."""
    app = Application(group="shop", seen="brokers")
    threads = [app.consumer(1, 1), app.consumer(1, 2), app.consumer(2, 1)]
    app.formed(*threads)
    for number in lost:
        app.broker("01:05:00.000", app.words.failed(app.id_of(app.consumer(1, number))))
    app.goes_on("01:06:00.000")
    lanes = (lane for lane in app.history().lanes if lane.kind != "broker" and PROCESS[2] not in lane.name)
    return {lane.name: sorted({s.kind for s in lane.spans} - {"joining", "member"}) for lane in lanes}


def test_a_lost_thread_is_in_its_own_lane_and_a_lost_instance_in_all_of_its_lanes() -> None:
    app = Application(group="shop")
    instance, first, second = PROCESS[1], app.thread(1, 1), app.thread(1, 2)
    assert lanes_after_losing(2) == {instance: [], first: [], second: ["away"]}
    assert all("away" in kinds for kinds in lanes_after_losing(1, 2).values())


def test_a_kernels_lines_about_a_members_host_are_only_in_its_lane() -> None:
    story = Story().formed("c-1", "c-2").line("c-2/syslog", "01:05:00.000", OOM.format("java"), logger="kernel")
    lanes = {
        lane.name: [mark.label for mark in lane.marks if mark.kind == "process-killed"]
        for lane in story.history().lanes
    }
    assert {name: labels for name, labels in lanes.items() if labels} == {
        "c-2": ["on its host: java ended (oom-kill, by kernel)"]
    }
