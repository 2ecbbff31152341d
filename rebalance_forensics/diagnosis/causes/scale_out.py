"""Members were added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import only_listed, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.members.restarts import in_place_of_others, successors
from rebalance_forensics.diagnosis.episodes.members.sink_tasks import ran_before, task_of
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.episodes.topics.epochs import brings_topics
from rebalance_forensics.diagnosis.proposals import surrounding_generations
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, Row, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, member, the_group
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.membership.table import Count

NEWCOMERS = clue("new-members-joined", DECISIVE, "members never seen before joined a running group")
PICKED = clue("new-in-an-excerpt", 0, "this excerpt does not show who was in the group before")
PICKED_AND_COUNTED = clue(
    "new-and-counted", STRONG, "the coordinator counts that many members more; this excerpt does not name them before"
)
JUST_BEGUN = clue("new-as-the-logs-begin", WEAK, "the logs begin too shortly before to show who was in the group")
JUST_ENDED = clue(
    "new-as-the-logs-end", WEAK, "the logs end too shortly after to show whether they took the place of others"
)
STILL_FORMING = clue(
    "new-as-the-group-formed", 0, "the group had just begun: members that start together do not all join at once"
)
# All members of a generation join in one rebalance, so that either their clocks differ or the rebalance was restarted.
IN_AN_OLD_GENERATION = clue(
    "new-in-an-old-generation", 0, "others had joined the same generation before, by the clocks of their hosts"
)
IN_PLACE_OF_OTHERS = clue("came-as-others-left", WEAK, "as many others of their kind left around that time")
COUNTED = clue("more-members-counted", STRONG, "the coordinator counts more members than ever since generation 1")
PICKED_COUNTS = clue(
    "more-members-than-before", WEAK, "this excerpt does not show whether the members that came are new or back"
)
ONLY_LISTED = clue("new-in-a-list", 0, "only the leader's list names them, so they may also have been restarted")
WITH_OTHER_TOPICS = clue(
    "new-with-other-topics", WEAK, "with it the group subscribes to topics that no other member reads"
)
PERHAPS_MOVED = clue("new-sink-task", WEAK, "these logs do not show whether another Connect worker ran its task before")
WITHOUT_AN_EPOCH = clue(
    "new-without-an-epoch", 0, "the group kept its epoch, so the coordinator may have refused to add a member"
)
ALONE = clue("new-and-alone", 0, "no line shows whether anybody else was in the group")

_REQUESTS = (
    ev.JoinFailed, ev.HeartbeatFailed, ev.JoinRequested, ev.CoordinatorFound, ev.PartitionsAssigned,
    ev.PartitionsRevoked,
)  # fmt: skip


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """New members that joined while others were in the group, and growth that only the coordinator's counts show."""
    initial = initial_arrivals(timeline) | {a.id for came in successors(timeline).values() for a in came}
    new = (a for a in timeline.arrivals if a.id not in initial and (a.first or _is_added_thread(timeline, a)))
    new = (a for a in new if not ran_before(timeline, a))
    for arrivals in runs(new, lambda a: a.at, windows.ONE_SCALING_MS):
        participants = tuple(dict.fromkeys(a.participant for a in arrivals))
        refused = _changed_no_epoch(timeline, arrivals)
        shown = WITHOUT_AN_EPOCH if refused else shown_to_be_new(timeline, arrivals)
        if shown is NEWCOMERS and any(brings_topics(timeline, a) for a in arrivals):
            shown = WITH_OTHER_TOPICS
        if shown is NEWCOMERS and not timeline.has_coordinator_log and any(task_of(a.participant) for a in arrivals):
            shown = PERHAPS_MOVED
        number, what = len(participants), member(timeline, participants)
        # Without earlier lines it is unknown whether they had been members before, or whether the group had members.
        new_to_it, running = (
            ("", "") if shown in (PICKED, JUST_BEGUN) else ("new ", "" if shown is ALONE else "running ")
        )
        article = "An" if f"{new_to_it}{what}" == "instance" else "A"
        who = f"{article} {new_to_it}{what}" if number == 1 else f"{number} {new_to_it}{what}s"
        yield Hypothesis(
            because=[e for a in arrivals for e in (*a.events[:2], *(a.start.events[:1] if a.start else ()))],
            circumstances=surrounding_generations(timeline, [a.at for a in arrivals]),
            culprits=culprits_of(timeline, participants),
            clues={shown: Present(tuple(e for a in arrivals for e in a.events[:1]))},
            severity="info",
            implies=with_rebalances(timeline, arrivals),
            explains=tuple(arrivals),
            participants=participants,
            narrative=f"{who} joined the {running}group{'' if shown is NEWCOMERS else f'; {shown.sign.present}'}.",
        )
    # Only in excerpts do counts show members that no line names: complete logs name each member that joins.
    if timeline.coverage.is_excerpt:
        for steps in counted_growths(timeline):
            (before, _), (_, after) = steps[0], steps[-1]
            first = next(count for count in timeline.membership.counts if count.members)
            # If counted since generation 1, no former member can have come back.
            shown = COUNTED if first.line.generation == 1 else PICKED_COUNTS
            lines = (
                *dict.fromkeys(count.line for step in reversed(steps) for count in reversed(step)),
                *timeline.of(ev.SettingsReported).between(before.at, after.at),
            )
            reached = {grown.line.generation: grown.at for _, grown in steps}
            yield Hypothesis(
                because=lines,
                culprits=(the_group(timeline),),
                clues={shown: Present(lines[:2])},
                severity="info",
                explains=tuple(r for r in timeline.rebalances if reached.get(r.generation or -1) == r.stabilized_at),
                narrative=f"The group grew from {before.members} to {after.members} members; no line names who joined.",
            )


