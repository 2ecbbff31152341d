"""Sentences about an incident of a cluster: what happened, to how many groups, and at what cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime

from msgspec import Struct

from rebalance_forensics.diagnosis.cluster.shared_faults import SharedFault, led_by, restarted_in_turn
from rebalance_forensics.diagnosis.episodes.coordinator.partition_of_group import offsets_partition
from rebalance_forensics.diagnosis.model import DisturbedGroup
from rebalance_forensics.diagnosis.wording.durations import capitalized, counted, listed, seconds, some
from rebalance_forensics.records import SECOND_MS, natural
from rebalance_forensics.timeline.model import BrokerOutage, CoordinatorTerm, GroupOutline
from rebalance_forensics.timeline.windows import AT_ONCE_MS, REQUEST_TIMEOUT_MS, ROUND_TRIP_MS

PARTITIONS_SHOWN = 6

Place = tuple[str, str]


class Homes(Struct, frozen=True):
    """The `__consumer_offsets` partition of each group, and the terms of each coordinator."""

    partitions: dict[Place, tuple[int, bool]]
    """(cluster, group) -> partition, and whether a line shows it; otherwise it is computed for 50 partitions.

    Groups without such a line are omitted if other groups show that the topic does not have 50 partitions.
    """
    tenants: dict[tuple[str, int], list[str]]
    terms: dict[Place, list[tuple[str, CoordinatorTerm]]]
    """(cluster, broker) -> the groups that it coordinated, and when."""

    def of_these(self, cluster: str, groups: Sequence[str]) -> str:
        """Return the partitions of these groups in words; empty unless all are known."""
        homes = [home for group in groups if (home := self.partitions.get((cluster, group))) is not None]
        if not homes or len(homes) < len(groups):
            return ""
        numbers = sorted({partition for partition, _ in homes})
        by_name = "" if all(is_logged for _, is_logged in homes) else ", by the hash of their names over 50 partitions"
        shown = ", ".join(map(str, numbers[:PARTITIONS_SHOWN])) + (" …" if len(numbers) > PARTITIONS_SHOWN else "")
        return f"{'partition' if len(numbers) == 1 else 'partitions'} {shown} of __consumer_offsets{by_name}"

    def coordinated_by(self, cluster: str, broker: str, at: int) -> list[str]:
        """Return the groups that a broker coordinated at that time, or that share a partition with one of them."""
        terms = self.terms.get((cluster, broker), ())
        coordinated = [group for group, term in terms if term.overlaps(at - REQUEST_TIMEOUT_MS, at)]
        known_homes = (self.partitions.get((cluster, group)) for group in coordinated)
        homes = {home[0] for home in known_homes if home is not None}
        housed = [group for home in sorted(homes) for group in self.tenants[cluster, home]]
        return sorted({*coordinated, *housed}, key=natural)


def homes_of(histories: Sequence[GroupOutline]) -> Homes:
    """Index the groups, once for all incidents."""
    partitions: dict[Place, tuple[int, bool]] = {}
    tenants: dict[tuple[str, int], list[str]] = defaultdict(list)
    terms: dict[Place, list[tuple[str, CoordinatorTerm]]] = defaultdict(list)
    changed = {h.cluster for h in histories if h.offsets_partition not in (None, offsets_partition(h.group))}
    for history in histories:
        logged = history.offsets_partition
        if logged is not None or history.cluster not in changed:
            home = logged if logged is not None else offsets_partition(history.group)
            partitions[history.cluster, history.group] = home, logged is not None
            tenants[history.cluster, home].append(history.group)
        for term in history.coordinators:
            terms[history.cluster, term.broker].append((history.group, term))
    return Homes(partitions, tenants, terms)


NAMES_SHOWN = 6
WHAT_BROKERS_DID = {
    "shut-down": "was shut down",
    "failed": "gave up after a fatal error",
    "lost": "went down",
    "froze": "stood still",
    "unreachable": "was out of reach",
}


def summary_of(fault: SharedFault, groups: Sequence[DisturbedGroup]) -> str:
    """Return what happened and its effect, in two sentences."""
    return f"{_happened(fault, groups)}. {_cost(groups)}"


def group_sentence(summaries: Sequence[str]) -> str:
    """Return what one group's own lines show, from the summaries of its incidents."""
    return summaries[0] if len(summaries) == 1 else f"{summaries[0]} ({len(summaries)} times)"


