"""Members whose poll timeout expired, or may have: they left and came back by themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.members.absences import Absence, absences, distinct_events, members_counted
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses, shown_by_commits_alone
from rebalance_forensics.diagnosis.episodes.members.restarts import same_process
from rebalance_forensics.diagnosis.episodes.members.unreachable_brokers import unreachable_before
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import PollTimeoutExpired
from rebalance_forensics.timeline.clients import lacks_poll_timer, shared_loop_lines
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import is_bare_member_id
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import is_implausible, shown_poll_ms
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS, ONE_SCALING_MS, ROUND_TRIP_MS

# Two members that leave and return while a third dies may as well have been slow.
_ENOUGH_FOR_WALK = 3


Shown = Literal["poll-timeout", "same-process", "by-turns", "silent", "blocked", "too-late"]
"""The evidence for a poll timeout.

`poll-timeout`: a line reports it. `same-process`: the same process is back. `by-turns`: members left in turn. `silent`:
a member fell silent. `blocked`: so did one whose client heartbeats from the loop that handles records and has no poll
timer. `too-late`: a client without a poll timer was removed because it rejoined later than a rebalance waits.
"""


class PollTimeouts(Struct, frozen=True):
    """Absences close in time that poll timeouts explain or may explain."""

    absences: tuple[Absence, ...]
    shown: Shown
    limit_ms: int | None = None
    """max.poll.interval.ms as the logs show it."""

    @property
    def lines(self) -> tuple[Event, ...]:
        """The lines of the absences; lines in which a client names its poll timeout come first."""
        expiries = [
            e for a in self.absences for d in a.departures for e in d.events if isinstance(e, PollTimeoutExpired)
        ]
        return distinct_events([*expiries, *(e for a in self.absences for e in a.events)])

    @property
    def implausible_ms(self) -> int | None:
        """By how much the poll timeout was exceeded as its only line says, where no poll loop can take that long."""
        overruns = [
            e.exceeded_ms for a in self.absences for e in a.departure_lines if isinstance(e, PollTimeoutExpired)
        ]
        return max(filter(None, overruns)) if overruns and all(map(is_implausible, overruns)) else None

    @property
    def away_ms(self) -> int:
        """The longest time that a member took to rejoin; 0 if none did."""
        return max([a.back_at - a.at for a in self.absences if a.back_at is not None], default=0)


def poll_timeouts(timeline: Timeline) -> Iterator[PollTimeouts]:
    """Poll timeouts by the member's own log or the reason in its LeaveGroup, and absences that may be poll timeouts."""
    silent = [
        a for a in absences(timeline, ("left",)) if _left_and_came_back(timeline, a) and _may_have_expired(timeline, a)
    ]
    logged = absences(timeline, ("poll-timeout",))
    # A member that waited for a broker is not slow like one whose loop took too long.
    waited = [a for a in logged if any(unreachable_before(timeline, d) for d in a.departures)]
    for alike in (waited, [a for a in logged if a not in waited]):
        for group in runs(alike, lambda a: a.at, ONE_SCALING_MS):
            yield PollTimeouts(tuple(group), "poll-timeout", _limit_ms(timeline, group))
    for group in runs(silent, lambda a: a.at, ONE_SCALING_MS):
        if all(same_process(timeline, a) for a in group):
            yield PollTimeouts(tuple(group), "same-process", _limit_ms(timeline, group))
        elif _like_poll_timeouts(timeline, group):
            yield PollTimeouts(tuple(group), "by-turns", _limit_ms(timeline, group))
    for absence in losses(timeline):
        yield PollTimeouts((absence,), _silenced(timeline, absence), _limit_ms(timeline, [absence]))


def _silenced(timeline: Timeline, absence: Absence) -> Shown:
    if shared_loop_lines(timeline, [absence.participant]) and not shown_by_commits_alone(absence):
        return "blocked"
    return "too-late" if lacks_poll_timer(timeline, absence.participant) else "silent"


def _left_and_came_back(timeline: Timeline, absence: Absence) -> bool:
    # An old broker gives no reason: a client that leaves and rejoins by itself was most likely slow.
    by_itself = not absence.participant.has_log or (absence.start is None and absence.stop is None)
    return (
        by_itself
        and absence.back_at is not None
        and absence.participant.kind != "worker"
        and not _another_process(timeline, absence)
    )


def _may_have_expired(timeline: Timeline, absence: Absence) -> bool:
    """True if max.poll.interval.ms, as set or at its shortest, had passed since the member joined."""
    # Joining takes a poll(). A member that had left before joined again after that, logged or not.
    allowed = _limit_ms(timeline, [absence]) or NEXT_HEARTBEAT_MS
    before = (
        timeline.arrivals.of(absence.participant).last(absence.at - 1),
        timeline.departures.of(absence.participant).last(absence.at - 1),
    )
    return all(fact is None or absence.at - fact.at >= allowed - ROUND_TRIP_MS for fact in before)


def _limit_ms(timeline: Timeline, group: Sequence[Absence]) -> int | None:
    """The members' max.poll.interval.ms; a Connect worker's rebalance timeout is another setting."""
    return shown_poll_ms(
        timeline, [e for absence in group if absence.participant.kind != "worker" for e in absence.departure_lines]
    )


def _another_process(timeline: Timeline, absence: Absence) -> bool:
    # A client makes its own member id when it starts: another id is another process.
    ids = [*(d.member for d in absence.departures), *(a.member for a in absence.arrivals)]
    return all(is_bare_member_id(m or "") for m in ids) and not same_process(timeline, absence)


def _like_poll_timeouts(timeline: Timeline, group: list[Absence]) -> bool:
    participants = {a.participant for a in group}
    everybody = max(len(timeline.members()), members_counted(timeline, group[0].at))
    if len(participants) >= _ENOUGH_FOR_WALK:
        everybody -= len(_died_meanwhile(timeline, group) - participants)
    walks = len(group) == len(participants) and len(participants) > 1 and len(participants) >= everybody
    return not walks


def _died_meanwhile(timeline: Timeline, group: list[Absence]) -> set[Participant]:
    """Members lost for good while the others left in turn."""
    # A deployment does not reach dead members.
    until = max(a.back_at or a.at for a in group)
    return {a.participant for a in losses(timeline) if a.back_at is None and group[0].at <= a.at <= until}


def missed_between(timeline: Timeline, group: Sequence[Absence]) -> list[Fact]:
    """Other facts of a member between two of its poll timeouts: missed rebalances, and its returns."""
    left: dict[Participant, list[int]] = defaultdict(list)
    for absence in group:
        left[absence.participant] += [d.at for d in absence.departures]
    found: list[Fact] = []
    for participant, times in left.items():
        begin, end = min(times), max(times) + ROUND_TRIP_MS
        missed = [d for d in timeline.departures.of(participant).between(begin, end) if d.why != "session-expired"]
        found += [*missed, *timeline.arrivals.of(participant).between(begin, end)]
    return found
