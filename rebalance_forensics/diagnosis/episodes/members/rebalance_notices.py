"""Members that have to rejoin: from the heartbeat response that reports a rebalance to their next action."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TypeGuard

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline import clients, timeouts, windows
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.membership.lost_membership import is_rebalance_notice

# A member without a coordinator cannot join, however often it polls.
_ENDS = (*clients.ANSWERS_TO_NOTICE, ev.CoordinatorLost)


class RebalanceNotice(Struct, frozen=True):
    """A run of heartbeats that reported a rebalance, and the member's next action; None if it took none."""

    participant: Participant
    notices: tuple[Event, ...]
    ended_by: Event | None
    revoked: Event | None = None
    """The first revocation before that: an eager member revokes its partitions in poll(), just before it joins."""
    removed_by: ev.HeartbeatFailed | None = None
    """The response of a coordinator that had removed it meanwhile: the rebalance completed without it."""
    joins_logged: bool = True

    @property
    def began_at(self) -> int:
        """Time of the first notice."""
        return time_of(self.notices[0])

    @property
    def ended_at(self) -> int:
        """Time of the member's action, else of the last notice."""
        return time_of(self.ended_by or self.notices[-1])

    @property
    def lasted_ms(self) -> int:
        """The time, in ms, for which the member is known to have kept the others waiting."""
        return (time_of(self.removed_by) if self.removed_by is not None else self.ended_at) - self.began_at

    @property
    def polled_after_ms(self) -> int | None:
        """The time, in ms, until the poll() in which it rejoined; None if no line shows it."""
        rejoined = self.ended_by if isinstance(self.ended_by, ev.JoinStarted) else None
        polled = self.revoked or rejoined
        return None if polled is None else time_of(polled) - self.began_at

    def is_one_rebalance(self, timeline: Timeline) -> bool:
        """True if the member cannot have joined in between; an excerpt or a log of warnings may lack a JoinGroup."""
        if not self.joins_logged:
            return self.removed_by is not None
        times = [*map(time_of, self.notices), self.began_at + self.lasted_ms]
        longest = max((later - earlier for earlier, later in pairwise(times)), default=0)
        return not timeline.coverage.is_excerpt or longest <= timeouts.all_have_heard_ms(timeline)


def rebalance_notices(timeline: Timeline, participant: Participant) -> Iterator[RebalanceNotice]:
    """Each run of notices until the member acted, oldest first."""
    # A member that has sent JoinGroup is waiting for the others: later notices do not count.
    if not timeline.events_from(participant, ev.HeartbeatFailed, ev.JoinRequested):
        return
    if not clients.logs_joins(timeline, participant):
        yield from _repeated_warnings(timeline, participant)
        return
    notices: list[Event] = []
    revoked: Event | None = None
    removed: ev.HeartbeatFailed | None = None
    waits = False
    for event in timeline.events_from(participant, *_ENDS, ev.HeartbeatFailed, ev.JoinRequested, ev.PartitionsRevoked):
        if isinstance(event, _ENDS):
            if notices:
                yield RebalanceNotice(participant, tuple(notices), event, revoked, removed)
            notices, revoked, removed, waits = [], None, None, isinstance(event, ev.JoinStarted)
        elif isinstance(event, ev.PartitionsRevoked):
            revoked = revoked or (event if notices else None)
        elif notices and removed is None and _shows_removal(event):
            removed = event
        elif not waits and is_rebalance_notice(event):
            notices.append(event)
    if notices:
        yield RebalanceNotice(participant, tuple(notices), None, revoked, removed)


def _shows_removal(event: Event) -> TypeGuard[ev.HeartbeatFailed]:
    return isinstance(event, ev.HeartbeatFailed) and event.error == "UNKNOWN_MEMBER_ID"


def _repeated_warnings(timeline: Timeline, participant: Participant) -> Iterator[RebalanceNotice]:
    """Runs of notices in a log that has only warnings, if long enough: removals, and a last one that ends the log."""
    # kafka-python and aiokafka warn at each heartbeat until the application's poll() rejoins, and log the join at INFO.
    # A member that rejoins sends no heartbeats during the join, so a long run without a gap is one rebalance; a short
    # run may be of several.
    failed = timeline.events_from(participant, ev.HeartbeatFailed)
    notices = [e for e in failed if is_rebalance_notice(e)]
    next_ms = timeouts.heartbeat_interval_ms(timeline) + windows.ROUND_TRIP_MS
    found = [run for run in runs(notices, time_of, next_ms) if len(run) > timeouts.HEARTBEATS_PER_SESSION]
    for run in found:
        removed = next(filter(_shows_removal, failed.between(time_of(run[-1]), time_of(run[-1]) + next_ms)), None)
        ends = run[-1] is notices[-1] and not any(
            log.end > time_of(run[-1]) + timeouts.all_have_heard_ms(timeline)
            for log in timeline.coverage.of(participant)
        )
        if removed is not None or ends:
            yield RebalanceNotice(participant, tuple(run), None, removed_by=removed, joins_logged=False)
