"""Facts that both a coordinator and a client log, which show the difference between their clocks.

A generation number alone does not match two lines: a recreated group starts from 1 again, and every group reaches
generation 5. A member id belongs to one process in one group (`{client.id}-{uuid}`, or a uuid).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, NamedTuple

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import MINUTE_MS
from rebalance_forensics.timeline.windows import (
    HEARTBEAT_MS,
    LARGEST_SKEW_MS,
    NEXT_HEARTBEAT_MS,
    ONE_REBALANCE_MS,
    PROCESS_START_MS,
)
from rebalance_forensics.utc_offsets import nearest_offset


class Fact(NamedTuple):
    """An issued member id (`number` 0), or the start of a generation or epoch."""

    kind: Literal["joined", "synced", "epoch", "issued"]
    number: int
    member: str | None = None

    @property
    def shared(self) -> Fact:
        """The fact as the coordinator logs it: a generation without a member."""
        return self if self.kind == "issued" else Fact(self.kind, self.number)


class GroupLife:
    """The facts of a group on the reference clock until it was recreated; the first time of each fact counts."""

    def __init__(self) -> None:
        self.seen: dict[Fact, int] = {}
        self.members: dict[str, int] = {}
        """Member id -> when it was first named."""
        self.latest = -1
        """The latest generation or epoch."""
        self.latest_at = 0

    def add(self, fact: Fact, at: int) -> None:
        """Keep the first time of a fact."""
        self.seen[fact] = min(at, self.seen.get(fact, at))

    def name(self, members: Iterable[str], at: int) -> None:
        """Keep the first time when each member is named."""
        for member in members:
            self.members.setdefault(member, at)

    def began_with(self, fact: Fact) -> bool:
        """True if the member was named before its generation began, unlike a restarted static member."""
        named = self.members.get(fact.member or "")
        return named is not None and named <= self.seen[fact.shared]


class SharedFacts:
    """The facts on the reference clock, for each life of the group."""

    def __init__(self) -> None:
        self.lives = [GroupLife()]
        self.left: dict[str, int] = {}
        """When members left, by member id."""

    @property
    def is_empty(self) -> bool:
        """True if the reference log has no fact that clients log, too."""
        return not any(life.seen for life in self.lives)

    def times_of(self, fact: Fact) -> Iterator[int]:
        """The time of a fact in each life of the group that has it."""
        yield from (life.seen[fact] for life in self.lives if fact in life.seen)

    def life_at(self, number: int | None, at: int, *, begins: bool) -> GroupLife:
        """The life of the group with this generation; a number that recurs much later begins a new life."""
        life = self.lives[-1]
        if number is None:
            return life
        again = number <= life.latest if begins else number < life.latest
        if again and at - life.latest_at > ONE_REBALANCE_MS:
            life = GroupLife()
            self.lives.append(life)
        if number > life.latest:
            life.latest, life.latest_at = number, at
        return life


def facts_of(stamped: Iterable[tuple[Event, int]]) -> SharedFacts:
    """The facts in coordinators' logs, from events with their times."""
    facts = SharedFacts()
    for event, at in sorted(stamped, key=lambda pair: (pair[1], pair[0].origin.path, pair[0].origin.byte_offset)):
        match event:
            case ev.GenerationStabilized(generation=n):
                facts.life_at(n, at, begins=True).add(Fact("joined", n), at)
            case ev.AssignmentReceived(generation=n):
                facts.life_at(n, at, begins=False).add(Fact("synced", n), at)
            case ev.MemberIdIssued(member=m) if m is not None:
                facts.lives[-1].add(Fact("issued", 0, m), at)
            case ev.TargetAssignmentComputed(epoch=n):
                facts.life_at(n, at, begins=True).add(Fact("epoch", n), at)
            case ev.RebalanceStarted(generation=n):
                facts.life_at(n, at, begins=False)
            case ev.MemberLeft(member=m) if m is not None:
                facts.left[m] = at
        facts.lives[-1].name(_members_in(event), at)
    return facts


def facts_of_a_member(stamped: Iterable[tuple[Event, int]]) -> SharedFacts:
    """The facts in a client's log, as the reference for other logs; a leader's log names all members."""
    facts = SharedFacts()
    for event, at in sorted(stamped, key=lambda pair: pair[1]):
        fact = fact_in(event)
        if fact is not None and fact.kind in ("joined", "synced"):
            facts.life_at(fact.number, at, begins=False).add(fact.shared, at)
        facts.lives[-1].name(_members_in(event), at)
    return facts


