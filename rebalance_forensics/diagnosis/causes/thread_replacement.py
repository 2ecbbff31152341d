"""Streams replaces dying threads (KIP-671)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import distinct_events, span, touched
from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.departures_and_restarts import born_with_the_group
from rebalance_forensics.diagnosis.errors_before_exit import thrown_by
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.replaced_threads import (
    expiries_of,
    replaced_by_its_handler,
    swapped,
)
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, Unobservable, stated
from rebalance_forensics.diagnosis.signs.needs import client_log
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import ThreadAdded, ThreadFailed, ThreadRemoved
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.actors import Actor
from rebalance_forensics.timeline.time_index import InTime
from rebalance_forensics.timeline.windows import AROUND_MS, SAME_REBALANCE_MS

HANDLER_REPLACED = stated(
    "handler-replaced-thread", present="the uncaught exception handler of the instance answered REPLACE_THREAD"
)
SUCCESSOR_ADDED = stated(
    "successor-added-at-once", present="a thread was told to stop and its successor was added at once, not by hand"
)
THREADS_SWAPPED = stated(
    "threads-swapped", present="threads of the instance went while others of the same process joined in their place"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Instances whose handler replaced a thread that died."""
    told: dict[Actor, list[Event]] = {}
    for event in timeline.of(ThreadAdded, ThreadFailed):
        replaced = (isinstance(event, ThreadAdded) and event.replacing) or (
            isinstance(event, ThreadFailed) and "REPLACE" in (event.response or "").upper()
        )
        actor = timeline.cast.of_speaker(event)
        if replaced and actor is not None:
            told.setdefault(actor, []).append(event)
    for actor, events in told.items():
        yield _finding(timeline, actor, events, HANDLER_REPLACED)
    wordless = {a: e for a, e in replaced_by_its_handler(timeline).items() if a not in told}
    for actor, events in wordless.items():
        yield _finding(timeline, actor, events, SUCCESSOR_ADDED)
    for actor, events in swapped(timeline).items():
        if actor not in told and actor not in wordless:
            yield _finding(timeline, actor, events, THREADS_SWAPPED)


def _finding(timeline: Timeline, actor: Actor, events: list[Event], shown: Sign) -> Hypothesis:
    times = InTime([time_of(e) for e in events], at=int)
    moves = timeline.moves(times[0] - AROUND_MS, times[-1] + AROUND_MS, actor)
    born = born_with_the_group(timeline)
    moves = [m for m in moves if m.id not in born]
    facts: list[Fact] = [m for m in moves if times.any_between(m.at - AROUND_MS, m.at + AROUND_MS)]
    facts += [d for d in expiries_of(timeline, actor, events) if d not in facts]
    thrown = thrown_by(timeline, actor, times[0] - AROUND_MS, times[-1] + SAME_REBALANCE_MS)
    errors = [e for e in thrown if times.any_between(time_of(e) - SAME_REBALANCE_MS, time_of(e) + AROUND_MS)]
    name = culprits_of(timeline, [actor])[0].name
    replaced = sum(not isinstance(e, ThreadRemoved) for e in events)
    often = "once" if replaced == 1 else f"{replaced} times"
    return Hypothesis(
        because=distinct_events(
            [*errors[:3], *events, *errors[3:], *(e for f in facts for e in getattr(f, "events", [])[:2])]
        ),
        culprits=culprits_of(timeline, [actor]),
        severity="critical" if replaced > 2 else "warning",
        explains=(*facts, *touched(timeline, facts)),
        actors=(actor,),
        answers={**_unheard(actor, times), shown: Present(tuple(events))},
        narrative=f"{name} replaced a dying stream thread {often}; each replacement is a leave and a join.",
        advice=(
            Advice(
                action=(
                    "Handle the record that kills the thread: a processing or deserialization exception "
                    "handler that skips the record."
                ),
                why=f"A poison record kills the next thread too: {replaced} were replaced{span(events)}.",
                cost="Skipped records need a dead letter topic.",
            ),
        ),
    )


def _unheard(actor: Actor, times: InTime[int]) -> dict[Sign, Answer]:
    """Only its own log names the handler's answer."""
    if actor.has_log:
        return {}
    return {HANDLER_REPLACED: Unobservable((client_log(actor, times[0] - AROUND_MS, times[-1] + AROUND_MS),))}


CAUSE = Cause(
    summary="A Streams instance replaces threads that die.",
    mechanism=(
        "The uncaught exception handler answers REPLACE_THREAD: the dying thread's consumer leaves, a new"
        " one joins; with a poison record this repeats for ever."
    ),
    shows="'Replacing thread in the streams uncaught exception handler', threads with rising numbers.",
    remedy="Handle the exception where it arises; limit replacements.",
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(HANDLER_REPLACED, DECISIVE + WEAK),
        speaks_for(SUCCESSOR_ADDED, DECISIVE),
        speaks_for(THREADS_SWAPPED, WEAK),
    ),
    brings=(
        "scaling-flap",
        "member-left",
        "scale-out",
        "scale-in",
        "slow-processing",
        "rolling-restart",
        "process-crash",
        "process-pause",
        "rebalance-straggler",
        "unstable-leader",
    ),
    lookalikes=("process-crash", "slow-processing", "streams-shutdown"),
    settings=("num.stream.threads", "default.deserialization.exception.handler"),
    kips=("KIP-671", "KIP-663"),
)
