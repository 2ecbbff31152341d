"""Faults of one broker, host, deployment, topic or credential that disturbed several groups at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, pairwise
from operator import attrgetter
from typing import Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from rebalance_forensics.diagnosis.cluster.host_index import HostIndex
from rebalance_forensics.diagnosis.cluster.stalls import MOST_LINES, Stall, Terms, coordinator_stalls
from rebalance_forensics.diagnosis.engine.confidence import LIKELY, PROBABLE
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Culprit, Headline
from rebalance_forensics.diagnosis.wording.culprits import broker_named, topic_culprits
from rebalance_forensics.records import natural
from rebalance_forensics.timeline.model import BrokerOutage, CoordinatorTerm, GroupOutline
from rebalance_forensics.timeline.time_index import TimeIndex, grouped, lists_by_key
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    HEARTBEAT_MS,
    METADATA_AGE_MS,
    NEXT_HEARTBEAT_MS,
    ONE_REBALANCE_MS,
    QUIET_MS,
    REQUEST_TIMEOUT_MS,
    ROUND_TRIP_MS,
    SESSION_MS,
    SUCCESSION_MS,
    TICK_MS,
)

FaultKind = Literal["broker", "host", "deployment", "topic", "credential", "unknown"]
BROKERS_FAULT = frozenset({"coordinator-failover", "offsets-topic-unavailable"})
FOLLOWS_A_BROKER = frozenset({
    *("network-partition", "process-pause", "rebalance-straggler", "unexplained", "unstable-leader"),
    *("enforced-rebalance", "scale-out", "startup", "member-removed", "static-member-expired"),
    "authorization-failure",
})  # fmt: skip
"""Causes that a group's own lines suggest if its coordinator does not respond and no line shows the broker."""
FALLEN_SILENT = frozenset({"process-pause", "process-crash", "network-partition", "static-member-expired"})
RESTARTED = frozenset({"rolling-restart", "static-member-restart"})
LEAVES_AND_JOINS = frozenset({"member-left", "scale-in", "scale-out"})


class Part(Struct, frozen=True):
    """An incident of one group: its case and its number there, its likeliest cause and its start."""

    headline: Headline
    case: int
    number: int
    cause: str = ""
    begin: int = 0

    def __post_init__(self) -> None:
        """Cache what is needed of each incident many times."""
        force_setattr(self, "cause", self.headline.root_causes[0].cause)
        force_setattr(self, "begin", self.headline.started_at)

    @property
    def end(self) -> int:
        """The time at which it ended, or started if it is ongoing."""
        return self.headline.started_at if self.headline.ended_at is None else self.headline.ended_at

    @property
    def group(self) -> str:
        """The group."""
        return self.headline.group or ""

    def culprits(self, *kinds: str) -> list[str]:
        """Return the names of its culprits of these kinds."""
        return [c.name for c in self.headline.root_causes[0].culprits if c.kind in kinds]


class SharedFault(Struct, frozen=True, kw_only=True):
    """A fault that disturbed several groups."""

    kind: FaultKind
    cause: str
    culprits: tuple[Culprit, ...]
    parts: tuple[Part, ...]
    """Its incidents, by time and group."""
    outages: tuple[BrokerOutage, ...] = ()
    is_shared: bool = False
    """True if no line shows that the blamed brokers were at fault: several stopped responding at one moment, or the
    broker is only what the groups have in common."""


Moments = Callable[[Part], Iterable[int]]
Find = Callable[[Sequence[GroupOutline], Sequence[Part]], list[SharedFault]]


