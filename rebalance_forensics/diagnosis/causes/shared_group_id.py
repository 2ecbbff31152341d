"""Two applications use one group.id."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace

from rebalance_forensics.diagnosis.absences import distinct_events, times, touched
from rebalance_forensics.diagnosis.assigned_topics import GivenTopics, given_topics
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present, Sign, stated
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.membership import Subscribed
from rebalance_forensics.events.partitions import PartitionsAssigned
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor

NO_TOPIC_IN_COMMON = stated("no-topic-in-common", present="its members read different topics, none of them in common")
UNLIKE_NAMES = stated("unlike-client-ids", present="its late newcomers have client ids built unlike all others'")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members whose subscriptions have no topic in common, blaming those that came later or are fewer."""
    if timeline.kind != "consumer":
        return
    asked, lines = _subscriptions(timeline)
    given = given_topics(timeline)
    families = _families({**given.topics, **asked})
    if len(families) < 2 or not (
        all(_surely_apart(f, asked, given) for f in families) or _dealt_apart(timeline, families, given)
    ):
        yield from _by_names(timeline)
        return
    home = max(families, key=lambda f: (-_first_seen(timeline, f), len(f)))
    intruders = sorted((a for f in families if f is not home for a in f), key=lambda a: a.name)
    told = [e for a in intruders for e in (lines[a] or given.lines[a])[:2]]
    told += [e for a in home for e in (lines[a] or given.lines[a])[:1]]
    yield _hypothesis(
        timeline, intruders, told, NO_TOPIC_IN_COMMON, "their subscriptions have no topic in common with the others'"
    )


def _surely_apart(family: list[Actor], asked: dict[Actor, frozenset[str]], given: GivenTopics) -> bool:
    """Where no line tells what they asked for: a topic with partitions enough for every member is theirs alone."""
    if all(a in asked for a in family):
        return True
    members = len(asked.keys() | given.topics.keys())
    return any(given.width(topic) >= members for a in family for topic in given.topics.get(a, ()))


def _dealt_apart(timeline: Timeline, families: list[list[Actor]], given: GivenTopics) -> bool:
    """Range and round-robin give nobody a second partition of a topic before each of its readers has one.

    Whoever has two while all families are there reads it alone; a sticky assignor keeps no such order.
    """
    assignor = timeline.settings.get("partition.assignment.strategy", "").split(",")[0]
    if timeline.mode != "eager" or "sticky" in assignor.lower():
        return False
    told = [[e for a in family for e in given.lines.get(a, ())] for family in families]
    if not all(told):
        return False
    since = max(_begun(timeline, lines[0]) for lines in (sorted(t, key=time_of) for t in told))
    gone = timeline.departures.first(since)
    until = gone.at if gone is not None else timeline.last + 1
    return all(any(since <= time_of(e) < until and _doubles(e) for e in lines) for lines in told)


def _begun(timeline: Timeline, event: Event) -> int:
    """When the rebalance began that ended with this assignment."""
    rebalance = timeline.rebalances.last(time_of(event))
    return rebalance.started_at if rebalance is not None else time_of(event)


def _doubles(event: Event) -> bool:
    if not isinstance(event, PartitionsAssigned):
        return False
    topics = [p.rpartition("-")[0] for p in event.partitions]
    return len(topics) > len(set(topics))


def _subscriptions(timeline: Timeline) -> tuple[dict[Actor, frozenset[str]], dict[Actor, list[Event]]]:
    topics: dict[Actor, set[str]] = defaultdict(set)
    lines: dict[Actor, list[Event]] = defaultdict(list)
    for event in timeline.of(Subscribed):
        actor = timeline.cast.of_speaker(event)
        if actor is not None and event.topics and not event.by_hand:
            topics[actor] |= set(event.topics)
            lines[actor].append(event)
    return {a: frozenset(t) for a, t in topics.items()}, lines


