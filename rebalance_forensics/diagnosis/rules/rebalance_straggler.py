"""One member held up the join barrier."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from rebalance_forensics.diagnosis.absences import SILENT, distinct_events, seconds, setting
from rebalance_forensics.diagnosis.culprits import culprit_of
from rebalance_forensics.diagnosis.departures_and_restarts import startup_arrivals
from rebalance_forensics.diagnosis.finding import LIKELY, PROBABLE, Finding, Rule
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.open_barriers import TOGETHER_MS, OpenBarrier, open_barrier
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import MemberFailed
from rebalance_forensics.events.rebalancing import GenerationStabilized, JoinStarted, LeaderReplaced, RebalanceStarted
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact, Rebalance
from rebalance_forensics.timeline.in_time import InTime

ALLOWED_MS = 3_000
ALONE_MS = 1_500


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Every join barrier that stood open longer than heartbeats and the initial delay explain."""
    if timeline.protocol not in ("classic", "unknown"):
        return
    for rebalance in timeline.rebalances:
        open_ms = _open_ms(rebalance)
        if rebalance.generation is None or open_ms is None or open_ms <= _explained_ms(timeline, rebalance):
            continue
        if rebalance.stabilized_at is None and not _last_to_join(timeline, rebalance):
            continue
        if not _waited_for_the_dead(timeline, rebalance):
            yield from _finding(timeline, rebalance, open_ms)
    barrier = open_barrier(timeline)
    if barrier is not None and barrier.open_ms > _patience_ms(timeline):
        yield _still_open(timeline, barrier)


def _still_open(timeline: Timeline, barrier: OpenBarrier) -> Finding:
    """The logs end before the last one joins: what the others wait for is in its own log."""
    begin = barrier.began_at - TOGETHER_MS
    rebalances = [r for r in timeline.rebalances.since(begin) if r.stabilized_at is None and r.completed_at is None]
    culprits = tuple(sorted({culprit_of(a) for a in barrier.actors}, key=lambda c: c.name))
    return Finding(
        because=distinct_events([*barrier.told[:4], *barrier.waiting[:4], *(e for r in rebalances for e in r.events)]),
        culprits=culprits,
        confidence=LIKELY,
        severity="warning",
        onset=barrier.began_at,
        claims=(*rebalances, *timeline.arrivals.since(begin)),
        narrative=(
            f"{', '.join(c.name for c in culprits)} has been told for {seconds(barrier.open_ms)} that the group "
            f"rebalances and has not joined; the others wait, and the logs end."
        ),
        advice=(
            Advice(
                action="Find what keeps that member from calling poll() while a rebalance runs.",
                why=f"Its heartbeats went on for {seconds(barrier.open_ms)} while the whole group waited for it.",
            ),
        ),
    )


def _waited_for_the_dead(timeline: Timeline, rebalance: Rebalance) -> bool:
    """A barrier that a session expiry ends waited for a silent member: its silence is the cause."""
    end = (rebalance.stabilized_at or rebalance.ended_at()) + 500
    return any(d.why in SILENT for d in timeline.departures.between(rebalance.started_at - 500, end))


def _open_ms(rebalance: Rebalance) -> int | None:
    """How long the barrier stood open; clients before 2.6.1 show only when the assignment was there as well."""
    end = rebalance.stabilized_at if rebalance.stabilized_at is not None else rebalance.completed_at
    return end - rebalance.started_at if end is not None else None


def _explained_ms(timeline: Timeline, rebalance: Rebalance) -> int:
    """Contract: three seconds beyond both twice the heartbeat interval and the initial delay."""
    patience = _patience_ms(timeline)
    from_empty = any(isinstance(e, RebalanceStarted) and e.generation == 0 for e in rebalance.events)
    if from_empty or timeline.remembered(_starting).any_between(
        rebalance.started_at - 4_999, rebalance.started_at + 4_999
    ):
        return max(60_000 + ALLOWED_MS, patience)
    return patience


def _patience_ms(timeline: Timeline) -> int:
    heartbeat = 2 * setting(timeline, "heartbeat.interval.ms", 3_000)
    return max(heartbeat, setting(timeline, "group.initial.rebalance.delay.ms", 3_000)) + ALLOWED_MS


def _starting(timeline: Timeline) -> InTime[Arrival]:
    return InTime(chain.from_iterable(startup_arrivals(timeline)))


