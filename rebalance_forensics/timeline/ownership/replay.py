"""The replay of ownership: applies assignments, revocations, departures and starts to the owners of partitions.

The unit of ownership depends on the kind of group: partitions, Streams tasks, or Connect's connectors and tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.facts import Departure, Start
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.ownership.ledger import Consumers, Ledger, Loss, Owner, names_partitions
from rebalance_forensics.timeline.ownership.losses import keeps_fetching, loss_before, loss_of
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS

TASKS = (ev.TasksAssigned, ev.TasksRevoked, ev.TasksLost)
_CLOSES = (ev.ConsumerClosed, ev.LeaveSent)
_PARTITIONS = (
    ev.PartitionsAssigned, ev.PartitionsRevoked, ev.PartitionsLost, ev.AssignmentNotified, ev.AssignmentUpdated,
    ev.OwnershipGivenUp, ev.AssignmentComputed, ev.JoinReported, ev.SyncSucceeded,
)  # fmt: skip
Moment = Event | Departure | Start


def unit_of(timeline: Timeline) -> tuple[type[Event], ...]:
    """The event types that show a group's owners, from the best available source; empty if there is none."""
    # Schema Registry elects a leader and share groups (KIP-932) share records: neither has exclusive partition owners.
    own = timeline.group_events
    if timeline.kind == "connect":
        return WORK if own.of_type(*WORK[:1]) else ()
    if timeline.kind not in ("consumer", "streams"):
        return ()
    if any(names_partitions(e) for e in own.of_type(*_PARTITIONS)) or own.of_type(ev.AssignmentComputed):
        return _PARTITIONS
    if timeline.kind == "streams" and own.of_type(*TASKS):
        return TASKS
    return (ev.MemberReconciled,) if own.of_type(ev.MemberReconciled) else ()