def shared_faults(
    histories: Sequence[GroupOutline], parts: Sequence[Part], host_index: HostIndex, moments_of: Moments
) -> Iterator[SharedFault]:
    """Return the faults that several groups share, broadest kind first; an incident belongs to at most one fault.

    `moments_of` returns the times of the lines that support an incident.
    """
    left = list(parts)
    finders: tuple[Find, ...] = (
        partial(_of_brokers, host_index=host_index, moments_of=moments_of),
        _of_credentials,
        partial(_of_hosts, host_index=host_index),
        _of_deployments,
        _of_topics,
        _shared_unexplained,
    )
    for cluster in sorted({history.cluster for history in histories}):
        of_cluster = [history for history in histories if history.cluster == cluster]
        for find in finders:
            found = find(of_cluster, [part for part in left if part.headline.cluster == cluster])
            taken = {id(part) for fault in found for part in fault.parts}
            left = [part for part in left if id(part) not in taken]
            yield from found


# Brokers


def _of_brokers(
    histories: Sequence[GroupOutline], parts: Sequence[Part], *, host_index: HostIndex, moments_of: Moments
) -> list[SharedFault]:
    terms = {history.group: history.coordinators for history in histories}
    logged = list(dict.fromkeys(chain.from_iterable(history.outages for history in histories)))
    logged += _out_of_reach(histories)
    reaching = {(m.broker, history.group, m.member) for history in histories for m in history.unreached}
    silent = TimeIndex((part for part in parts if part.cause in FALLEN_SILENT), attrgetter("begin"))
    stalls = [
        stall
        for stall in coordinator_stalls(histories, logged, terms, host_index)
        if not _lost_with_their_hosts(stall, silent, terms, host_index)
    ]
    outages = _outages([*logged, *(stall.outage for stall in stalls)])
    stalls_of = lists_by_key((group, stall) for stall in stalls for group in stall.groups)
    faults = [part for part in parts if part.cause in BROKERS_FAULT or _stalled(part, stalls_of) is not None]
    doubtful = TimeIndex(filter(_may_follow_a_broker, parts), attrgetter("begin"))
    found: list[SharedFault] = []
    taken: set[int] = set()
    for run in runs(faults, lambda part: part.begin, QUIET_MS, until=lambda part: part.end):
        for brokers, of_brokers, is_shared in _by_brokers(run, outages, stalls_of, terms, doubtful):
            known = tuple([o for b in brokers for o in outages.get(b, ()) if _is_near(o, of_brokers)])
            follow = _explained_by_outages(doubtful, known, terms, reaching, taken)
            affected = {id(part): part for part in (*of_brokers, *follow) if id(part) not in taken}
            moments = {at for part in affected.values() for at in moments_of(part)} if doubtful else set()
            at_once = _at_the_same_moment(doubtful, moments, brokers, terms)
            affected |= {id(part): part for part in at_once if id(part) not in taken}
            if len({part.group for part in affected.values()}) < 2:
                continue
            taken |= affected.keys()
            found.append(
                SharedFault(
                    kind="broker",
                    cause=_brokers_cause(of_brokers, known),
                    culprits=tuple(map(broker_named, brokers)),
                    parts=_in_order(affected.values()),
                    outages=tuple(sorted(known, key=lambda o: (o.started_at, o.broker))),
                    is_shared=is_shared,
                )
            )
    return found


def _out_of_reach(histories: Iterable[GroupOutline]) -> Iterator[BrokerOutage]:
    """Yield brokers to which members of several groups failed to connect at once while they reached other brokers."""
    pairs = ((missed, history.group) for history in histories for missed in history.unreached)
    for broker, missing in sorted(grouped(pairs, lambda pair: pair[0].broker).items()):
        for run in runs(missing, lambda m: m[0].started_at, ROUND_TRIP_MS, until=lambda m: m[0].ended_at):
            if len({group for _, group in run}) > 1:
                yield BrokerOutage(
                    broker=broker,
                    started_at=run[0][0].started_at,
                    ended_at=max(missed.ended_at for missed, _ in run),
                    how="unreachable",
                    evidence=tuple(missed.evidence for missed, _ in run[:MOST_LINES]),
                )


StallsOf = Mapping[str, Sequence[Stall]]
"""Group -> the stalls in which it lost members, oldest first."""


