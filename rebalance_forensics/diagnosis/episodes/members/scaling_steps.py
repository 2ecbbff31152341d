"""Members that were added or removed for good, by steps of a scaling."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.clean_exits import closings
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals, shutdowns
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import exception_before
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import (
    close_not_logged,
    log_ends_without_shutdown,
    losses,
)
from rebalance_forensics.diagnosis.episodes.members.restarts import restarts, successors
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.timeline.clients import closes_without_leave_group
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_SCALING_MS, PROCESS_START_MS


def removals(timeline: Timeline) -> list[list[Absence]]:
    """Members that shut down cleanly and did not come back while others stayed, by steps of the scaling."""
    # Members whose places newcomers took are steps of their own: they may have been restarted under another name.
    last = {d.id for group in shutdowns(timeline) for a in group for d in a.departures}
    replaced = {id(r.absence) for r in restarts(timeline)}
    left = [a for a in closings(timeline) if a.back_at is None and a.departures[0].id not in last]
    left = [a for a in left if not exception_before(timeline, a)]
    steps = ((a for a in left if (id(a) in replaced) is taken) for taken in (False, True))
    return [run for kind in steps for run in runs(kind, lambda a: a.at, ONE_SCALING_MS)]


def unlogged_removals(timeline: Timeline) -> list[Absence]:
    """Members that may have closed without a line: Streams instances without a log, consumers before 2.1."""
    last = {d.id for group in shutdowns(timeline) for a in group for d in a.departures}
    unlogged = (
        a
        for a in losses(timeline)
        if closes_without_leave_group(timeline, a.participant)
        or close_not_logged(timeline, a)
        or log_ends_without_shutdown(timeline, a)
    )
    return [a for a in unlogged if a.back_at is None and a.start is None and a.departures[0].id not in last]


def additions(timeline: Timeline) -> list[list[Arrival]]:
    """New members that joined while others were in the group, by steps of the scaling."""
    initial = initial_arrivals(timeline) | {a.id for came in successors(timeline).values() for a in came}
    new = (a for a in timeline.arrivals if a.id not in initial and (a.first or _is_added_thread(timeline, a)))
    return runs(new, lambda a: a.at, ONE_SCALING_MS)


def _is_added_thread(timeline: Timeline, arrival: Arrival) -> bool:
    # A thread added to a running instance (KIP-663): one more member of an instance that never lost any.
    if arrival.participant.kind != "instance" or arrival.ends is not None:
        return False
    if not timeline.arrivals.of(arrival.participant).any_between(0, arrival.at - AT_ONCE_MS):
        return False
    return timeline.departures.of(arrival.participant).last(arrival.at + PROCESS_START_MS) is None
