"""How it shows that members are new to their group."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import only_listed
from rebalance_forensics.diagnosis.episodes.members.departures import shutdowns
from rebalance_forensics.diagnosis.episodes.members.replacements import replacements
from rebalance_forensics.diagnosis.episodes.members.restarts import restarts
from rebalance_forensics.diagnosis.sign import Sign, stated
from rebalance_forensics.events.rebalances import AssignmentComputed, GenerationStabilized, JoinReported
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import patience_ms
from rebalance_forensics.timeline.windows import NEXT_HEARTBEAT_MS, PROCESS_START_MS

NEWCOMERS = stated("new-members-joined", present="members never seen before joined a running group")
PICKED = stated("new-in-an-excerpt", present="the picked lines do not show whether they were members before")
PICKED_AND_COUNTED = stated(
    "new-and-counted", present="the coordinator counts that many members more; the picked lines do not name them before"
)
JUST_BEGUN = stated(
    "new-as-the-logs-begin", present="the logs begin too shortly before to show whether they were members before"
)
JUST_ENDED = stated(
    "new-as-the-logs-end", present="the logs end too shortly after to show whether they took the place of others"
)
STILL_FORMING = stated(
    "new-as-the-group-formed", present="the group had just begun: members that start with it come one after another"
)
IN_PLACE_OF_OTHERS = stated("came-as-others-left", present="as many others of their kind left around that time")
COUNTED = stated("more-members-counted", present="the coordinator counts more members than ever since generation 1")
PICKED_COUNTS = stated(
    "more-members-than-before", present="the picked lines do not show whether the members that came are new or back"
)
ONLY_LISTED = stated("new-in-a-list", present="only the leader's list names them, so they may also have been restarted")
ALONE = stated("new-and-alone", present="no line shows whether anybody else was in the group")


def shown_to_be_new(timeline: Timeline, arrivals: Sequence[Arrival]) -> Sign:
    """Lines that show that the newcomers are new; in an excerpt only a process start does."""
    if _nobody_else_is_told_of(timeline, arrivals):
        return ALONE
    if all(only_listed(a) and a.start is None for a in arrivals):
        return ONLY_LISTED
    replaced = timeline.cached(_in_place_of_others)
    if 2 * sum(a.id in replaced for a in arrivals) > len(arrivals):
        return IN_PLACE_OF_OTHERS
    if timeline.coverage.is_excerpt and _is_counted(timeline, arrivals):
        return PICKED_AND_COUNTED
    if _began_just_before(timeline, arrivals[0].at):
        return STILL_FORMING
    if timeline.coverage.is_excerpt:
        return NEWCOMERS if any(a.start for a in arrivals) and not timeline.has_coordinator_log else PICKED
    if _logs_just_end(timeline, arrivals[-1].at):
        return JUST_ENDED
    return JUST_BEGUN if _logs_just_began(timeline, arrivals[0].at) else NEWCOMERS


def _is_counted(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """The coordinator counts the arrivals on top of the members of the generation before them."""
    counts = [e for e in timeline.of(GenerationStabilized) if e.member_count is not None]
    before = [e.member_count or 0 for e in counts if time_of(e) <= arrivals[0].at]
    after = [e.member_count or 0 for e in counts if time_of(e) >= arrivals[-1].at]
    return bool(before and after) and after[0] - before[-1] >= len({a.participant for a in arrivals})


def _in_place_of_others(timeline: Timeline) -> frozenset[str]:
    """The arrivals of newcomers that may have taken the places of members that left."""
    # Where the whole group left, none of its places is there to be taken.
    last = {d.id for group in shutdowns(timeline) for away in group for d in away.departures}
    succeeded = (*restarts(timeline), *replacements(timeline))
    return frozenset(a.id for r in succeeded if r.absence.departures[0].id not in last for a in r.arrivals)


def _began_just_before(timeline: Timeline, at: int) -> bool:
    """The group's first generation is so recent that its start may not be over."""
    first = next((r for r in timeline.rebalances if r.generation is not None), None)
    created = first.stabilized_at or first.completed_at if first is not None and first.generation == 1 else None
    return created is not None and created <= at <= created + PROCESS_START_MS


def _logs_just_began(timeline: Timeline, at: int) -> bool:
    """No log reaches back as far as a restarted or expired member may have been away."""
    # A process start shows no more than its return does: whoever is restarted starts as well. Logs that have the
    # group's first generation have all of its members.
    begin = timeline.coverage.begin
    first = next((r for r in timeline.rebalances if r.generation is not None), None)
    from_the_start = first is not None and first.generation == 1 and first.started_at < at
    return begin is not None and not from_the_start and begin > at - patience_ms(timeline)


def _logs_just_end(timeline: Timeline, at: int) -> bool:
    """Neither a completed generation nor a session's length of log shows that everybody else is still a member."""
    # A member that died stays in its group until its session ends or it misses a join barrier (ClassicGroup,
    # onExpireHeartbeat and onCompleteJoin): until then a process that was restarted looks like one more member.
    barrier = timeline.protocol not in ("consumer", "streams", "share")
    formed = barrier and any(r.ended_at() >= at for r in timeline.rebalances if r.stabilized_at or r.completed_at)
    return not formed and timeline.coverage.end < at + patience_ms(timeline)


def _nobody_else_is_told_of(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    came = {a.participant for a in arrivals}
    if timeline.has_coordinator_log or not came.issuperset(timeline.members()):
        return False
    return _leads_at_once(timeline, arrivals, came) or _joined_without_more(timeline, arrivals)


def _joined_without_more(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    # Sarama logs neither the leader nor the generation of a join.
    joins = timeline.of(JoinReported).between(arrivals[0].at, arrivals[-1].at + NEXT_HEARTBEAT_MS)
    return bool(joins) and not timeline.generations and not any(e.leader for e in joins)


def _leads_at_once(timeline: Timeline, arrivals: Sequence[Arrival], came: Collection[Participant]) -> bool:
    # A newcomer leads its first generation only where nobody is left of the one before (ClassicGroup.add).
    led = timeline.of(AssignmentComputed).first(arrivals[0].at)
    if led is None or time_of(led) - arrivals[0].at > NEXT_HEARTBEAT_MS:
        return False
    return timeline.participants.of_speaker(led) in came
