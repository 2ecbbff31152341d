"""A static member came back in time: no rebalance (KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.episodes import distinct_events, runs
from rebalance_forensics.diagnosis.finding import CERTAIN, LIKELY, Fact, Finding, Rule
from rebalance_forensics.diagnosis.model import RuledOut
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import InstanceFenced, StaticMemberFenced
from rebalance_forensics.events.rebalancing import JoinSucceeded
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline

ONE_ROUND_MS = 300_000


@dataclass(frozen=True, slots=True)
class _Return:
    actor: Actor
    at: int
    events: tuple[Event, ...]
    fact: Fact | None


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Static members replaced by themselves, told by the coordinator or by a rejoin of the same generation."""
    fenced = {
        timeline.cast.of_instance(e.instance_id)
        for e in timeline.of(StaticMemberFenced, InstanceFenced)
        if isinstance(e, StaticMemberFenced | InstanceFenced)
    }
    found = [_Return(r.actor, r.at, tuple(r.events), r) for r in timeline.returns if r.actor not in fenced]
    told = {(r.actor, r.at // 60_000) for r in found}
    again = [r for r in _same_generation_again(timeline) if r.actor not in fenced]
    found += [r for r in again if (r.actor, r.at // 60_000) not in told]
    for group in runs(found, lambda r: r.at, ONE_ROUND_MS):
        yield _finding(timeline, group)


def _same_generation_again(timeline: Timeline) -> Iterator[_Return]:
    """A new process of a static member that is answered with the generation the group already had."""
    reached: dict[int, int] = {}
    for event in timeline.of(JoinSucceeded):
        assert isinstance(event, JoinSucceeded)
        actor = timeline.cast.of_speaker(event)
        if actor is None or event.at is None:
            continue
        first = reached.setdefault(event.generation, event.at)
        restarted = any(s.actor is actor and first < s.at < event.at for s in timeline.starts)
        if actor.instance_ids and restarted and event.at - first > 2_000:
            arrival = next((a for a in timeline.arrivals if a.actor is actor and abs(a.at - event.at) < 30_000), None)
            yield _Return(actor, event.at, (event,), arrival)


def _finding(timeline: Timeline, group: list[_Return]) -> Finding:
    actors = list(dict.fromkeys(r.actor for r in group))
    span = (min(r.at for r in group) - 60_000, max(r.at for r in group) + 5_000)
    facts: list[Fact] = [r.fact for r in group if r.fact is not None]
    facts += [a for a in timeline.arrivals if a.actor in actors and span[0] <= a.at <= span[1] and not a.first]
    facts += [
        d
        for d in timeline.departures
        if d.actor in actors and span[0] <= d.at <= span[1] and d.why in ("closed", "vanished", "left")
    ]
    return Finding(
        because=distinct_events(e for r in group for e in r.events),
        culprits=culprits_of(timeline, actors, as_instance=True),
        confidence=CERTAIN if any(r.fact in timeline.returns for r in group) else LIKELY,
        severity="info",
        claims=tuple(facts),
        core=tuple(r.fact for r in group if r.fact is not None),
        narrative=(
            f"{len(actors)} static members came back within session.timeout.ms "
            f"and got their old assignment: no rebalance."
        ),
        ruled_out=(
            RuledOut(cause="static-member-fenced", why="nobody was fenced: the old process was gone"),
            RuledOut(cause="rolling-restart", why="no generation was created for it"),
        ),
    )


RULE = Rule(
    summary="A static member came back in time; the group did not rebalance.",
    mechanism=(
        "A static member (group.instance.id) sends no LeaveGroup. When it joins again within "
        "session.timeout.ms the coordinator replaces its member id and returns the cached assignment."
    ),
    signs=(
        "'Static member … Replacing previously mapped member', 'will not trigger rebalance', the same "
        "generation as before."
    ),
    remedy="Nothing to do: this is what static membership is for.",
    usual="planned",
    rank=22,
    diagnose=diagnose,
    settings=("group.instance.id", "session.timeout.ms"),
    kips=("KIP-345",),
)