def _members_in(event: Event) -> Iterator[str]:
    if type(event) is ev.AssignmentComputed:
        yield from (member for member, _ in event.assignment)
    names = (getattr(event, "member", None), getattr(event, "leader", None), *getattr(event, "members", ()))
    yield from (member for member in names if isinstance(member, str))


def fact_in(event: Event) -> Fact | None:
    """The shared fact in a client's line, which directly follows the coordinator's line; or None."""
    match event:
        case ev.JoinSucceeded(generation=n, after_sync=False, member=m):
            return Fact("joined", n, m)
        case ev.JoinSucceeded(generation=n, member=m) | ev.SyncSucceeded(generation=n, member=m):
            return Fact("synced", n, m)
        case ev.JoinRequested(why="member-id-required", member=m) if m is not None:
            return Fact("issued", 0, m)
        case ev.MemberTransitioned(epoch=n, after="RECONCILING", member=m) if n:
            return Fact("epoch", n, m)
    return None


class Differences:
    """The differences between the facts of a log and the same facts by the reference clock.

    A client logs a fact right after the coordinator, so the least difference is that of their clocks. Facts of a named
    member are surely of the same group. Bare numbers are where several of them, far enough apart, differ by the same;
    one alone is evidence only for clocks that are nearly equal.
    """

    def __init__(self, reference: SharedFacts) -> None:
        self._reference = reference
        self._of_members: list[int] = []
        self._of_returned: list[int] = []
        """Those of restarted static members, which are answered with the generation that the group already had."""
        self._by_number: dict[GroupLife, dict[int, int]] = defaultdict(dict)
        """Those of facts whose member the reference does not name: life -> number -> the least."""
        self._of_strangers = False

    def add(self, fact: Fact, at: int, *, returned: bool) -> None:
        """Compare a line of the log, by its time in UTC if its zone is known."""
        lives = [life for life in self._reference.lives if fact.shared in life.seen]
        named = [life for life in lives if fact.kind == "issued" or fact.member in life.members]
        if named:
            nearest = min(named, key=lambda life: abs(at - life.seen[fact.shared]))
            answered_anew = returned and not nearest.began_with(fact)
            (self._of_returned if answered_anew else self._of_members).append(at - nearest.seen[fact.shared])
            return
        for life in lives if not returned else ():
            self._of_strangers = self._of_strangers or (fact.member is not None and bool(life.members))
            difference, numbers = at - life.seen[fact.shared], self._by_number[life]
            numbers[fact.number] = min(difference, numbers.get(fact.number, difference))

    def least(self, step: int, *, zone_known: bool) -> int | None:
        """The difference between the clocks, up to the network delay; None if the facts do not agree."""
        if self._of_members:
            return min([*self._of_members, *self._of_returned])
        if self._of_returned:
            least = min(self._of_returned)
            return least if abs(_off_zone(least, zone_known=zone_known)) <= NEXT_HEARTBEAT_MS else None
        spread = HEARTBEAT_MS + step
        agreed = [found for life, numbers in self._by_number.items() if (found := _agreed(life, numbers, spread))]
        if agreed:
            return max(agreed, key=lambda found: (found[0], -abs(found[1])))[1]
        return self._of_one_moment(spread, zone_known=zone_known)

    def _of_one_moment(self, spread: int, *, zone_known: bool) -> int | None:
        """The difference by generation numbers that agree, for clocks that are nearly equal except for the zone."""
        if self._of_strangers or not self._by_number:
            return None
        nearest = min(
            (numbers.values() for numbers in self._by_number.values()), key=lambda found: min(map(abs, found))
        )
        least, most = min(nearest), max(nearest)
        allowed = LARGEST_SKEW_MS if zone_known else spread
        return least if most - least <= spread and abs(_off_zone(least, zone_known=zone_known)) <= allowed else None


def _off_zone(difference: int, *, zone_known: bool) -> int:
    """The part of a difference that no zone explains."""
    return difference if zone_known else difference - nearest_offset(difference) * MINUTE_MS


def _agreed(life: GroupLife, numbers: Mapping[int, int], spread: int) -> tuple[int, int] | None:
    """The largest count of numbers in a life that agree, and their least difference."""
    # The generations of one start are too close together to be evidence.
    found: list[tuple[int, int]] = []
    for least in numbers.values():
        agreeing = [number for number, difference in numbers.items() if least <= difference <= least + spread]
        times = [at for fact, at in life.seen.items() if fact.number in agreeing]
        if max(times) - min(times) > PROCESS_START_MS:
            found.append((len(agreeing), least))
    return max(found, key=lambda each: (each[0], -abs(each[1])), default=None)