def _finding(timeline: Timeline, rebalance: Rebalance, open_ms: int) -> Iterator[Finding]:
    removed = _removed(timeline, rebalance)
    last = _replaced_leaders(timeline, rebalance) or [d.actor for d in removed] or _last_to_join(timeline, rebalance)
    culprits = tuple(sorted({culprit_of(a) for a in last}, key=lambda c: c.name))
    lines = [e for e in rebalance.events if isinstance(e, RebalanceStarted | GenerationStabilized)]
    joins = _join_lines(timeline, last, rebalance)
    if not lines and not joins:
        return
    limit = setting(timeline, "max.poll.interval.ms", 300_000)
    known = "" if "max.poll.interval.ms" in timeline.settings else " by default"
    yield Finding(
        because=distinct_events([*lines, *(e for d in removed for e in d.events), *joins]),
        culprits=culprits,
        confidence=LIKELY if culprits else PROBABLE,
        severity="warning",
        onset=rebalance.started_at,
        claims=(rebalance, *removed, *_began_it(timeline, rebalance)),
        core=(rebalance,),
        narrative=_narrative(culprits, rebalance, open_ms),
        advice=(
            Advice(
                action="Find what keeps that member from calling poll() while a rebalance runs.",
                why=f"The whole group waited {seconds(open_ms)} for it.",
            ),
            Advice(
                action="Lower max.poll.interval.ms: it bounds how long a rebalance waits (rebalance timeout).",
                why=(
                    f"The coordinator drops a member that has not rejoined within it ({limit} ms{known}); the barrier "
                    f"stood open for {seconds(open_ms)}."
                ),
                cost="Loops that take longer than the new value are then expelled, healthy ones too.",
            ),
        ),
    )


def _narrative(culprits: tuple[Culprit, ...], rebalance: Rebalance, open_ms: int) -> str:
    who = ", ".join(c.name for c in culprits) or "A member"
    return f"{who} held up the join barrier of generation {rebalance.generation} for {seconds(open_ms)}."


def _removed(timeline: Timeline, rebalance: Rebalance) -> list[Departure]:
    end = (rebalance.stabilized_at or rebalance.ended_at()) + 200
    return [d for d in timeline.departures.between(rebalance.started_at, end) if d.why == "rebalance-timeout"]


def _replaced_leaders(timeline: Timeline, rebalance: Rebalance) -> list[Actor]:
    """A leader that missed the rebalance timeout, by name."""
    end = (rebalance.stabilized_at or rebalance.ended_at()) + 200
    replaced = timeline.of(LeaderReplaced).between(rebalance.started_at, end)
    found = [timeline.cast.of_member(e.member) for e in replaced]
    return [actor for actor in found if actor is not None]


def _last_to_join(timeline: Timeline, rebalance: Rebalance) -> list[Actor]:
    """Whoever's JoinGroup came last, well after everybody else's, and that was a member already."""
    near = timeline.arrivals.between(rebalance.started_at - 9_999, rebalance.started_at + 9_999)
    newcomers = {a.actor for a in near if a.first}
    joins = sorted((at, actor.name, actor) for actor, at in rebalance.joined_at.items() if actor not in newcomers)
    end = rebalance.stabilized_at or rebalance.ended_at()
    late = [actor for at, _, actor in joins if at - rebalance.started_at > ALLOWED_MS and end - at < ALONE_MS]
    return late[-1:] if late else _without_a_log(timeline, rebalance, newcomers)


def _without_a_log(timeline: Timeline, rebalance: Rebalance, newcomers: set[Actor]) -> list[Actor]:
    """When every log shows an early join, the only member without a log is the one waited for."""
    members = [a for a in timeline.actors() if a not in rebalance.joined_at and a not in newcomers and not a.has_log]
    return members if len(members) == 1 and rebalance.joined_at else []


def _join_lines(timeline: Timeline, actors: list[Actor], rebalance: Rebalance) -> list[Event]:
    end = (rebalance.stabilized_at or rebalance.ended_at()) + 200
    told = timeline.of(JoinStarted, MemberFailed).between(rebalance.started_at, end)
    return [e for e in told if isinstance(e, MemberFailed) or timeline.cast.of_speaker(e) in actors][:6]


def _began_it(timeline: Timeline, rebalance: Rebalance) -> list[Fact]:
    """The join or request that opened the barrier is its trigger, not a cause of its own."""
    begin = rebalance.started_at
    near: list[Fact] = [*timeline.arrivals.between(begin - 1_000, begin + (_open_ms(rebalance) or 0))]
    return near + timeline.requests.between(begin - 999, begin + 999)


RULE = Rule(
    summary="One member held up the join barrier; the whole group waited for it.",
    mechanism=(
        "The coordinator creates a generation only when every known member has sent JoinGroup, or when "
        "the rebalance timeout (max.poll.interval.ms) is over. Under eager rebalancing nobody reads "
        "meanwhile."
    ),
    signs=(
        "Long time between 'Preparing to rebalance' and 'Stabilized'; the last to rejoin, or 'removed … "
        "who haven't joined'."
    ),
    remedy="Make that member poll: a rebalance is only as fast as its slowest member.",
    usual="fault",
    rank=21,
    diagnose=diagnose,
    settings=("max.poll.interval.ms", "heartbeat.interval.ms", "group.initial.rebalance.delay.ms", "group.protocol"),
    kips=("KIP-62", "KIP-848"),
)