@dataclass(slots=True)
class OwnershipReplay:
    """Applies the lines, departures and starts of a group to a ledger of owners, in time order."""

    timeline: Timeline
    unit: tuple[type[Event], ...]
    """The types of lines that name the owned partitions, tasks, or connectors and their tasks."""
    consumers: Consumers
    ledger: Ledger = field(default_factory=Ledger)
    began: dict[int | None, int] = field(default_factory=dict)

    def run(self) -> Ledger:
        """The ledger after the last line."""
        self.began = {r.generation: r.started_at for r in reversed(self.timeline.rebalances)}
        for at, _, what in sorted(self._moments(), key=lambda moment: moment[:2]):
            match what:
                case Departure():
                    self._departed(what, at)
                case Start():
                    for owner in self.ledger.owners(what.participant):
                        self._lost(owner, loss_before(self.timeline, what.participant, at))
                case ev.AssignmentComputed():
                    self._apply_printed_assignment(what, at)
                case ev.MemberReconciled():
                    # With KIP-848 the member keeps the assigned partitions and has revoked all others.
                    if (reconciled := self.consumers.of_member(what.member)) is not None:
                        self.ledger.change(reconciled, what.assigned, at)
                case Event():
                    self._apply_client_line(what, at)
        return self.ledger

    def _moments(self) -> Iterator[tuple[int, int, Moment]]:
        """The departures, starts and lines with their times; at the same time, a departure comes first."""
        timeline = self.timeline
        yield from ((departure.at, 0, departure) for departure in timeline.departures if not departure.stayed)
        yield from ((start.at, 1, start) for start in timeline.starts)
        lines = timeline.group_events.of_type(*self.unit, *_CLOSES)
        yield from ((event.at, 2, event) for event in lines if event.at is not None)

    def _departed(self, departure: Departure, at: int) -> None:
        """End the readings of the consumer that left; a Streams instance has a consumer for each thread."""
        is_instance = departure.participant.kind == "instance"
        client = self.timeline.participants.client_of(departure.member or "") if is_instance else None
        for owner in self.ledger.owners(departure.participant):
            # The group had removed the owner by the time its partitions were assigned to others.
            missed_at = min([at, *self.ledger.taken.get(owner, {}).values()])
            if client in (None, owner[1]) and not keeps_fetching(self.timeline, departure):
                self._lost(owner, loss_of(self.timeline, departure, missed_at))

    def _lost(self, owner: Owner, loss: Loss) -> None:
        if loss.why == "stopped" and loss.certain:
            self.ledger.closed(owner, loss.at)
        self.ledger.release(owner, [*self.ledger.owned.get(owner, ())], loss)

    def _apply_client_line(self, event: Event, at: int) -> None:
        """Apply a line of a consumer, stream thread or Connect worker about its own assignment."""
        owner = self.consumers.of_speaker(event)
        if owner is None:
            return
        owned: tuple[str, ...] = tuple(self.ledger.owned.get(owner, ()))
        match event:
            case ev.ConsumerClosed() | ev.LeaveSent(why="closed"):
                self._closed(owner, event, at)
            case ev.PartitionsAssigned(partitions=partitions):
                if self.timeline.mode == "eager" and partitions:
                    # ruby-kafka logs a line for each topic of an assignment.
                    since = self.ledger.owned.get(owner, {})
                    left_out = [p for p in owned if p not in partitions and at - since[p] > ROUND_TRIP_MS]
                    self.ledger.release(owner, left_out, Loss(at=at, why="revoked"))
                self.ledger.assign(owner, partitions, at)
            case ev.JoinReported(partitions=tuple(partitions)) | ev.SyncSucceeded(partitions=tuple(partitions)):
                # KafkaJS and brod only support eager rebalances: they log their whole assignment and no revocations.
                self.ledger.change(owner, partitions, at)
            case ev.PartitionsRevoked() if not event.due:
                # librdkafka logs the number of partitions; in an eager rebalance these are all of them.
                revoked = event.partitions or (owned if (event.count or 0) >= len(owned) else ())
                self.ledger.release(owner, revoked, Loss(at=at, why="revoked"))
            case ev.PartitionsLost(partitions=partitions):
                self.ledger.release(owner, partitions, Loss(at=at, why="fenced"))
            case ev.OwnershipGivenUp():
                self.ledger.release(owner, owned, Loss(at=at, why="fenced"))
            case ev.AssignmentNotified(partitions=kept) | ev.AssignmentUpdated(owned=kept):
                # If the log begins later, no line shows the partitions that the member kept.
                self.ledger.assign(owner, [p for p in kept if p not in self.ledger.holders], at)
            case _ if isinstance(event, TASKS):
                _apply_thread_line(self.ledger, owner, event, at)
            case _ if isinstance(event, WORK):
                _apply_worker_line(self.ledger, owner, event, at, eager=self.timeline.mode == "eager")

    def _apply_printed_assignment(self, event: ev.AssignmentComputed, at: int) -> None:
        """Move partitions by the assignment in the leader's log, except for members that log their own partitions."""
        # An eager member revoked all partitions in onJoinPrepare, when the rebalance began; a cooperative one revoked
        # only the partitions that it lost.
        ledger, consumers, eager = self.ledger, self.consumers, self.timeline.mode == "eager"
        given: dict[Owner, tuple[str, ...]] = {}
        for member, partitions in event.assignment:
            if (owner := consumers.of_member(member)) is not None:
                given[owner] = (*given.get(owner, ()), *partitions)
        begin = min(self.began.get(event.generation, at), at)
        loss = Loss(at=begin, why="revoked", certain=False, earliest=begin) if eager else Loss(at=at, why="revoked")
        for owner in [owner for owner in ledger.owned if event.assignment and not consumers.reports_at(owner, at)]:
            kept = () if eager else given.get(owner, ())
            ledger.release(owner, [partition for partition in ledger.owned[owner] if partition not in kept], loss)
        for owner, partitions in given.items():
            if not consumers.reports_at(owner, at):
                ledger.assign(owner, partitions, at)

    def _closed(self, owner: Owner, event: Event, at: int) -> None:
        if self.timeline.kind == "connect":
            return
        if owner in self.ledger.owned or owner[1]:
            self.ledger.closed(owner, at)
        elif not event.speaker.client_id:
            for consumer in self.ledger.owners(owner[0]):
                self.ledger.closed(consumer, at)


def _apply_thread_line(ledger: Ledger, owner: Owner, event: Event, at: int) -> None:
    """Move the active tasks of a stream thread: TasksAssigned lists all its tasks, other events those it gave up."""
    match event:
        case ev.TasksAssigned(active=active):
            ledger.change(owner, active, at)
        case ev.TasksRevoked(active=active):
            ledger.release(owner, active, Loss(at=at, why="revoked"))
        case ev.TasksLost():
            ledger.release(owner, [*ledger.owned.get(owner, ())], Loss(at=at, why="fenced"))


WORK = (ev.WorkerAssigned, ev.WorkerStopped, ev.JoinStarted)


# A worker logs its whole assignment ("Joined group at generation … and got assignment"). Eager workers (before 2.3, or
# connect.protocol=eager) stop all connectors and tasks for a rebalance; others stop the revoked ones (KIP-415).
def _apply_worker_line(ledger: Ledger, owner: Owner, event: Event, at: int, *, eager: bool) -> None:
    match event:
        case ev.WorkerAssigned():
            ledger.change(owner, [*event.connectors, *event.tasks], at)
        case ev.JoinStarted() if eager:
            ledger.release(owner, [*ledger.owned.get(owner, ())], Loss(at=at, why="revoked"))
        case ev.WorkerStopped():
            ledger.closed(owner, at)


def dropped(event: ev.ConnectorConfigChanged, work: str) -> bool:
    """True if this configuration change may have removed the connector or task permanently."""
    if event.connector is None or event.change not in ("removed", "tasks", "updated"):
        return False
    connector, _, number = work.rpartition("-")
    is_task = number.isdecimal() and connector == event.connector
    return is_task or (event.change == "removed" and work == event.connector)
