"""The cost of an incident: unread partitions, stops of the whole group, pauses of members."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.cause import Cause
from rebalance_forensics.diagnosis.engine.confidence import GUESS
from rebalance_forensics.diagnosis.engine.contest import Outcome
from rebalance_forensics.diagnosis.engine.differential import rivals_of
from rebalance_forensics.diagnosis.engine.drafts import Draft
from rebalance_forensics.diagnosis.engine.weights import Weighed
from rebalance_forensics.diagnosis.model import Impact, MemberImpact
from rebalance_forensics.records import is_timed
from rebalance_forensics.timeline.coverage import CoveredLog
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.model import UnreadSpan, WhyUnread
from rebalance_forensics.timeline.ownership.member_time import MemberSpan, MemberTime, NoneInForce, member_time_of
from rebalance_forensics.timeline.ownership.owners import Ownership, ownership_of
from rebalance_forensics.timeline.time_index import IntervalIndex, united
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS, SHORTEST_UNREAD_MS

Stretch = tuple[int, int]
_MEMBER_GONE = frozenset({"dead", "frozen", "stuck", "cut-off", "fenced", "unknown"})
S = TypeVar("S", UnreadSpan, MemberSpan)


def member_impact_of(
    timeline: Timeline, started: int, rebalances: Sequence[Rebalance], spans: Sequence[MemberSpan]
) -> MemberImpact | None:
    """Return the cost in member time, from absences and rebalances; None if the coordinator logged neither."""
    member_time = member_time_of(timeline)
    by_member: dict[str, int] = defaultdict(int)
    for span in spans:
        by_member[span.member] += _end_of(span, member_time.until) - span.started_at
    earliest = started
    for span in spans:
        earliest = min(earliest, span.started_at)
    size = member_time.size_before(earliest)
    at_least, at_most = _all_members_absent_ms(timeline, member_time, {r.id for r in rebalances}, spans, size)
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


def _all_members_absent_ms(
    timeline: Timeline, member_time: MemberTime, begun: set[str], spans: Sequence[MemberSpan], size: int | None
) -> tuple[int | None, int | None]:
    """Return the least and the most ms for which no member read anything; only eager members all stop to rebalance."""
    if size is None or timeline.mode == "server-side":
        return None, None
    without_assignment = [
        member_time.none_in_force[rebalance] for rebalance in sorted(begun) if rebalance in member_time.none_in_force
    ]
    ends = [(span, _end_of(span, member_time.until)) for span in spans]
    certainly_absent = _all_absent([(span.missed_at, end) for span, end in ends], member_time)
    possibly_absent = _all_absent(
        [(min(span.started_at, span.from_earliest or span.started_at), end) for span, end in ends], member_time
    )
    joined = [
        (max(span.started_at, span.all_stopped_at), _end_of(span, member_time.until))
        for span in without_assignment
        if span.all_stopped_at is not None and timeline.mode == "eager"
    ]
    unassigned = [(span.started_at, _end_of(span, member_time.until)) for span in without_assignment]
    # All members may have been absent for longer than the logs show.
    unbounded = bool(spans) and any(span.at_least for span in spans) and len({span.member for span in spans}) >= size
    at_most = None if unbounded or timeline.mode == "cooperative" else _covered([*possibly_absent, *unassigned])
    return _covered([*certainly_absent, *joined]) or None, at_most


def _all_absent(absences: Iterable[Stretch], member_time: MemberTime) -> list[Stretch]:
    """Return the spans in which all members of an assignment were absent at the same time."""
    marks = sorted([mark for begin, end in absences for mark in ((begin, 1), (end, -1))])
    found: list[Stretch] = []
    absent = 0
    for (at, step), (until, _) in pairwise(marks):
        absent += step
        if absent > 0 and at < until:
            found += member_time.with_at_most(absent, at, until)
    return found


def _covered(stretches: Iterable[Stretch]) -> int:
    return sum(max(0, end - begin) for begin, end in united(stretches))


def impact_of(
    timeline: Timeline,
    started: int,
    ended: int,
    rebalances: Sequence[Rebalance],
    unread: Sequence[UnreadSpan],
    absent_members: Sequence[MemberSpan],
) -> Impact:
    """Return the cost: pauses that overlap the incident and its own unread spans, each counted in full.

    Without timestamps, only the members that paused and the number of rebalances are known.
    """
    until = ended + ROUND_TRIP_MS
    pauses = timeline.pauses.touching(started, until)
    logged = bool(pauses) or bool(_logs_showing_pauses(timeline).places_touching(started, until))
    untimed = Impact(
        members=len({p.client_id or p.member_id for p in pauses}) if logged else None,
        partitions=len({x for p in pauses for x in p.partitions}) if logged else None,
        rebalances=len(rebalances),
        of_connect=timeline.kind == "connect",
    )
    if not is_timed(started):
        return untimed
    owners = ownership_of(timeline)
    by_partition: dict[str, int] = defaultdict(int)
    for span in unread:
        by_partition[span.partition] += _end_of(span, owners.until) - span.started_at
    step = max([p.step_ms for p in pauses if p.is_blurred], default=0)
    paused_ms = sum([(p.ended_at or max(ended, p.started_at)) - p.started_at for p in pauses])
    paused = replace(untimed, pause_ms=_unless_below_resolution(paused_ms, step) if logged else None)
    longest = max(by_partition, key=lambda name: (by_partition[name], name), default=None)
    longest_ms = by_partition[longest] if longest is not None else 0
    if longest_ms < step or not _is_known(owners, started, until, by_partition):
        return replace(paused, by_member=member_impact_of(timeline, started, rebalances, absent_members))
    whole = owners.whole_between(started, until)
    stopped_ms = _stopped(owners, started, until, unread, by_partition) if whole else None
    return replace(
        paused,
        unread_partition_ms=sum(by_partition.values()),
        unread_partitions=_notably_unread(by_partition),
        known_partitions=len(owners.partitions) if whole else None,
        unread_at_least=not whole or bool(owners.unknown.touching(started, until)),
        longest_unread_ms=longest_ms,
        longest_unread_partition=longest,
        stopped_ms=_unless_below_resolution(stopped_ms, step),
    )


def _is_known(owners: Ownership, started: int, until: int, by_partition: Mapping[str, int]) -> bool:
    """True if the logs show which partitions were unread, or that none was."""
    # Without unread spans the cost is 0 only if the owners of all partitions are known.
    if by_partition:
        return True
    if not owners.known_between(started, until) or owners.unknown.touching(started, until):
        return False
    return owners.whole_between(started, until) or owners.presumed_whole


def _unless_below_resolution(ms: int | None, step: int) -> int | None:
    """Return the duration, or None if it is shorter than the resolution of the timestamps."""
    return None if (ms or 0) < step else ms


def _end_of(span: UnreadSpan | MemberSpan | NoneInForce, until: int) -> int:
    return span.ended_at if span.ended_at is not None else until


def _stopped(
    owners: Ownership, started: int, until: int, unread: Sequence[UnreadSpan], by_partition: Mapping[str, int]
) -> int | None:
    """Return the time in ms for which no partition was read, within the incident and its own spans."""
    if not unread:
        return 0
    begin = min(started, *(span.started_at for span in unread))
    stopped = owners.stopped_ms(begin, max(until, *(_end_of(span, owners.until) for span in unread)))
    # Another incident may have stopped the group in between.
    return None if stopped is None else min(stopped, max(by_partition.values()))


@cached_answer
def _logs_showing_pauses(timeline: Timeline) -> IntervalIndex[CoveredLog]:
    """Return the logs that would show a pause: only the member itself logs that it revoked partitions."""
    logs = chain.from_iterable(map(timeline.coverage.detailed, timeline.participants.everybody))
    return IntervalIndex(logs, attrgetter("begin"), attrgetter("end"))


def _notably_unread(by_partition: Mapping[str, int]) -> int:
    """Count the partitions unread for at least half as long as the longest: a mere change of owner is short."""
    longest = max(by_partition.values(), default=0)
    return sum(2 * ms >= longest for ms in by_partition.values())


def left_unread(unread: Sequence[UnreadSpan]) -> bool:
    """True if partitions have no reader when the logs end, so that the incident is not over."""
    return bool(unread) and any(span.ended_at is None for span in unread)


def stopped_for_good(timeline: Timeline, unread: Sequence[UnreadSpan]) -> bool:
    """True if no member reads any partition when the logs end, because of these spans."""
    owners = ownership_of(timeline)
    open_ones = {span.partition for span in unread if span.ended_at is None}
    return bool(open_ones) and open_ones == owners.partitions and owners.whole_between(owners.until, owners.until)


def stopped_by_rebalancing_ms(timeline: Timeline, unread: Sequence[UnreadSpan]) -> int:
    """Return the time in ms for which the group was stopped for a reason other than clean shutdowns."""
    owners = ownership_of(timeline)
    by_rebalance = [span for span in unread if span.why not in ("stopped", "unassigned")]
    if not by_rebalance:
        return 0
    begin, end = (
        min(span.started_at for span in by_rebalance),
        max(_end_of(span, owners.until) for span in by_rebalance),
    )
    longest = max(_end_of(span, owners.until) - span.started_at for span in by_rebalance)
    return min(owners.stopped_ms(begin, end) or 0, longest)


def reasons_of_heartbeat_loss(causes: Mapping[str, Cause], outcome: Outcome) -> Mapping[str, WhyUnread]:
    """Return why members stopped sending heartbeats, by the fact that the verdict explains."""
    reasons: dict[Weighed, WhyUnread | None] = {}
    for verdict in outcome.explains.values():
        if verdict not in reasons:
            why = causes[verdict.cause].silence
            # If the shutdown is only a guess, the members may have been cut off instead.
            guessed = why == "stopped" and rivals_of([verdict], outcome)[0] <= GUESS
            reasons[verdict] = None if guessed else why
    return {fact: why for fact, verdict in outcome.explains.items() if (why := reasons[verdict]) is not None}


class Extent(Struct, frozen=True, eq=False, dict=True):
    """The time of one incident, from its first evidence to its last known effect."""

    draft: Draft
    started_at: int
    ended_at: int

    @cached_property
    def is_fault(self) -> bool:
        """True if any finding is above severity info."""
        return any(weighed.hypothesis.severity != "info" for weighed in self.draft.findings)


def shared_out(spans: Iterable[S], end: int, extents: Sequence[Extent]) -> Mapping[Draft, Sequence[S]]:
    """Assign the unread spans of partitions or members to incidents; an open span lasts until `end`."""
    known = IntervalIndex(extents, attrgetter("started_at"), lambda extent: extent.ended_at + ROUND_TRIP_MS)
    found: dict[Draft, list[S]] = defaultdict(list)
    for span in spans:
        extent = _extent_of_span(span, _end_of(span, end), known)
        if extent is not None:
            found[extent.draft].append(span)
    return found


def _extent_of_span(span: UnreadSpan | MemberSpan, until: int, known: IntervalIndex[Extent]) -> Extent | None:
    """Return the incident in which the span began or its member was found missing, else the first that it overlaps."""
    begin = span.from_earliest if span.from_earliest is not None else span.started_at
    # A member that revoked its partitions waits for whatever delays the rebalance, which may start later.
    waits = span.why == "revoked" and span.ended_at is not None
    noticed = until if waits or _is_missed(span) or span.why == "assignment-failed" else span.started_at
    near = known.touching(min(begin, span.started_at), noticed)
    if near:
        # Prefer the incident that blames the absent member, then a fault, then the longest overlap.
        missed = span.client_id if _is_missed(span) else None
        return max(near, key=lambda e: (missed in e.draft.names, e.is_fault, _overlap(e, span, until)))
    return next(iter(known.touching(span.started_at, until)), None)


def _is_missed(span: UnreadSpan | MemberSpan) -> bool:
    """True if the group noticed that the member was missing only later: no line shows when it stopped reading."""
    # A Streams instance and a static member that close send no LeaveGroup.
    return span.why in _MEMBER_GONE or (span.why == "stopped" and span.from_earliest is not None)


def _overlap(extent: Extent, span: UnreadSpan | MemberSpan, until: int) -> tuple[int, int]:
    """Return the overlap in ms, and the negated start so that the earlier of two equal incidents wins."""
    return min(extent.ended_at + ROUND_TRIP_MS, until) - max(extent.started_at, span.started_at), -extent.started_at