def _stalled(part: Part, stalls: StallsOf) -> str | None:
    """Return the broker whose stall this group's own lines show as a pause of its members, if any."""
    verdict = part.headline.root_causes[0]
    # A group that lost all its members looks shut down; members that the logs do not mention again look crashed.
    looks_so = part.cause == "shutdown" or (part.cause == "process-crash" and verdict.confidence < PROBABLE)
    # Even at 0.9 its own lines only suggest that all members paused or were cut off at the same moment.
    looks_likely = part.cause in ("process-pause", "network-partition") and verdict.confidence <= LIKELY
    if (verdict.confidence >= LIKELY and not looks_likely) or not (
        looks_so or (part.cause in FOLLOWS_A_BROKER and not _is_planned(part))
    ):
        return None
    # A session expires at most a session timeout after the last heartbeat, at which the incident starts.
    begin, end = part.begin - ROUND_TRIP_MS, max(part.end, part.begin + SESSION_MS) + TICK_MS
    near = (stall for stall in stalls.get(part.group, ()) if begin <= stall.until and stall.at <= end)
    return next((stall.outage.broker for stall in near), None)


def _lost_with_their_hosts(stall: Stall, silent: TimeIndex[Part], terms: Terms, host_index: HostIndex) -> bool:
    """True if groups of other coordinators also lost members, all on these hosts: then the hosts were cut off."""
    near = silent.between(stall.at - SESSION_MS, stall.at + SESSION_MS)
    if not near:
        return False
    places = {group: host_index.hosts.get((near[0].headline.cluster, group), {}) for group in stall.groups}
    hosts = {places[group].get(member) for group, member in stall.lost}
    if None in hosts or hosts.issuperset(host for of_group in places.values() for host in of_group.values()):
        return False
    # A group without a known coordinator may belong to this one.
    coordinators = ((part, _brokers_in(terms, part.group)) for part in near)
    elsewhere = [part for part, brokers in coordinators if brokers and stall.outage.broker not in brokers]
    hosts_of_parts = [hosts_of_part(host_index, part) for part in elsewhere]
    on_them = all(of_part and hosts.issuperset(of_part) for of_part in hosts_of_parts)
    return len({part.group for part in elsewhere}) > 2 and on_them


def _is_planned(part: Part) -> bool:
    return part.headline.severity == "info" and part.cause != "unexplained"


def _may_follow_a_broker(part: Part) -> bool:
    # A logged rejection is the response of a running broker, and a restart changes neither passwords nor ACLs.
    answered = part.cause == "authorization-failure" and part.headline.root_causes[0].confidence >= PROBABLE
    return part.cause in FOLLOWS_A_BROKER and not _is_planned(part) and not answered


def _outages(logged: Iterable[BrokerOutage]) -> dict[str, list[BrokerOutage]]:
    """Return the outages of each broker; reports of several groups become one, from the first sign to the last."""
    return {
        broker: [
            _merged(run)
            for run in runs(
                of_broker, lambda o: o.started_at, ROUND_TRIP_MS, until=lambda o: o.ended_at or o.started_at
            )
        ]
        for broker, of_broker in sorted(grouped(logged, attrgetter("broker")).items())
    }


_CLEAREST_FIRST = ("failed", "shut-down", "froze", "lost", "unreachable")


def _merged(run: Sequence[BrokerOutage]) -> BrokerOutage:
    best = min(run, key=lambda o: (_CLEAREST_FIRST.index(o.how), o.started_at))
    ends = [o.ended_at for o in run if o.ended_at is not None]
    lines = sorted(
        dict.fromkeys(line for o in sorted(run, key=lambda o: _CLEAREST_FIRST.index(o.how)) for line in o.evidence),
        key=lambda line: (line.timestamp or 0, line.path, line.line),
    )
    return BrokerOutage(
        broker=best.broker,
        started_at=min(o.started_at for o in run),
        ended_at=max(ends, default=None),
        how=best.how,
        evidence=tuple(lines),
        behind=next((o.behind for o in run if o.behind), ()),
        is_fenced=any(o.is_fenced for o in run),
    )


