"""Ownership in Connect: workers own connectors and tasks as consumers own partitions.

A worker prints its whole assignment ("Joined group at generation … and got assignment"). Eager workers (before 2.3, or
connect.protocol=eager) stop everything for a rebalance; others stop what is revoked (KIP-415).
"""

from __future__ import annotations

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import ConnectorConfigChanged, WorkerAssigned, WorkerStopped
from rebalance_forensics.events.rebalances import JoinStarted
from rebalance_forensics.timeline.ownership.readings import Ledger, Loss, Owner

WORK = (WorkerAssigned, WorkerStopped, JoinStarted)


def apply_worker_line(ledger: Ledger, owner: Owner, event: Event, at: int, *, eager: bool) -> None:
    """Move connectors and tasks by a worker's own line."""
    match event:
        case WorkerAssigned():
            given = [*event.connectors, *event.tasks]
            revoked = [work for work in ledger.owned.get(owner, ()) if work not in given]
            ledger.release(owner, revoked, Loss(at=at, why="revoked"))
            ledger.assign(owner, given, at)
        case JoinStarted() if eager:
            ledger.release(owner, [*ledger.owned.get(owner, ())], Loss(at=at, why="revoked"))
        case WorkerStopped():
            ledger.closed(owner, at)


def dropped(event: ConnectorConfigChanged, work: str) -> bool:
    """True where this change of configuration may have removed the connector or task for good."""
    if event.connector is None or event.change not in ("removed", "tasks", "updated"):
        return False
    connector, _, number = work.rpartition("-")
    is_task = number.isdecimal() and connector == event.connector
    return is_task or (event.change == "removed" and work == event.connector)
