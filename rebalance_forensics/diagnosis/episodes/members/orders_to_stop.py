"""Orders to stop a member's process, logged by its orchestrator or its supervisor."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.behind import Link
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.pods import is_order, reports_of, span_of
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.own_process import begins_its_name, is_named_after
from rebalance_forensics.timeline.identity.participants import Participant


def ordered_at(timeline: Timeline, absence: Absence) -> int | None:
    """The time of the last order to stop its process before it began to close; None if no order was logged."""
    started, closed = _started_at(timeline, absence), absence.stop.at if absence.stop is not None else absence.at
    by_pod = (e for e in reports_of(timeline, absence) if is_order(e))
    orders = (time_of(e) for e in (*by_pod, *_orders_of_unit(timeline, absence)))
    return max((at for at in orders if started < at <= closed), default=None)


def behind_unit(timeline: Timeline, absences: Sequence[Absence]) -> tuple[Link, ...]:
    """The orders to supervisors to stop the processes of these members; empty unless all of them were ordered."""
    orders = [_orders_of_unit(timeline, absence) for absence in absences]
    if not orders or not all(orders):
        return ()
    lines = [of_unit[-1] for of_unit in orders]
    units, by = (" and ".join(sorted(names)) for names in ({e.unit for e in lines}, {e.by for e in lines}))
    often = f", {len(lines)} times in all" if len(lines) > 1 else ""
    return (Link("stopped", f"{by} was told to stop {units}{often}", 0.95, lines[:4], begins_with_name=True),)


def _orders_of_unit(timeline: Timeline, absence: Absence) -> list[ev.UnitStopping]:
    if not timeline.shows_any((ev.UnitStopping,)):
        return []
    begin, end = span_of(timeline, absence)
    near = timeline.of(ev.UnitStopping).between(max(begin, _started_at(timeline, absence) + 1), end)
    return [e for e in near if _is_its_unit(timeline, absence.participant, e)]


def _started_at(timeline: Timeline, absence: Absence) -> int:
    """The time at which its process started, else 0; an earlier order was for the previous process."""
    started = timeline.starts.of(absence.participant).last(absence.at)
    return started.at if started is not None else 0


def _is_its_unit(timeline: Timeline, who: Participant, order: ev.UnitStopping) -> bool:
    """True if the unit has the member's name, or the first words of it if no other member runs on that host."""
    present = timeline.participants.at_place(order)
    if who not in present:
        return False
    alone = [*present] == [who]
    return is_named_after(timeline.group, who, order.unit) or (
        alone and begins_its_name(timeline.group, who, order.unit)
    )
