"""What one broker, host, deployment, topic or credential did to several groups at once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.cluster.member_hosts import Whereabouts, whereabouts_of
from rebalance_forensics.diagnosis.engine.confidence import PROBABLE
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.model import Culprit, Headline
from rebalance_forensics.diagnosis.wording.culprits import broker as broker_culprit
from rebalance_forensics.diagnosis.wording.culprits import topic_culprits
from rebalance_forensics.timeline.model import BrokerOutage, GroupOutline
from rebalance_forensics.timeline.windows import (
    METADATA_AGE_MS,
    ONE_REBALANCE_MS,
    QUIET_MS,
    REQUEST_TIMEOUT_MS,
    ROUND_TRIP_MS,
)

BlowKind = Literal["broker", "host", "deployment", "topic", "credential"]
BROKERS_FAULT = frozenset({"coordinator-failover", "offsets-topic-unavailable"})
FOLLOWS_A_BROKER = frozenset({
    *("network-partition", "process-pause", "rebalance-straggler", "unexplained", "unstable-leader"),
    *("enforced-rebalance", "scale-out", "startup"),
})  # fmt: skip
"""What a group's own lines make of a coordinator that does not answer, where they do not show the broker."""
FALLEN_SILENT = frozenset({"process-pause", "process-crash", "network-partition", "static-member-expired"})
RESTARTED = frozenset({"rolling-restart", "static-member-restart"})
Place = tuple[str, str]
"""A cluster and the name of something in it."""


class Part(Struct, frozen=True):
    """An incident of one group: which case it is of, and its number there."""

    headline: Headline
    case: int
    number: int

    @property
    def cause(self) -> str:
        """Its likeliest cause."""
        return self.headline.root_causes[0].cause

    @property
    def begin(self) -> int:
        """Its start."""
        return self.headline.started_at

    @property
    def end(self) -> int:
        """Its end; its start while it goes on."""
        return self.headline.started_at if self.headline.ended_at is None else self.headline.ended_at

    @property
    def group(self) -> str:
        """The group."""
        return self.headline.group or ""

    def culprits(self, *kinds: str) -> list[str]:
        """The names of those it blames, of these kinds."""
        return [c.name for c in self.headline.root_causes[0].culprits if c.kind in kinds]


class Blow(Struct, frozen=True, kw_only=True):
    """One thing that several groups suffered from."""

    kind: BlowKind
    cause: str
    culprits: tuple[Culprit, ...]
    parts: tuple[Part, ...]
    """By time, then group."""
    outages: tuple[BrokerOutage, ...] = ()


def blows(histories: Sequence[GroupOutline], parts: Sequence[Part]) -> Iterator[Blow]:
    """What several groups share, the broadest kind first; each incident belongs to one blow at most."""
    if len({(history.cluster, history.group) for history in histories}) < 2:
        return
    left = list(parts)
    finders = (_of_brokers, _of_hosts, _of_deployments, _of_topics, _of_credentials)
    for cluster in sorted({history.cluster for history in histories}):
        of_cluster = [history for history in histories if history.cluster == cluster]
        for find in finders:
            for blow in find(of_cluster, [part for part in left if part.headline.cluster == cluster]):
                taken = {id(part) for part in blow.parts}
                left = [part for part in left if id(part) not in taken]
                yield blow


# Brokers


def _of_brokers(histories: Sequence[GroupOutline], parts: Sequence[Part]) -> list[Blow]:
    outages = _outages(histories)
    faults = [part for part in parts if part.cause in BROKERS_FAULT]
    found: list[Blow] = []
    for run in runs(faults, lambda part: part.begin, QUIET_MS, until=lambda part: part.end):
        for brokers, of_brokers in _by_brokers(run, outages):
            known = tuple([o for b in brokers for o in outages.get(b, ()) if _touches(o, of_brokers)])
            taken = [*of_brokers, *_that_follow(parts, known, histories)]
            taken += _at_the_same_moment(parts, taken)
            if len({part.group for part in taken}) > 1:
                found.append(
                    Blow(
                        kind="broker",
                        cause=_brokers_cause(of_brokers),
                        culprits=tuple(broker_culprit(name) for name in brokers),
                        parts=_in_order(taken),
                        outages=tuple(sorted(known, key=lambda o: (o.started_at, o.broker))),
                    )
                )
    return found


def _outages(histories: Iterable[GroupOutline]) -> dict[str, list[BrokerOutage]]:
    """Every broker's outages, those that several groups saw told once: from the first sign of it to the last."""
    seen: dict[str, list[BrokerOutage]] = defaultdict(list)
    for outage in dict.fromkeys(chain.from_iterable(history.outages for history in histories)):
        seen[outage.broker].append(outage)
    return {
        broker: [
            _merged(run)
            for run in runs(of_broker, lambda o: o.started_at, 0, until=lambda o: o.ended_at or o.started_at)
        ]
        for broker, of_broker in sorted(seen.items())
    }


