"""Stalled coordinators, recognized by sessions of several groups that their timers expire at one moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import comb

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.cluster.host_index import HostIndex
from rebalance_forensics.diagnosis.episodes.coordinator.broker_outages import unseen_ms
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.timeline.identity.names import number_in_jvm
from rebalance_forensics.timeline.model import BrokerOutage, CoordinatorTerm, GroupOutline, Loss
from rebalance_forensics.timeline.time_index import TimeIndex, grouped, lists_by_key
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    HEARTBEAT_MS,
    ONE_REBALANCE_MS,
    REQUEST_MS,
    ROUND_TRIP_MS,
    TICK_MS,
)

Terms = Mapping[str, Sequence[CoordinatorTerm]]
"""Group -> its coordinators, and when."""

Places = Mapping[str, Mapping[str, str]]
"""Group -> member -> its host."""

# At most this many lines are kept as evidence of a stall; the others would repeat them.
MOST_LINES = 4
# A less probable coincidence is not considered one.
CHANCE = 0.05


class Stall(Struct, frozen=True):
    """Sessions of several groups that expired together, from `at` to `until`, and the outage that caused it."""

    at: int
    until: int
    outage: BrokerOutage
    lost: tuple[tuple[str, str], ...]
    """Lost members, as (group, member)."""

    @property
    def groups(self) -> frozenset[str]:
        """The groups that lost members."""
        return frozenset(group for group, _ in self.lost)


def coordinator_stalls(
    histories: Sequence[GroupOutline], logged: Iterable[BrokerOutage], terms: Terms, host_index: HostIndex
) -> list[Stall]:
    """Return the stalls of a cluster's coordinators, each with its outage, from `logged` if one explains it."""
    explained = (_explained(stall, logged, terms) for stall in _stalls(histories, host_index))
    return [stall for stall in explained if stall is not None]


def _stalls(histories: Sequence[GroupOutline], host_index: HostIndex) -> list[Stall]:
    """Return the times at which one broker expired sessions of several groups within a tick of its timers.

    Members send heartbeats at different times, so that even sessions lost to one fault expire spread over a heartbeat
    interval. They expire together only if all timers of the coordinator are overdue: it stalled while its clock kept
    running. It then loses members of every process; a burst of members of one process points to that process.
    """
    pairs = [(loss, history.group) for history in histories for loss in history.losses]
    outlines = {history.group: history for history in histories}
    found = []
    for broker, losses in sorted(grouped(pairs, lambda pair: pair[0].broker).items()):
        elsewhere = TimeIndex((loss.at for loss, _ in pairs if loss.broker != broker), int)
        together = runs(losses, lambda loss: loss[0].at, 2 * TICK_MS)
        several = (burst for burst in together if len(burst) > 1 and not _of_one_process(burst))
        bursts = [burst for burst in several if not _on_few_hosts(outlines, host_index, burst)]
        sure = [burst for burst in bursts if len(burst) > 2 and _ended_by_one_timer(burst, elsewhere)]
        # If a broker is known to have stalled, members that one group loses at once were lost to the stall, too, and so
        # were, about that time, two members of two groups.
        stalls = [_stall_of(broker, burst) for burst in sure]
        of_several = TimeIndex((stall.at for stall in stalls if len(stall.groups) > 1), int)
        if of_several:
            pairs_of_groups = [
                _stall_of(broker, b) for b in bursts if len(b) == 2 and _ended_by_one_timer(b, elsewhere)
            ]
            found += stalls
            found += [
                stall
                for stall in pairs_of_groups
                if len(stall.groups) > 1
                and of_several.any_between(stall.at - ONE_REBALANCE_MS, stall.at + ONE_REBALANCE_MS)
            ]
    return found


