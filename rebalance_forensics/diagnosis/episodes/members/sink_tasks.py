"""Consumers of Connect sink tasks: a task keeps its client id on whichever worker runs it.

Workers stop and start tasks whenever they rebalance, when a connector changes, and when a failed task is restarted.
"""

from __future__ import annotations

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import SINK_CLIENTS
from rebalance_forensics.timeline.facts import Arrival, Departure
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import NOTHING, TimeIndex, lists_by_key
from rebalance_forensics.timeline.timeouts import CONNECT_DELAY, setting_ms
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_REBALANCE_MS, ROUND_TRIP_MS


def task_of(participant: Participant) -> str | None:
    """The sink task that runs this consumer, as in `jdbc-0`; None for other members."""
    found = (c for c in sorted(participant.client_ids) if c.startswith(SINK_CLIENTS))
    return next((client.removeprefix(SINK_CLIENTS) for client in found), None)


@cached_answer
def starts_of_tasks(timeline: Timeline) -> dict[str, TimeIndex[Arrival]]:
    """The arrivals of each task's consumers, on any worker."""
    tasks = ((task, a) for a in timeline.arrivals if (task := task_of(a.participant)) is not None)
    return {task: TimeIndex(came) for task, came in lists_by_key(tasks).items()}


def ran_before(timeline: Timeline, arrival: Arrival) -> bool:
    """True if the group had a consumer of the same task before: the task is not new, whichever worker runs it now."""
    earlier = starts_of_tasks(timeline).get(task_of(arrival.participant) or "", NOTHING)
    return earlier.any_between(0, arrival.at - 1)


def next_start(timeline: Timeline, absence: Absence, within_ms: int | None = None) -> Arrival | None:
    """The arrival of the next consumer of the same task, on the same worker or another; None if there is none.

    By default within the time for which the leader keeps the tasks of a worker that left unassigned.
    """
    starts = starts_of_tasks(timeline).get(task_of(absence.participant) or "", NOTHING)
    within = setting_ms(timeline, CONNECT_DELAY) + ONE_REBALANCE_MS if within_ms is None else within_ms
    again = starts.first(absence.at)
    return again if again is not None and again.at <= absence.at + within else None


def starts_again_soon(timeline: Timeline, absence: Absence) -> bool:
    """True if the task of this consumer is started again in the same rebalance of the workers, or by hand."""
    return next_start(timeline, absence, ONE_REBALANCE_MS) is not None


def stopped_by_its_worker(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The lines in which a worker stopped the task just before its consumer closed; empty without the worker's log."""
    lines = timeline.of(ev.WorkChanged).between(absence.at - AT_ONCE_MS, absence.at + ROUND_TRIP_MS)
    task = task_of(absence.participant)
    return tuple(e for e in lines if e.change in ("stopping", "stopped") and e.what == task)


def moved_to(timeline: Timeline, absence: Absence, again: Arrival) -> str | None:
    """The host on which the task runs now, if it is known to be another than before."""
    before, now = absence.participant.hosts, again.participant.hosts
    if before and now and before.isdisjoint(now):
        return min(now)
    # Without the workers' logs, only the coordinator's lines name the host of a member.
    old, new = _client_host(timeline, absence.departures[0]), _client_host(timeline, again)
    return new if old is not None and new is not None and old != new else None


def _client_host(timeline: Timeline, move: Arrival | Departure) -> str | None:
    return _client_hosts(timeline).get(move.member or "")


@cached_answer
def _client_hosts(timeline: Timeline) -> dict[str, str]:
    found: dict[str, str] = {}
    for event in timeline.of(ev.MemberLeft, ev.MemberLoaded):
        if isinstance(event, ev.MemberLeft | ev.MemberLoaded) and event.member and event.client_host:
            found[event.member] = event.client_host.removeprefix("/")
    return found
