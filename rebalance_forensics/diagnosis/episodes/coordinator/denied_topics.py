"""Members that left right after a broker denied a principal their topic, shown only by the authorizer log.

TopicAuthorizationException ends poll() of a Java consumer, and the application closes it. The authorizer names the
principal and the topic, not the group. The link is that all members leave right after denials, and that there are no
denials while they are away.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import denied
from rebalance_forensics.diagnosis.episodes.members.clean_exits import VOLUNTARY
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.membership import TopicReadDenied
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    NEXT_HEARTBEAT_MS,
    ONE_REBALANCE_MS,
    ROUND_TRIP_MS,
)


class DeniedTopics(Struct, frozen=True):
    """Departures right after denials of a topic, and these denials."""

    events: tuple[TopicReadDenied, ...]
    departures: tuple[Departure, ...]

    @property
    def principals(self) -> list[str]:
        """The principals that were denied."""
        return sorted({e.principal for e in self.events if e.principal})

    @property
    def topics(self) -> list[str]:
        """The topics that were denied."""
        return sorted({e.topic for e in self.events if e.topic})

    @property
    def participants(self) -> tuple[Participant, ...]:
        """The members that left."""
        return tuple(dict.fromkeys(d.participant for d in self.departures))

    @property
    def repeated(self) -> bool:
        """True if a member came back and left right after a denial again, which chance does not explain."""
        return len(self.departures) > len(self.participants)


def denied_topics(timeline: Timeline) -> Iterator[DeniedTopics]:
    """Every time all members left right after denials and no client logged them."""
    client_times = [time_of(e) for events in denied(timeline).values() for e in events]
    for denials in _by_rights(timeline):
        left = [d for d in timeline.departures if d.why in VOLUNTARY and denials.any_between(*_just_before(d))]
        for run in runs(left, lambda d: d.at, ONE_REBALANCE_MS):
            begin, end = run[0].at - NEXT_HEARTBEAT_MS, run[-1].at + NEXT_HEARTBEAT_MS
            clients = any(begin - AT_ONCE_MS <= at <= end + AT_ONCE_MS for at in client_times)
            if not clients and _all_left(timeline, run) and _only_at_departures(denials, run):
                yield DeniedTopics(tuple(denials.between(begin, end)), tuple(run))


def _by_rights(timeline: Timeline) -> list[TimeIndex[TopicReadDenied]]:
    # Denials of one principal and one topic belong together: another application is denied separately.
    found: dict[tuple[str | None, str | None], list[TopicReadDenied]] = defaultdict(list)
    for event in timeline.of(TopicReadDenied):
        found[event.principal, event.topic].append(event)
    return [TimeIndex(events, time_of, ordered=True) for events in found.values()]


def _just_before(departure: Departure) -> tuple[int, int]:
    return departure.at - NEXT_HEARTBEAT_MS, departure.at + ROUND_TRIP_MS


def _all_left(timeline: Timeline, run: Sequence[Departure]) -> bool:
    # Members share a principal, so a denial reaches all of them: a member that stays refutes it.
    known = [
        g for g in timeline.generations if g.members and (g.completed_at or g.started_at or run[0].at + 1) <= run[0].at
    ]
    before = known[-1] if known else None
    departed = {d.participant for d in run}
    members = [] if before is None else [timeline.participants.of_member(m.member_id or "") for m in before.members]
    return bool(members) and all(m in departed for m in members)


def _only_at_departures(denials: TimeIndex[TopicReadDenied], run: Sequence[Departure]) -> bool:
    # Denials that go on while nobody leaves, or while these members are away, belong to another application.
    ungrouped = denials.between(run[0].at - ONE_REBALANCE_MS, run[-1].at + ONE_REBALANCE_MS)
    near = [e for e in ungrouped if any(abs(time_of(e) - d.at) <= NEXT_HEARTBEAT_MS for d in run)]
    return 2 * len(near) > len(ungrouped)
