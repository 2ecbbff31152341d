"""Coordinators that stood still: a host that slept, a stopped virtual machine, a full garbage collection."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import MemberFailed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS, ROUND_TRIP_MS, TICK_MS


class CoordinatorSilence(Struct, frozen=True, kw_only=True):
    """A rebalance that stayed open past the rebalance timeout while the coordinator logged nothing."""

    rebalance: Rebalance
    removal: MemberFailed
    """The line that ended it: the timer fired once the coordinator ran again."""
    open_ms: int
    timeout_ms: int
    """The shortest time after which the coordinator removed members in another rebalance of the group."""

    @property
    def lines(self) -> tuple[Event, ...]:
        """The last line before the silence and the first one behind it."""
        return (*self.rebalance.events[:1], self.removal)

    def disturbed(self, timeline: Timeline) -> list[Rebalance]:
        """The rebalance itself, and those in which members still find out that the coordinator had given them up."""
        end = self.rebalance.started_at + self.open_ms
        later = timeline.rebalances.between(end, end + ONE_REBALANCE_MS)
        return [self.rebalance, *(r for r in later if r is not self.rebalance)]


def coordinator_silences(timeline: Timeline) -> tuple[CoordinatorSilence, ...]:
    """Every such rebalance, oldest first.

    A member cannot hold up a rebalance for longer than the rebalance timeout, because the coordinator removes it then
    (GroupCoordinator.onCompleteJoin). Twice the timeout is more than a timer is ever late.
    """
    return timeline.cached(_coordinator_silences)


def _coordinator_silences(timeline: Timeline) -> tuple[CoordinatorSilence, ...]:
    removals = _removals(timeline)
    if len(removals) < 2:
        return ()
    waits = {rebalance.id: time_of(removal) - rebalance.started_at for rebalance, removal in removals}
    timeout = min(waits.values())
    return tuple(
        CoordinatorSilence(rebalance=rebalance, removal=removal, open_ms=waits[rebalance.id], timeout_ms=timeout)
        for rebalance, removal in removals
        if waits[rebalance.id] > 2 * timeout + ROUND_TRIP_MS
        and not timeline.coordinator_events.any_between(
            rebalance.started_at + TICK_MS, rebalance.started_at + waits[rebalance.id] - TICK_MS
        )
    )


def _removals(timeline: Timeline) -> list[tuple[Rebalance, MemberFailed]]:
    """Each rebalance that ended with a removal, and the first line that removed a member."""
    first: dict[str, tuple[Rebalance, MemberFailed]] = {}
    for departure in timeline.departures:
        for event in departure.events:
            if isinstance(event, MemberFailed) and event.why == "rebalance-timeout":
                for rebalance in timeline.rebalances.touching(departure.at, departure.at):
                    if rebalance.started_at < departure.at:
                        first.setdefault(rebalance.id, (rebalance, event))
    return sorted(first.values(), key=lambda removal: removal[0].started_at)
