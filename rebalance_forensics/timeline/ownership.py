"""Who read each partition, when: and while nobody could, since when and why.

Built from the owners' own lines (assigned, revoked, lost, closed) and, for members without a log, from the leader's
printed assignment. A member that was evicted, or that did not call poll(), stopped reading before the group noticed:
its partitions are unread from then on. Where brokers alone are heard nobody tells who owned what, and nothing is said.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import attrgetter

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import LeaveSent
from rebalance_forensics.events.partitions import (
    AssignmentNotified,
    OwnershipGivenUp,
    PartitionsAssigned,
    PartitionsLost,
    PartitionsRevoked,
)
from rebalance_forensics.events.process import ConsumerClosed
from rebalance_forensics.events.rebalancing import AssignmentComputed
from rebalance_forensics.timeline.facts import Departure, Start
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor, Cast
from rebalance_forensics.timeline.model import UnreadSpan, WhyUnread
from rebalance_forensics.timeline.session_timeouts import number_in, session_timeout_of
from rebalance_forensics.timeline.time_index import Lasting
from rebalance_forensics.timeline.windows import BARRIER_MS, HEARTBEAT_MS, SHORTEST_UNREAD_MS

_TOLD = (
    PartitionsAssigned, PartitionsRevoked, PartitionsLost, AssignmentNotified, OwnershipGivenUp, ConsumerClosed,
    LeaveSent, AssignmentComputed,
)  # fmt: skip
_SILENT = ("session-expired", "vanished", "expelled")
_WHY: Mapping[str, WhyUnread] = {"poll-timeout": "stuck", "fenced": "fenced", "rebalance-timeout": "stuck"}

Owner = tuple[Actor, str]
"""A consumer: the party it belongs to, and its client id (several of one process each own partitions)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReading:
    """A member read a partition for a while; `why` is what ended it, None while it goes on.

    Where its end is only known to lie within a span, `earliest` is the begin of that span.
    """

    partition: str
    actor: Actor
    client: str | None
    begin: int
    end: int
    why: WhyUnread | None
    earliest: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ownership:
    """The spans in which nobody read a partition, oldest first, and when any was read."""

    spans: Lasting[UnreadSpan] = field(default_factory=lambda: _lasting(()))
    until: int = 0
    """When the logs end."""

    partitions: frozenset[str] = frozenset()
    """Those of which an owner is known."""
    while_read: tuple[tuple[int, int], ...] = ()
    """The stretches of time in which any partition was read, apart from each other."""

    def stopped_ms(self, begin: int, end: int) -> int | None:
        """For how long, between two times, no partition of the group was read; None where no owner is told."""
        if not self.while_read:
            return None
        begin, end = max(begin, self.while_read[0][0]), min(end, self.until)
        place = max(bisect_left(self.while_read, (begin, begin)) - 1, 0)
        read = 0
        for since, until in islice(self.while_read, place, None):
            if since >= end:
                break
            read += max(0, min(until, end) - max(since, begin))
        return max(0, end - begin - read)

    def unread_between(self, begin: int, end: int) -> list[UnreadSpan]:
        """The spans that touch a while."""
        return self.spans.touching(begin, end)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """What is asked of a group again and again, worked out once."""

    timeline: Timeline
    session_ms: int | None
    poll_ms: int | None
    heartbeat_ms: int
    end: int
    began: Mapping[int | None, int]
    """When the rebalance of each generation began."""
    late: Mapping[Actor, tuple[tuple[int, int], ...]]
    """When each member kept a whole rebalance waiting: from its begin until it joined."""

    @property
    def eager(self) -> bool:
        return self.timeline.mode == "eager"

    @property
    def cast(self) -> Cast:
        return self.timeline.cast


def ownership_of(timeline: Timeline) -> Ownership:
    """Who read each partition of a plain consumer group, worked out when it is first asked."""
    return timeline.remembered(_ownership_of)


def _ownership_of(timeline: Timeline) -> Ownership:
    if timeline.kind != "consumer":
        return Ownership()
    return _replayed(
        _Group(
            timeline=timeline,
            session_ms=session_timeout_of(timeline.own, timeline.protocol, timeline.settings),
            poll_ms=number_in(timeline.settings, "max.poll.interval.ms"),
            heartbeat_ms=number_in(timeline.settings, "heartbeat.interval.ms") or HEARTBEAT_MS,
            end=max(timeline.coverage.end, timeline.last),
            began={r.generation: r.started_at for r in reversed(timeline.rebalances)},
            late=_late(timeline),
        )
    )