def _is_near(outage: BrokerOutage, parts: Sequence[Part]) -> bool:
    """True if the broker failed or came back about when these incidents started or lasted."""
    # Only these times matter: a broker that has been down for an hour is out of the ISR and coordinates no group.
    begin, end = min(part.begin for part in parts), max(part.end for part in parts) + REQUEST_TIMEOUT_MS
    back_at = outage.ended_at if outage.ended_at is not None else outage.started_at
    return begin - ONE_REBALANCE_MS <= outage.started_at <= end or begin - REQUEST_TIMEOUT_MS <= back_at <= end


def _by_brokers(
    run: Sequence[Part],
    outages: Mapping[str, Sequence[BrokerOutage]],
    stalls: StallsOf,
    terms: Terms,
    doubtful: TimeIndex[Part],
) -> list[tuple[list[str], list[Part], bool]]:
    """Yield the incidents of one time span by the brokers that caused them; a broker that kept running caused none.

    The last value is True if the brokers have only the time in common.
    """
    blamed = {id(part): _brokers_of(part, stalls) for part in run}
    out = {name for name, known in outages.items() if any(_is_near(outage, run) for outage in known)}
    down = {name for names in blamed.values() for name in names} & out or out
    in_turn = {name for name in down if all(o.how == "shut-down" for o in outages[name] if _is_near(o, run))}
    components: list[tuple[set[str], list[Part], bool]] = []
    for part in run:
        names = set(blamed[id(part)])
        if down:
            # A broker without an outage kept running, but could not respond while another one was down.
            names &= down | _lost_by(part, names, terms)
            names = names or {_nearest(part, down, outages)}
        if names & in_turn and len(in_turn) > 1:
            names |= in_turn
        joined = [component for component in components if component[0] & names or not names]
        # Coordinators that all stop responding at one moment have a common reason: no outage of any is known.
        near = part.begin - AT_ONCE_MS, part.begin + AT_ONCE_MS
        apart = [component for component in components if component not in joined and not down]
        at_once = [c for c in apart if any(other.begin <= near[1] and other.end >= near[0] for other in c[1])]
        joined += at_once
        merged = (
            names.union(*(c[0] for c in joined)),
            [*chain.from_iterable(c[1] for c in joined), part],
            bool(at_once) or any(c[2] for c in joined),
        )
        components = [c for c in components if c not in joined] + [merged]
    return [
        _narrowed(names, parts, terms, doubtful) if shared else (sorted(names, key=natural), parts, False)
        for names, parts, shared in components
    ]


def _lost_by(part: Part, names: Collection[str], terms: Terms) -> set[str]:
    """Those of the brokers that lost this group to another one, except to one that took it over again."""
    # A broker that returns is the preferred leader again: its groups move back from brokers that kept running.
    begin, end = part.begin - ROUND_TRIP_MS, part.end + REQUEST_TIMEOUT_MS
    lost: list[str] = []
    for term, following in pairwise(terms[part.group]):
        if begin <= (following.started_at or 0) <= end and following.broker not in lost:
            lost.append(term.broker)
    return {*lost} & {*names}


def _brokers_of(part: Part, stalls: StallsOf) -> list[str]:
    stalled = _stalled(part, stalls)
    return part.culprits("broker") if stalled is None else [stalled]


def _narrowed(
    names: Collection[str], parts: list[Part], terms: Terms, doubtful: TimeIndex[Part]
) -> tuple[list[str], list[Part], bool]:
    """Return the only broker whose groups moved or rebalanced, if any, else all; and whether that leaves several.

    That may be none of those that stopped responding: while a replica stalls, other coordinators cannot answer commits,
    and heartbeats behind these on the same connection wait (a broker handles one request per connection at a time).
    But those coordinators still receive heartbeats, keep their groups, and expire no sessions.
    """
    affected = {part.group for part in parts}
    begin, end = min(part.begin for part in parts), max(part.end for part in parts) + ONE_REBALANCE_MS
    # Brokers from which another one took over a group in this time.
    moves = chain.from_iterable(_moves(terms.get(group, ())) for group in affected)
    left = {before.broker for before, at in moves if begin <= at <= end}.intersection(names)
    # A group may blame its own members for a fault of its coordinator.
    meanwhile = doubtful.between(begin - SESSION_MS, end)
    harmed = {part.group for part in (*parts, *meanwhile) if part.headline.impact.rebalances}
    behind = set[str]().union(*(_brokers_in(terms, group) for group in harmed))
    if len(left) == 1 and len(affected) > 1:
        return sorted(left), parts, False
    if len(behind) == 1 and len(harmed) > 1 and all(terms.get(group) for group in harmed):
        return sorted(behind), parts, False
    return sorted(names, key=natural), parts, True


