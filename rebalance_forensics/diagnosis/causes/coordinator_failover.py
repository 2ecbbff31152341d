"""The coordinator broker died, froze, restarted or handed the group over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from rebalance_forensics.diagnosis.absences import SILENT, distinct_events, runs, seconds
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.culprits import broker
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.join_rejections import denied
from rebalance_forensics.diagnosis.membership_at import times_with_members
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.setting_spans import heartbeat_interval_ms
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.signs.coordinator import load_that_restarted, offsets_outage_meanwhile
from rebalance_forensics.diagnosis.walks import walks
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, GroupLoaded, GroupUnloaded
from rebalance_forensics.events.epochs import GroupHeartbeatFailed, MemberTransitioned
from rebalance_forensics.events.membership import MemberLoaded
from rebalance_forensics.events.partitions import PartitionsAssigned
from rebalance_forensics.events.process import BrokerStarted, BrokerStopped
from rebalance_forensics.events.rebalancing import GenerationStabilized, JoinStarted, JoinSucceeded, SyncSucceeded
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Departure, Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import InTime
from rebalance_forensics.timeline.windows import (
    AFTER_MOVE_MS,
    ALL_AT_ONCE_MS,
    CLOCK_SLACK_MS,
    DENIED_MS,
    HAND_OVER_MS,
    ONE_LOSS_MS,
    STOP_TO_LOAD_MS,
    WHOLE_CLUSTER_MS,
)

LOADED = stated("group-loaded-elsewhere", present="another broker loaded the group, or the same one after a restart")
LOST_BY_MOST = stated(
    "coordinator-lost-by-most", present="most members with a log lost the same coordinator within seconds"
)


@dataclass(frozen=True, slots=True)
class _Move:
    at: int
    broker: str
    events: tuple[Event, ...]
    certain: bool
    until: int


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Moves of the coordinator after the group's first generation, told by brokers or by most members at once."""
    settled = _settled_at(timeline)
    if settled is None:
        return
    moves = [m for m in (*_handed_over(timeline, settled), *_lost_by_many(timeline, settled)) if m.at > settled]
    peopled = times_with_members(timeline, (m.at for m in moves))
    steps = [*(m for m in moves if m.at in peopled), *_bounces(timeline)]
    for walk in walks(steps, lambda m: m.at, lambda m: m.broker):
        chain = [m for m in walk if m.events]
        if chain:
            yield _hypothesis(timeline, chain)


def _bounces(timeline: Timeline) -> list[_Move]:
    """Brokers that were restarted without coordinating this group: they show the pace of a walk over the cluster."""
    stopped = ((time_of(e), e.broker if e.broker is not None else e.speaker.broker) for e in timeline.of(BrokerStopped))
    return [_Move(at, f"broker-{broker}", (), certain=False, until=at) for at, broker in stopped if broker is not None]


def _settled_at(timeline: Timeline) -> int | None:
    """The group's first generation: what happens to coordinators before is start-up noise."""
    first = [g.completed_at or g.started_at for g in timeline.generations if g.members]
    known = [e.at for e in timeline.of(GenerationStabilized, JoinSucceeded) if e.at is not None]
    times = [t for t in (*first, *known) if t is not None]
    return min(times, default=None) if times else _loaded_before_anything(timeline)


def _loaded_before_anything(timeline: Timeline) -> int | None:
    """Logs that begin in the middle of the group's life show no generation, and nobody who starts or joins."""
    begun = timeline.starts or timeline.of(JoinStarted)
    return timeline.first - 1 if timeline.of(GroupLoaded, GroupUnloaded) or not begun else None


def _handed_over(timeline: Timeline, settled: int) -> Iterator[_Move]:
    """A broker loads the group: whoever coordinated before is the one that let go."""
    loads = [e for e in timeline.of(GroupLoaded) if e.group == timeline.group and (e.at or 0) > settled]
    for load in loads:
        at = load.at or 0
        before = _coordinator_before(timeline, at, load)
        if before is None:
            continue
        around = [
            e
            for e in timeline.of(BrokerStopped, BrokerStarted, GroupUnloaded).between(
                max(settled, at - HAND_OVER_MS), at + 2 * CLOCK_SLACK_MS
            )
            if (e.group == timeline.group or f"broker-{getattr(e, 'broker', None) or e.speaker.broker}" == before)
        ]
        yield _Move(
            at=min([at, *(time_of(e) for e in around if time_of(e) > at - STOP_TO_LOAD_MS)]),
            broker=before,
            events=(load, *around[:4]),
            certain=True,
            until=at,
        )


