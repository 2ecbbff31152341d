"""The brokers' clocks against one another, by what all of them log of one record in the cluster's metadata.

Every broker applies a new partition, a new leader and a new broker within a moment. One that stood still or started
applies what it missed later, leaders above all, so a difference counts only where several kinds of facts agree on it
and none shows equal clocks.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clocks.file_clocks import Place, own_clock, place_of
from rebalance_forensics.timeline.time_index import grouped
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS

_CREATED = re.compile(r"Created log for partition (\S+)")  # LogManager
# BrokerLifecycleManager of a broker, ClusterControlManager of the controller
_REGISTERED = re.compile(r"Incarnation (\S+) of broker|ncarnation ID is ([^\s.]+)")
_UNFENCED = ("to unfence has been granted", "The broker has been unfenced")


class _Fact(NamedTuple):
    kind: Literal["created", "elected", "registered", "unfenced"]
    name: str


class _Broker(NamedTuple):
    """A broker by its number and by the directory and host of its logs."""

    number: int | None
    directory: str
    host: str | None


def broker_skews(events: Sequence[Event]) -> Mapping[Place, int]:
    """How far, in ms, the clocks of some brokers' logs are ahead of those of most brokers."""
    logs = grouped((e for e in events if e.at is not None), place_of)
    brokers: dict[_Broker, dict[Place, Sequence[Event]]] = defaultdict(dict)
    for place, in_log in logs.items():
        number, _ = Counter(e.speaker.broker for e in in_log).most_common(1)[0]
        brokers[_Broker(number, place[0].rpartition("/")[0], place[1])][place] = in_log
    if len(brokers) < 2:
        return {}
    found = {broker: _facts_of(in_logs) for broker, in_logs in brokers.items()}
    ordered = sorted(found, key=str)

    def equal(broker: _Broker) -> int:
        return sum(_difference(found[broker], found[other]) == 0 for other in ordered if other != broker)

    # The first of a majority that agrees; of two that differ the first.
    agreeing = (broker for broker in ordered if 2 * (1 + equal(broker)) > len(ordered))
    reference = next(agreeing, None) or max(ordered, key=equal)
    others = (broker for broker in ordered if broker != reference)
    skews = ((broker, ms) for broker in others if (ms := _difference(found[broker], found[reference])))
    return {place: ms for broker, ms in skews for place in brokers[broker]}


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
    """For each line of a broker's log the fact in it."""
    incarnations: dict[int | None, str] = {}
    for event in events:
        match event:
            case ev.CoordinatorElected(epoch=int()) | ev.CoordinatorResigned(epoch=int()):
                yield _Fact("elected", f"{event.partition} {event.epoch}")
            case ev.TopicChanged() if created := _CREATED.search(event.text):
                yield _Fact("created", created[1])
            case ev.BrokerStarted() if begun := _REGISTERED.search(event.text):
                incarnations[_started(event)] = begun[1] or begun[2]
                yield _Fact("registered", begun[1] or begun[2])
            case ev.BrokerStarted() if any(words in event.text for words in _UNFENCED):
                incarnation = incarnations.get(_started(event))
                yield None if incarnation is None else _Fact("unfenced", incarnation)
            case _:
                yield None


def _started(event: ev.BrokerStarted) -> int | None:
    return event.speaker.broker if event.broker is None else event.broker


def _difference(own: Mapping[_Fact, int], other: Mapping[_Fact, int]) -> int | None:
    """The clock of a broker minus that of another; 0 for equal clocks, None where the facts do not show it."""
    shared = own.keys() & other.keys()
    if any(abs(own[fact] - other[fact]) <= ROUND_TRIP_MS for fact in shared):
        return 0
    differences = sorted((own[fact] - other[fact], fact.kind) for fact in shared)
    # Those within a round trip of each difference, in one pass: a cluster has many thousands of partitions.
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
