"""While a member was in the group and did not read, or kept the whole group waiting: stretches of its lane."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.join_barriers import late_joins
from rebalance_forensics.timeline.model import Span, SpanKind, UnreadSpan
from rebalance_forensics.timeline.ownership import ownership_of
from rebalance_forensics.timeline.ownership.readings import Owner
from rebalance_forensics.timeline.timeouts import shown_poll_ms, shown_session_ms

LABELS: Mapping[str, str] = {
    "stuck": "did not call poll()",
    "dead": "its process was gone, and the group had not noticed",
    "frozen": "its process was paused, and the group had not noticed",
    "cut-off": "could not reach the brokers, and the group had not noticed",
}
_SILENT = ("session-expired", "vanished")


def unable(timeline: Timeline, participant: Participant) -> Iterator[Span]:
    """From when a member could no longer read until the group gave it up, and while it held up a rebalance."""
    for departure in timeline.departures.of(participant):
        yield from _before(timeline, participant, departure)
    for join in late_joins(timeline).get(participant, ()):
        begin = join.rebalance.started_at
        yield Span(
            started_at=begin,
            ended_at=join.joined_at,
            kind="holding-up",
            label=f"joined {(join.joined_at - begin) / 1000:.1f} s after the rebalance began",
            generation=join.rebalance.generation,
        )


def _before(timeline: Timeline, participant: Participant, departure: Departure) -> Iterator[Span]:
    """What is known of the time before a member went: from its partitions, else from its timeouts."""
    mine = timeline.remembered(_unread_by_client)
    gaps = [
        gap
        for name in {*participant.client_ids, participant.name}
        for gap in mine.get(name, ())
        if gap.started_at <= departure.at and (gap.ended_at is None or gap.ended_at >= departure.at)
    ]
    if gaps:
        first = min(gaps, key=lambda gap: gap.started_at)
        kind: SpanKind | None = first.why if first.why in ("stuck", "dead", "frozen", "cut-off") else None
        began = first.started_at
    elif departure.why == "rebalance-timeout":
        rebalance = next(iter(timeline.rebalances.touching(departure.at, departure.at)), None)
        kind, began = "holding-up", departure.at if rebalance is None else rebalance.started_at
    elif departure.why == "poll-timeout":
        poll = shown_poll_ms(timeline, owner=_owner(timeline, departure)) or 0
        kind, began = "stuck", departure.at - poll
    else:
        session = shown_session_ms(timeline, _owner(timeline, departure)) or 0
        kind, began = ("silent" if departure.why in _SILENT else None), departure.at - session
    if kind is not None and began < departure.at:
        label = LABELS.get(kind, "no heartbeat arrived until its session expired")
        label = "did not rejoin until the rebalance timeout was over" if kind == "holding-up" else label
        yield Span(started_at=began, ended_at=departure.at, kind=kind, label=label)


def _owner(timeline: Timeline, departure: Departure) -> Owner:
    """Whose timeouts count: those of the client that went, of an instance with several the one that is named."""
    participant = departure.participant
    named = timeline.participants.client_of(departure.member or "")
    return participant, named or min(participant.client_ids, default="")


def _unread_by_client(timeline: Timeline) -> dict[str, list[UnreadSpan]]:
    found: dict[str, list[UnreadSpan]] = defaultdict(list)
    for gap in ownership_of(timeline).spans:
        found[gap.client_id or ""].append(gap)
    return found
