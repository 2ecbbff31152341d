"""Probing rebalances of a Streams group that never end (KIP-441).

What happened: at least three probing rebalances in a row moved no task, and the last one schedules another. One
hypothesis, ongoing, with the sign STILL_PROBING; the sentence gives their number and interval, the advice is to let
warm-ups catch up (acceptable.recovery.lag, max.warmup.replicas).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.diagnosis.wording.durations import lasting
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import AssignmentStability, FollowUpRequested, FollowUpTriggered
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import PROBING, setting_ms
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS, REQUEST_MS

ROUNDS = 3
STILL_PROBING = clue(
    "still-probing", DECISIVE, "each probing rebalance asked for another, and none called the assignment stable"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """At most one hypothesis: the probing rebalances of a group whose warm-ups have not caught up."""
    probing = endless_probing(timeline)
    if probing is not None:
        rounds, interval = len(probing.rebalances), timeline.measured(probing.interval_ms)
        yield Hypothesis(
            because=probing.lines,
            culprits=(the_group(timeline),),
            severity="warning",
            explains=probing.rebalances,
            clues={STILL_PROBING: Present(probing.lines)},
            narrative=(
                f"{rounds} probing rebalances{lasting(interval, ', {} apart,')} and the warm-ups still have not caught "
                "up."
            ),
            ongoing=True,
            advice=catch_up(rounds, interval, timeline.settings.get("acceptable.recovery.lag")),
        )


CAUSE = Cause(
    summary="Probing rebalances of a Streams application that never end.",
    mechanism="While a stateful task warms up on its new owner the leader schedules a probing rebalance every "
    "probing.rebalance.interval.ms. If the warm-up never catches up, they never stop.",
    shows="Regular gaps of probing.rebalance.interval.ms, 'unstable assignment' at each, warm-ups that never catch up.",
    remedy="Make restoration faster than the input, or raise acceptable.recovery.lag.",
    usual="fault",
    propose=propose,
    lookalikes=("streams-endpoint-change", "thread-replacement"),
    settings=(
        "probing.rebalance.interval.ms",
        "acceptable.recovery.lag",
        "max.warmup.replicas",
        "num.standby.replicas",
    ),
    kips=("KIP-441",),
)


def endless_probing(timeline: Timeline) -> Probing | None:
    """At least three probing rebalances that moved no task, the last of which still asks for another."""
    if timeline.kind != "streams":
        return None
    probing = _since_tasks_moved(timeline.rebalances)
    if len(probing) < ROUNDS or any(e.stable for e in timeline.of(AssignmentStability).since(probing[-1].started_at)):
        return None
    interval = setting_ms(timeline, PROBING)
    return Probing(probing, interval, distinct_events(e for r in probing for e in _lines_of(timeline, r)))


class Probing(Struct, frozen=True):
    """Probing rebalances since a task last moved, their configured interval and the lines that show them."""

    rebalances: tuple[Rebalance, ...]
    interval_ms: int
    lines: tuple[Event, ...]


def _since_tasks_moved(rebalances: Sequence[Rebalance]) -> tuple[Rebalance, ...]:
    """Probing rebalances after the last one that moved a task: a task moves when its warm-up has caught up."""
    since: list[Rebalance] = []
    for rebalance in rebalances:
        if rebalance.followup == "cooperative":
            since.clear()
        elif rebalance.followup == "probing":
            since.append(rebalance)
    return tuple(since)


def _lines_of(timeline: Timeline, rebalance: Rebalance) -> Iterator[Event]:
    """Lines of the scheduled trigger, of the start, and of the leader scheduling the next one."""
    began = rebalance.started_at
    triggered = timeline.of(FollowUpTriggered).between(began - ONE_REBALANCE_MS, began + REQUEST_MS)
    yield from triggered[-1:]
    yield from rebalance.events[:1]
    requested = timeline.of(FollowUpRequested).between(began, rebalance.ended_at() + ONE_REBALANCE_MS)
    yield from [e for e in requested if e.scheduled_at][:1]


def catch_up(rounds: int, interval_ms: int | None, lag: str | None) -> tuple[Advice, ...]:
    """Warm-ups that never catch up; `interval_ms` is None where the lines have no times."""
    faster = Advice(
        action="Raise acceptable.recovery.lag or max.warmup.replicas, or find out why restoration is slow.",
        why=(
            f"{rounds} probing rebalances so far{lasting(interval_ms, ', {} apart')}: they repeat until every "
            f"warm-up task's lag is at most acceptable.recovery.lag{f' ({lag})' if lag else ''}."
        ),
        cost="A task that moves with more lag has more to restore before it can process.",
    )
    return (faster,)
