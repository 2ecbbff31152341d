"""Swim lanes: for each member and coordinator its stretches and its moments."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Literal

from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, GroupLoaded, GroupUnloaded
from rebalance_forensics.events.membership import (
    InstanceFenced,
    LeaveSent,
    MemberFailed,
    MemberLeft,
    MemberRefused,
    PollTimeoutExpired,
)
from rebalance_forensics.events.process import ExceptionLogged, SettingsReported
from rebalance_forensics.events.rebalancing import (
    AssignmentFailed,
    AssignmentReceived,
    GenerationStabilized,
    JoinFailed,
    RebalanceStarted,
    SyncFailed,
)
from rebalance_forensics.events.streams import FollowUpTriggered, ThreadFailed
from rebalance_forensics.timeline.actors import Actor
from rebalance_forensics.timeline.build import Timeline
from rebalance_forensics.timeline.model import Evidence, Lane, Mark, Span

_FAULTS = (
    PollTimeoutExpired, MemberFailed, InstanceFenced, MemberRefused, ExceptionLogged, ThreadFailed, AssignmentFailed,
)  # fmt: skip
_NOTICES = (
    RebalanceStarted, MemberLeft, LeaveSent, JoinFailed, SyncFailed, CoordinatorLost, GroupLoaded, GroupUnloaded,
    FollowUpTriggered,
)  # fmt: skip
_PLAIN = (GenerationStabilized, AssignmentReceived, SettingsReported)


def lanes_of(timeline: Timeline) -> tuple[Lane, ...]:
    """One lane a member, then one a coordinator."""
    marks: dict[str, list[Mark]] = defaultdict(list)
    for event in timeline.events:
        mark = _mark(event)
        if mark is None:
            continue
        for name in _lane_names(timeline, event):
            marks[name].append(mark)
    members = sorted(timeline.actors(), key=lambda a: a.name)
    lanes = [
        Lane(name=a.name, kind=a.kind, spans=_spans(timeline, a), marks=tuple(marks.get(a.name, ()))) for a in members
    ]
    return (*lanes, *_coordinator_lanes(timeline, marks))


def _coordinator_lanes(timeline: Timeline, marks: dict[str, list[Mark]]) -> list[Lane]:
    spans: dict[str, list[Span]] = defaultdict(list)
    for term in timeline.coordinators:
        if term.started_at is not None:
            spans[term.broker].append(
                Span(
                    started_at=term.started_at,
                    ended_at=term.ended_at,
                    kind="coordinating",
                    label=f"{term.broker} coordinates",
                )
            )
    return [
        Lane(name=broker, kind="broker", spans=tuple(spans[broker]), marks=tuple(marks.get(broker, ())))
        for broker in sorted(spans)
    ]


def _lane_names(timeline: Timeline, event: Event) -> set[str]:
    names: set[str] = set()
    if event.speaker.role == "broker":
        if event.group is not None and event.speaker.broker is not None:
            names.add(f"broker-{event.speaker.broker}")
        told = [getattr(event, "member", None), *getattr(event, "members", ())]
        actors = [timeline.cast.of_member(m) for m in told if isinstance(m, str)]
        names |= {a.name for a in actors if a is not None}
    else:
        actor = timeline.cast.of_speaker(event)
        if actor is not None:
            names.add(actor.name)
    return names


def _spans(timeline: Timeline, actor: Actor) -> tuple[Span, ...]:
    spans = []
    ordered = timeline.generations
    for index, generation in enumerate(ordered):
        if generation.started_at is None or not any(m.member_id in actor.member_ids for m in generation.members):
            continue
        begin = generation.completed_at or generation.started_at
        following = ordered[index + 1].started_at if index + 1 < len(ordered) else None
        label = f"generation {generation.generation}"
        if generation.completed_at is not None and generation.completed_at > generation.started_at:
            spans.append(
                Span(
                    started_at=generation.started_at,
                    ended_at=generation.completed_at,
                    kind="joining",
                    label=f"joining {label}",
                    generation=generation.generation,
                )
            )
        spans.append(
            Span(started_at=begin, ended_at=following, kind="member", label=label, generation=generation.generation)
        )
    for pause in timeline.pauses:
        if pause.client_id in actor.client_ids or pause.member_id in actor.member_ids:
            label = f"{pause.kind}: {len(pause.partitions)} partitions without a reader"
            spans.append(Span(started_at=pause.started_at, ended_at=pause.ended_at, kind="paused", label=label))
    for departure in timeline.departures:
        if departure.actor is actor:
            back = departure.returned.at if departure.returned else None
            spans.append(Span(started_at=departure.at, ended_at=back, kind="away", label=f"gone: {departure.why}"))
    return tuple(sorted(spans, key=lambda s: (s.started_at, s.kind)))


def _mark(event: Event) -> Mark | None:
    if event.at is None:
        return None
    if isinstance(event, _FAULTS):
        severity: Literal["fault", "notice", "plain"] = "fault"
    elif isinstance(event, _NOTICES):
        severity = "notice"
    elif isinstance(event, _PLAIN):
        severity = "plain"
    else:
        return None
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(event).__name__).lower()
    return Mark(
        at=event.at,
        kind=words,
        label=words.replace("-", " "),
        severity=severity,
        evidence=Evidence(
            path=event.origin.path,
            line=event.origin.line,
            byte_offset=event.origin.byte_offset,
            timestamp=event.at,
            text=event.text[:2000],
        ),
    )
