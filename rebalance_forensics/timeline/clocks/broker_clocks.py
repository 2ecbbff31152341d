"""The differences between the clocks of brokers, from the lines that all brokers log about a cluster metadata record.

All brokers apply a new partition, leader or broker at nearly the same time. A broker that was frozen or restarted
applies what it missed later, especially leaders, so a difference counts only if several kinds of facts agree on it and
none shows equal clocks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.file_clocks import Place, own_clock, place_of
from rebalance_forensics.timeline.time_index import grouped, sets_by_key
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS


class _Fact(NamedTuple):
    kind: Literal["created", "elected", "registered", "unfenced"]
    name: str


class _Broker(NamedTuple):
    """A broker, by its id and the directory and host of its logs."""

    number: int | None
    directory: str
    host: str | None


def broker_skews(events: Sequence[Event]) -> Mapping[Place, int]:
    """Broker log -> how far in ms its clock is ahead of the clocks of most brokers."""
    logs = grouped((e for e in events if e.at is not None), place_of)
    homes = {place: (place[0].rpartition("/")[0], place[1]) for place in logs}
    # Lines about a start name no broker, and a rolled file may have no other lines.
    numbers = {
        place: [e.speaker.broker for e in in_log if e.speaker.broker is not None] for place, in_log in logs.items()
    }
    of_homes = sets_by_key((homes[place], number) for place, in_log in numbers.items() for number in in_log)
    brokers: dict[_Broker, dict[Place, Sequence[Event]]] = defaultdict(dict)
    for place, in_log in logs.items():
        of_home = of_homes[homes[place]]
        likely = numbers[place] or (of_home if len(of_home) == 1 else ())
        usual = next((number for number, _ in Counter(likely).most_common(1)), None)
        brokers[_Broker(usual, *homes[place])][place] = in_log
    if len(brokers) < 2:
        return {}
    facts = {broker: _facts_of(in_logs) for broker, in_logs in sorted(brokers.items(), key=str)}
    reference = next((broker for broker in facts if _agrees_with_most(broker, facts)), None)
    ahead = _chained(facts) if reference is None else {b: _difference(facts[b], facts[reference]) for b in facts}
    return {place: ms for broker, ms in ahead.items() if ms for place in brokers[broker]}


def _agrees_with_most(broker: _Broker, facts: Mapping[_Broker, Mapping[_Fact, int]]) -> bool:
    equal = sum(_difference(facts[broker], of_other) == 0 for other, of_other in facts.items() if other != broker)
    return 2 * (1 + equal) > len(facts)


def _chained(facts: Mapping[_Broker, Mapping[_Fact, int]]) -> dict[_Broker, int | None]:
    """The clocks relative to the broker with which most others can be compared; empty unless it covers all brokers.

    It would be worse to correct half of the clocks by a broker whose own clock is wrong.
    """
    known = {
        broker: {b: ms for b in facts if b != broker and (ms := _difference(facts[b], facts[broker])) is not None}
        for broker in facts
    }
    first = max(known, key=lambda broker: len(known[broker]))
    ahead: dict[_Broker, int | None] = {first: 0}
    compared = [(first, 0)]
    for broker, ms in compared:
        for other, further in known[broker].items():
            if other not in ahead:
                ahead[other] = ms + further
                compared.append((other, ms + further))
    return ahead if len(ahead) == len(facts) else {}


def _facts_of(logs: Mapping[Place, Sequence[Event]]) -> dict[_Fact, int]:
    """When a broker first logged each fact, in UTC; logs of an unknown zone show none."""
    stamped: list[tuple[int, int, Event]] = []
    for place, events in logs.items():
        clock = own_clock(place, events)
        if clock.zone is not None:
            stamped += [(clock.on_group_clock(e.at, zoned=e.zoned), e.origin.byte_offset, e) for e in events if e.at]
    stamped.sort(key=lambda each: each[:2])
    facts = _facts_in(event for _, _, event in stamped)
    backwards = reversed([(fact, at) for fact, (at, _, _) in zip(facts, stamped, strict=True) if fact is not None])
    return dict(backwards)


def _facts_in(events: Iterable[Event]) -> Iterator[_Fact | None]:
    """The fact in each line of a broker's log, or None."""
    incarnations: dict[int | None, str] = {}
    for event in events:
        match event:
            case ev.CoordinatorElected(epoch=int()) | ev.CoordinatorResigned(epoch=int()):
                yield _Fact("elected", f"{event.partition} {event.epoch}")
            case ev.TopicChanged(partition=int()):
                yield _Fact("created", f"{event.topic}-{event.partition}")
            case ev.BrokerStarted(incarnation=str(incarnation)):
                incarnations[_started(event)] = incarnation
                yield _Fact("registered", incarnation)
            case ev.BrokerStarted(unfenced=True):
                registered = incarnations.get(_started(event))
                yield None if registered is None else _Fact("unfenced", registered)
            case _:
                yield None


def _started(event: ev.BrokerStarted) -> int | None:
    return event.speaker.broker if event.broker is None else event.broker


def _difference(own: Mapping[_Fact, int], other: Mapping[_Fact, int]) -> int | None:
    """The clock of a broker minus that of another; 0 for equal clocks, None if the facts do not show it."""
    shared = own.keys() & other.keys()
    if any(abs(own[fact] - other[fact]) <= ROUND_TRIP_MS for fact in shared):
        return 0
    differences = sorted((own[fact] - other[fact], fact.kind) for fact in shared)
    # Counts the differences within a round trip of each other in one pass: a cluster may have thousands of partitions.
    kinds: Counter[str] = Counter()
    end = 0
    for begin, (least, kind) in enumerate(differences):
        while end < len(differences) and differences[end][0] - least <= ROUND_TRIP_MS:
            kinds[differences[end][1]] += 1
            end += 1
        agreeing = end - begin
        if 2 * agreeing > len(differences) and agreeing > max(kinds.values()):
            return differences[begin + (agreeing - 1) // 2][0]
        kinds[kind] -= 1
    return None
