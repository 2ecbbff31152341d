"""A static member came back in time: no rebalance (KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rebalance_forensics.diagnosis.absences import distinct_events
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.walks import walks
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import InstanceFenced, StaticMemberFenced
from rebalance_forensics.events.rebalancing import JoinSucceeded
from rebalance_forensics.timeline.facts import Fact, StaticReturn
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.windows import ADDED_MS, LAST_JOINED_MS, ONE_RETURN_MS

REPLACED = stated("static-member-replaced", present="the coordinator replaced its member id under the same instance id")
SAME_GENERATION = stated("same-generation-again", present="a new process joined the generation the group already had")


@dataclass(frozen=True, slots=True)
class _Return:
    actor: Actor
    at: int
    events: tuple[Event, ...]
    fact: Fact | None


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Static members replaced by themselves, told by the coordinator or by a rejoin of the same generation."""
    fenced = {
        e.instance_id or e.speaker.instance_id
        for e in timeline.of(StaticMemberFenced, InstanceFenced)
        if isinstance(e, StaticMemberFenced | InstanceFenced)
    }
    returns = [_Return(r.actor, r.at, tuple(r.events), r) for r in timeline.returns]
    found = [r for r in returns if fenced.isdisjoint(r.actor.instance_ids)]
    told = {(r.actor, r.at // ONE_RETURN_MS) for r in found}
    again = [r for r in _same_generation_again(timeline) if fenced.isdisjoint(r.actor.instance_ids)]
    found += [r for r in again if (r.actor, r.at // ONE_RETURN_MS) not in told]
    for group in walks(found, lambda r: r.at, lambda r: r.actor):
        yield _hypothesis(timeline, group)


def _same_generation_again(timeline: Timeline) -> Iterator[_Return]:
    """A new process of a static member that is answered with the generation the group already had."""
    reached: dict[int, int] = {}
    for event in timeline.of(JoinSucceeded):
        actor = timeline.cast.of_speaker(event)
        if actor is None or event.at is None:
            continue
        first = reached.setdefault(event.generation, event.at)
        restarted = timeline.starts.of(actor).any_between(first + 1, event.at - 1)
        if actor.instance_ids and restarted and event.at - first > ADDED_MS:
            near = timeline.arrivals.of(actor).between(event.at - 29_999, event.at + 29_999)
            arrival = near[0] if near else None
            yield _Return(actor, event.at, (event,), arrival)


def _hypothesis(timeline: Timeline, group: list[_Return]) -> Hypothesis:
    actors = list(dict.fromkeys(r.actor for r in group))
    span = (min(r.at for r in group) - ONE_RETURN_MS, max(r.at for r in group) + LAST_JOINED_MS)
    facts: list[Fact] = [r.fact for r in group if r.fact is not None]
    facts += [a for a in timeline.arrivals.between(*span) if a.actor in actors and not a.first]
    gone = timeline.departures.between(*span)
    facts += [d for d in gone if d.actor in actors and d.why in ("closed", "vanished", "left")]
    how = REPLACED if any(isinstance(r.fact, StaticReturn) for r in group) else SAME_GENERATION
    return Hypothesis(
        because=distinct_events(e for r in group for e in r.events),
        culprits=culprits_of(timeline, actors, as_instance=True),
        severity="info",
        brings=tuple(facts),
        actors=tuple(actors),
        answers={how: Present(distinct_events(e for r in group for e in r.events))},
        explains=tuple(r.fact for r in group if r.fact is not None),
        narrative=(
            f"{_counted(len(actors))} came back within session.timeout.ms and kept the old assignment: no rebalance."
        ),
    )


def _counted(number: int) -> str:
    return "One static member" if number == 1 else f"{number} static members"


CAUSE = Cause(
    summary="A static member came back in time; the group did not rebalance.",
    mechanism=(
        "A static member (group.instance.id) sends no LeaveGroup. When it joins again within "
        "session.timeout.ms the coordinator replaces its member id and returns the cached assignment."
    ),
    shows=(
        "'Static member … Replacing previously mapped member', 'will not trigger rebalance', the same "
        "generation as before."
    ),
    remedy="Nothing to do: this is what static membership is for.",
    usual="planned",
    propose=propose,
    signs=(speaks_for(REPLACED, DECISIVE + WEAK), speaks_for(SAME_GENERATION, DECISIVE)),
    brings=("rolling-restart", "scale-out", "member-left", "static-member-expired"),
    lookalikes=("static-member-fenced", "rolling-restart"),
    settings=("group.instance.id", "session.timeout.ms"),
    kips=("KIP-345",),
)
