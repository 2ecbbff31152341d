"""Who is to blame, by the name an operator uses, with every other name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from rebalance_forensics.diagnosis.model import Culprit, CulpritKind
from rebalance_forensics.diagnosis.reference.bug_signatures import members_in
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.identity.names import streams_client

MOST_IDS = 100
"""Whoever had more member ids than this goes by those that the evidence names: a storm makes thousands."""


def culprit_of(actor: Actor, *, as_instance: bool = False) -> Culprit:
    """A member: its client id; a Streams instance, a worker, one of many with that client id: where it runs.

    A static member: its instance id.
    """
    return _culprit_of(actor, actor.number_of_names(), as_instance=as_instance)


@lru_cache(maxsize=1024)
def _culprit_of(actor: Actor, names: int, *, as_instance: bool) -> Culprit:
    """The same, worked out once: an actor has thousands of member ids in a long storm, and is blamed as often."""
    del names  # they only ever grow
    if actor.has_namesakes or (actor.kind == "instance" and actor.client_ids and not actor.instance_ids):
        name = actor.name
    elif as_instance and actor.instance_ids:
        return Culprit(kind="instance", name=min(actor.instance_ids), names=_others(actor, min(actor.instance_ids)))
    elif actor.kind == "client":
        plain = sorted(c for c in actor.client_ids if streams_client(c) is None)
        name = plain[0] if plain else min(actor.instance_ids, default=actor.name)
    else:
        name = actor.name
    kind: CulpritKind = "worker" if actor.kind == "worker" else "instance" if actor.kind == "instance" else "client"
    return Culprit(kind=kind, name=name, names=_others(actor, name))


def _others(actor: Actor, name: str) -> tuple[str, ...]:
    names = actor.lasting_names()
    if len(actor.member_ids) <= MOST_IDS:
        names |= actor.member_ids
    return tuple(sorted(names - {name, ""}))


def ids_told(timeline: Timeline, lines: Iterable[Event]) -> dict[str, list[str]]:
    """The member ids in these lines of those that had too many to list them all, by the name they are blamed under."""
    found: dict[str, list[str]] = defaultdict(list)
    for member in dict.fromkeys(m for line in lines for m in members_in(line)):
        actor = timeline.cast.known_by(member)
        if actor is not None and len(actor.member_ids) > MOST_IDS:
            told = found[culprit_of(actor).name]
            if len(told) < MOST_IDS:
                told.append(member)
    return found


def culprits_of(timeline: Timeline, actors: Iterable[Actor], *, as_instance: bool = False) -> tuple[Culprit, ...]:
    """The culprits; when it is everybody (of more than one), the group as a single culprit."""
    blamed = list(dict.fromkeys(actors))
    everybody = timeline.actors()
    if len(blamed) > 1 and len(blamed) >= len(everybody):
        return (the_group(timeline, blamed),)
    found = {c.name: c for c in (culprit_of(a, as_instance=as_instance) for a in blamed)}
    return tuple(found[name] for name in sorted(found))


def the_group(timeline: Timeline, actors: Iterable[Actor] = ()) -> Culprit:
    """Everyone to blame is a single culprit."""
    names = {culprit_of(a).name for a in actors}
    return Culprit(kind="group", name=timeline.group, names=tuple(sorted(names - {timeline.group})))


def broker(broker_id: int | str) -> Culprit:
    """`broker-3`, also known as `3`."""
    plain = str(broker_id).removeprefix("broker-")
    return Culprit(kind="broker", name=f"broker-{plain}", names=(plain,))