def _families(topics: dict[Actor, frozenset[str]]) -> list[list[Actor]]:
    """Actors joined by any topic in common."""
    families: dict[str, list[Actor]] = {}
    for actor, wanted in sorted(topics.items(), key=lambda item: item[0].name):
        same = {id(family): family for topic in wanted if (family := families.get(topic)) is not None}
        merged = max(same.values(), key=len, default=[])
        moved = [a for family in same.values() if family is not merged for a in family]
        merged += [*moved, actor]
        for topic in wanted.union(*(topics[a] for a in moved)):
            families[topic] = merged
    return sorted({id(family): family for family in families.values()}.values(), key=lambda family: family[-1].name)


def _first_seen(timeline: Timeline, family: list[Actor]) -> int:
    arrivals = (timeline.arrivals.of(actor) for actor in family)
    return min((came[0].at for came in arrivals if came), default=timeline.first)


def _by_names(timeline: Timeline) -> Iterator[Hypothesis]:
    """From brokers alone: late newcomers whose client ids are built unlike everybody else's.

    Names are a hint only: one application may be written in two languages.
    """
    first = [a for a in timeline.arrivals if a.first]
    if not first or any(actor.has_log for actor in timeline.actors()):
        return
    stems: dict[str, list[Actor]] = defaultdict(list)
    for actor in timeline.actors():
        stems[_stem(actor.name)].append(actor)
    if len(stems) != 2 or any(len(actors) < 2 for actors in stems.values()):
        return
    home = min(stems, key=lambda s: _first_seen(timeline, stems[s]))
    intruders = [a for stem, actors in stems.items() if stem != home for a in actors]
    strange = set(intruders)
    came = [a for a in first if a.actor in strange and not a.while_empty]
    if came:
        told = [e for a in came for e in a.events[:2]]
        found = _hypothesis(
            timeline, intruders, told, UNLIKE_NAMES, "their client ids are built unlike all the others'"
        )
        yield replace(found, severity="info")


def _stem(name: str) -> str:
    return re.sub(r"[\d]+|[-_.]+$", "", name)


def _hypothesis(timeline: Timeline, intruders: list[Actor], told: list[Event], sign: Sign, why: str) -> Hypothesis:
    strange = set(intruders)
    facts: tuple[Fact, ...] = tuple(a for a in timeline.arrivals if a.actor in strange)
    facts += tuple(r for r in timeline.requests if r.actor in strange)
    names = ", ".join(a.name for a in intruders)
    onset = min((f.at for f in facts if f is not None), default=None)  # type: ignore[union-attr]
    return Hypothesis(
        because=distinct_events(told),
        culprits=culprits_of(timeline, intruders),
        answers={sign: Present(distinct_events(told))},
        actors=tuple(intruders),
        severity="warning",
        onset=onset,
        brings=(*facts, *touched(timeline, facts)),
        narrative=f"{names} use the group.id of another application: {why}.",
        advice=(
            Advice(
                action="Give each application its own group.id.",
                why=(
                    f"Every start, stop or slow loop of one application rebalances the other: here "
                    f"{len(intruders)} members of the other came or rejoined {times(len(facts))}."
                ),
                cost="Under a new group.id it begins at auto.offset.reset unless its committed offsets are copied.",
            ),
        ),
    )


CAUSE = Cause(
    summary="Two applications use one group.id.",
    mechanism=(
        "The coordinator knows only the group. Members with other topics take part in every rebalance, "
        "get no partitions of the others' topics, and disturb them with every start and stop."
    ),
    shows="Disjoint subscriptions, unlike client ids within one group.",
    remedy="A group.id per application; ACLs on group names keep it so.",
    usual="fault",
    propose=propose,
    signs=(speaks_for(NO_TOPIC_IN_COMMON, DECISIVE), speaks_for(UNLIKE_NAMES, WEAK)),
    brings=("scale-out", "startup", "scaling-flap", "subscription-change"),
    lookalikes=("subscription-change", "scale-out"),
    settings=("group.id", "partition.assignment.strategy"),
)