def overruled_because(fault: SharedFault) -> str:
    """Return why the cause that one group's lines suggest is wrong."""
    together = f"{counted(len({part.group for part in fault.parts}), 'group')} were disturbed at the same time"
    return f"{_what(fault)}; {together}"


def _happened(fault: SharedFault, groups: Sequence[DisturbedGroup]) -> str:
    if fault.kind == "unknown":
        return f"The logs do not show what disturbed {len(groups)} groups at the same time"
    return f"{_what(fault)}; {len(groups)} groups were disturbed"


def _what(fault: SharedFault) -> str:
    names = [culprit.name for culprit in fault.culprits]
    if fault.kind == "broker":
        return _brokers(names, fault)
    if fault.kind == "host":
        return _hosts(names, fault)
    if fault.kind == "deployment":
        in_turn = any(part.cause == fault.cause for part in fault.parts)
        return f"A deployment restarted the members of several groups{' one after another' if in_turn else ''}"
    if fault.kind == "topic":
        return f"{'Topics' if len(names) > 1 else 'Topic'} {some(names, NAMES_SHOWN)} changed"
    return "Members of several groups were refused: their credentials or permissions are no longer valid"


def _hosts(names: Sequence[str], fault: SharedFault) -> str:
    if fault.culprits[0].kind != "host":
        shared = "as when a host or a network path that they share fails"
        return f"{some(names, NAMES_SHOWN)} fell silent at the same moment, {shared}"
    hosts = f"{'host' if len(names) == 1 else 'hosts'} {some(names, NAMES_SHOWN)}"
    if fault.cause == "process-crash":
        # They may be one process: a worker is a member of its Connect cluster and of its sink connectors' groups.
        return f"The members on {hosts} died together"
    cut_off = "was cut off" if len(names) == 1 else "were cut off"
    verb = cut_off if fault.cause == "network-partition" else "stood still"
    return f"{capitalized(hosts)} {verb}: {'its' if len(names) == 1 else 'their'} members fell silent together"


def _brokers(names: Sequence[str], fault: SharedFault) -> str:
    if not names and fault.cause == "offsets-topic-unavailable":
        return "__consumer_offsets could not be written"
    if not names:
        return "The coordinator changed"
    by_name: dict[str, list[BrokerOutage]] = {name: [o for o in fault.outages if o.broker == name] for name in names}
    if len(names) > 1:
        together = listed(names)
        if restarted_in_turn(fault):
            planned = all(outage.how == "shut-down" for outage in fault.outages)
            return f"{together} {'were restarted in turn' if planned else 'went down and came back in turn'}"
        if fault.is_shared:
            return f"{together} stopped answering at the same time"
        return f"{together} {'were out' if fault.outages else 'stopped coordinating their groups'}"
    outages, begin = by_name[names[0]], fault.parts[0].begin
    # It may have been out for a session before a line shows it; what disturbed its groups before that was no outage.
    at = _clock(outages[0].started_at if outages and outages[0].started_at - begin > AT_ONCE_MS else begin)
    if not outages:
        if fault.cause == "offsets-topic-unavailable":
            return f"__consumer_offsets could not be written because of {names[0]}"
        return f"{names[0]} stopped coordinating its groups at {at}"
    times = f" at least {len(outages)} times" if len(outages) > 1 else ""
    unwritten = ", and __consumer_offsets could not be written" if fault.cause == "offsets-topic-unavailable" else ""
    since = f"{times} from {at} on" if times else f" at {at}"
    return f"{names[0]} {WHAT_BROKERS_DID[outages[0].how]}{since}{unwritten}"