def _late(timeline: Timeline) -> dict[Actor, tuple[tuple[int, int], ...]]:
    """Whoever joined last, long after the rebalance began; a cooperative member may as well have been reading."""
    found: dict[Actor, tuple[tuple[int, int], ...]] = {}
    for rebalance in timeline.rebalances if timeline.mode == "eager" else ():
        last = max(rebalance.joined_at, key=lambda actor: rebalance.joined_at[actor], default=None)
        if last is not None and rebalance.joined_at[last] - rebalance.started_at > BARRIER_MS:
            found[last] = (*found.get(last, ()), (rebalance.started_at, rebalance.joined_at[last]))
    return found


@dataclass(slots=True)
class _Replay:
    """Who owns what, while the lines are read in the order of time."""

    told: _Group
    owned: dict[Owner, dict[str, int]] = field(default_factory=dict)
    """Owner -> partition -> since when."""
    readings: list[PartitionReading] = field(default_factory=list)
    last_word: dict[Actor, int] = field(default_factory=dict)

    def own(self, owner: Owner, partitions: Iterable[str], at: int) -> None:
        mine = self.owned.setdefault(owner, {})
        for partition in partitions:
            mine.setdefault(partition, at)

    def release(
        self, owner: Owner, partitions: Iterable[str], at: int, why: WhyUnread, earliest: int | None = None
    ) -> None:
        """The owner reads these no longer; `earliest` where it may have stopped before anybody noticed."""
        mine = self.owned.get(owner, {})
        for partition in list(partitions):
            since = mine.pop(partition, None)
            if since is not None:
                self.readings.append(
                    PartitionReading(
                        partition=partition,
                        actor=owner[0],
                        client=owner[1] or owner[0].name,
                        begin=since,
                        end=max(since, at),
                        why=why,
                        earliest=earliest,
                    )
                )

    def owners(self, actor: Actor | None) -> list[Owner]:
        return [owner for owner in self.owned if owner[0] is actor]


def _replayed(told: _Group) -> Ownership:
    """Replay the lines that tell who owns what."""
    replay = _Replay(told)
    own = {actor for e in told.timeline.own.telling(PartitionsAssigned) if (actor := told.cast.of_speaker(e))}
    for at, _, what in sorted(_moments(told), key=lambda moment: moment[:2]):
        match what:
            case Departure():
                _departed(replay, what, at)
            case Start():
                for owner in replay.owners(what.actor):
                    replay.release(owner, [*replay.owned[owner]], _died_at(replay, what.actor, at), "dead")
            case AssignmentComputed():
                _by_leader(replay, what, at, own)
            case Event():
                _own_line(replay, what, at)
    ongoing = [
        PartitionReading(
            partition=partition, actor=owner[0], client=owner[1] or owner[0].name, begin=since, end=told.end, why=None
        )
        for owner, mine in replay.owned.items()
        for partition, since in mine.items()
    ]
    readings = [part for reading in (*replay.readings, *ongoing) for part in _awake(told, reading)]
    readings.sort(key=lambda r: (r.begin, r.partition, r.client or ""))
    return Ownership(
        spans=_lasting(_unread(readings, told.end)),
        until=told.end,
        partitions=frozenset(reading.partition for reading in readings),
        while_read=tuple(_united(readings)),
    )


def _lasting(spans: Iterable[UnreadSpan]) -> Lasting[UnreadSpan]:
    return Lasting(spans, attrgetter("started_at"), attrgetter("ended_at"))


def _united(readings: Sequence[PartitionReading]) -> Iterator[tuple[int, int]]:
    """The stretches that the readings cover together."""
    since = until = None
    for reading in readings:
        if until is None or since is None or reading.begin > until:
            if since is not None and until is not None:
                yield since, until
            since, until = reading.begin, reading.end
        until = max(until, reading.end)
    if since is not None and until is not None:
        yield since, until


def _moments(told: _Group) -> Iterator[tuple[int, int, Event | Departure | Start]]:
    """Everything that changes owners, with its time; a departure comes before what lines of that instant say."""
    timeline = told.timeline
    yield from ((departure.at, 0, departure) for departure in timeline.departures)
    yield from ((start.at, 1, start) for start in timeline.starts)
    yield from ((event.at, 2, event) for event in timeline.own.telling(*_TOLD) if event.at is not None)


