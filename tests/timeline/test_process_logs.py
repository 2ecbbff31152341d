from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter

import pytest
from hypothesis import given
from hypothesis import strategies as some

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import NodeDisconnected
from rebalance_forensics.pipeline.options import AnalyzeOptions
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.cluster_events import UngroupedEvents
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import TimeIndex, joined
from tests.conftest import SAMPLES
from tests.story import Story, clock, ms

NETWORK = "org.apache.kafka.clients.NetworkClient"


def formed(*clients: str) -> Story:
    return Story().formed(*clients, at="01:00:00.137")


def losing_connections(story: Story, client: str, connections: int, *, of: str = "Producer clientId=p-1") -> Story:
    for number in range(connections):
        at = clock(ms("01:10:00.137") + number * 1_000)
        story.line(f"{client}/app.log", at, f"[{of}] Node 2 disconnected.", logger=NETWORK)
    return story


def test_a_connection_that_another_client_loses_is_a_line_of_the_members_process() -> None:
    timeline = losing_connections(formed("c-1", "c-2"), "c-1", 3).timeline()
    first, second = timeline.membership.members
    assert len(timeline.events_from(first, NodeDisconnected)) == 3
    assert not timeline.events_from(second, NodeDisconnected)
    assert timeline.events_from(first, Event).last(timeline.last) == timeline.of(NodeDisconnected)[-1]


def test_what_another_client_of_the_process_logs_is_not_copied_into_the_groups_lines() -> None:
    alone = formed("c-1", "c-2").timeline()
    timeline = losing_connections(formed("c-1", "c-2"), "c-1", 50).timeline()
    assert len(timeline.group_events) == len(alone.group_events)


def test_groups_of_one_process_share_what_the_process_logs() -> None:
    events = losing_connections(formed("c-1", "c-2"), "c-1", 50).events
    timeline = Story(events=events).timeline()
    (log,) = [log for log in timeline.process_events.logs if log.has_type(NodeDisconnected)]
    assert timeline.process_events.of_type(NodeDisconnected) is log.of_type(NodeDisconnected)


def test_a_member_in_a_shared_log_has_the_lines_with_its_client_id() -> None:
    story = formed("c-1")
    for client, member in (("c-2", "c-2-7f"), ("c-3", "c-3-8a")):
        joined = f"[Consumer clientId={client}, groupId=payments] Successfully joined group with generation "
        joined += f"Generation{{generationId=1, memberId='{member}', protocol='range'}}"
        story.line("node/app.log", "01:00:05.137", joined)
    losing_connections(story, "node", 2, of="Consumer clientId=c-2")
    losing_connections(story, "node", 3, of="Producer clientId=p-1")
    timeline = story.timeline()
    counts = {p.name: len(timeline.events_from(p, NodeDisconnected)) for p in timeline.participants.everybody}
    assert counts == {"c-1": 0, "c-2": 2, "c-3": 0}


@pytest.mark.parametrize(
    "sample", ["network-partition", "process-crash", "connect-config-change", "thread-replacement"]
)
def test_each_line_of_a_process_is_of_the_participant_that_its_speaker_is(
    sample: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    timelines: list[Timeline] = []

    def recorded(cluster: str, group: str, own: Iterable[Event], shared: UngroupedEvents) -> Timeline:
        timelines.append(build(cluster, group, own, shared))
        return timelines[-1]

    monkeypatch.setattr("rebalance_forensics.diagnosis.case.build", recorded)
    analyze([str(SAMPLES / sample)], AnalyzeOptions(engine="local"))
    assert any(timeline.process_events for timeline in timelines)
    for timeline in timelines:
        for participant, parts in timeline.process_events.spoken(timeline.participants).items():
            for part in parts:
                assert {timeline.participants.of_speaker(line) for line in part} == {participant}


Item = tuple[int, int]
"""A time and a number."""


@given(
    some.lists(some.lists(some.integers(0, 20)), min_size=1, max_size=4), some.integers(-1, 21), some.integers(-1, 21)
)
def test_several_lists_answer_as_one(times: list[list[int]], begin: int, end: int) -> None:
    at = itemgetter(0)
    parts: list[TimeIndex[Item]] = [
        TimeIndex(((time, 100 * part + number) for number, time in enumerate(sorted(of_part))), at)
        for part, of_part in enumerate(times)
    ]
    whole: TimeIndex[Item] = TimeIndex((item for part in parts for item in part), at)
    together = joined(parts, at)
    assert list(together) == whole
    assert len(together) == len(whole)
    assert together.between(begin, end) == whole.between(begin, end)
    assert together.since(begin) == whole.since(begin)
    assert list(together.onwards(begin)) == list(whole.onwards(begin))
    assert together.last(end) == whole.last(end)
    assert together.first(begin) == whole.first(begin)
    assert together.any_between(begin, end) == whole.any_between(begin, end)
    assert list(together.nearest(begin, 5)) == list(whole.nearest(begin, 5))
    assert list(reversed(together)) == list(reversed(whole))
    assert [*together[:1], *together[-1:]] == [*whole[:1], *whole[-1:]]
    if whole:
        assert (together[0], together[-1]) == (whole[0], whole[-1])
