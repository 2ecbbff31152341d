"""A rebalance whose cause the logs do not show; diagnosis/unexplained/ proposes it after all other causes."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import lacks_reason
from rebalance_forensics.diagnosis.seen import coordinator_place, just_before, logged_by_coordinator, own_place, seen
from rebalance_forensics.diagnosis.sign import STRONG, Answer, Need, Subject, Unobservable, sign, speaks_against
from rebalance_forensics.events.coordinator import CoordinatorElected, CoordinatorResigned, GroupLoaded, GroupUnloaded
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import HEARTBEAT_MS


@sign("a member joined or left at that time", "no member joined or left at that time")
def membership_changed(timeline: Timeline, subject: Subject) -> Answer:
    """A member joined or left at that time, according to the coordinator's log."""
    begin, end = subject.begin - HEARTBEAT_MS, subject.end
    moves = timeline.moves(begin, end)
    if not moves and any(isinstance(fact, Rebalance) and lacks_reason(fact) for fact in subject.facts):
        # Such a coordinator logs expired sessions, but not members that join or leave.
        return Unobservable((Need(what="the logs of the group's clients", who=None, begin=begin, end=end),))
    return seen((e for move in moves for e in move.events[:1]), [coordinator_place(timeline, begin, end)])


@sign(
    "a member asked for a rebalance at that time",
    "no member logged a reason to rejoin: no changed subscription, no changed metadata, no enforced rebalance",
)
def rejoin_requested(timeline: Timeline, subject: Subject) -> Answer:
    """A member logged the reason why it rejoined."""
    begin, end = subject.begin - HEARTBEAT_MS, subject.end
    requests = (e for r in timeline.requests.between(begin, end) for e in r.events[:1])
    return seen(requests, (own_place(timeline, member, begin, end) for member in subject.participants))


COORDINATOR_MOVED = logged_by_coordinator(
    "coordinator-moved",
    *(CoordinatorElected, CoordinatorResigned, GroupLoaded, GroupUnloaded),
    when=just_before,
    present="the coordinator of the group moved at that time",
    absent="the coordinator did not move at that time",
)
# A clue of hypotheses that found the line in which a worker forced the rebalance.
REJOINED = speaks_against(rejoin_requested, STRONG)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """No hypotheses: what remains unexplained is known only after all other causes have proposed theirs."""
    del timeline
    yield from ()


CAUSE = Cause(
    propose=propose,
    signs=(
        # Any of these would speak against "unexplained". The report shows where each was looked for.
        speaks_against(membership_changed, STRONG),
        REJOINED,
        speaks_against(COORDINATOR_MOVED, STRONG),
    ),
)
