"""Members that the coordinator removed because they did not take part in a rebalance before its timeout.

The coordinator logs this only when the timeout expires: "removed dynamic members who haven't joined" (classic groups,
GroupCoordinator.onCompleteJoin), "failed to join within the rebalance timeout" (classic members of a KIP-848 group),
"failed to transition from epoch N within M ms" (KIP-848, KIP-1071: partitions that were not given up in time).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.membership import MemberFailed
from rebalance_forensics.events.rebalances import RebalanceStarted
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.timeouts import quiet_ms, shown_rebalance_ms

_EXPIRED = ("rebalance-timeout", "revocation-timeout")


class RebalanceTimeout(Struct, frozen=True):
    """One line of the coordinator: the members it removed, and the rebalance that waited for them, where it shows."""

    line: MemberFailed
    departures: tuple[Departure, ...]
    rebalance: Rebalance | None

    @property
    def at(self) -> int:
        """When the members were removed."""
        return time_of(self.line)

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Everybody who lost a member."""
        return tuple(dict.fromkeys(d.participant for d in self.departures))

    @property
    def waited_ms(self) -> int | None:
        """How long the coordinator waited: the line says so, else the line that opened the rebalance does."""
        if self.line.timeout_ms is not None:
            return self.line.timeout_ms
        opened = [e for e in self.rebalance.events if isinstance(e, RebalanceStarted)] if self.rebalance else []
        return self.at - time_of(opened[0]) if opened else None

    def returns(self, timeline: Timeline) -> list[Arrival]:
        """How its members came back: under a new id, as the old one is unknown by then."""
        removed = {d.id for d in self.departures}
        came = (a for p in self.participants for a in timeline.arrivals.of(p).since(self.at))
        return [a for a in came if a.after in removed]


class RebalanceTimeouts(Struct, frozen=True):
    """The timeouts that the same participants missed, before the group was quiet."""

    found: tuple[RebalanceTimeout, ...]

    @property
    def participants(self) -> tuple[Participant, ...]:
        """Everybody who was removed."""
        return tuple(dict.fromkeys(p for one in self.found for p in one.participants))

    @property
    def departures(self) -> tuple[Departure, ...]:
        """All removals."""
        return tuple(d for one in self.found for d in one.departures)

    @property
    def rebalances(self) -> tuple[Rebalance, ...]:
        """The rebalances that waited until then."""
        return tuple({one.rebalance.id: one.rebalance for one in self.found if one.rebalance is not None}.values())

    def timeout_ms(self, timeline: Timeline) -> int | None:
        """The rebalance timeout as a setting shows it, else the shortest time that the coordinator waited."""
        known = [shown_rebalance_ms(timeline, p) for p in self.participants]
        waited = [one.waited_ms for one in self.found]
        return max((ms for ms in known if ms), default=None) or min((ms for ms in waited if ms), default=None)

    def returns(self, timeline: Timeline) -> list[Arrival]:
        """How its members came back, oldest first."""
        return sorted((a for one in self.found for a in one.returns(timeline)), key=lambda a: a.at)

    def needed_ms(self, timeline: Timeline) -> int | None:
        """The longest from the start of such a rebalance until a member that it did not wait for asked to join."""
        return max(
            (
                back.at - one.rebalance.started_at
                for one in self.found
                if one.rebalance is not None
                for back in one.returns(timeline)
            ),
            default=None,
        )


def rebalance_timeouts(timeline: Timeline) -> Iterator[RebalanceTimeouts]:
    """All of them, those together that struck the same participants again and again."""
    found = list(_by_line(timeline))
    for group in _of_same_participants(found):
        yield from (RebalanceTimeouts(tuple(run)) for run in runs(group, lambda one: one.at, quiet_ms(timeline)))


def _by_line(timeline: Timeline) -> Iterator[RebalanceTimeout]:
    by_line: dict[int, list[Departure]] = defaultdict(list)
    lines: dict[int, MemberFailed] = {}
    for departure in timeline.departures:
        for event in departure.events if departure.why in _EXPIRED else ():
            if isinstance(event, MemberFailed) and event.why in _EXPIRED:
                lines.setdefault(id(event), event)
                by_line[id(event)].append(departure)
    for key, line in lines.items():
        yield RebalanceTimeout(line, tuple(by_line[key]), _that_waited(timeline, time_of(line)))


def _that_waited(timeline: Timeline, at: int) -> Rebalance | None:
    """The rebalance that was open until members were removed: the removal ends it."""
    open_then = timeline.rebalances.touching(at, at)
    return next((r for r in reversed([*open_then]) if r.started_at < at), None)


def _of_same_participants(found: Iterable[RebalanceTimeout]) -> list[list[RebalanceTimeout]]:
    """Joined wherever they have somebody in common."""
    groups: list[tuple[set[Participant], list[RebalanceTimeout]]] = []
    for one in found:
        names, members = set(one.participants), [one]
        apart = []
        for known, group in groups:
            if known.isdisjoint(names):
                apart.append((known, group))
            else:
                names |= known
                members = [*group, *members]
        groups = [*apart, (names, members)]
    return [sorted(group, key=lambda one: one.at) for _, group in groups]