def _coordinator_before(timeline: Timeline, at: int, load: Event) -> str | None:
    """The last broker that spoke for the group before `at`; the loading one itself when it restarted."""
    spoke = timeline.remembered(_said_by_brokers).last(at - 1)
    if spoke is not None:
        return f"broker-{spoke.speaker.broker}"
    lost = timeline.of(CoordinatorLost).between(at - HAND_OVER_MS + 1, at + HAND_OVER_MS - 1)
    known = [e.coordinator for e in lost if e.coordinator is not None]
    other = [c for c in known if c != load.speaker.broker]
    return f"broker-{(other or known)[0]}" if known else None


def _said_by_brokers(timeline: Timeline) -> InTime[Event]:
    """What a coordinator says; a broker that loads the group names its members before it coordinates it."""
    spoken = timeline.said_of_it_by_brokers
    on_the_way = GroupUnloaded | MemberLoaded
    return InTime((e for e in spoken if e.speaker.broker is not None and not isinstance(e, on_the_way)), time_of)


def _lost_by_many(timeline: Timeline, settled: int) -> Iterator[_Move]:
    """Most members with a log lose the same coordinator within seconds."""
    lost = [
        e
        for e in timeline.of(CoordinatorLost, GroupHeartbeatFailed)
        if _is_loss(e) and (e.at or 0) > settled and not _still_starting(timeline, e) and not _is_denied(timeline, e)
    ]
    heard = [a for a in timeline.actors() if a.has_log]
    for run in runs(lost, time_of, ONE_LOSS_MS):
        actors = {timeline.cast.of_speaker(e) for e in run} - {None}
        brokers = [e.coordinator for e in run if isinstance(e, CoordinatorLost) and e.coordinator is not None]
        if not brokers or len(actors) < 2 or 2 * len(actors) <= len(heard) or _one_by_one_lost(timeline, run):
            continue
        yield _Move(
            at=time_of(run[0]),
            broker=f"broker-{brokers[0]}",
            events=tuple(run[:8]),
            certain=False,
            until=time_of(run[-1]),
        )


def _one_by_one_lost(timeline: Timeline, run: list[Event]) -> bool:
    """Whoever is kept from its heartbeats loses the coordinator alone; one that dies is lost by all at a heartbeat."""
    first = {timeline.cast.of_speaker(e): time_of(e) for e in reversed(run)}
    times = sorted(first.values())
    reach = max(ALL_AT_ONCE_MS, 2 * heartbeat_interval_ms(timeline))
    return min(later - earlier for earlier, later in pairwise(times)) > reach


def _is_denied(timeline: Timeline, event: Event) -> bool:
    """A client that may no longer use the group gives its coordinator up as well."""
    actor, at = timeline.cast.of_speaker(event), time_of(event)
    told = denied(timeline).get(actor, []) if actor is not None else []
    return any(at - DENIED_MS < time_of(e) < at + DENIED_MS for e in told)


def _still_starting(timeline: Timeline, event: Event) -> bool:
    """A process that has not joined yet may look for its coordinator for a while; that moves nothing."""
    actor, at = timeline.cast.of_speaker(event), event.at or 0
    if actor is None or timeline.starts.of(actor).last(at) is None:
        return False
    taken_in = timeline.said_by(actor, JoinSucceeded, SyncSucceeded, PartitionsAssigned, MemberTransitioned)
    return not any((e.at or 0) <= at and _has_joined(e) for e in taken_in)


def _has_joined(event: Event) -> bool:
    return not isinstance(event, MemberTransitioned) or event.after in ("RECONCILING", "STABLE")


def _is_loss(event: Event) -> bool:
    if isinstance(event, GroupHeartbeatFailed):
        return event.error in ("NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE")
    return isinstance(event, CoordinatorLost)


def _hypothesis(timeline: Timeline, chain: list[_Move]) -> Hypothesis:
    names = list(dict.fromkeys(m.broker for m in chain))
    facts = _effects(timeline, chain)
    planned = len(names) > 1 and not any(timeline.pauses.any_between(m.at, m.at + HAND_OVER_MS) for m in chain)
    down = _whole_cluster_stopped(timeline, chain)
    told = " then ".join(names)
    return Hypothesis(
        because=distinct_events(e for m in sorted(chain, key=lambda m: not m.certain) for e in m.events),
        culprits=tuple(broker(n) for n in sorted(names)),
        answers={LOADED if any(m.certain for m in chain) else LOST_BY_MOST: Present(chain[0].events)},
        severity="info" if planned or down else "warning",
        onset=chain[0].at,
        brings=facts,
        narrative=f"{told} stopped coordinating the group; another broker took over"
        + ("." if facts else ", and the generation stayed as it was."),
        advice=(
            Advice(
                action="Restart brokers by controlled shutdown, one at a time; find out why this one stopped.",
                why=(
                    f"The group could not commit or heartbeat for up to {seconds(_without(chain))}, until another "
                    "broker had loaded its metadata."
                ),
                cost="A controlled shutdown takes longer: it hands every partition over first.",
            ),
        ),
    )


