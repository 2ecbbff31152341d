"""Starts and ends of a whole group: starts from empty, shutdowns of all members, final departures.

`startup_arrivals` and `shutdowns` each check for members that no line names: a single one of them still in the group
means that the group neither started nor ended.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Sequence
from itertools import accumulate, chain, pairwise

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, rebalances_by_generation
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import is_static, lines_after, losses
from rebalance_forensics.diagnosis.episodes.members.sink_tasks import starts_again_soon
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.clients import leaders_log_assignments
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.model import Generation
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import shown_session_ms, together_ms


@cached_answer
def initial_arrivals(timeline: Timeline) -> frozenset[str]:
    """The ids of the arrivals that formed the group; these do not replace a former member."""
    return frozenset(a.id for run in startup_arrivals(timeline) for a in run)


def settled_after(timeline: Timeline, at: int) -> int:
    """When the first generation after `at` was created; members that start later are additions."""
    return next(_settled(timeline).onwards(at), at)


def waits_for_newcomers(rebalance: Rebalance) -> bool:
    """True for the first rebalance from empty: it waits for a timer that each new member restarts, not for members."""
    # GroupCoordinator's InitialDelayedJoin (KIP-134): group.initial.rebalance.delay.ms after the last new member, at
    # most the rebalance timeout.
    return any(type(e) is ev.RebalanceStarted and e.generation == 0 for e in rebalance.events)


def after_all_left(timeline: Timeline, first: Arrival) -> bool:
    """True if all members left before this arrival, even if no coordinator logs that the group is empty."""
    ends = _ends_of_shutdowns(timeline)
    place = bisect_left(ends, first.at)
    return place > 0 and not timeline.arrivals.any_between(ends[place - 1] + 1, first.at - 1)


def one_shutdown_ms(timeline: Timeline) -> int:
    """The longest gap between two members of one shutdown, in ms: the time that the group waits for a silent member."""
    return max(windows.PROCESS_START_MS, shown_session_ms(timeline) or 0)


def emptied_after(timeline: Timeline, last: int) -> ev.GroupEmptied | None:
    """The line in which the coordinator logs an empty group before a member joins again; None if there is none."""
    again = timeline.arrivals.first(last + 1)
    until = again.at if again is not None else timeline.last
    return next(iter(timeline.of(ev.GroupEmptied).between(last - windows.ROUND_TRIP_MS, until)), None)


def was_last_member(timeline: Timeline, absence: Absence) -> bool:
    """True if all other members had left for good as well."""
    if timeline.coverage.is_excerpt and not timeline.of(ev.GroupEmptied).any_between(absence.at, timeline.last):
        return False
    last = timeline.membership.all_left_at
    return last is not None and last <= absence.at + together_ms(timeline)


def _leader_has_no_log(timeline: Timeline, generation: Generation) -> bool:
    """True if a member without a log must lead, because no member logged that it does."""
    return generation.leader is None and not timeline.has_coordinator_log and leaders_log_assignments(timeline)


def _led_by_another(timeline: Timeline, run: Sequence[Arrival], *, is_numbered: bool) -> bool:
    # KafkaJS logs the leader: another leader, or a name that is cut off, may mean earlier members. So may a Sarama log
    # that ends before its session does, unless the generation is known.
    reports = timeline.of(ev.JoinReported).between(run[0].at, run[-1].at + windows.NEXT_HEARTBEAT_MS)
    leaders = {e.leader for e in reports if e.leader or not is_numbered}
    return bool(leaders) and leaders.isdisjoint(a.member for a in run)


def _reached_at(timeline: Timeline, generation: Generation) -> int:
    """The time at which the generation got its assignment, else was created, else was prepared."""
    began = generation.started_at or 0
    rebalances = (rebalance for _, rebalance in rebalances_by_generation(timeline).get(generation.generation, ()))
    created = (at for r in rebalances if (at := r.stabilized_at) is not None and at >= began)
    return generation.completed_at or next(created, began)


def _first_generation(timeline: Timeline, at: int) -> Generation | None:
    """The first generation reached at that time or later, or joined if nothing else is logged."""
    latest = _latest_reached(timeline)
    place = bisect_left(latest, at)
    if place < len(latest):
        return timeline.generations[place]
    joined = timeline.of(ev.JoinSucceeded).first(at)
    return next((g for g in timeline.generations if joined and g.generation == joined.generation), None)


def _last_generation(timeline: Timeline, at: int) -> Generation | None:
    """The last generation reached by then."""
    return _last_reached(_reached_in_order(timeline), at)


def _last_reached(reached: Reached, at: int) -> Generation | None:
    times, latest = reached
    place = bisect_right(times, at)
    return latest[place - 1] if place else None


@cached_answer
def _latest_reached(timeline: Timeline) -> list[int]:
    """For each generation, the latest time at which it or an earlier generation was reached."""
    return [*accumulate((_reached_at(timeline, g) for g in timeline.generations), max)]


Reached = tuple[list[int], list[Generation]]
"""Times in order, and for each the last generation reached by then."""


@cached_answer
def _reached_in_order(timeline: Timeline) -> Reached:
    return _in_order(timeline, timeline.generations)


def _in_order(timeline: Timeline, generations: Sequence[Generation]) -> Reached:
    times = ((_reached_at(timeline, g), place) for place, g in enumerate(generations))
    reached = sorted((at, place) for at, place in times if at > 0)
    latest = accumulate((place for _, place in reached), max)
    return [at for at, _ in reached], [generations[place] for place in latest]


@cached_answer
def startup_arrivals(timeline: Timeline) -> list[list[Arrival]]:
    """The arrivals of each start of the group from empty."""
    found = []
    for run in _arrival_runs(timeline):
        if (_joins_empty_group(timeline, run) or after_all_left(timeline, run[0])) and not _has_earlier_members(
            timeline, run
        ):
            settled = settled_after(timeline, run[0].at)
            new = [a for a in run if a.ends is None or a.ends.at < run[0].at]
            initial = [a for a in new if _is_initial(a, settled)]
            found.append([a for a in initial if not _is_later_thread(a, initial, settled)])
    return [run for run in found if run]


def _arrival_runs(timeline: Timeline) -> list[list[Arrival]]:
    """Runs of arrivals that are close in time or joined during the same first rebalance, however long that waited."""
    found: list[list[Arrival]] = []
    first = [r for r in timeline.rebalances if waits_for_newcomers(r)]
    for run in runs(timeline.arrivals, lambda a: a.at, windows.PROCESS_START_MS):
        if found and any(_is_open_between(r, found[-1][-1].at, run[0].at) for r in first):
            found[-1] += run
        else:
            found.append(run)
    return found


def _is_open_between(rebalance: Rebalance, earlier: int, later: int) -> bool:
    """True if the rebalance was open from one arrival to the other."""
    until = rebalance.stabilized_at
    return until is not None and rebalance.started_at - windows.AT_ONCE_MS <= earlier and later <= until


def _is_later_thread(arrival: Arrival, initial: list[Arrival], settled: int) -> bool:
    # A thread added to a running instance (KIP-663) shares the process start of the threads that formed the group.
    if arrival.participant.kind != "instance" or arrival.at <= settled + windows.HEARTBEAT_MS:
        return False
    return any(a.participant is arrival.participant and a.start is arrival.start and a.at <= settled for a in initial)


def _joins_empty_group(timeline: Timeline, run: list[Arrival]) -> bool:
    # Clients send their JoinGroup a little before the coordinator logs that the group was empty.
    begin, until = run[0].at, run[0].at + windows.AT_ONCE_MS
    if (
        timeline.coverage.is_excerpt
        and not joins_empty_group(timeline, begin, until)
        and not _leads_alone(timeline, run)
    ):
        return False
    if timeline.may_be_empty(begin, {a.participant for a in run}):
        return joins_empty_group(timeline, begin, until)
    return any(a.while_empty for a in run if a.at <= until)


def _leads_alone(timeline: Timeline, run: list[Arrival]) -> bool:
    """True if a new member became the leader of a generation without other members."""
    first = timeline.of(ev.JoinSucceeded).first(run[0].at)
    if first is None or len(run) > 1 or first.member != run[0].member:
        return False
    return timeline.membership.sizes.get(first.generation) == 1


@cached_answer
def _ends_of_shutdowns(timeline: Timeline) -> list[int]:
    return sorted([max(d.at for a in group for d in a.departures) for group in shutdowns(timeline)])


def _has_earlier_members(timeline: Timeline, run: list[Arrival]) -> bool:
    """True if the first generation has members without a logged arrival, as in logs that begin later than the group."""
    first = _first_generation(timeline, run[0].at)
    at = run[0].at
    if _counts_earlier_members(timeline, at) or joins_stable_group(timeline, at) or _assigned_without(timeline, at):
        return True
    if _led_by_another(timeline, run, is_numbered=first is not None):
        return True
    if first is None or first.generation == 1:
        return False
    arrived = sum(a.at <= (_reached_at(timeline, first) or run[0].at) for a in run)
    return (
        timeline.membership.number_at(run[0].at - 1) > 0
        or timeline.membership.sizes.get(first.generation, 0) > arrived
        or _leader_has_no_log(timeline, first)
    )


def _counts_earlier_members(timeline: Timeline, at: int) -> bool:
    """True if the coordinator counted more members than have left since."""
    last = timeline.membership.counts.last(at - 1)
    if last is None or timeline.of(ev.GroupEmptied).any_between(last.at, at):
        return False
    return last.members > len(timeline.departures.between(last.at, at))


def _assigned_without(timeline: Timeline, at: int) -> bool:
    """True if the coordinator computed an assignment after the last departure, which needs a remaining member."""
    # KIP-848: a leave or an expired session only bumps the epoch; the next heartbeat of a remaining member triggers the
    # new assignment (GroupMetadataManager.consumerGroupHeartbeat).
    departure = timeline.departures.last(at - 1)
    return departure is not None and timeline.of(ev.TargetAssignmentComputed).any_between(departure.at + 1, at - 1)


@cached_answer
def _settled(timeline: Timeline) -> TimeIndex[int]:
    """The times at which generations were created."""
    # kafka-python before 2.0 logs only that all members have their assignment.
    return TimeIndex((at for r in timeline.rebalances if (at := r.created_at)), at=int)


def _is_initial(arrival: Arrival, settled: int) -> bool:
    if arrival.start is not None:
        return arrival.start.at <= settled + windows.HEARTBEAT_MS
    return arrival.at <= settled + windows.AT_ONCE_MS


@cached_answer
def shutdowns(timeline: Timeline) -> list[list[Absence]]:
    """The absences of each shutdown of the whole group: the last members shut down cleanly, close in time."""
    if not timeline.departures:
        return []
    static = [a for a in losses(timeline) if is_static(timeline, a)]
    # A process that continues to log after it learned that it is no longer a member kept running.
    static = [a for a in static if a.stop is not None or not lines_after(timeline, a)]
    without_stop = {id(a) for a in static if a.stop is None}
    absences = [a for a in (*closings(timeline), *static) if _absent_at_end(timeline, a)]
    ends = (_final_run(run) for run in runs(absences, lambda a: a.at, one_shutdown_ms(timeline)))
    found = [group for group in ends if _all_left(timeline, group)]
    # Before 2.7, a static member logs no close: a single expiry is only a long absence, several are a shutdown.
    return [g for g in found if len({a.participant for a in g}) > 1 or not any(id(a) in without_stop for a in g)]


def _final_run(run: list[Absence]) -> list[Absence]:
    # A member that left long before the others, which then left in quick succession, was not part of the shutdown.
    gaps = [b.at - a.at for a, b in pairwise(run)]
    for place, gap in enumerate(gaps[:-1]):
        if gap >= windows.AT_ONCE_MS and gap >= 4 * max(gaps[place + 1 :]):
            return _final_run(run[place + 1 :])
    return run


@cached_answer
def with_members(timeline: Timeline) -> TimeIndex[int]:
    """The times at which generations with members were created, or completed if nothing else is logged."""
    named = {g.generation for g in timeline.generations if g.members}
    return TimeIndex(
        (
            at
            for r in timeline.rebalances
            # Only a generation with members is logged as stabilized; before 2.4, without their number (onCompleteJoin).
            if r.generation in named
            or any(type(e) is ev.GenerationStabilized and e.member_count != 0 for e in r.events)
            if (at := r.created_at)
        ),
        at=int,
    )


def _absent_at_end(timeline: Timeline, absence: Absence) -> bool:
    """True if the member did not come back before all members had left."""
    if absence.returned_with_its_id or starts_again_soon(timeline, absence):
        return False
    if absence.back_at is None:
        return not _sends_join_again(timeline, absence)
    if _returned_after_others_left(timeline, absence):
        return True
    if timeline.of(ev.GroupEmptied).any_between(absence.at, absence.back_at):
        return True
    again = timeline.arrivals.first(absence.at + 1)
    until = again.at if again is not None else absence.back_at
    near = timeline.departures.between(absence.at - one_shutdown_ms(timeline), until)
    return any(d.participant is not absence.participant for d in near)


def _sends_join_again(timeline: Timeline, absence: Absence) -> bool:
    """True if the process that left sends JoinGroup again; an excerpt may end before the response."""
    if absence.stop is not None or absence.start is not None:
        return False
    return any(timeline.events_from(absence.participant, ev.JoinStarted).since(absence.at + 1))


def _returned_after_others_left(timeline: Timeline, absence: Absence) -> bool:
    """True if the member came back only after others had left."""
    back = absence.back_at or 0
    if back - absence.at <= one_shutdown_ms(timeline):
        return False
    return any(d.participant is not absence.participant and d.at < back for d in _first_departures(timeline))


@cached_answer
def _first_departures(timeline: Timeline) -> list[Departure]:
    """The first departures of two participants: one of them is the first of all participants other than a given one."""
    found: dict[Participant, Departure] = {}
    for departure in timeline.departures:
        found.setdefault(departure.participant, departure)
        if len(found) == 2:
            break
    return list(found.values())


def _all_left(timeline: Timeline, group: list[Absence]) -> bool:
    if any(exception_before(timeline, a) for a in group):
        return False
    last = max(d.at for a in group for d in a.departures)
    if any(a.back_at is not None and a.at < a.back_at <= last for a in group):
        return False
    again = timeline.arrivals.first(last + 1)
    until = again.at if again is not None else None
    if with_members(timeline).any_between(last + windows.TICK_MS, until or timeline.last):
        return False
    departed = {a.participant for a in group}
    end = until or timeline.last
    if timeline.coverage.is_excerpt and (
        _another_rejoins(timeline, departed, last)
        or not states_full_membership(timeline, group[0].at, end, len(departed))
    ):
        return False
    reached = _last_generation(timeline, last)
    if reached is not None and _leader_has_no_log(timeline, reached):
        return False
    # Check the latest arrivals first, as they are most likely still members and one is enough: a group that exists for
    # months has thousands of members that left long ago.
    latest = (arrival.participant for arrival in timeline.arrivals.backwards(last))
    others = (member for member in chain(latest, timeline.membership.members) if member not in departed)
    after = last + windows.ROUND_TRIP_MS
    return bool(departed) and not any(
        timeline.membership.is_in(other, after) and timeline.closed_by(other, last, until=timeline.last) is None
        for other in others
    )


def _another_rejoins(timeline: Timeline, departed: Collection[Participant], last: int) -> bool:
    # A member that learns of a departure from its next heartbeat and rejoins remains in the group.
    joining = timeline.of(ev.JoinStarted).between(last - windows.ROUND_TRIP_MS, last + windows.NEXT_HEARTBEAT_MS)
    speakers = {timeline.participants.of_speaker(e) for e in joining} - {None, *departed}
    return any(p is not None and timeline.departures.of(p).first(last) is None for p in speakers)


# The first group epoch of the newer protocols since 4.3; before, it is 1.
FIRST_EPOCH = 2


def joins_empty_group(timeline: Timeline, begin: int, until: int) -> bool:
    """True if a line shows that the group was empty when a member joined."""
    if timeline.of(ev.GroupEmptied).last(until) is not None:
        return True
    since = begin - windows.AT_ONCE_MS
    if any(e.generation == 0 for e in timeline.of(ev.RebalanceStarted).between(since, until)):
        return True
    first = (ev.GenerationStabilized, ev.JoinSucceeded, ev.AssignmentComputed)
    if any(getattr(e, "generation", None) == 1 for e in timeline.of(*first).between(since, until)):
        return True
    if any(
        0 < (getattr(e, "epoch", None) or 0) <= FIRST_EPOCH
        for e in timeline.of(ev.GroupEpochBumped, ev.MemberTransitioned).between(since, until)
    ):
        return True
    states = [e.state for e in timeline.of(ev.MemberIdIssued).between(begin, until)]
    states += [e.state for e in timeline.of(ev.MemberJoined).between(begin, until)]
    return "Empty" in states or "Dead" in states


def states_full_membership(timeline: Timeline, begin: int, until: int, departed: int) -> bool:
    """True if a line shows that these were all members: an empty group afterwards, or the member count before."""
    if timeline.of(ev.GroupEmptied).any_between(begin, until):
        return True
    counted = timeline.membership.counts.last(begin)
    return counted is not None and 0 < counted.members <= departed


def joins_stable_group(timeline: Timeline, at: int) -> bool:
    """True if the coordinator assigned a new member an id while the group was in a state that requires members."""
    # GroupCoordinator logs the group's state with the new id (KIP-394).
    issued = timeline.of(ev.MemberIdIssued).first(at - windows.AT_ONCE_MS)
    return issued is not None and time_of(issued) <= at and issued.state in ("Stable", "CompletingRebalance")
