"""The members were restarted one after another."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import down_ms, is_static
from rebalance_forensics.diagnosis.episodes.members.restarts import RestartWalk, restart_walks
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals import about_absences
from rebalance_forensics.diagnosis.sign import STRONG, WEAK, Answer, Present, Row, clue, speaks_against
from rebalance_forensics.diagnosis.signs import departures
from rebalance_forensics.diagnosis.wording.culprits import members, the_group
from rebalance_forensics.diagnosis.wording.durations import lasting, rounded_up, seconds
from rebalance_forensics.diagnosis.wording.sessions import (
    after_static_expiry,
    runs_in_connect,
    session_in_words,
    session_limit,
)
from rebalance_forensics.events.epochs import GroupConverted
from rebalance_forensics.events.membership import LeaveSent, MemberFailed, MemberLeft
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import session_timeout_ms

WALKED = clue("restarted-one-after-another", STRONG, "one member after another left, until most had been restarted")
ALL_BACK = clue("every-return-logged", STRONG, "all of them were back or replaced")
ONLY_LISTED = clue(
    "known-from-lists-only",
    -STRONG - WEAK,
    "for at least half of the restarts, only the leader's lists of members show who left and came back",
)
EXPIRED_IN_TURN = clue(
    "expired-in-turn", -STRONG - WEAK, "no LeaveGroup and no log of their own shows whether they were stopped"
)
TASKS_MOVED = clue(
    "moved-by-workers",
    -STRONG - WEAK,
    "its members run in sink tasks, which Connect workers stop and start whenever the workers rebalance",
)
CUT = clue(
    "walk-beyond-the-logs", -STRONG, "the logs begin or end within a step of it, and most members were not replaced yet"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Restarts of one member after another, of at least two members and most of the group."""
    for walk in restart_walks(timeline):
        new_names = " under new names" if walk.new_names else ""
        everyone, who = the_group(timeline, walk.participants), members(timeline, walk.participants)
        expired = [r.absence for r in walk.restarts if _expired_as_static(timeline, r.absence)]
        longest = max(expired, key=lambda away: down_ms(timeline, away)) if expired else None
        yield about_absences(
            timeline,
            [r.absence for r in walk.restarts],
            because=walk.lines,
            culprits=(everyone,) if walk.everyone else (),
            participants=walk.participants,
            severity="info" if longest is None else "warning",
            implies=[a for r in walk.restarts for a in r.arrivals],
            clues=shown_by(walk, sink_tasks=runs_in_connect(timeline)),
            narrative=(
                f"{len(walk.participants)} {who} were restarted one after another{new_names}"
                f"{lasting(timeline.measured(walk.took_ms), ' within {}')}{_migrated(timeline, walk)}."
                f"{_expired_in_words(timeline, longest)}"
            ),
            advice=(
                (static_membership(timeline, walk),)
                if longest is None
                else after_static_expiry(timeline, longest, longest.participant.name)
            ),
        )


CAUSE = Cause(
    propose=propose,
    signs=(speaks_against(departures.why_unheard, STRONG),),
    implies=(
        "member-left",
        "process-crash",
        "scale-in",
        "scale-out",
        "startup",
        "static-member-expired",
        "unsubscribe",
    ),
    lookalikes=("scaling-flap", "slow-processing", "member-left", "process-crash"),
    silence="stopped",
)


def shown_by(walk: RestartWalk, *, sink_tasks: bool) -> dict[Row, Answer]:
    """Answers to the signs of a rolling restart: its departures and returns, and how the logs show them."""
    departed = Present(tuple(e for r in walk.restarts for e in r.absence.events[:1]))
    returned = Present(tuple(e for r in walk.restarts for a in r.arrivals[:1] for e in a.events[:1]))
    all_back = all(r.arrivals for r in walk.restarts)
    shown = (
        (WALKED, departed, True),
        (ALL_BACK, returned, all_back),
        (ONLY_LISTED, departed, walk.mostly_listed),
        (CUT, returned, walk.cut),
        (EXPIRED_IN_TURN, Present(), walk.mostly_expired),
        (TASKS_MOVED, departed, sink_tasks),
    )
    return {row: answer for row, answer, is_so in shown if is_so}


def _expired_as_static(timeline: Timeline, away: Absence) -> bool:
    """True for a static member whose session expired before it was back; a LeaveGroup would have removed it at once."""
    if not is_static(timeline, away) or any(isinstance(e, MemberLeft | LeaveSent) for e in away.events):
        return False
    evicted = any(isinstance(e, MemberFailed) for e in away.events)
    return away.back_at is not None and (evicted or down_ms(timeline, away) > session_timeout_ms(timeline))


def _expired_in_words(timeline: Timeline, longest: Absence | None) -> str:
    """A sentence on static members that were down for longer than their session; empty without any."""
    if longest is None:
        return ""
    limit = session_limit(timeline, longest.participant)
    return f" Static members were away for longer than {limit}, so that each restart caused rebalances."


def _migrated(timeline: Timeline, walk: RestartWalk) -> str:
    """A clause on the group's conversion to another protocol meanwhile (KIP-848); empty if none was logged."""
    times = sorted(event.at for event in walk.lines if event.at is not None)
    if not times:
        return ""
    conversions = timeline.of(GroupConverted).between(times[0] - windows.TICK_MS, times[-1] + windows.TICK_MS)
    known = [e for e in conversions if e.before and e.after]
    if not known:
        return ""
    before, back = known[0].before, known[0].before == known[-1].after
    after = known[0].after if back else known[-1].after
    return f"; the group migrated from the {before} to the {after} protocol{' and back' if back else ''}"


def static_membership(timeline: Timeline, walk: RestartWalk) -> Advice:
    """Advice to use static membership, with which a member that is back in time causes no rebalance."""
    session, down = session_in_words(timeline), walk.longest_down_ms
    cost = f"A member that is really gone is noticed only after session.timeout.ms ({session})."
    if walk.new_names:
        return Advice(
            action=(
                "Let each new process take over the group.instance.id of an old one (a StatefulSet's pod name), "
                "and start it only when the old one is gone."
            ),
            why=f"Under a new name every restart is a join and a leave: {len(walk.restarts)} of each here.",
            cost=cost,
        )
    why = f"static member that is back within session.timeout.ms ({session}) causes no rebalance"
    if timeline.measured(down) is None:
        why = f"A {why}."
    elif down <= timeouts.session_timeout_ms(timeline):
        why = f"The longest restart took {seconds(down)}; a {why}."
    else:
        why = f"A {why}; the longest restart took {seconds(down)}, so raise it to about {rounded_up(down)}."
    return Advice(action="Give each member a group.instance.id (static membership).", why=why, cost=cost)
