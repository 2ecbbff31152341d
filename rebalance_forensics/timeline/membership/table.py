"""The membership table of a group: every transition of its members, and who is in, how many, who left last."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter
from typing import TypeVar

from rebalance_forensics.timeline.facts import Arrival, Departure, StaticReturn, Transition, amend
from rebalance_forensics.timeline.time_index import TimeIndex

T = TypeVar("T", bound=Transition)


class MembershipTable:
    """The transitions of a group's members, oldest first, complete once the replay and its revision are over."""

    def __init__(self, transitions: Iterable[Transition] = ()) -> None:
        self.transitions = TimeIndex(transitions)
        self.departures = self._of_kind(Departure, "departure")
        self.arrivals = self._of_kind(Arrival, "arrival")
        self.returns = self._of_kind(StaticReturn, "return")
        # A member that asked to rejoin and gave up before it was admitted is in no list, but its departure refers to
        # it.
        for departure in self.departures:
            if departure.returned is not None and not departure.returned.id:
                amend(departure.returned, id=f"{departure.id}-returned")

    def _of_kind(self, kind: type[T], name: str) -> TimeIndex[T]:
        found = [transition for transition in self.transitions if isinstance(transition, kind)]
        for number, transition in enumerate(found, 1):
            amend(transition, id=f"{name}-{number}")
        return TimeIndex(found, attrgetter("at"), ordered=True)
