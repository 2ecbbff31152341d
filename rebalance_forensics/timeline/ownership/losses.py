"""When a member could no longer read, and why: long before the group noticed, unless it said so itself."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, NodeDisconnected
from rebalance_forensics.events.membership import PollTimeoutExpired
from rebalance_forensics.events.partitions import OwnershipGivenUp, PartitionsLost
from rebalance_forensics.events.rebalances import JoinStarted
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, DepartureWhy
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.model import WhyUnread
from rebalance_forensics.timeline.ownership.readings import Loss, Owner
from rebalance_forensics.timeline.timeouts import heartbeat_interval_ms, shown_poll_ms, shown_session_ms
from rebalance_forensics.timeline.unasked_resets import given_up_unasked
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, PROCESS_START_MS, ROUND_TRIP_MS

_SILENT = frozenset({"session-expired", "vanished", "expelled"})
_WHY: Mapping[DepartureWhy, WhyUnread] = {
    "fenced": "fenced",
    "removed-by-admin": "fenced",
    "rebalance-timeout": "stuck",
    "sync-timeout": "stuck",
    "revocation-timeout": "stuck",
    "died": "dead",
    "closed": "stopped",
    "unsubscribed": "revoked",
}


class LossEstimator(Struct, frozen=True):
    """Puts a date to what ended a reading."""

    timeline: Timeline

    def departed(self, departure: Departure, owner: Owner, missed_at: int) -> Loss:
        """A member that the group lost at `missed_at`; others may have been given its partitions even before."""
        if self._turned_away(departure, owner, missed_at):
            return Loss(at=missed_at, why="fenced", certain=False, missed_at=missed_at)
        if departure.why == "vanished" and self.timeline.starts.of(owner[0]).any_between(missed_at, missed_at):
            return self.restarted(owner, missed_at)
        if departure.why == "session-expired" and self._was_not_polled(departure):
            return self._stuck_in_session(owner, missed_at)
        if departure.why in _SILENT:
            return self._silent(owner, missed_at, self._why_silent(departure, owner))
        if departure.why == "poll-timeout":
            return self._stuck(departure, owner, missed_at)
        # Removed while it ran, it learned of it with its next heartbeat, and nobody says when that was.
        certain = departure.why != "removed-by-admin"
        why = _WHY.get(departure.why, _left(departure))
        return Loss(at=missed_at, why=why, certain=certain, missed_at=missed_at)

    def keeps_fetching(self, departure: Departure) -> bool:
        """Whether it was removed while it ran, and says itself when it learned of it: until then it fetched."""
        if departure.why != "removed-by-admin":
            return False
        until = departure.returned.at if departure.returned is not None else self.timeline.last
        own = self.timeline.events_from(departure.participant, PartitionsLost, OwnershipGivenUp)
        return own.any_between(departure.at, until)

    def _silent(self, owner: Owner, missed_at: int, why: WhyUnread) -> Loss:
        """It read no longer than a session before it was missed: its last heartbeat arrived at the earliest then.

        The next heartbeat, an interval later, did not arrive: half an interval is the middle of what is possible.
        """
        session = shown_session_ms(self.timeline, owner)
        # Whoever is cut off writes on.
        last = self._last_sign(owner, missed_at) if why != "cut-off" else None
        if session is None:
            return Loss(at=missed_at, why=why, certain=False, earliest=last, missed_at=missed_at, bounded=False)
        earliest = max(missed_at - session, last or 0)
        estimate = missed_at - session + heartbeat_interval_ms(self.timeline, owner) // 2
        at = min(missed_at, max(estimate, last or 0))
        return Loss(at=at, why=why, certain=False, earliest=min(earliest, at), missed_at=missed_at)

    def restarted(self, owner: Owner, start: int) -> Loss:
        """It ended without a word, and started anew before the group missed it: most are started again at once."""
        session, last = shown_session_ms(self.timeline, owner), self._last_sign(owner, start)
        earliest = last if session is None else max(start - session, last or 0)
        at = max(start - HEARTBEAT_MS, earliest or 0)
        return Loss(at=at, why="dead", certain=False, earliest=earliest, missed_at=start, bounded=session is not None)

    def _stuck(self, departure: Departure, owner: Owner, missed_at: int) -> Loss:
        """A poll timer runs from the last poll(): since then nothing was fetched for the application."""
        poll = shown_poll_ms(self.timeline, owner=owner)
        if poll is None:
            return Loss(at=missed_at, why="stuck", certain=False, missed_at=missed_at, bounded=False)
        # Some releases say, then or once poll() is called at last, by how much the timer was exceeded.
        expiries = [
            time_of(e) - e.exceeded_ms for e in departure.events if isinstance(e, PollTimeoutExpired) and e.exceeded_ms
        ]
        since = min([missed_at, *expiries]) - poll
        return Loss(at=since, why="stuck", certain=False, earliest=since, missed_at=missed_at)

    def _was_not_polled(self, departure: Departure) -> bool:
        """Whether its poll timeout had expired: a static member sends no LeaveGroup then, its heartbeats just end."""
        back = departure.returned
        if back is not None and back.start is not None:
            return False
        until = back.at if back is not None else self.timeline.last
        return given_up_unasked(self.timeline, departure.participant, departure.at, until) is not None

    def _stuck_in_session(self, owner: Owner, missed_at: int) -> Loss:
        """Its heartbeats ended when its poll timeout expired, and it was missed a session after the last of them."""
        poll, session = shown_poll_ms(self.timeline, owner=owner), shown_session_ms(self.timeline, owner)
        if poll is None or session is None:
            return Loss(at=missed_at, why="stuck", certain=False, missed_at=missed_at, bounded=False)
        earliest = missed_at - session - poll
        at = earliest + heartbeat_interval_ms(self.timeline, owner) // 2
        return Loss(at=at, why="stuck", certain=False, earliest=earliest, missed_at=missed_at)

    def _turned_away(self, departure: Departure, owner: Owner, missed_at: int) -> bool:
        """Whether it read until it learned that it was no longer a member.

        A coordinator that lost the group's state, or refuses a generation, turns away members that live and fetch from
        other brokers; one that was silent had been missed before.
        """
        if departure.why == "vanished":
            return self._coordinator_failed(departure, owner)
        if departure.why != "expelled":
            return False
        joined = self.timeline.events_from(departure.participant, JoinStarted).last(departure.at - 1)
        since = joined.at if joined is not None and joined.at is not None else departure.at
        without = (r for r in self.timeline.rebalances.between(since + 1, departure.at))
        missed = missed_at < departure.at or any(departure.participant not in r.joined_at for r in without)
        return not missed or self._coordinator_failed(departure, owner)

    def _coordinator_failed(self, departure: Departure, owner: Owner) -> bool:
        """Whether most of the group lost its coordinator then; whoever is cut off, or frozen, is alone in it."""
        begin = departure.at - (shown_session_ms(self.timeline, owner) or 0) - PROCESS_START_MS
        lost = self.timeline.of(CoordinatorLost).between(begin, departure.at)
        losers = {
            participant for event in lost if (participant := self.timeline.participants.of_speaker(event)) is not None
        }
        heard = sum(participant.has_log for participant in self.timeline.members())
        return departure.participant in losers and len(losers) > 1 and 2 * len(losers) > heard

    def _last_sign(self, owner: Owner, before: int) -> int | None:
        """Its last line before a time."""
        last_event = self.timeline.events_from(owner[0], Event).last(before - 1)
        ends = [log.end for log in self.timeline.coverage.of(owner[0]) if log.end < before]
        times = [*ends, *([last_event.at] if last_event is not None and last_event.at is not None else [])]
        return max(times, default=None)

    def _why_silent(self, departure: Departure, owner: Owner) -> WhyUnread:
        """A process that died writes nothing more; one that was frozen or cut off writes on without a start."""
        participant, back = owner[0], departure.returned
        if not participant.has_log:
            return "dead" if back is None else "unknown"
        if back is not None and back.start is not None:
            return "dead"
        until = back.at if back is not None else self.timeline.last
        if self._cut_off(departure, owner, until):
            return "cut-off"
        started = self.timeline.starts.of(participant).any_between(departure.at, until)
        alive = self.timeline.events_from(participant, Event).any_between(departure.at + 1, until)
        return "frozen" if not started and (back is not None or alive) else "dead"

    def _cut_off(self, departure: Departure, owner: Owner, until: int) -> bool:
        """Connections that break over seconds, or before anybody missed it; whoever wakes up loses all in one burst."""
        session = shown_session_ms(self.timeline, owner) or 0
        begin = departure.at - session - HEARTBEAT_MS
        lost = self.timeline.events_from(owner[0], NodeDisconnected, CoordinatorLost).between(begin, until)
        if not lost:
            return False
        first, last = time_of(lost[0]), time_of(lost[-1])
        return last - first > HEARTBEAT_MS or (first < departure.at - ROUND_TRIP_MS and until > departure.at)


def _left(departure: Departure) -> WhyUnread:
    """LeaveGroup without a word why: a close, unless the member came back without a start."""
    return "stopped" if departure.returned is None or departure.returned.start is not None else "unknown"