def _moves(terms: Sequence[CoordinatorTerm]) -> Iterator[tuple[CoordinatorTerm, int]]:
    """Yield the coordinators' terms that ended because a new coordinator took the group over, and when.

    A group that returns to a former coordinator shows that this one is back (auto.leader.rebalance.enable), not that
    the other one failed.
    """
    former = set[str]()
    for before, after in pairwise(terms):
        former.add(before.broker)
        if after.broker not in former and after.started_at is not None:
            yield before, after.started_at


def _brokers_in(terms: Terms, group: str) -> set[str]:
    return {term.broker for term in terms.get(group, ())}


def _nearest(part: Part, down: Iterable[str], outages: Mapping[str, Sequence[BrokerOutage]]) -> str:
    return min(sorted(down), key=lambda name: min(abs(o.started_at - part.begin) for o in outages[name]))


def led_by(fault: SharedFault, history: GroupOutline) -> tuple[str, ...]:
    """Return the group's partitions that a broker led when it failed; a clean shutdown moves leadership first."""
    first = {o.broker: o for o in reversed(fault.outages) if o.how != "shut-down"}
    found = set[str]()
    for name, outage in first.items():
        before = {seen.partition: seen.broker for seen in history.leaders if seen.at <= outage.started_at}
        found |= {partition for partition, leader in before.items() if leader == name}
    return tuple(sorted(found))


def restarted_in_turn(fault: SharedFault) -> bool:
    """True if each broker was down once, one after another, as in a rolling restart."""
    brokers = [outage.broker for outage in fault.outages]
    if len(set(brokers)) < 2 or {culprit.name for culprit in fault.culprits} != set(brokers):
        return False
    if all(outage.how == "shut-down" for outage in fault.outages):
        return True
    apart = all(a.ended_at is not None and a.ended_at <= b.started_at for a, b in pairwise(fault.outages))
    return len(brokers) == len(set(brokers)) > 2 and apart


def _explained_by_outages(
    doubtful: TimeIndex[Part],
    outages: Sequence[BrokerOutage],
    terms: Terms,
    reaching: Collection[tuple[str, str, str]],
    taken: Collection[int],
) -> Iterator[Part]:
    """Yield incidents of other groups that one of these outages explains better than their own lines do.

    `reaching`: (broker, group, member) for members that failed to connect only to that broker.
    """
    for outage in outages:
        end = outage.ended_at if outage.ended_at is not None else outage.started_at + ONE_REBALANCE_MS
        near = doubtful.between(outage.started_at - REQUEST_TIMEOUT_MS, end + REQUEST_TIMEOUT_MS)
        meanwhile = [part for part in near if id(part) not in taken]
        unsure = [part for part in meanwhile if part.headline.root_causes[0].confidence < PROBABLE]
        # If several groups have uncertain incidents during an outage of a broker, that is the reason.
        together = unsure if len({part.group for part in unsure}) > 1 else []
        alone = (
            part
            for part in meanwhile
            if _explains(outage, part, _brokers_in(terms, part.group)) or _reached_others(outage, part, reaching)
        )
        yield from {id(part): part for part in (*together, *alone)}.values()