CAUSE = Cause(
    propose=propose,
    lookalikes=("rolling-restart", "startup", "shared-group-id"),
)


def shown_to_be_new(timeline: Timeline, arrivals: Sequence[Arrival]) -> Row:
    """The sign for how the logs show that the arrivals are new; in an excerpt only a process start shows it."""
    if _no_other_member_is_known(timeline, arrivals):
        return ALONE
    if all(only_listed(a) and a.start is None for a in arrivals):
        return ONLY_LISTED
    replaced = in_place_of_others(timeline)
    if 2 * sum(a.id in replaced for a in arrivals) > len(arrivals):
        return IN_PLACE_OF_OTHERS
    if timeline.coverage.is_excerpt and _is_counted(timeline, arrivals):
        return PICKED_AND_COUNTED
    came = {a.participant for a in arrivals}
    first = next((r for r in timeline.rebalances if r.generation is not None), None)
    from_the_start = first is not None and first.generation == 1
    # The group's first generation may be so recent that the group is still starting.
    created = first.created_at if first is not None and from_the_start else None
    forming = created is not None and created <= arrivals[0].at <= created + windows.PROCESS_START_MS
    if forming or all(_joined_an_old_generation(timeline, a) for a in arrivals):
        return STILL_FORMING if forming else IN_AN_OLD_GENERATION
    if timeline.coverage.is_excerpt:
        # A client that had sent requests or had started before this start is not new: it was restarted.
        starts = [(a.start.at, a.participant) for a in arrivals if a.start]
        started = any(
            not any(time_of(e) < at for e in timeline.events_from(participant, *_REQUESTS))
            and timeline.starts.of(participant).last(at - 1) is None
            for at, participant in starts
        )
        # Without a known older generation it may be one of the first members; it is if it leads its first generation.
        leads = any(isinstance(e, ev.AssignmentComputed) for a in arrivals for e in a.events)
        founded = leads or (came.issuperset(timeline.membership.members) and (first is None or from_the_start))
        return NEWCOMERS if started and not founded and not timeline.has_coordinator_log else PICKED
    if _logs_just_end(timeline, arrivals[-1].at):
        return JUST_ENDED
    # A restarted member starts a process as well, so that a start does not show that a member is new. Logs with the
    # group's first generation show all of its members.
    at = arrivals[0].at
    since = timeline.coverage.shown_since(at)
    begin = timeline.coverage.begin if since is None else since
    has_all = first is not None and from_the_start and (since or 0) <= first.started_at < at
    return (
        JUST_BEGUN if begin is not None and not has_all and begin > at - timeouts.patience_ms(timeline) else NEWCOMERS
    )


