"""Streams: the threads' consumers print the source partitions of their active tasks as any consumer does.

Where those lines are missing (KIP-1071 members print none) the tasks themselves stand for partitions, by the names that
Streams gives them: `0_3` is partition 3 of the source topics of subtopology 0, which the logs need not name.
"""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import TasksAssigned, TasksLost, TasksRevoked
from rebalance_forensics.timeline.ownership.readings import Ledger, Loss, Owner

TASKS = (TasksAssigned, TasksRevoked, TasksLost)


def thread_said(ledger: Ledger, owner: Owner, event: Event, at: int) -> None:
    """What a thread says of its active tasks: all that it has, what it gave back, that it lost them."""
    match event:
        case TasksAssigned(active=active):
            gone = [task for task in ledger.owned.get(owner, ()) if task not in active]
            ledger.release(owner, gone, Loss(at=at, why="revoked"))
            ledger.assign(owner, active, at)
        case TasksRevoked(active=active):
            ledger.release(owner, active, Loss(at=at, why="revoked"))
        case TasksLost():
            ledger.release(owner, [*ledger.owned.get(owner, ())], Loss(at=at, why="fenced"))