def _explains(outage: BrokerOutage, part: Part, coordinators: Collection[str]) -> bool:
    verdict = part.headline.root_causes[0]
    if part.cause == "unexplained":
        return True
    whole_group = not verdict.culprits or any(culprit.kind == "group" for culprit in verdict.culprits)
    unsure = verdict.confidence < PROBABLE
    return (whole_group and unsure) or (outage.broker in coordinators and (whole_group or unsure))


def _reached_others(outage: BrokerOutage, part: Part, reaching: Collection[tuple[str, str, str]]) -> bool:
    """True if all members in doubt or considered cut off failed to connect only to this broker."""
    names = part.culprits("client", "instance", "worker", "thread")
    in_doubt = part.cause == "network-partition" or part.headline.root_causes[0].confidence < PROBABLE
    return in_doubt and bool(names) and all((outage.broker, part.group, name) in reaching for name in names)


def _at_the_same_moment(
    doubtful: TimeIndex[Part], moments: Iterable[int], brokers: Collection[str], terms: Terms
) -> Iterator[Part]:
    """Yield other groups' undecided incidents at the times at which the same brokers failed.

    These include unexplained incidents, and incidents blamed on members of groups that these brokers coordinate.
    """
    for at in moments:
        for part in doubtful.between(at - HEARTBEAT_MS, at + HEARTBEAT_MS):
            unsure = part.headline.root_causes[0].confidence < LIKELY
            if part.cause == "unexplained" or (unsure and not _brokers_in(terms, part.group).isdisjoint(brokers)):
                yield part


def _brokers_cause(parts: Sequence[Part], outages: Iterable[BrokerOutage]) -> str:
    """Return the cause to report for a broker outage; offsets-topic-unavailable if most groups have that.

    While a replica stalls, no other coordinator can write to the offsets topic: that is a consequence of the stall.
    """
    causes = Counter(part.cause for part in parts)
    offsets, stood_still = "offsets-topic-unavailable", any(outage.how == "froze" for outage in outages)
    return offsets if causes[offsets] > causes["coordinator-failover"] and not stood_still else "coordinator-failover"


# Hosts


def _of_hosts(_: Sequence[GroupOutline], parts: Sequence[Part], *, host_index: HostIndex) -> list[SharedFault]:
    silent = [part for part in parts if part.cause in FALLEN_SILENT and part.headline.severity != "info"]
    by_time = TimeIndex(enumerate(silent), lambda place_and_part: place_and_part[1].begin)
    found = [_of_silence(host_index, [*run, *_again(host_index, run, by_time)]) for run in _at_once(silent)]
    taken = {id(part) for fault in found for part in fault.parts}
    placed = ((hosts_of_part(host_index, part), part) for part in silent if id(part) not in taken)
    by_host = lists_by_key((hosts[0], part) for hosts, part in placed if len(hosts) == 1)
    for host, on_host in sorted(by_host.items()):
        for run in runs_of_several_groups(on_host, ONE_REBALANCE_MS):
            affected = {part.group for part in run}
            if 2 * len(affected) > len(host_index.members.get((run[0].headline.cluster, host), ())):
                found.append(_of_silence(host_index, run))
    return found


def _at_once(silent: Sequence[Part]) -> Iterator[list[Part]]:
    """Yield incidents of at least three groups with members that went silent together: a host, rack or switch failed.

    Each session runs from the member's last heartbeat, so that sessions lost to one fault expire up to an interval
    apart. Two groups prove nothing if no line shows that their members share a host.
    """
    for run in runs(silent, lambda part: part.begin, HEARTBEAT_MS):
        if len({part.group for part in run}) > 2 and run[-1].begin - run[0].begin <= NEXT_HEARTBEAT_MS:
            yield run


def _again(host_index: HostIndex, run: Sequence[Part], silent: TimeIndex[tuple[int, Part]]) -> Iterator[Part]:
    """Return later incidents of members on the same hosts before all are back: rejected, or silent once more."""
    end, known = max(part.end for part in run) + HEARTBEAT_MS, {id(part) for part in run}
    hosts = {host for part in run for host in hosts_of_part(host_index, part)}
    for _, part in sorted(silent.between(run[0].begin, end)) if hosts else ():
        if id(part) not in known and part.headline.root_causes[0].confidence < LIKELY:
            of_part = hosts_of_part(host_index, part)
            if of_part and hosts.issuperset(of_part):
                yield part