_TELLING = ("failed", "shut-down", "froze", "lost", "unreachable")


def _merged(run: Sequence[BrokerOutage]) -> BrokerOutage:
    best = min(run, key=lambda o: (_TELLING.index(o.how), o.started_at))
    ends = [o.ended_at for o in run if o.ended_at is not None]
    lines = sorted(
        dict.fromkeys(line for o in sorted(run, key=lambda o: _TELLING.index(o.how)) for line in o.evidence),
        key=lambda line: (line.timestamp or 0, line.path, line.line),
    )
    return BrokerOutage(
        broker=best.broker,
        started_at=min(o.started_at for o in run),
        ended_at=max(ends, default=None),
        how=best.how,
        evidence=tuple(lines),
    )


def _touches(outage: BrokerOutage, parts: Sequence[Part]) -> bool:
    begin, end = min(part.begin for part in parts), max(part.end for part in parts)
    return outage.started_at <= end + REQUEST_TIMEOUT_MS and (
        outage.ended_at is None or outage.ended_at >= begin - REQUEST_TIMEOUT_MS
    )


def _by_brokers(
    run: Sequence[Part], outages: Mapping[str, Sequence[BrokerOutage]]
) -> list[tuple[list[str], list[Part]]]:
    """Incidents of one stretch of time by the brokers behind them: one that ran on is not behind any."""
    blamed = {id(part): part.culprits("broker") for part in run}
    down = {name for names in blamed.values() for name in names if _is_out(outages.get(name, ()), run)}
    in_turn = {name for name in down if all(o.how == "shut-down" for o in outages[name] if _touches(o, run))}
    components: list[tuple[set[str], list[Part]]] = []
    for part in run:
        names = set(blamed[id(part)])
        if down:
            # A broker without an outage served on, and could not while another was down.
            names = names & down or {_nearest(part, down, outages)}
        if names & in_turn and len(in_turn) > 1:
            names |= in_turn
        joined = [component for component in components if component[0] & names or not names]
        merged = (names.union(*(c[0] for c in joined)), [*chain.from_iterable(c[1] for c in joined), part])
        components = [c for c in components if c not in joined] + [merged]
    return [(sorted(names), parts) for names, parts in components]


def _is_out(outages: Sequence[BrokerOutage], run: Sequence[Part]) -> bool:
    return any(_touches(outage, run) for outage in outages)


def _nearest(part: Part, down: Iterable[str], outages: Mapping[str, Sequence[BrokerOutage]]) -> str:
    return min(sorted(down), key=lambda name: min(abs(o.started_at - part.begin) for o in outages[name]))


def _that_follow(
    parts: Sequence[Part], outages: Sequence[BrokerOutage], histories: Sequence[GroupOutline]
) -> Iterator[Part]:
    """Other groups' incidents that one of these outages explains better than what their own lines suggest."""
    terms = {history.group: {term.broker for term in history.coordinators} for history in histories}
    for part in parts:
        planned = part.headline.severity == "info" and part.cause != "unexplained"
        if part.cause not in FOLLOWS_A_BROKER or planned:
            continue
        if any(_explains(outage, part, terms.get(part.group, set())) for outage in outages):
            yield part


def _explains(outage: BrokerOutage, part: Part, coordinators: Collection[str]) -> bool:
    end = outage.ended_at if outage.ended_at is not None else outage.started_at + ONE_REBALANCE_MS
    if not outage.started_at - REQUEST_TIMEOUT_MS <= part.begin <= end + REQUEST_TIMEOUT_MS:
        return False
    verdict = part.headline.root_causes[0]
    if part.cause == "unexplained":
        return True
    whole_group = not verdict.culprits or any(culprit.kind == "group" for culprit in verdict.culprits)
    unsure = verdict.confidence < PROBABLE
    return (whole_group and unsure) or (outage.broker in coordinators and (whole_group or unsure))


def _at_the_same_moment(parts: Sequence[Part], struck: Sequence[Part]) -> Iterator[Part]:
    """What has no known cause in several groups at one moment while the same broker strikes again and again."""
    begin, end = min(part.begin for part in struck), max(part.end for part in struck)
    taken = {id(part) for part in struck}
    unexplained = [part for part in parts if part.cause == "unexplained" and id(part) not in taken]
    near = (part for part in unexplained if begin <= part.begin <= end + ONE_REBALANCE_MS)
    for burst in runs(near, lambda part: part.begin, ROUND_TRIP_MS):
        if len({part.group for part in burst}) > 1:
            yield from burst


def _brokers_cause(parts: Sequence[Part]) -> str:
    """A broker that was out is told as such; as an outage of the offsets topic where that is what most groups had."""
    causes = Counter(part.cause for part in parts)
    offsets = "offsets-topic-unavailable"
    return offsets if causes[offsets] > causes["coordinator-failover"] else "coordinator-failover"


