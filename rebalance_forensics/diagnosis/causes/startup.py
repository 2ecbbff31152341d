"""Members formed the group when it was empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import touched
from rebalance_forensics.diagnosis.episodes.members.departures import (
    FIRST_EPOCH,
    after_all_left,
    joins_empty_group,
    startup_arrivals,
)
from rebalance_forensics.diagnosis.sign import DECISIVE, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import counted_members, the_group
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.releases import Affected, releases_of
from rebalance_forensics.timeline.windows import AT_ONCE_MS, NEXT_HEARTBEAT_MS, ROUND_TRIP_MS, TICK_MS

EMPTY = ("Empty", "Dead")
_SINCE_4_3 = (Affected((4, 3), None),)
FROM_EMPTY = clue("joined-an-empty-group", DECISIVE, "the group was empty, and these members joined it together")
# Only weak evidence, so that a scale-out remains possible.
PERHAPS_EMPTY = clue(
    "joined-perhaps-an-empty-group", WEAK, "these members joined together; no line shows that the group was empty"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for each run of arrivals in a group that was, or may have been, empty."""
    # The coordinator's lines show all members, and so does the leader's assignment. Another client's log shows only its
    # own join.
    counted = timeline.has_coordinator_log or bool(timeline.membership.sizes)
    counted = counted or any(e.assignment for e in timeline.of(ev.AssignmentComputed))
    for run in startup_arrivals(timeline):
        participants = tuple(dict.fromkeys(a.participant for a in run))
        empty = was_empty(timeline, run)
        rebalances = [r for r in touched(timeline, run) if r.started_at <= run[-1].at + NEXT_HEARTBEAT_MS]
        yield Hypothesis(
            because=tuple(e for a in run for e in a.events[:2]),
            culprits=(the_group(timeline, participants),),
            severity="info",
            implies=(*run, *rebalances, *_with_its_topics(timeline, run)),
            explains=tuple(run),
            participants=participants,
            clues={FROM_EMPTY if empty else PERHAPS_EMPTY: Present(tuple(e for a in run for e in a.events[:1]))},
            narrative=(
                f"{'Group started: ' if empty else ''}{'' if counted else 'at least '}"
                f"{counted_members(timeline, participants)} joined"
                f"{'' if empty else '; the logs do not show whether the group was empty before'}."
            ),
        )


CAUSE = Cause(
    propose=propose,
    implies=("scale-out",),
    lookalikes=("scale-out",),
)


def _with_its_topics(timeline: Timeline, arrivals: Sequence[Arrival]) -> Iterator[Rebalance]:
    """The rebalance of a new streams group when its internal topics have been created (KIP-1071)."""
    first, heard = arrivals[0].at, arrivals[-1].at + NEXT_HEARTBEAT_MS
    if not timeline.of(ev.SourceTopicsMissing).any_between(first, heard):
        return
    reports = timeline.of(ev.StreamsStatusReported).onwards(first)
    complete = next((time_of(e) for e in reports if e.topology == "complete"), None)
    if complete is not None:
        places = timeline.rebalances.places_touching(complete, complete + ROUND_TRIP_MS)
        yield from (r for r in map(timeline.rebalances.__getitem__, places) if r.started_at >= complete - TICK_MS)


