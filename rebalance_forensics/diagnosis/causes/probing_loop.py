"""Probing rebalances of a Streams group that never end (KIP-441)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.diagnosis.wording.durations import lasting
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import AssignmentStability, FollowUpRequested, FollowUpTriggered
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline

# Minimum number of probing rebalances to report.
ROUNDS = 3
STILL_PROBING = clue(
    "still-probing", DECISIVE, "each probing rebalance asked for another, and none called the assignment stable"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """At least ROUNDS probing rebalances that moved no task, if the last of them requested another."""
    if timeline.kind != "streams":
        return
    probing: list[Rebalance] = []
    for rebalance in timeline.rebalances:
        if rebalance.followup == "cooperative":
            probing.clear()  # a task is moved, because its warm-up replica has caught up
        elif rebalance.followup == "probing":
            probing.append(rebalance)
    if len(probing) < ROUNDS or any(e.stable for e in timeline.of(AssignmentStability).since(probing[-1].started_at)):
        return
    lines = distinct_events(e for r in probing for e in _lines_of(timeline, r))
    rounds, interval = len(probing), timeline.measured(timeouts.setting_ms(timeline, timeouts.PROBING))
    lag = timeline.settings.get("acceptable.recovery.lag")
    yield Hypothesis(
        because=lines,
        culprits=(the_group(timeline),),
        severity="warning",
        explains=tuple(probing),
        clues={STILL_PROBING: Present(lines)},
        narrative=(
            f"{rounds} probing rebalances{lasting(interval, ', {} apart,')} and the warm-up replicas still have not "
            "caught up."
        ),
        ongoing=True,
        advice=(
            Advice(
                action="Raise acceptable.recovery.lag or max.warmup.replicas, or find out why restoration is slow.",
                why=(
                    f"{rounds} probing rebalances so far{lasting(interval, ', {} apart')}: they repeat until every "
                    f"warm-up task's lag is at most acceptable.recovery.lag{f' ({lag})' if lag else ''}."
                ),
                cost="A task that moves with more lag has more to restore before it can process.",
            ),
        ),
    )


CAUSE = Cause(
    propose=propose,
    lookalikes=("streams-endpoint-change", "thread-replacement"),
)


def _lines_of(timeline: Timeline, rebalance: Rebalance) -> Iterator[Event]:
    """The lines that a probing rebalance was triggered, that it started, and that the leader scheduled the next one."""
    began = rebalance.started_at
    triggered = timeline.of(FollowUpTriggered).between(began - windows.ONE_REBALANCE_MS, began + windows.REQUEST_MS)
    yield from triggered[-1:]
    yield from rebalance.events[:1]
    requested = timeline.of(FollowUpRequested).between(began, rebalance.ended_at() + windows.ONE_REBALANCE_MS)
    yield from [e for e in requested if e.scheduled_at][:1]
