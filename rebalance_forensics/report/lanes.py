"""Swim lanes of a group: as the timeline drew them, or drawn from generations and pauses where it drew none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from rebalance_forensics.records import EpochMs
from rebalance_forensics.timeline.model import Generation, GroupHistory, Lane, Member, Span


def lanes_of(history: GroupHistory) -> tuple[Lane, ...]:
    """Give each broker and each member its lane, brokers first."""
    return history.lanes or (*_coordinator_lanes(history), *_member_lanes(history))


def period_of(history: GroupHistory) -> tuple[EpochMs, EpochMs] | None:
    """Find the first and the last moment anything of a group is known."""
    moments = [*_moments_of_generations(history), *_moments_of_lanes(history)]
    for pause in history.pauses:
        moments += [moment for moment in (pause.started_at, pause.ended_at) if moment is not None]
    return (min(moments), max(moments)) if moments else None


def member_name(member: Member) -> str:
    """Name a member as its lane is named."""
    return member.client_id or member.instance_id or member.member_id or "unnamed member"


def leader_names(generation: Generation) -> frozenset[str]:
    """Give every name of the member that led a generation."""
    if generation.leader is None:
        return frozenset()
    led = [member for member in generation.members if generation.leader in (member.member_id, member.client_id)]
    names = (name for member in led for name in (member.member_id, member.client_id, member.instance_id) if name)
    return frozenset({generation.leader, *names})


def stable_until(history: GroupHistory) -> Iterator[tuple[Generation, EpochMs | None]]:
    """Pair each generation whose time is known with the start of the next, None for the last."""
    timed = [
        generation
        for generation in history.generations
        if generation.started_at is not None or generation.completed_at is not None
    ]
    for generation, following in pairwise(timed):
        yield generation, following.started_at if following.started_at is not None else following.completed_at
    if timed:
        yield timed[-1], None


def _moments_of_generations(history: GroupHistory) -> list[EpochMs]:
    edges = [edge for generation in history.generations for edge in (generation.started_at, generation.completed_at)]
    edges += [edge for term in history.coordinators for edge in (term.started_at, term.ended_at)]
    return [edge for edge in edges if edge is not None]


def _moments_of_lanes(history: GroupHistory) -> list[EpochMs]:
    marks = [mark.at for lane in history.lanes for mark in lane.marks]
    edges = [edge for lane in history.lanes for span in lane.spans for edge in (span.started_at, span.ended_at)]
    return marks + [edge for edge in edges if edge is not None]


def _coordinator_lanes(history: GroupHistory) -> Iterator[Lane]:
    terms: dict[str, list[Span]] = defaultdict(list)
    first = _moments_of_generations(history)
    for term in history.coordinators:
        start = term.started_at if term.started_at is not None else min(first, default=None)
        if start is not None:
            terms[term.broker].append(
                Span(
                    started_at=start, ended_at=term.ended_at, kind="coordinating", label=f"coordinates {history.group}"
                )
            )
    for broker, spans in terms.items():
        yield Lane(name=broker, kind="broker", spans=tuple(spans))


def _member_lanes(history: GroupHistory) -> Iterator[Lane]:
    spans: dict[str, list[Span]] = defaultdict(list)
    for generation, until in stable_until(history):
        for member in generation.members:
            spans[member_name(member)].extend(_spans_of(generation, until))
    for pause in history.pauses:
        label = f"{pause.kind}: {', '.join(pause.partitions[:4]) or 'partitions not named'}"
        spans[pause.client_id or pause.member_id or "unnamed member"].append(
            Span(started_at=pause.started_at, ended_at=pause.ended_at, kind="paused", label=label)
        )
    for name, stretches in sorted(spans.items()):
        yield Lane(name=name, kind="client", spans=tuple(sorted(stretches, key=lambda span: span.started_at)))


def _spans_of(generation: Generation, until: EpochMs | None) -> Iterator[Span]:
    number = generation.generation
    start, done = generation.started_at, generation.completed_at
    if start is not None and done is not None and done > start:
        yield Span(started_at=start, ended_at=done, kind="joining", label="rejoins", generation=number)
    begun = done if done is not None else start
    if begun is not None:
        yield Span(started_at=begun, ended_at=until, kind="member", label=f"generation {number}", generation=number)