def _ended_by_one_timer(burst: Sequence[tuple[Loss, str]], elsewhere: TimeIndex[int]) -> bool:
    """True if sessions of several members of a group, or of several groups, expired together.

    A host with one member of each of many groups loses them spread over a heartbeat interval. Hosts that are cut off
    lose members at every coordinator: `elsewhere` has the times at which other brokers lost some.
    """
    begin, end = burst[0][0].at, burst[-1][0].at
    # In a stall, other brokers lose only a few members of KIP-848 groups, whose heartbeats wait for its replica. If
    # hosts are cut off, they lose as many members.
    lost_elsewhere = len(elsewhere.between(begin - HEARTBEAT_MS, end + HEARTBEAT_MS))
    if lost_elsewhere >= len(burst):
        return False
    if end - begin <= REQUEST_MS:
        return True
    by_group = lists_by_key((group, loss.at) for loss, group in burst)
    spans = [times[-1] - times[0] for times in by_group.values() if len(times) > 1]
    # A broker with hundreds of groups takes seconds to expire them, but expires each group within one timer tick.
    group_by_group = sum(span <= REQUEST_MS for span in spans)
    if group_by_group > 1 and 2 * group_by_group > len(spans):
        return True
    return bool(spans) and len(by_group) > 1 and end - begin <= ROUND_TRIP_MS and not lost_elsewhere


def _of_one_process(burst: Iterable[tuple[Loss, str]]) -> bool:
    """True if the client ids are numbered by one JVM, which counts all of its consumers whatever their groups."""
    numbers = [number_in_jvm(loss.member) for loss, _ in burst]
    return None not in numbers and len(set(numbers)) == len(numbers)


def _on_few_hosts(outlines: Mapping[str, GroupOutline], hosts: HostIndex, burst: Sequence[tuple[Loss, str]]) -> bool:
    """True if every group lost the same few members: their hosts were cut off, or paused.

    A stalled coordinator loses members on any host. The probability that a group loses just the members that others
    lost by chance follows from the number of ways to choose that many of its members.
    """
    groups = {group for _, group in burst}
    places_of_all = (_hosts_of(outlines, hosts, groups), _numbers_of(outlines, groups))
    known = (places for places in places_of_all if all(loss.member in places[group] for loss, group in burst))
    if (places := next(known, None)) is None:
        return False
    lost: dict[str, set[str]] = defaultdict(set)
    for loss, group in burst:
        lost[group].add(places[group][loss.member])
    hit, chance = set[str](), 1.0
    for group in sorted(lost, key=lambda group: -len(lost[group])):
        of_group, number = set(places[group].values()), len(lost[group])
        if lost[group] <= hit:
            chance *= comb(len(hit & of_group), number) / comb(len(of_group), number)
        hit |= lost[group]
    return chance < CHANCE


def _hosts_of(outlines: Mapping[str, GroupOutline], hosts: HostIndex, groups: Iterable[str]) -> Places:
    return {group: hosts.hosts.get((outlines[group].cluster, group), {}) for group in groups}


def _numbers_of(outlines: Mapping[str, GroupOutline], groups: Iterable[str]) -> Places:
    """Return the number at the end of each member's name: in many deployments it identifies the host."""
    return {
        group: {
            each.name: number
            for each in outlines[group].identities
            if (number := _number(each.instance_id or each.client_id))
        }
        for group in groups
    }


def _number(name: str | None) -> str:
    return (name or "")[len((name or "").rstrip("0123456789")) :]


def _stall_of(broker: str, burst: Sequence[tuple[Loss, str]]) -> Stall:
    begin, end = burst[0][0].at, burst[-1][0].at
    lines = tuple(loss.evidence for loss, _ in burst[:MOST_LINES])
    outage = BrokerOutage(broker=broker, started_at=begin, ended_at=end, how="froze", evidence=lines)
    return Stall(begin, end, outage, tuple((group, loss.member) for loss, group in burst))


def _explained(stall: Stall, logged: Iterable[BrokerOutage], terms: Terms) -> Stall | None:
    """Attribute the stall to the outage of another broker, if there was one: this one ran but could not respond.

    A KIP-848 coordinator answers a heartbeat only when its write is committed (acks=all), which waits for the failed
    replica; sessions expire together although it is running. None if only groups that this broker takes over then show
    that another one failed.
    """
    name = stall.outage.broker
    for outage in logged:
        end = outage.started_at + AT_ONCE_MS if outage.ended_at is None else outage.ended_at
        # A broker that has been down for long is out of the ISR, and no write waits for it.
        is_new = stall.at - ONE_REBALANCE_MS <= outage.started_at <= stall.at + unseen_ms(outage.how)
        if outage.broker != name and is_new and stall.at <= end + TICK_MS:
            return replace(stall, outage=outage)
    began = (term.started_at for of_group in terms.values() for term in of_group if term.broker == name)
    took_over = any(begin is not None and stall.at - TICK_MS <= begin <= stall.at + AT_ONCE_MS for begin in began)
    return None if took_over else stall