def _changed_no_epoch(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """True if none of the arrivals changed the epoch of a KIP-848 group or was given partitions, by its coordinator."""
    # GroupMetadataManager logs a join before it checks what the member subscribes to, its assignor and its topology. A
    # pattern is resolved after the join, and the next heartbeat changes the epoch.
    bumps, reconciled = timeline.of(ev.GroupEpochBumped), timeline.of(ev.MemberReconciled)
    if timeline.is_classic or not bumps:
        return False
    for arrival in arrivals:
        begin, end = arrival.at - windows.ROUND_TRIP_MS, arrival.at + windows.NEXT_HEARTBEAT_MS
        given = (e.member for e in reconciled.between(begin, end))
        if bumps.between(begin, end) or any(timeline.participants.of_member(m) is arrival.participant for m in given):
            return False
        if not covering(timeline.coverage.brokers, begin, end):
            return False
    return True


def _joined_an_old_generation(timeline: Timeline, arrival: Arrival) -> bool:
    """True if others had joined its first generation before it arrived, by the clocks of the members' hosts."""
    if timeline.has_coordinator_log:
        return False
    first = timeline.events_from(arrival.participant, ev.JoinSucceeded).first(arrival.at)
    if not isinstance(first, ev.JoinSucceeded):
        return False
    return _first_joins(timeline)[first.generation] <= arrival.at - windows.ROUND_TRIP_MS


@cached_answer
def _first_joins(timeline: Timeline) -> dict[int | None, int]:
    """The time at which a member first logged that it had joined, by generation."""
    return {e.generation: time_of(e) for e in reversed(timeline.of(ev.JoinSucceeded))}


def _is_counted(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """True if the coordinator's count of members rose by at least the number of arrivals."""
    counts = timeline.membership.counts
    before, after = counts.last(arrivals[0].at), counts.first(arrivals[-1].at)
    grown = after.members - before.members if before is not None and after is not None else 0
    return grown >= len({a.participant for a in arrivals})


def _logs_just_end(timeline: Timeline, at: int) -> bool:
    """True if the logs end before a completed generation or a session timeout shows that the others stayed."""
    # A member that died stays in its group until its session expires or it misses a join barrier (ClassicGroup,
    # onExpireHeartbeat and onCompleteJoin). Until then a restarted process looks like an additional member.
    formed = timeline.is_classic and _last_formed(timeline) >= at
    return not formed and timeline.coverage.end < at + timeouts.patience_ms(timeline)


@cached_answer
def _last_formed(timeline: Timeline) -> int:
    """The time at which the last generation was created or completed, -1 without any."""
    return max((r.ended_at() for r in timeline.rebalances if r.created_at), default=-1)


def _no_other_member_is_known(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    came = {a.participant for a in arrivals}
    if timeline.may_be_empty(arrivals[0].at, came):
        return True
    if timeline.has_coordinator_log or not came.issuperset(timeline.membership.members):
        return False
    if timeline.coverage.is_excerpt and not timeline.generations:
        return True
    # A new member leads its first generation only if no member of the previous one is left (ClassicGroup.add).
    led = timeline.of(ev.AssignmentComputed).first(arrivals[0].at)
    at_once = led is not None and time_of(led) - arrivals[0].at <= windows.NEXT_HEARTBEAT_MS
    if led is not None and at_once and timeline.participants.of_speaker(led) in came:
        return True
    # Sarama logs neither the leader nor the generation of a join, KafkaJS only the leader.
    joins = timeline.of(ev.JoinReported).between(arrivals[0].at, arrivals[-1].at + windows.NEXT_HEARTBEAT_MS)
    leaders = {timeline.participants.of_speaker(e) for e in joins if e.leader}
    return bool(joins) and not timeline.generations and came.issuperset(leaders)


def counted_growths(timeline: Timeline) -> list[list[tuple[Count, Count]]]:
    """Pairs of counts between which the group grew beyond its previous maximum, in one list for each scaling step."""
    counts = [count for count in timeline.membership.counts if count.members]
    grown: list[tuple[Count, Count]] = []
    most = 0
    for before, after in pairwise(counts):
        most = max(most, before.members)
        if after.members > most and _is_unnamed(timeline, before, after):
            grown.append((before, after))
    return runs(grown, lambda step: step[1].at, windows.ONE_SCALING_MS)


def _is_unnamed(timeline: Timeline, before: Count, after: Count) -> bool:
    """True if no member is known to have joined or left, and the group was not just forming."""
    begin, end = before.at, after.at
    still_forms = before.line.generation == 1 and end - begin <= windows.PROCESS_START_MS
    if still_forms or timeline.of(ev.GroupEmptied).any_between(begin, end):
        return False
    moves = timeline.arrivals, timeline.departures
    return not any(facts.any_between(begin + 1, end + windows.ROUND_TRIP_MS) for facts in moves)


def _is_added_thread(timeline: Timeline, arrival: Arrival) -> bool:
    # A thread added to a running instance (KIP-663) is an additional member of an instance that has not lost any.
    if arrival.participant.kind != "instance" or arrival.ends is not None:
        return False
    if not timeline.arrivals.of(arrival.participant).any_between(0, arrival.at - windows.AT_ONCE_MS):
        return False
    return timeline.departures.of(arrival.participant).last(arrival.at + windows.PROCESS_START_MS) is None
