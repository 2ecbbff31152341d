"""Which incident each stretch without a reader belongs to: exactly one, so that nothing is counted twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct

from rebalance_forensics.diagnosis.engine.drafts import Draft
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import UnreadSpan
from rebalance_forensics.timeline.ownership.member_time import MemberSpan, member_time_of
from rebalance_forensics.timeline.ownership.owners import ownership_of
from rebalance_forensics.timeline.time_index import IntervalIndex
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS

_MEMBER_GONE = frozenset({"dead", "frozen", "stuck", "cut-off", "fenced", "unknown"})
# Nobody knew when these began: the incident begins when the member is missed, or when its assignor fails.
_NOTICED_LATER = _MEMBER_GONE | {"assignment-failed"}


class Extent(Struct, frozen=True, eq=False):
    """From its first evidence to its last known effect: one incident."""

    draft: Draft
    started_at: int
    ended_at: int

    @property
    def is_fault(self) -> bool:
        """True if any finding is above info."""
        return any(weighed.hypothesis.severity != "info" for weighed in self.draft.findings)


S = TypeVar("S", UnreadSpan, MemberSpan)


def shared_out(timeline: Timeline, extents: Sequence[Extent]) -> Mapping[Draft, Sequence[UnreadSpan]]:
    """The unread spans of each incident."""
    owners = ownership_of(timeline)
    return _shared_out(owners.spans, owners.until, extents)


def members_shared_out(timeline: Timeline, extents: Sequence[Extent]) -> Mapping[Draft, Sequence[MemberSpan]]:
    """Spans without a reader by member, as coordinators' logs show them, assigned to incidents."""
    member_time = member_time_of(timeline)
    return _shared_out(member_time.spans, member_time.until, extents)


def _shared_out(spans: Iterable[S], end: int, extents: Sequence[Extent]) -> Mapping[Draft, Sequence[S]]:
    known = IntervalIndex(extents, attrgetter("started_at"), lambda extent: extent.ended_at + ROUND_TRIP_MS)
    found: dict[Draft, list[S]] = defaultdict(list)
    for span in spans:
        until = span.ended_at if span.ended_at is not None else end
        extent = _of(span, until, known)
        if extent is not None:
            found[extent.draft].append(span)
    return found


def _of(span: UnreadSpan | MemberSpan, until: int, known: IntervalIndex[Extent]) -> Extent | None:
    """The incident in which it began, or in which the member was missed; else the first one that it reaches into."""
    begin = span.from_earliest if span.from_earliest is not None else span.started_at
    # Whoever waits for a rebalance waits for what holds it up, which may begin later.
    waits = span.why == "revoked" and span.ended_at is not None
    noticed = until if waits or span.why in _NOTICED_LATER else span.started_at
    near = known.touching(min(begin, span.started_at), noticed)
    if near:
        return max(near, key=lambda extent: (_blamed(extent, span), extent.is_fault, _overlap(extent, span, until)))
    return next(iter(known.touching(span.started_at, until)), None)


def _blamed(extent: Extent, span: UnreadSpan | MemberSpan) -> bool:
    """True if the incident blames the member that could no longer read."""
    return span.why in _MEMBER_GONE and span.client_id in extent.draft.names


def _overlap(extent: Extent, span: UnreadSpan | MemberSpan, until: int) -> tuple[int, int]:
    """How long the two lasted together; of two alike the earlier."""
    return min(extent.ended_at + ROUND_TRIP_MS, until) - max(extent.started_at, span.started_at), -extent.started_at
