"""Members that stopped taking part, told by clients alone: the others go on to a new generation without them.

Before 2.4 no client prints the leader's assignment, so a member's absence shows only in who joined.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.facts import Departure
from rebalance_forensics.timeline.generations import Slot

SETTLED_MS = 10_000


def absentees(slots: Sequence[Slot], departures: Iterable[Departure], last: int) -> list[Departure]:
    """Actors with a log that were in one generation and missed the next, though nothing said that they left."""
    if any(slot.stabilized or slot.computed for slot in slots):
        return []
    known = list(departures)
    found = []
    for before, slot in pairwise(slots):
        joined, earlier = set(slot.joined.values()), set(before.joined.values())
        began = slot.first_at()
        if not joined or last - began < SETTLED_MS:
            continue
        for actor in sorted(earlier - joined, key=lambda a: a.name):
            if not _left(actor, known, before.first_at(), began) and actor.kind == "client":
                member = next((m for m, a in before.joined.items() if a is actor), None)
                found.append(Departure(actor, member, began, "vanished", []))
    return found


def _left(actor: Actor, departures: Sequence[Departure], since: int, until: int) -> bool:
    return any(d.actor is actor and since - SETTLED_MS <= d.at <= until + SETTLED_MS for d in departures)