def _whole_cluster_stopped(timeline: Timeline, chain: list[_Move]) -> bool:
    """Every broker that speaks was told to stop within a minute, and none came back: the cluster was shut down."""
    begin, end = chain[0].at - ONE_LOSS_MS, chain[-1].at + WHOLE_CLUSTER_MS
    speaking = timeline.own.brokers | timeline.around.brokers
    stopped = {e.speaker.broker for e in timeline.of(BrokerStopped).between(begin, end) if e.phase == "stopping"}
    return len(speaking) > 1 and speaking <= stopped and not timeline.of(BrokerStarted).since(begin)


def _without(chain: list[_Move]) -> int:
    """From the first sign of a loss to the last of the same move, the longest of them."""
    ends = (max(max(map(time_of, m.events), default=m.at) for m in run) - run[0].at for run in _one_by_one(chain))
    return max(ends)


def _one_by_one(chain: list[_Move]) -> list[list[_Move]]:
    return runs(chain, lambda m: m.at, ONE_LOSS_MS)


def _effects(timeline: Timeline, chain: list[_Move]) -> tuple[Fact, ...]:
    found: list[Fact] = []
    for move in chain:
        begin, end = move.at - CLOCK_SLACK_MS, move.until + AFTER_MOVE_MS
        asked = timeline.requests.between(begin, end)
        found += [r for r in asked if r.why in ("other", "member-rejoined", "leader-rejoined")]
        gone = timeline.departures.between(begin, end)
        found += [d for d in gone if d.why in SILENT and d.returned is not None]
        later = timeline.departures.since(begin)
        found += [d for d in later if _told_by_the_former(timeline, d, move) or _lost_in_it(timeline, d, move)]
        found += [a for a in timeline.arrivals.between(begin, end) if not a.first and a.start is None]
        following = timeline.rebalances.between(begin, end)
        found += [r for r in following if not _has_own_cause(timeline, r.started_at)]
    return tuple(dict.fromkeys(found))


def _told_by_the_former(timeline: Timeline, departure: Departure, move: _Move) -> bool:
    """A broker that stood still expires every session when it wakes up, until it learns that it lost the group."""
    if departure.why not in SILENT or not all(f"broker-{e.speaker.broker}" == move.broker for e in departure.events):
        return False
    loads = timeline.of(GroupLoaded).between(move.at - ONE_LOSS_MS, departure.at)
    last = next((e for e in reversed(loads) if e.group == timeline.group), None)
    return last is not None and f"broker-{last.speaker.broker}" != move.broker


def _lost_in_it(timeline: Timeline, departure: Departure, move: _Move) -> bool:
    """Every session starts anew when the group is loaded: who expires one session later never came to the new broker.

    One whose process died or was started anew at that time has its own cause; so has a group of which nobody stays.
    """
    load = load_that_restarted(timeline, departure)
    if load is None or load not in move.events:
        return False
    begin, ends = time_of(load) - HAND_OVER_MS, timeline.coverage.ends(departure.actor)
    if timeline.starts.of(departure.actor).any_between(begin, departure.at):
        return False
    if departure.returned is not None:
        return True
    later = (g for g in timeline.generations if (g.started_at or g.completed_at or 0) >= departure.at)
    return (ends is None or ends >= departure.at) and any(g.members for g in later)


def _has_own_cause(timeline: Timeline, at: int) -> bool:
    return bool(timeline.moves(at - 2 * CLOCK_SLACK_MS + 1, at + 2 * CLOCK_SLACK_MS - 1))


CAUSE = Cause(
    summary="The coordinator broker died, froze, restarted or handed the group over.",
    mechanism=(
        "A group lives on the leader of one __consumer_offsets partition. When that moves, the new leader"
        " loads the group's metadata and the members find it anew; generations go on where they were "
        "unless sessions expire meanwhile."
    ),
    shows="Load and unload lines, Resigned/Elected, 'coordinator unavailable' at many members, many groups at once.",
    remedy=(
        "Find out why the broker stopped; keep __consumer_offsets replicated and small, session.timeout.ms above"
        " the time to fail over."
    ),
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(LOADED, DECISIVE + WEAK),
        speaks_for(LOST_BY_MOST, DECISIVE),
        speaks_against(offsets_outage_meanwhile, 2 * DECISIVE),
    ),
    brings=(
        "network-partition",
        "process-pause",
        "process-crash",
        "rebalance-straggler",
        "scale-out",
        "unstable-leader",
        "enforced-rebalance",
    ),
    lookalikes=("network-partition",),
    settings=("offsets.topic.replication.factor", "session.timeout.ms", "controlled.shutdown.enable"),
)
