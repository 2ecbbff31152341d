"""What an incident cost where nobody names partitions: time of members, and bounds for stops of the whole group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from rebalance_forensics.diagnosis.model import MemberImpact
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.ownership import MemberSpan, MemberTime, member_time_of
from rebalance_forensics.timeline.windows import SHORTEST_UNREAD_MS

Stretch = tuple[int, int]


def member_impact_of(
    timeline: Timeline, started: int, rebalances: Sequence[Rebalance], spans: Sequence[MemberSpan]
) -> MemberImpact | None:
    """The cost of an incident by its members' spans and its rebalances; None where the coordinator told of neither."""
    told = member_time_of(timeline)
    by_member: dict[str, int] = defaultdict(int)
    for span in spans:
        by_member[span.member] += _until(span.ended_at, told) - span.started_at
    earliest = started
    for span in spans:
        earliest = min(earliest, span.started_at)
    size = told.size_before(earliest)
    at_least, at_most = _stopped(timeline, told, {r.id for r in rebalances}, spans, size)
    lost = {member: ms for member, ms in by_member.items() if ms > SHORTEST_UNREAD_MS}
    if not lost and not at_most and not at_least:
        return None
    return MemberImpact(
        members=len(lost),
        of_members=max(size, len(lost)) if size is not None else None,
        unread_member_ms=sum(lost.values()),
        longest_ms=max(lost.values(), default=0),
        at_least=any(span.at_least for span in spans if span.member in lost),
        stopped_at_least_ms=at_least,
        stopped_at_most_ms=at_most,
    )


def _stopped(
    timeline: Timeline, told: MemberTime, begun: set[str], spans: Sequence[MemberSpan], size: int | None
) -> tuple[int | None, int | None]:
    """For how long, at least and at most, nobody read anything: only eager members all stop for a rebalance."""
    if size is None or timeline.mode == "server-side":
        return None, None
    mine = [told.none_in_force[one] for one in sorted(begun) if one in told.none_in_force]
    ends = [(one, _until(one.ended_at, told)) for one in spans]
    surely_gone = _all_gone([(one.missed_at, end) for one, end in ends], told)
    gone = _all_gone([(min(one.started_at, one.from_earliest or one.started_at), end) for one, end in ends], told)
    joined = [
        (max(one.started_at, one.all_stopped_at), _until(one.ended_at, told))
        for one in mine
        if one.all_stopped_at is not None and timeline.mode == "eager"
    ]
    held = [(one.started_at, _until(one.ended_at, told)) for one in mine]
    # All of them may have been gone for longer than the logs show.
    unbounded = bool(spans) and any(one.at_least for one in spans) and len({one.member for one in spans}) >= size
    at_most = None if unbounded or timeline.mode == "cooperative" else _covered([*gone, *held])
    return _covered([*surely_gone, *joined]) or None, at_most


def _all_gone(absences: Iterable[Stretch], told: MemberTime) -> list[Stretch]:
    """When every member that an assignment was for was gone at once; each is gone once at a time."""
    marks = sorted([mark for begin, end in absences for mark in ((begin, 1), (end, -1))])
    found: list[Stretch] = []
    gone = 0
    for (at, step), (until, _) in pairwise(marks):
        gone += step
        if gone > 0 and at < until:
            found += told.with_at_most(gone, at, until)
    return found


def _covered(stretches: Iterable[Stretch]) -> int:
    """How much time they cover together."""
    covered = 0
    latest: int | None = None
    for begin, end in sorted(stretches):
        since = begin if latest is None else max(begin, latest)
        covered += max(0, end - since)
        latest = end if latest is None else max(latest, end)
    return covered


def _until(end: int | None, told: MemberTime) -> int:
    return told.until if end is None else end
