from __future__ import annotations

from tests.diagnosis.threads import shop
from tests.kafka_words import member_id
from tests.story import Story


def test_members_come_first_then_the_coordinator() -> None:
    lanes = Story(release=(3, 9)).formed("c-1", "c-2").history().lanes
    assert [(lane.name, lane.kind) for lane in lanes][:2] == [("c-1", "client"), ("c-2", "client")]
    assert lanes[-1].kind == "broker"


def test_a_member_is_drawn_joining_then_member_of_its_generation() -> None:
    lane = Story(release=(3, 9)).formed("c-1", "c-2").history().lanes[0]
    assert [(span.kind, span.generation) for span in lane.spans] == [("joining", 1), ("member", 1)]


def test_threads_of_an_instance_stand_below_it() -> None:
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


def test_a_fault_of_a_thread_also_stands_in_the_lane_of_its_instance() -> None:
    story = shop()
    story.broker("01:05:00.000", story.words.failed(member_id(story.consumer(2, 1))))
    faults = {
        lane.name: [mark.kind for mark in lane.marks if mark.severity == "fault"]
        for lane in story.history().lanes
        if lane.name in ("node-2", story.thread(2, 1), "node-1")
    }
    assert faults == {"node-1": [], "node-2": ["member-failed"], story.thread(2, 1): ["member-failed"]}


def test_what_an_instance_says_of_itself_stands_in_its_own_lane() -> None:
    story = shop()
    story.by_instance(1, "01:05:00.000", "State transition from RUNNING to PENDING_SHUTDOWN")
    lanes = {lane.name: [mark.kind for mark in lane.marks] for lane in story.history().lanes}
    assert lanes["node-1"][-1] == "streams-state-changed"