def _of_silence(host_index: HostIndex, run: Sequence[Part]) -> SharedFault:
    hosts = list(dict.fromkeys(host for part in run for host in hosts_of_part(host_index, part)))
    unplaced = [part for part in run if not hosts_of_part(host_index, part)]
    blamed = [(part, culprit) for part in run for culprit in part.headline.root_causes[0].culprits]
    if hosts and not unplaced:
        culprits = [
            Culprit(
                kind="host", name=host, names=tuple(sorted(_names_on(host_index, blamed, host) - {host}, key=natural))
            )
            for host in sorted(hosts, key=natural)
        ]
    else:
        by_name = {culprit.name: culprit for _, culprit in blamed}
        culprits = [by_name[name] for name in sorted(by_name, key=natural)]
    return SharedFault(kind="host", cause=_likeliest(run), culprits=tuple(culprits), parts=_in_order(run))


def _names_on(host_index: HostIndex, blamed: Iterable[tuple[Part, Culprit]], host: str) -> set[str]:
    return {
        name
        for part, culprit in blamed
        if host in host_index.hosts_of(part.headline.cluster, part.group, [culprit.name])
        for name in (culprit.name, *culprit.names)
    }


def hosts_of_part(host_index: HostIndex, part: Part) -> list[str]:
    """Return the hosts of the members that an incident blames."""
    names = part.culprits("client", "instance", "worker", "thread", "host")
    return host_index.hosts_of(part.headline.cluster, part.group, names)


def _likeliest(parts: Iterable[Part]) -> str:
    """Return the cause with the highest total confidence over all these incidents."""
    sure: dict[str, float] = defaultdict(float)
    for part in parts:
        for blame in part.headline.root_causes:
            sure[blame.cause] += blame.confidence
    return max(sorted(sure), key=lambda cause: sure[cause])


# Deployments, topics, credentials


def _of_deployments(histories: Sequence[GroupOutline], parts: Sequence[Part]) -> list[SharedFault]:
    found = []
    restarted = [part for part in parts if part.cause in RESTARTED]
    others = [p for p in parts if p.cause in LEAVES_AND_JOINS and p.headline.severity == "info"]
    for run in runs_of_several_groups([*restarted, *_closed_and_started(histories, parts)], ONE_REBALANCE_MS):
        begin, end = min(part.begin for part in run), max(part.end for part in run)
        affected = {part.group for part in run}
        # Undecided leaves and joins of these groups during that time belong to the same deployment; those of other
        # groups may be an autoscaler's.
        run += [
            part
            for part in others
            if part.group in affected
            and begin <= part.begin <= end
            and part.headline.root_causes[0].confidence < LIKELY
        ]
        planned = all(part.cause == "static-member-restart" for part in run)
        culprits = tuple(
            Culprit(kind="group", name=name, names=_members_blamed(of_group, name))
            for name, of_group in sorted(grouped(run, attrgetter("group")).items(), key=lambda pair: natural(pair[0]))
        )
        cause = "static-member-restart" if planned else "rolling-restart"
        found.append(SharedFault(kind="deployment", cause=cause, culprits=culprits, parts=_in_order(run)))
    return found


def _closed_and_started(histories: Iterable[GroupOutline], parts: Iterable[Part]) -> Iterator[Part]:
    """Yield shutdowns and start-ups of groups whose members all closed and came back.

    This is how a restart looks if a group has only one member, or only one host.
    """
    lost = {history.group: TimeIndex((loss.at for loss in history.losses), int) for history in histories}
    by_group = grouped(sorted(parts, key=lambda part: part.begin), attrgetter("group"))
    for group, of_group in by_group.items():
        for closed, started in pairwise(of_group):
            came_back = closed.begin < started.begin <= closed.end + SUCCESSION_MS
            expired = lost[group].any_between(closed.begin, closed.end)
            if (closed.cause, started.cause) == ("shutdown", "startup") and came_back and not expired:
                yield from (closed, started)


