"""Laws of who reads what: they hold for whatever members, rebalances and losses come in whatever order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import investigate
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.build import build
from rebalance_forensics.timeline.model import UnreadSpan
from rebalance_forensics.timeline.ownership.owners import Ownership, ownership_of
from tests.story import Side, Story, clock, ms

CLIENTS = ("c-1", "c-2", "c-3")
BEGIN, SESSION_MS, POLL_MS = ms("01:10:00.000"), 45_000, 60_000
POLL_TIMEOUT = (
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
    "configured max.poll.interval.ms, which typically implies that the poll loop is spending too much time "
    "processing messages. You can address this either by increasing max.poll.interval.ms or by reducing the "
    "maximum size of batches returned in poll() with max.poll.records."
)
few = settings(max_examples=25, deadline=None)


@dataclass(frozen=True)
class Step:
    """What happens next to a group: after how many seconds, to whom, and what."""

    what: str
    client: str
    seconds: int


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(["rebalance", "evicted", "stuck", "revoked", "given"]),
        st.sampled_from(CLIENTS),
        st.integers(60, 200),
    ),
    max_size=6,
)
SIDES = st.sampled_from(["both", "brokers", "clients"])


def story_of(steps: Sequence[Step], seen: Side = "both") -> Story:
    """A story of the lines that Kafka logs for these steps."""
    story, at = Story(seen=seen), BEGIN
    for client in CLIENTS:
        story.started(
            client, clock(at - 630_000), **{"session.timeout.ms": SESSION_MS, "max.poll.interval.ms": POLL_MS}
        )
    story.rebalanced(clock(at - 600_000), story.words.adding(story.id_of("c-1")), CLIENTS, takes_ms=3_000)
    for step in steps:
        at += 1_000 * step.seconds
        _one(story, step, at)
    return story.goes_on(clock(at + 120_000))


def _one(story: Story, step: Step, at: int) -> None:
    others = [client for client in CLIENTS if client != step.client]
    member = story.id_of(step.client)
    match step.what:
        case "rebalance":
            story.rebalanced(clock(at), story.words.adding(member), CLIENTS)
        case "evicted":
            story.broker(clock(at), story.words.failed(member))
            story.rebalanced(clock(at + 1), f"removing member {member} on heartbeat expiration", others)
            story.reborn(step.client)
        case "stuck":
            story.client(step.client, clock(at), POLL_TIMEOUT, level="WARN")
            leaving = f"Member {member} sending LeaveGroup request to coordinator b-2:9092 (id: 2147483645 rack: null) "
            story.client(step.client, clock(at + 1), f"{leaving}due to consumer poll timeout has expired.")
            story.rebalanced(clock(at + 2), f"Removing member {member} on LeaveGroup", others)
            story.reborn(step.client)
        case "revoked":
            for partition in story.holds.get(step.client, ()):
                story.client(step.client, clock(at), f"Revoke previously assigned partitions {partition}")
        case _:
            for partition in story.holds.get(step.client, ()):
                story.client(step.client, clock(at), f"Adding newly assigned partitions: {partition}")


def owners(events: Sequence[Event]) -> Ownership:
    mine = [event for event in events if event.group == "payments"]
    return ownership_of(build("default", "payments", mine, [event for event in events if event.group is None]))


def by_partition(spans: Sequence[UnreadSpan]) -> Iterator[list[UnreadSpan]]:
    for name in sorted({span.partition for span in spans}):
        yield [span for span in spans if span.partition == name]


@few
@given(STEPS, SIDES)
def test_spans_of_an_unread_partition_do_not_overlap_and_follow_a_reader(steps: list[Step], seen: Side) -> None:
    found = owners(story_of(steps, seen).events)
    first = {name: span.started_at for span in reversed(found.read) for name in span.partitions}
    for mine in by_partition(found.spans):
        assert all(a.ended_at is not None and a.ended_at <= b.started_at for a, b in pairwise(mine))
        assert all(span.started_at >= first[span.partition] for span in mine)
        assert all(span.ended_at is None or span.ended_at > span.started_at for span in mine)
        assert all(span.from_earliest is None or span.from_earliest <= span.started_at for span in mine)


@few
@given(STEPS)
def test_a_partition_has_one_reader_at_a_time(steps: list[Step]) -> None:
    steps = [step for step in steps if step.what not in ("given", "revoked")]
    found = owners(story_of(steps).events)
    for name in found.partitions:
        mine = [span for span in found.read if name in span.partitions]
        for a, b in combinations(mine, 2):
            a_end, b_end = (found.until if one.ended_at is None else one.ended_at for one in (a, b))
            assert min(a_end, b_end) <= max(a.started_at, b.started_at) or a.member == b.member


@few
@given(STEPS)
def test_the_cost_adds_up(steps: list[Step]) -> None:
    story = story_of(steps)
    mine = [event for event in story.events if event.group == "payments"]
    case = investigate("default", "payments", mine, [event for event in story.events if event.group is None])
    until = owners(story.events).until
    for one in case.incidents:
        cost = one.impact
        if cost.unread_partition_ms is not None and cost.longest_unread_ms is not None:
            assert cost.unread_partition_ms >= cost.longest_unread_ms
            assert cost.stopped_ms is None or cost.stopped_ms <= cost.longest_unread_ms
    told_in_all = sum(one.impact.unread_partition_ms or 0 for one in case.incidents)
    spans = case.history.unread
    assert told_in_all <= sum((until if s.ended_at is None else s.ended_at) - s.started_at for s in spans)


@few
@given(STEPS, SIDES, st.randoms(use_true_random=False))
def test_the_order_in_which_lines_are_read_changes_nothing(steps: list[Step], seen: Side, random: Random) -> None:
    events = story_of(steps, seen).events
    shuffled = random.sample(events, len(events))
    assert tuple(owners(events).spans) == tuple(owners(shuffled).spans)


def _lost(span: UnreadSpan) -> UnreadSpan:
    return replace(span, why="dead") if span.why == "frozen" else span


@few
@given(STEPS)
@example([Step("evicted", "c-1", 60), Step("evicted", "c-1", 105), Step("rebalance", "c-1", 60)])
def test_a_log_cut_short_changes_nothing_that_was_over(steps: list[Step]) -> None:
    """What is unread at the cut lasts to it; a member that was lost later may have stopped reading before the cut.

    Whether a lost member is dead or was frozen is known once it comes back, which may be after the cut.
    """
    events = story_of(steps).events
    end = max(event.at or 0 for event in events)
    cut = BEGIN + (end - BEGIN) // 2
    whole, half = owners(events), owners([event for event in events if (event.at or 0) <= cut])
    over = {s for s in whole.spans if s.ended_at is not None and s.ended_at <= half.until - SESSION_MS - POLL_MS}
    assert {_lost(span) for span in over} <= {_lost(span) for span in half.spans}
    assert all(span.started_at <= half.until for span in half.spans)


@few
@given(STEPS, st.integers(2, 10))
def test_partitions_that_are_handed_over_at_another_pace_are_unread_for_as_much_longer(
    steps: list[Step], factor: int
) -> None:
    steps = [step for step in steps if step.what in ("given", "revoked")]

    def stretched(at: int | None) -> int | None:
        return at if at is None or at < BEGIN else BEGIN + (at - BEGIN) * factor

    events = story_of(steps, "clients").events
    slow = owners([replace(event, at=stretched(event.at)) for event in events])
    assert [(s.partition, s.started_at, s.ended_at) for s in slow.spans] == [
        (s.partition, stretched(s.started_at), stretched(s.ended_at)) for s in owners(events).spans
    ]


@few
@given(STEPS)
def test_brokers_that_name_no_assignment_tell_of_no_unread_partition(steps: list[Step]) -> None:
    found = owners(story_of(steps, "brokers").events)
    assert not found.spans
    assert found.stopped_ms(BEGIN, found.until) is None
