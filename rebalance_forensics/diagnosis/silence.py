"""A member that stopped heartbeating died, stood still, or lost the network.

A heartbeat expiry looks the same on the coordinator; the member's own log and what comes back tell the three apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import attrgetter
from typing import Literal

from rebalance_forensics.diagnosis.absences import SILENT, Absence, absences, session_timeout_ms, sure_it_stays_away
from rebalance_forensics.diagnosis.finding import GUESS, LIKELY, PROBABLE, UNSURE
from rebalance_forensics.diagnosis.last_words import exception_before
from rebalance_forensics.diagnosis.living_threads import process_lived
from rebalance_forensics.diagnosis.releases import latest_release
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorFound, CoordinatorLost, NodeDisconnected
from rebalance_forensics.events.membership import LeaveSent, MemberFailed
from rebalance_forensics.events.rebalancing import (
    AssignmentComputed,
    AssignmentReceived,
    JoinSucceeded,
    RebalanceStarted,
    SyncFailed,
    SyncSucceeded,
)
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.in_time import InTime
from rebalance_forensics.timeline.told import time_of

Verdict = Literal["crash", "pause", "partition", "slow", "closed", "static"]
ALONE_MS = 4_000
"""A process that wakes up finds its coordinator again within this; one that is cut off does not."""
SAME_REBALANCE_MS = 500
REQUEST_TIMEOUT_MS = 30_000
"""request.timeout.ms by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Silence:
    """One absence by silence, with its verdict and the lines of the member's own log that decide it."""

    away: Absence
    verdict: Verdict
    confidence: float
    own_lines: tuple[Event, ...] = ()

    def began_at(self, session_ms: int) -> int:
        """When the member fell silent, as far as its lines tell; its last word may be hours older than that."""
        told = [e.at for e in (*self.own_lines, *self.away.events()) if e.at is not None]
        return max(min(told, default=self.away.at), self.away.at - session_ms)


def silences(timeline: Timeline) -> list[Silence]:
    """Every absence by silence, judged."""
    return timeline.remembered(_silences)


def _silences(timeline: Timeline) -> list[Silence]:
    judged = [_judged(timeline, away) for away in absences(timeline, SILENT)]
    return [replace(s, confidence=min(s.confidence, sure_it_stays_away(timeline, s.away))) for s in judged]


def _judged(timeline: Timeline, away: Absence) -> Silence:
    if all(isinstance(e, SyncFailed) for d in away.departures for e in d.events):
        # A member that waited for its assignment too long is unknown as well; nothing says that it was silent.
        return Silence(away=away, verdict="pause", confidence=GUESS)
    if away.actor.has_log:
        return _by_its_log(timeline, away)
    if away.actor.instance_ids or _counted_as_static(timeline, away):
        return Silence(away=away, verdict="static", confidence=PROBABLE)
    if all(d.why == "vanished" for d in away.departures):
        return Silence(away=away, verdict="crash", confidence=GUESS)
    if away.back_at is not None and away.back_at < away.at:
        # The old id was still in when the new one came: whoever stood still or was cut off would have used the old.
        return Silence(away=away, verdict="crash", confidence=PROBABLE)
    if away.back_at is None:
        # A Streams instance that closes sends no LeaveGroup either; only its own log tells the two apart.
        unsure = away.actor.kind == "instance" or _may_be_back(timeline, away)
        return Silence(away=away, verdict="crash", confidence=GUESS if unsure else PROBABLE)
    if process_lived(timeline, away):
        # A Streams thread of 4.1 whose poll timeout expired sends no LeaveGroup; other threads of it heartbeat on.
        return Silence(away=away, verdict="slow", confidence=UNSURE)
    return Silence(away=away, verdict="pause", confidence=GUESS)


def _counted_as_static(timeline: Timeline, away: Absence) -> bool:
    """From 2.7 on a coordinator counts the static members of each generation; logs may begin after it named them."""
    told = timeline.remembered(_counted)
    nearest = told.last(away.at) or told.first(away.at)
    return nearest is not None and nearest.static_count == nearest.member_count


def _counted(timeline: Timeline) -> InTime[AssignmentReceived]:
    told = timeline.of(AssignmentReceived)
    return InTime((e for e in told if e.member_count and e.static_count is not None), time_of)


def _may_be_back(timeline: Timeline, away: Absence) -> bool:
    """Before 2.1 a coordinator names nobody who comes: any later rebalance may be the return."""
    since = max(d.at for d in away.departures) + SAME_REBALANCE_MS
    return timeline.remembered(_wordless).any_between(since, timeline.last)


def _wordless(timeline: Timeline) -> InTime[Rebalance]:
    """The rebalances for which no line gives a reason."""
    told = (r for r in timeline.rebalances if any(_is_wordless(e) for e in r.events))
    return InTime(told, attrgetter("started_at"))


def _is_wordless(event: Event) -> bool:
    return isinstance(event, RebalanceStarted) and event.trigger is None and not event.reason