def _members_blamed(parts: Iterable[Part], group: str) -> tuple[str, ...]:
    blamed = (c for part in parts for c in part.headline.root_causes[0].culprits)
    return tuple(sorted({name for c in blamed for name in (c.name, *c.names)} - {group}, key=natural))


def _of_topics(_: Sequence[GroupOutline], parts: Sequence[Part]) -> list[SharedFault]:
    changes = (part for part in parts if part.cause == "topic-metadata-change")
    by_topic = lists_by_key((topic, part) for part in changes for topic in dict.fromkeys(part.culprits("topic")))
    together: dict[tuple[int, ...], tuple[list[Part], list[str]]] = {}
    for topic, changed in sorted(by_topic.items()):
        for run in runs_of_several_groups(changed, METADATA_AGE_MS):
            together.setdefault(tuple(map(id, run)), (run, []))[1].append(topic)
    found, taken = [], set[int]()
    for run, topics in sorted(together.values(), key=lambda pair: -len(pair[0])):
        rest = [part for part in run if id(part) not in taken]
        if len({part.group for part in rest}) > 1:
            taken |= {id(part) for part in rest}
            found.append(
                SharedFault(
                    kind="topic", cause="topic-metadata-change", culprits=topic_culprits(topics), parts=_in_order(rest)
                )
            )
    return found


def _of_credentials(_: Sequence[GroupOutline], parts: Sequence[Part]) -> list[SharedFault]:
    # A rival shared by three groups at the same time is the likeliest cause of all of their incidents.
    cause = "authorization-failure"
    denied = [part for part in parts if cause in {blame.cause for blame in part.headline.root_causes}]
    found = []
    for run in runs_of_several_groups(denied, ONE_REBALANCE_MS):
        if len({part.group for part in run}) < 3 and all(part.cause != cause for part in run):
            continue
        blamed = {c.name: c for part in run for c in part.headline.root_causes[0].culprits}
        culprits = tuple(blamed[name] for name in sorted(blamed, key=natural))
        found.append(SharedFault(kind="credential", cause=cause, culprits=culprits, parts=_in_order(run)))
    return found


def _shared_unexplained(histories: Sequence[GroupOutline], parts: Sequence[Part]) -> list[SharedFault]:
    """Return unexplained incidents of at least three groups that started together: they share a cause, known or not.

    It is their coordinator if they share one and groups of other coordinators were not affected.
    """
    terms = {history.group: history.coordinators for history in histories}
    left_open = [part for part in parts if part.cause == "unexplained" and part.headline.severity != "info"]
    found = []
    # Compare only the start: a long incident would connect others that have nothing in common.
    for run in runs(left_open, attrgetter("begin"), NEXT_HEARTBEAT_MS):
        affected = {part.group for part in run}
        if len(affected) < 3:
            continue
        near = ((term, part.begin) for part in run for term in terms.get(part.group, ()))
        brokers = {term.broker for term, at in near if term.overlaps(at, at)}
        others = set().union(*(_brokers_in(terms, group) for group in terms.keys() - affected)) - brokers
        known = brokers if len(brokers) == 1 and others else set()
        found.append(
            SharedFault(
                kind="broker" if known else "unknown",
                cause="coordinator-failover" if known else "unexplained",
                culprits=tuple(map(broker_named, known)),
                parts=_in_order(run),
                is_shared=bool(known),
            )
        )
    return found


def runs_of_several_groups(parts: Iterable[Part], gap_ms: int) -> Iterator[list[Part]]:
    """Yield runs of incidents close together in time that belong to more than one group."""
    for run in runs(parts, lambda part: part.begin, gap_ms, until=lambda part: part.end):
        if len({part.group for part in run}) > 1:
            yield run


def _in_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: (part.begin, natural(part.group), part.headline.id)))
