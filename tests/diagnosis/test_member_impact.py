"""What coordinators alone tell of the cost: time of members, and bounds for stops of the whole group."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings

from rebalance_forensics.diagnosis.model import Incident, MemberImpact
from rebalance_forensics.pipeline.run import analyze
from rebalance_forensics.report import wording
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.ownership.member_time import member_time_of
from tests.conftest import SAMPLES
from tests.diagnosis.expiries import evicted
from tests.incidents.sample import LOCAL, report_of
from tests.properties.test_ownership import STEPS, Step, story_of
from tests.story import Story

LOADED = (
    "Loaded member MemberMetadata(memberId={member}, groupInstanceId=None, clientId={client}, clientHost=/10.0.0.1, "
    "sessionTimeoutMs={session}, rebalanceTimeoutMs=60000, supportedProtocols=List(range)) in group payments with "
    "generation 1."
)


def told_by_coordinator(story: Story) -> MemberImpact:
    found = story.the_incident().impact
    assert found.unread_partition_ms is None
    assert found.by_member is not None
    return found.by_member


def test_what_an_evicted_member_had_was_unread_at_least_from_its_eviction_on() -> None:
    cost = told_by_coordinator(evicted(seen="brokers"))
    assert (cost.members, cost.of_members, cost.at_least) == (1, 3, True)
    assert 0 < cost.longest_ms < 10_000
    assert cost.stopped_at_most_ms is not None


def test_a_known_session_timeout_tells_how_long_before() -> None:
    story = Story(seen="brokers").formed("c-1", "c-2", "c-3")
    member = story.id_of("c-3")
    story.broker("01:05:00.000", LOADED.format(member=member, client="c-3", session=45_000))
    story.broker("01:10:00.000", story.words.failed(member))
    story.rebalanced("01:10:00.001", f"removing member {member} on heartbeat expiration", ["c-1", "c-2"])
    cost = told_by_coordinator(story.goes_on("01:12:00.000"))
    assert not cost.at_least
    assert 42_000 <= cost.longest_ms <= 48_000
    assert wording.unread(story.the_incident().impact).startswith("the partitions of 1 of 3 members unread for about 4")


def test_if_partitions_are_named_no_figures_by_member_are_given() -> None:
    assert evicted().the_incident().impact.by_member is None


def test_a_rebalance_without_a_lost_member_is_reported_with_how_long_the_group_may_have_stopped() -> None:
    (one,) = _of_brokers_alone("rebalance-straggler")
    assert one.impact.by_member is not None
    assert one.impact.by_member.members == 0
    assert wording.impact(one.impact) == (
        "the logs do not show how long partitions were unread; whole group stopped for at most 20 s; 1 rebalance"
    )


def _of_brokers_alone(sample: str, severities: tuple[str, ...] = ("warning", "critical")) -> list[Incident]:
    brokers = [str(path) for path in sorted((SAMPLES / sample).glob("broker*"))]
    return [one for one in analyze(brokers, LOCAL).incidents if one.severity in severities]


@pytest.mark.parametrize("sample", ["rebalance-straggler", "process-crash", "slow-processing", "process-pause"])
def test_the_bounds_hold_what_the_clients_logs_show(sample: str) -> None:
    (whole,) = (one for one in report_of(SAMPLES / sample).incidents if one.severity != "info")
    (alone,) = _of_brokers_alone(sample)
    cost, stopped = alone.impact.by_member, whole.impact.stopped_ms
    assert cost is not None
    assert stopped is not None
    assert (cost.stopped_at_least_ms or 0) <= stopped
    assert cost.stopped_at_most_ms is None or stopped <= cost.stopped_at_most_ms + 200, "members revoke a little later"
    if cost.members and not cost.at_least:
        assert cost.longest_ms == pytest.approx(whole.impact.longest_unread_ms, rel=0.15)


@settings(max_examples=25, deadline=None)
@given(STEPS)
def test_a_member_is_gone_once_at_a_time_and_the_cost_adds_up(steps: list[Step]) -> None:
    story = story_of(steps, "brokers")
    mine = [event for event in story.events if event.group == "payments"]
    ungrouped = [event for event in story.events if event.group is None]
    spans = [*member_time_of(build("default", "payments", mine, ungrouped)).spans]
    for name in {span.member for span in spans}:
        own = [span for span in spans if span.member == name]
        for earlier, later in pairwise(own):
            assert earlier.ended_at is not None
            assert earlier.ended_at <= later.started_at
    for one in story.incidents():
        cost = one.impact.by_member
        if cost is not None:
            assert cost.longest_ms <= cost.unread_member_ms
            assert cost.of_members is None or cost.members <= cost.of_members
            if cost.stopped_at_least_ms is not None and cost.stopped_at_most_ms is not None:
                assert cost.stopped_at_least_ms <= cost.stopped_at_most_ms