# Hosts


def _of_hosts(histories: Sequence[GroupOutline], parts: Sequence[Part]) -> list[Blow]:
    whereabouts = whereabouts_of(histories)
    by_host: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        if part.cause in FALLEN_SILENT and part.headline.severity != "info":
            hosts = hosts_of_part(whereabouts, part)
            if len(hosts) == 1:
                by_host[hosts[0]].append(part)
    found = []
    for host, on_host in sorted(by_host.items()):
        for run in of_several_groups(on_host, ONE_REBALANCE_MS):
            struck = {part.group for part in run}
            if 2 * len(struck) > len(whereabouts.groups_on(run[0].headline.cluster, host)):
                names = {
                    name for part in run for c in part.headline.root_causes[0].culprits for name in (c.name, *c.names)
                }
                culprit = Culprit(kind="host", name=host, names=tuple(sorted(names - {host})))
                found.append(Blow(kind="host", cause=_likeliest(run), culprits=(culprit,), parts=_in_order(run)))
    return found


def hosts_of_part(whereabouts: Whereabouts, part: Part) -> list[str]:
    """The hosts of the members that an incident blames."""
    names = part.culprits("client", "instance", "worker", "thread", "host")
    return whereabouts.hosts_of(part.headline.cluster, part.group, names)


def _likeliest(parts: Iterable[Part]) -> str:
    """The cause that fits all these incidents best, by how sure each is of it."""
    sure: dict[str, float] = defaultdict(float)
    for part in parts:
        for blame in part.headline.root_causes:
            sure[blame.cause] += blame.confidence
    return max(sorted(sure), key=lambda cause: sure[cause])


# Deployments, topics, credentials


def _of_deployments(_: Sequence[GroupOutline], parts: Sequence[Part]) -> list[Blow]:
    found = []
    restarted = [part for part in parts if part.cause in RESTARTED]
    for run in of_several_groups(restarted, ONE_REBALANCE_MS):
        cause = "rolling-restart" if any(part.cause == "rolling-restart" for part in run) else "static-member-restart"
        culprits = tuple(
            Culprit(kind="group", name=name, names=_members_of(run, name)) for name in sorted({p.group for p in run})
        )
        found.append(Blow(kind="deployment", cause=cause, culprits=culprits, parts=_in_order(run)))
    return found


def _members_of(run: Iterable[Part], group: str) -> tuple[str, ...]:
    blamed = (c for part in run if part.group == group for c in part.headline.root_causes[0].culprits)
    return tuple(sorted({name for c in blamed for name in (c.name, *c.names)} - {group}))


def _of_topics(_: Sequence[GroupOutline], parts: Sequence[Part]) -> list[Blow]:
    by_topic: dict[str, list[Part]] = defaultdict(list)
    for part in parts:
        if part.cause == "topic-metadata-change":
            for topic in dict.fromkeys(part.culprits("topic")):
                by_topic[topic].append(part)
    together: dict[tuple[int, ...], tuple[list[Part], list[str]]] = {}
    for topic, changed in sorted(by_topic.items()):
        for run in of_several_groups(changed, METADATA_AGE_MS):
            together.setdefault(tuple(map(id, run)), (run, []))[1].append(topic)
    found, taken = [], set[int]()
    for run, topics in sorted(together.values(), key=lambda pair: -len(pair[0])):
        rest = [part for part in run if id(part) not in taken]
        if len({part.group for part in rest}) > 1:
            taken |= {id(part) for part in rest}
            found.append(
                Blow(
                    kind="topic", cause="topic-metadata-change", culprits=topic_culprits(topics), parts=_in_order(rest)
                )
            )
    return found


def _of_credentials(_: Sequence[GroupOutline], parts: Sequence[Part]) -> list[Blow]:
    denied = [part for part in parts if part.cause == "authorization-failure"]
    found = []
    for run in of_several_groups(denied, ONE_REBALANCE_MS):
        blamed = {c.name: c for part in run for c in part.headline.root_causes[0].culprits}
        culprits = tuple(blamed[name] for name in sorted(blamed))
        found.append(Blow(kind="credential", cause="authorization-failure", culprits=culprits, parts=_in_order(run)))
    return found


def of_several_groups(parts: Iterable[Part], gap_ms: int) -> Iterator[list[Part]]:
    """Incidents close together in time, where they are of more than one group."""
    for run in runs(parts, lambda part: part.begin, gap_ms, until=lambda part: part.end):
        if len({part.group for part in run}) > 1:
            yield run


def _in_order(parts: Iterable[Part]) -> tuple[Part, ...]:
    return tuple(sorted(parts, key=lambda part: (part.begin, part.group, part.headline.id)))
