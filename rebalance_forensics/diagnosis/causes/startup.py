"""The group forms from empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import touched
from rebalance_forensics.diagnosis.episodes.members.departures import after_all_left, startup_arrivals
from rebalance_forensics.diagnosis.episodes.members.picked_lines import joins_empty_group
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.diagnosis.wording.participants import counted_members
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.epochs import GroupEpochBumped, MemberTransitioned
from rebalance_forensics.events.membership import Subscribed
from rebalance_forensics.events.rebalances import (
    AssignmentComputed,
    GenerationStabilized,
    GroupEmptied,
    JoinFailed,
    JoinRequested,
    JoinSucceeded,
    RebalanceStarted,
)
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, StaticReturn
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import AT_ONCE_MS, NEXT_HEARTBEAT_MS, ROUND_TRIP_MS

EMPTY = ("Empty", "Dead")


def was_empty(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """Whether lines show that nobody was in the group when these came: a state, a first generation, leaves, a count.

    An empty group keeps the number of its last generation, so a later number alone shows neither.
    """
    events = [e for r in touched(timeline, arrivals) for e in r.events]
    follows = _follows_another(events) or _joins_a_later_epoch(timeline, arrivals)
    follows = follows or _joins_in_its_place(timeline, arrivals)
    if _was_seen_empty(timeline, arrivals) or after_all_left(timeline, arrivals[0]):
        return True
    if follows is None and joins_empty_group(timeline, arrivals[0].at, arrivals[-1].at + AT_ONCE_MS):
        return True
    return _nobody_else_in(timeline, arrivals, events) and _are_new(timeline, arrivals)


def _are_new(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """Whether more than subscribe(), which a member may call again, tells that they were not in the generation before.

    A coordinator names newcomers; a client's log has the start of its process, or the id that it was given (KIP-394).
    """
    if timeline.has_coordinator_log:
        return True
    begun = (e for a in arrivals if a.start is not None for e in a.start.events)
    given = (isinstance(e, JoinRequested | JoinFailed) for a in arrivals for e in a.events)
    return any(given) or any(not isinstance(e, Subscribed) for e in begun)


def _follows_another(events: Sequence[Event]) -> Event | None:
    """The line by which the first generation of these is not the group's first; the coordinator's, where it is there.

    Clients before 2.4 do not log that they lead: one that joins alone does not show that somebody else is in.
    """
    opened = next((e for e in events if isinstance(e, RebalanceStarted)), None)
    if opened is not None:
        return opened if opened.generation else None
    named = ((e.generation or 0, e) for e in events if isinstance(e, JoinSucceeded | AssignmentComputed))
    number, first = min((numbered for numbered in named if numbered[0]), key=itemgetter(0), default=(0, None))
    return first if number > 1 else None


def _joins_a_later_epoch(timeline: Timeline, arrivals: Sequence[Arrival]) -> Event | None:
    """The first epoch of a group without a leader (KIP-848, KIP-932) that is told: whoever forms it has epoch 1."""
    if not arrivals:
        return None
    first, last = min(a.at for a in arrivals), max(a.at for a in arrivals)
    if timeline.has_coordinator_log:
        bumped = timeline.of(GroupEpochBumped).first(first - ROUND_TRIP_MS)
        later = bumped is not None and bumped.epoch > 1 and time_of(bumped) <= last + NEXT_HEARTBEAT_MS
        return bumped if later else None
    came = {a.member for a in arrivals}
    transitions = (
        e for e in timeline.of(MemberTransitioned).between(first, last + NEXT_HEARTBEAT_MS) if e.member in came
    )
    answered = min((e for e in transitions if e.epoch), key=lambda e: e.epoch or 0, default=None)
    return answered if answered is not None and (answered.epoch or 0) > 1 else None


def _joins_in_its_place(timeline: Timeline, arrivals: Sequence[Arrival]) -> Event | None:
    """The join of a static member: it is answered with the generation that its group has, be it the first (KIP-345).

    Only a leader that assigns, or the coordinator, shows that the generation is a new one.
    """
    if not arrivals or not all(a.participant.instance_ids for a in arrivals):
        return None
    if timeline.has_coordinator_log:
        return next((e for a in arrivals for r in _returns_near(timeline, a) for e in r.events), None)
    answers = (timeline.events_from(a.participant, JoinSucceeded).first(a.at) for a in arrivals)
    joins = [e for e in answers if isinstance(e, JoinSucceeded)]
    assigned = {e.generation for e in timeline.of(AssignmentComputed).since(arrivals[0].at) if e.assignment}
    return joins[0] if joins and assigned.isdisjoint(e.generation for e in joins) else None


def _returns_near(timeline: Timeline, arrival: Arrival) -> Sequence[StaticReturn]:
    return timeline.returns.of(arrival.participant).between(
        arrival.at - NEXT_HEARTBEAT_MS, arrival.at + NEXT_HEARTBEAT_MS
    )


def _was_seen_empty(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """The coordinator says so as it takes in the first, or those who were in have been seen to go."""
    first = min(a.at for a in arrivals)
    in_empty_state = any(getattr(e, "state", None) in EMPTY for a in arrivals for e in a.events)
    return (
        in_empty_state or bool(timeline.of(GroupEmptied).last(first)) or timeline.departures.last(first - 1) is not None
    )


def _nobody_else_in(timeline: Timeline, arrivals: Sequence[Arrival], events: Sequence[Event]) -> bool:
    """The first generation with them has no other members, by the coordinator's count or the leader's list."""
    created = [e for e in events if isinstance(e, GenerationStabilized)]
    counts = [e.member_count for e in created if e.member_count is not None]
    listed = [e for e in events if isinstance(e, AssignmentComputed)]
    number = next((e.generation for group in (created, listed) for e in group), None)
    counts += [len(e.assignment) for e in timeline.of(AssignmentComputed) if e.assignment and e.generation == number]
    return bool(counts) and max(counts) <= len(arrivals)


FROM_EMPTY = stated("joined-an-empty-group", present="the group was empty, and these members joined it together")
PERHAPS_EMPTY = stated(
    "joined-perhaps-an-empty-group", present="these members joined together; no line shows that the group was empty"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every time members arrive at an empty group, one soon after another."""
    for run in startup_arrivals(timeline):
        participants = tuple(dict.fromkeys(a.participant for a in run))
        empty = was_empty(timeline, run)
        rebalances = [r for r in touched(timeline, run) if r.started_at <= run[-1].at + NEXT_HEARTBEAT_MS]
        yield Hypothesis(
            because=tuple(e for a in run for e in a.events[:2]),
            culprits=(the_group(timeline, participants),),
            severity="info",
            implies=(*run, *rebalances),
            explains=tuple(run),
            participants=participants,
            answers={FROM_EMPTY if empty else PERHAPS_EMPTY: Present(tuple(e for a in run for e in a.events[:1]))},
            narrative=(
                f"Group started: {counted_members(timeline, participants)} joined"
                f"{'' if empty else '; no line shows that the group was empty'}."
            ),
        )


CAUSE = Cause(
    summary="The group started from empty; its first rebalances are expected.",
    mechanism=(
        "Members arrive at an Empty group. The coordinator waits group.initial.rebalance.delay.ms for "
        "more of them, then creates the first generation; each later member causes another one."
    ),
    shows="Arrivals in state Empty, old generation 0, or process starts of all members.",
    remedy="Nothing to do. Many small generations at start: raise group.initial.rebalance.delay.ms.",
    usual="benign",
    propose=propose,
    signs=(
        speaks_for(FROM_EMPTY, DECISIVE),
        speaks_for(PERHAPS_EMPTY, WEAK),
    ),
    implies=("scale-out",),
    lookalikes=("scale-out",),
    settings=("group.initial.rebalance.delay.ms",),
    kips=("KIP-134", "KIP-394"),
)
