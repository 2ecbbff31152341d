"""Generations that repeat each other: what a storm of five hundred says once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.timeline.model import Generation, Member

LONGEST_CYCLE = 4
"""Generations after which a group is where it was: one leaves, all join, one is back, it joins."""
REPEATED = 3
"""So often something happens before it is folded."""
NUMBERED = re.compile(r"(?<![0-9a-zA-Z_-])(?=[a-zA-Z_-]*+\d)[0-9a-zA-Z_-]++")
Sign = tuple[object, ...]


class Stretch(Struct, frozen=True):
    """Some generations to be shown, and those after them that only repeat these."""

    shown: Sequence[Generation]
    repeats: Sequence[Generation] = ()


def stretches(generations: Sequence[Generation]) -> Iterator[Stretch]:
    """Cut a history into what is new and what goes round."""
    signs = [_sign(generation) for generation in generations]
    index, plain = 0, 0
    while index < len(generations):
        length, rounds = _cycle(signs, index)
        if rounds < REPEATED:
            index += 1
            continue
        if plain < index:
            yield Stretch(generations[plain:index])
        end = index + length * rounds
        yield Stretch(generations[index : index + length], generations[index + length : end])
        index = plain = end
    if plain < index:
        yield Stretch(generations[plain:index])


def _cycle(signs: Sequence[Sign], start: int) -> tuple[int, int]:
    """The cycle that covers most from here: how many generations long, and how often it happens."""
    best = (1, 1)
    for length in range(1, LONGEST_CYCLE + 1):
        rounds = 1
        first = signs[start : start + length]
        while signs[start + rounds * length : start + (rounds + 1) * length] == first:
            rounds += 1
        if rounds >= REPEATED and length * rounds > best[0] * best[1]:
            best = (length, rounds)
    return best


def _sign(generation: Generation) -> Sign:
    """What makes two generations the same for a reader: not their numbers, times, random ids and lost requests."""
    names = {member.member_id: _name(member) for member in generation.members}
    return (
        generation.outcome,
        generation.trigger,
        generation.followup,
        NUMBERED.sub("#", generation.reason or ""),
        names.get(generation.leader),
        tuple(sorted(map(_name, generation.members))),
        tuple(sorted(names.get(joined, "") for joined in generation.joined)),
        len(generation.left),
    )


def _name(member: Member) -> str:
    return member.client_id or member.instance_id or member.member_id or ""