def _by_its_log(timeline: Timeline, away: Absence) -> Silence:
    if away.start is not None or away.stop is not None:
        return _went_down(timeline, away)
    said = timeline.said_by(away.actor, Event)
    sure = LIKELY if _surely_silent(timeline, away) else GUESS
    alive = tuple(islice(said.onwards(away.at + 1), 4))
    if not alive and away.back_at is None:
        errors = exception_before(timeline, away)
        if errors and sure == GUESS:
            return Silence(away=away, verdict="closed", confidence=PROBABLE, own_lines=tuple(errors[:3]))
        verdict: Verdict = "static" if away.actor.instance_ids else "crash"
        return Silence(away=away, verdict=verdict, confidence=sure, own_lines=tuple(e for e in said[-1:] if e.at))
    troubled = _troubled(timeline, away)
    if troubled:
        unsure = _one_sided(timeline, away, troubled)
        told = tuple(troubled[:6])
        return Silence(away=away, verdict="partition", confidence=PROBABLE if unsure else LIKELY, own_lines=told)
    if _was_awake(timeline, away):
        return Silence(away=away, verdict="pause", confidence=GUESS)
    polls = away.actor.kind != "worker"  # nobody calls poll() on a Connect worker's membership
    if sure == GUESS and polls and not _lost_coordinator(timeline, away):
        # A process that stood still gives up its coordinator when it wakes up; one that only did not poll keeps it.
        return Silence(away=away, verdict="slow", confidence=GUESS, own_lines=alive)
    if timeline.protocol in ("consumer", "streams") and (away.back_at or timeline.last) - away.at < REQUEST_TIMEOUT_MS:
        # Until a request times out, a client of the new protocols that is cut off writes no more than one that stands
        # still.
        sure = min(sure, PROBABLE)
    if away.back_at is not None and away.back_at < away.at - ALONE_MS:
        sure = GUESS  # whoever was in under another id by then is hardly the one that was evicted
    return Silence(away=away, verdict="pause", confidence=sure, own_lines=alive)


def _one_sided(timeline: Timeline, away: Absence, troubled: Sequence[Event]) -> bool:
    """One client's word against one broker: a coordinator that stands still looks the same to it."""
    others = any(a.has_log for a in timeline.actors() if a is not away.actor)
    nodes = {e.node for e in troubled if isinstance(e, NodeDisconnected) and e.node is not None and e.node < 2**30}
    return not timeline.has_coordinator_log and not others and len(nodes) < 2


def _was_awake(timeline: Timeline, away: Absence) -> bool:
    """Where only the client tells that it was expelled: whether it wrote or joined while it should have stood still."""
    if timeline.has_coordinator_log or not all(d.why == "expelled" for d in away.departures):
        return False
    session = session_timeout_ms(timeline)
    if timeline.said_by(away.actor, JoinSucceeded, SyncSucceeded).any_between(away.at - session, away.at - 1):
        return True
    return timeline.said_by(away.actor, Event).any_between(away.at - 6 * session // 10, away.at - session // 4)


def _lost_coordinator(timeline: Timeline, away: Absence) -> bool:
    until = away.back_at if away.back_at is not None else away.at
    return timeline.said_by(away.actor, CoordinatorLost).any_between(away.at - 2_000, until + 500)


def _went_down(timeline: Timeline, away: Absence) -> Silence:
    """Its own log shows the end of the process, the start of the next, or both."""
    closing = away.stop is not None
    verdict: Verdict = "static" if away.actor.instance_ids else "closed" if closing else "crash"
    told = [*(away.stop.events if away.stop else ()), *(away.start.events[:1] if away.start else ())]
    sure = closing or _surely_silent(timeline, away)
    return Silence(away=away, verdict=verdict, confidence=LIKELY if sure else GUESS, own_lines=tuple(told))


def _surely_silent(timeline: Timeline, away: Absence) -> bool:
    """Whether it sent no LeaveGroup: somebody says that it expired, or its log would show the request."""
    return any(d.why != "vanished" for d in away.departures) or says_goodbye(timeline, away.actor)


def says_goodbye(timeline: Timeline, actor: Actor) -> bool:
    """Whether the client logs its LeaveGroup at INFO: from 2.1 on, which other lines tell where no version stands."""
    told = timeline.remembered(latest_release).get(actor)
    if told is not None:
        return told >= (2, 1)
    if timeline.of(LeaveSent, AssignmentComputed, SyncSucceeded):
        return True
    return not any(e.after_sync for e in timeline.of(JoinSucceeded))


def _troubled(timeline: Timeline, away: Absence) -> list[Event]:
    """Disconnects over seconds, or a coordinator lost and looked for in vain, while the member was silent."""
    until = away.back_at if away.back_at is not None else timeline.last
    begin = away.at - session_timeout_ms(timeline) - 2_000
    found = timeline.said_by(away.actor, NodeDisconnected, CoordinatorLost).between(begin, until + 500)
    if found and until - (found[0].at or 0) > ALONE_MS and _spread(found):
        return found
    since = begin if _expiry_told(away) else _last_joined(timeline, away)
    lost = timeline.said_by(away.actor, CoordinatorLost).between(since, until - ALONE_MS - 1)
    again = timeline.said_by(away.actor, CoordinatorFound)
    return [e for e in lost if not again.any_between(time_of(e), time_of(e) + ALONE_MS)]


def _expiry_told(away: Absence) -> bool:
    return any(isinstance(e, MemberFailed) for d in away.departures for e in d.events)


def _last_joined(timeline: Timeline, away: Absence) -> int:
    """Without the coordinator's log the silence began at any time after the last generation it joined."""
    joined = timeline.said_by(away.actor, JoinSucceeded, SyncSucceeded).last(away.at - 1)
    return (joined.at if joined is not None else None) or away.at


def _spread(troubled: Sequence[Event]) -> bool:
    """Disconnects over seconds are a network; all in one burst are a process that woke up."""
    return time_of(troubled[-1]) - time_of(troubled[0]) > 3_000