def _own_line(replay: _Replay, event: Event, at: int) -> None:
    """What a consumer says of itself."""
    actor = replay.told.cast.of_speaker(event)
    if actor is None or event.speaker.role == "broker":
        return
    owner, mine = (actor, event.speaker.client_id or ""), replay.owned.get((actor, event.speaker.client_id or ""), {})
    replay.last_word[actor] = at
    match event:
        case PartitionsAssigned(partitions=partitions):
            if replay.told.eager and partitions:
                replay.release(owner, [p for p in mine if p not in partitions], at, "revoked")
            replay.own(owner, partitions, at)
        case PartitionsRevoked(partitions=partitions) if not event.due:
            replay.release(owner, partitions, at, "revoked")
        case PartitionsLost(partitions=partitions):
            replay.release(owner, partitions, at, "revoked")
        case OwnershipGivenUp():
            replay.release(owner, [*mine], at, "revoked")
        case ConsumerClosed() | LeaveSent(why="closed"):
            replay.release(owner, [*mine], at, "stopped")


def _departed(replay: _Replay, departure: Departure, at: int) -> None:
    """A member that the group lost had stopped reading before that, unless it left in good order."""
    told, actor = replay.told, departure.actor
    for owner in replay.owners(actor):
        mine = [*replay.owned[owner]]
        if departure.why in _SILENT:
            began = _died_at(replay, actor, at)
            why: WhyUnread = "frozen" if departure.returned is not None and departure.returned.start is None else "dead"
            unheard = at - told.session_ms if told.session_ms else replay.last_word.get(actor, at)
            replay.release(owner, mine, began, why, earliest=min(began, unheard))
        elif departure.why in _WHY:
            stuck = told.poll_ms if departure.why == "poll-timeout" else None
            replay.release(owner, mine, at - (stuck or 0), _WHY[departure.why], earliest=at - stuck if stuck else None)
        else:
            replay.release(owner, mine, at, "stopped")


def _died_at(replay: _Replay, actor: Actor, at: int) -> int:
    """The later of its last sign of life and a session before the group gave it up; `at` where no session is known."""
    if replay.told.session_ms is None:
        return at
    last = replay.last_word.get(actor)
    end = replay.told.timeline.coverage.ends(actor)
    words = [t for t in (last, end) if t is not None and t <= at]
    # The last heartbeat arrived a session before that, and the next one, an interval later, did not.
    return max([*words, at - replay.told.session_ms + replay.told.heartbeat_ms // 2])


def _by_leader(replay: _Replay, event: AssignmentComputed, at: int, own: set[Actor]) -> None:
    """Members without lines of their own own what the leader gave them; under eager they gave up all of it before."""
    told = replay.told
    began = told.began.get(event.generation, at)
    given = {told.cast.of_member(member): partitions for member, partitions in event.assignment}
    for owner in [o for o in replay.owned if o[0] not in own]:
        kept = set(given.get(owner[0], ()))
        gone = [p for p in replay.owned[owner] if told.eager or p not in kept]
        replay.release(owner, gone, min(began, at) if told.eager else at, "revoked")
    for actor, partitions in given.items():
        if actor is not None and actor not in own:
            replay.own((actor, ""), partitions, at)


def _awake(told: _Group, reading: PartitionReading) -> Iterator[PartitionReading]:
    """A reading without the times in which its owner kept a whole rebalance waiting: it did not poll meanwhile."""
    begin = reading.begin
    for since, until in told.late.get(reading.actor, ()):
        if begin < since < reading.end:
            yield replace(reading, begin=begin, end=since, why="stuck", earliest=begin)
            begin = min(until, reading.end)
    if begin < reading.end or begin == reading.begin:
        yield replace(reading, begin=begin)


def _unread(readings: Sequence[PartitionReading], end: int) -> Iterator[UnreadSpan]:
    """The gaps between the readings of each partition, from its first one on."""
    by_partition: dict[str, list[PartitionReading]] = {}
    for reading in readings:
        by_partition.setdefault(reading.partition, []).append(reading)
    spans = [span for mine in by_partition.values() for span in _gaps(mine, end)]
    yield from sorted(spans, key=lambda span: (span.started_at, span.partition))


def _gaps(mine: Sequence[PartitionReading], end: int) -> Iterator[UnreadSpan]:
    latest = mine[0]
    for reading in mine[1:]:
        if reading.begin - latest.end > SHORTEST_UNREAD_MS:
            yield _span(latest, reading.begin)
        if reading.end > latest.end:
            latest = reading
    if end - latest.end > SHORTEST_UNREAD_MS and latest.why is not None:
        yield _span(latest, None)


def _span(before: PartitionReading, until: int | None) -> UnreadSpan:
    return UnreadSpan(
        partition=before.partition,
        started_at=before.end,
        ended_at=until,
        client_id=before.client,
        why=before.why or "unknown",
        certain=before.earliest is None,
        from_earliest=before.earliest,
    )