def was_empty(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """True if the group was empty before these arrivals, by its state, departures, first generation or member count."""
    first, last = min(a.at for a in arrivals), max(a.at for a in arrivals)
    # The coordinator logged the empty state, or the departure of the members before these.
    in_empty_state = any(getattr(e, "state", None) in EMPTY for a in arrivals for e in a.events)
    emptied = bool(timeline.of(ev.GroupEmptied).last(first)) or timeline.departures.last(first - 1) is not None
    is_new = emptied or _brings_its_topology(timeline, first, last)
    if in_empty_state or is_new or after_all_left(timeline, arrivals[0]):
        return True
    # An empty group keeps its generation number, so that a later number does not show whether it was empty.
    events = [e for r in touched(timeline, arrivals) for e in r.events]
    follows = (
        _later_generation(events) or _later_epoch(timeline, arrivals, first, last) or _static_rejoin(timeline, arrivals)
    )
    if follows is None and joins_empty_group(timeline, arrivals[0].at, arrivals[-1].at + AT_ONCE_MS):
        return True
    return _are_all_members(timeline, arrivals, events) and _are_new(timeline, arrivals)


def _brings_its_topology(timeline: Timeline, first: int, last: int) -> bool:
    """True if a member initializes the topology of a streams group, which an emptied group keeps."""
    reports = timeline.of(ev.StreamsStatusReported).between(first - ROUND_TRIP_MS, last + NEXT_HEARTBEAT_MS)
    return any(e.topology == "initialized" and e.topology_epoch == 0 for e in reports)


def _later_generation(events: Sequence[Event]) -> Event | None:
    """The line that shows that these members' first generation is not the group's first, or None."""
    # The coordinator's line decides, if there is one. Clients before 2.4 do not log that they lead, so that a join
    # without leadership does not show that the group has other members.
    opened = next((e for e in events if isinstance(e, ev.RebalanceStarted)), None)
    if opened is not None:
        return opened if opened.generation else None
    named = ((e.generation or 0, e) for e in events if isinstance(e, ev.JoinSucceeded | ev.AssignmentComputed))
    number, first = min((numbered for numbered in named if numbered[0]), key=itemgetter(0), default=(0, None))
    return first if number > 1 else None


def _later_epoch(timeline: Timeline, arrivals: Sequence[Arrival], first: int, last: int) -> Event | None:
    """The line that shows that these members joined in a later epoch than the first, or None."""
    # In groups without a leader (KIP-848, KIP-932) the members that form the group get epoch 1, from brokers since 4.3
    # epoch 2.
    if timeline.has_coordinator_log:
        bumped = timeline.of(ev.GroupEpochBumped).first(first - ROUND_TRIP_MS)
        if bumped is None or time_of(bumped) > last + NEXT_HEARTBEAT_MS:
            return None
        newer = bumped.epoch == FIRST_EPOCH and releases_of(timeline).affects("broker", _SINCE_4_3, [bumped])
        return None if newer or bumped.epoch <= 1 else bumped
    came = {a.member for a in arrivals}
    near = timeline.of(ev.MemberTransitioned).between(first, last + NEXT_HEARTBEAT_MS)
    answered = min((e for e in near if e.member in came and e.epoch), key=lambda e: e.epoch or 0, default=None)
    return answered if answered is not None and (answered.epoch or 0) > 1 else None


def _static_rejoin(timeline: Timeline, arrivals: Sequence[Arrival]) -> Event | None:
    """The line that shows that static members rejoined the existing generation, or None."""
    # The response to a returning static member has the group's current generation, even if that is the first (KIP-345).
    # Only the leader's assignment or the coordinator shows that the generation is new.
    if not all(a.participant.instance_ids for a in arrivals):
        return None
    if timeline.has_coordinator_log:
        near = NEXT_HEARTBEAT_MS
        returns = (timeline.returns.of(a.participant).between(a.at - near, a.at + near) for a in arrivals)
        return next((e for found in returns for r in found for e in r.events), None)
    answers = (timeline.events_from(a.participant, ev.JoinSucceeded).first(a.at) for a in arrivals)
    joins = [e for e in answers if isinstance(e, ev.JoinSucceeded)]
    assigned = {e.generation for e in timeline.of(ev.AssignmentComputed).since(arrivals[0].at) if e.assignment}
    return joins[0] if joins and assigned.isdisjoint(e.generation for e in joins) else None


def _are_all_members(timeline: Timeline, arrivals: Sequence[Arrival], events: Sequence[Event]) -> bool:
    """True if their first generation has no other members, by the coordinator's count or the leader's assignment."""
    created = [e for e in events if isinstance(e, ev.GenerationStabilized)]
    counting = (e for e in events if isinstance(e, ev.GenerationStabilized | ev.JoinSucceeded | ev.AssignmentComputed))
    counts = [e.member_count for e in counting if e.member_count is not None]
    listed = [e for e in events if isinstance(e, ev.AssignmentComputed)]
    number = next((e.generation for group in (created, listed) for e in group), None)
    counts += [len(e.assignment) for e in timeline.of(ev.AssignmentComputed) if e.assignment and e.generation == number]
    return bool(counts) and max(counts) <= len(arrivals)


def _are_new(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """True if the arrivals were certainly not in the previous generation."""
    # A coordinator names new members. A client's log has the start of its process, for which subscribe() is no proof
    # because it may be called at any time, or the response with its new member id (KIP-394).
    if timeline.has_coordinator_log:
        return True
    start_lines = (e for a in arrivals if a.start is not None for e in a.start.events)
    got_member_id = (isinstance(e, ev.JoinRequested | ev.JoinFailed) for a in arrivals for e in a.events)
    return any(got_member_id) or any(not isinstance(e, ev.Subscribed) for e in start_lines)