def _clock(at: int) -> str:
    return f"{datetime.fromtimestamp(at / SECOND_MS, UTC):%H:%M:%S} UTC"


def _cost(groups: Sequence[DisturbedGroup]) -> str:
    rebalanced = sum(group.impact.rebalances > 0 for group in groups)
    unread = [group.impact.longest_unread_ms or 0 for group in groups if group.impact.unread_partition_ms]
    # Every eager rebalance stops its group briefly: only a stop that shows in the consumer lag is mentioned.
    stops = [ms for group in groups if (ms := group.impact.stopped_ms or 0) >= ROUND_TRIP_MS]
    # Groups whose logs show only expired sessions may have rebalanced nevertheless.
    none = "none rebalanced" if unread or stops else "no rebalance was logged"
    costs = [f"{_share(rebalanced, groups)} rebalanced" if rebalanced else none]
    if unread:
        costs.append(f"{_share(len(unread), groups)} left partitions unread for up to {seconds(max(unread))}")
    if stops:
        longest = f"{'up to ' if stops[1:] else ''}{seconds(max(stops))}"
        costs.append(f"{_share(len(stops), groups)} stopped reading altogether for {longest}")
    text = listed(costs)
    led = sorted({partition for group in groups for partition in group.led}, key=natural)
    without = f" Meanwhile nobody could fetch {some(led)}, which it led." if led else ""
    return f"{capitalized(text)}.{without}"


def _share(number: int, groups: Sequence[DisturbedGroup]) -> str:
    every = "both" if len(groups) == 2 else f"all {number}"
    return every if number == len(groups) > 1 else "one" if number == 1 else str(number)


def narrative_of(fault: SharedFault, groups: Sequence[DisturbedGroup], histories: Sequence[GroupOutline]) -> str:
    """Return what only the groups together show; the summary if there is nothing."""
    if fault.kind != "broker" or not fault.culprits:
        return summary_of(fault, groups)
    cluster = fault.parts[0].headline.cluster
    homes = homes_of(histories)
    names = [group.group for group in groups]
    sentences = []
    for culprit in fault.culprits[:3]:
        coordinated = homes.coordinated_by(cluster, culprit.name, fault.parts[0].begin)
        affected = [name for name in names if name in coordinated]
        if affected:
            where = homes.of_these(cluster, affected)
            share = "all" if len(affected) == len(names) else f"{len(affected)} of the"
            sentences.append(
                f"{culprit.name} coordinated {share} {len(names)} groups{f' ({where})' if where else ''}"
                f"{_spared(coordinated, names)}."
            )
    if any(outage.is_fenced for outage in fault.outages):
        sentences.append("The controller fenced it." if len(fault.culprits) == 1 else "The controller fenced them.")
    by_group = {h.group: led_by(fault, h) for h in histories if h.cluster == cluster}
    readers = {group: partitions for group, partitions in by_group.items() if partitions}
    if led := sorted(set().union(*readers.values())):
        spared = len(readers.keys() - set(names))
        if len(readers) == 1:
            also = ", which shows no other disturbance" if spared else ""
        else:
            also = f" ({spared} of them {'show' if spared > 1 else 'shows'} no other disturbance)" if spared else ""
        # A fetch returns no records above the high watermark, which waits for all in-sync replicas (KIP-497).
        sentences.append(
            f"It led {some(led)}, read by {counted(len(readers), 'group')}{also}: nobody could fetch "
            f"{'them' if led[1:] else 'it'} until it was back or the controller had elected another leader. Members "
            "went on fetching other partitions; those with a replica on it gain no readable records until it drops out "
            "of the ISR (replica.lag.time.max.ms)."
        )
    return " ".join(sentences) or summary_of(fault, groups)


def _spared(coordinated: Sequence[str], disturbed: Sequence[str]) -> str:
    spared = [name for name in coordinated if name not in disturbed]
    return f"; {some(spared, NAMES_SHOWN)} depended on it as well, and no line shows a disturbance" if spared else ""
