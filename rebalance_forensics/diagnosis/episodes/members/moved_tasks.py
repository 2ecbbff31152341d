"""Sink tasks that run on another worker once theirs is gone: the consumer there takes the place of the lost one.

The herder gives the tasks of a worker that left to others when scheduled.rebalance.max.delay.ms is over (KIP-415). Each
task has one consumer, named after the task, and runs on one worker at a time; the session of the lost consumer may last
longer than that delay, so the next one often joins first.
"""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses
from rebalance_forensics.diagnosis.wording.timeouts import SINK_CLIENTS
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import EXPIRY_SLACK_MS, RESTART_PAIR_MS


def moved_tasks(timeline: Timeline) -> dict[int, tuple[Arrival, ...]]:
    """The consumer of the same task on another worker, by the identity of the absence of the lost one."""
    found = {}
    for away in losses(timeline):
        tasks = {client for client in away.participant.client_ids if client.startswith(SINK_CLIENTS)}
        if not tasks or away.back_at is not None:
            continue
        since = away.at - session_timeout_ms(timeline) - EXPIRY_SLACK_MS
        near = timeline.arrivals.between(since, away.at + RESTART_PAIR_MS)
        taken = tuple(a for a in near if a.participant is not away.participant and a.participant.client_ids & tasks)
        if taken:
            found[id(away)] = taken
    return found
