from __future__ import annotations

import pytest

from tests.epochs import EpochStory
from tests.story import Side, clock, ms
from tests.streams_group import StreamsStory, two_nodes

REVOKES = "{} previously assigned partitions [orders-1]"


def gives_up(story: EpochStory, client: str, listener_after_ms: int, lasted_ms: int) -> EpochStory:
    """A member is to give orders-1 up from 01:10:00 on: its listener is called, and it acknowledges."""
    at = ms("01:10:00.000")
    story.moves(client, clock(at), "STABLE", "RECONCILING", 2)
    story.client(client, clock(at + 20), REVOKES.format("Revoking"))
    story.client(client, clock(at + listener_after_ms), REVOKES.format("Revoke"))
    story.moves(client, clock(at + lasted_ms), "RECONCILING", "ACKNOWLEDGING", 2)
    return story.moves(client, clock(at + lasted_ms), "ACKNOWLEDGING", "STABLE", 2)


def late(seen: Side = "both", listener_after_ms: int = 300, lasted_ms: int = 25_300) -> EpochStory:
    """c-3 joins a group of two, and c-1 has a partition to give up for it."""
    story = EpochStory(release=(4, 1), seen=seen)
    story.joins("c-1", "01:00:00.000").joins("c-2", "01:00:01.000")
    story.started("c-3", "01:09:57.000")
    gives_up(story.joins("c-3", "01:09:59.000"), "c-1", listener_after_ms, lasted_ms)
    story.goes_on("01:20:00.000")
    return story


@pytest.mark.parametrize("seen", ["both", "clients"])
def test_a_kip_848_member_that_gives_its_partitions_up_late_is_blamed_not_the_newcomer(seen: Side) -> None:
    story = late(seen)
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "rebalance-straggler")
    assert [c.name for c in found.root_causes[0].culprits] == ["c-1"]
    assert found.severity == "warning"
    assert found.root_causes[0].confidence >= 0.75


@pytest.mark.parametrize(("listener_after_ms", "where"), [(300, "rebalance listener"), (25_000, "next poll()")])
def test_the_call_of_the_listener_shows_whether_the_member_was_slow_in_it_or_before_it(
    listener_after_ms: int, where: str
) -> None:
    found = next(i for i in late("both", listener_after_ms).incidents() if "gave partitions up" in i.summary)
    assert where in found.summary


def test_its_own_log_alone_shows_a_late_revocation() -> None:
    story = late("clients")
    story.events = [e for e in story.events if e.origin.path.startswith("c-1/")]
    assert "rebalance-straggler" in [i.root_causes[0].cause for i in story.incidents()]


def test_a_revocation_within_two_heartbeats_delays_no_member() -> None:
    assert "rebalance-straggler" not in [i.root_causes[0].cause for i in late(lasted_ms=9_000).incidents()]


def test_a_member_that_lost_its_coordinator_before_it_could_commit_is_no_straggler() -> None:
    story = late(listener_after_ms=25_000)
    lost = "Group coordinator broker-2:9092 (id: 2147483645 rack: null) is unavailable or invalid due to cause: null."
    story.client("c-1", "01:10:01.000", f"{lost} isDisconnected: true. Rediscovery will be attempted.")
    assert "rebalance-straggler" not in [i.root_causes[0].cause for i in story.incidents()]


def test_a_stream_thread_of_a_streams_group_that_gives_its_tasks_up_late_is_a_straggler() -> None:
    story: StreamsStory = two_nodes()
    story.moves("node-1", 1, "01:10:00.000", "STABLE", "RECONCILING")
    story.thread_says("node-1", 1, "01:10:00.010", "Revoking previously assigned active tasks 0_1")
    story.moves("node-1", 1, "01:10:30.000", "RECONCILING", "ACKNOWLEDGING")
    found = next(i for i in story.incidents() if i.root_causes[0].cause == "rebalance-straggler")
    assert [c.name for c in found.root_causes[0].culprits] == ["node-1"]
