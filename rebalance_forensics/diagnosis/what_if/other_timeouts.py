"""Shorter timeouts, under the protocol that the group runs: a member that died, or holds up a rebalance, goes earlier.

They are no remedy for members that were frozen or exceeded max.poll.interval.ms: those would be evicted more often. Nor
do longer ones save unread time there: what such a member has is unread for as long as it stands still, evicted or not.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.what_if.faults import Fault, FaultSequence, Pace, StoodStill, Went
from rebalance_forensics.diagnosis.what_if.poll_gap import PollGap
from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.timeline.windows import USUAL_TIMEOUTS_MS

HEARTBEATS_A_SESSION = 3
"""Kafka's own advice: heartbeat.interval.ms no higher than a third of session.timeout.ms."""
BATCHES_A_POLL_INTERVAL = 3
"""Members whose batches take longer than a third of max.poll.interval.ms would soon exceed it in good health."""
SHORTER = 2
"""Half of what it is now, or less: the next usual value below is too close to matter."""


class KnownTimeouts(Struct, frozen=True, kw_only=True):
    """What the logs show of timeouts; `least_session` is the broker's bound, by default where they do not show it."""

    least_session: int
    heartbeat: bool
    poll_interval: bool


class OtherTimeout(Struct, frozen=True, kw_only=True):
    """One timeout set otherwise, and what that costs besides."""

    name: str
    pace: Pace
    price: str
    condition: str | None = None


def other_timeouts(sequence: FaultSequence, pace: Pace, gap: PollGap, known: KnownTimeouts) -> Iterator[OtherTimeout]:
    """The timeouts that these faults waited for, at half their value or the usual one below that."""
    if any(_died(fault) for fault in sequence.faults) and not any(_was_evicted(f, pace) for f in sequence.faults):
        session = _usual_below(pace.session, max(known.least_session, HEARTBEATS_A_SESSION * pace.heartbeat))
        if session is not None:
            yield OtherTimeout(
                name=f"session.timeout.ms of {seconds(session)} instead of {seconds(pace.session)}",
                pace=replace(pace, session=session),
                price=f"The group would then also evict members that pause for {seconds(session)}.",
                condition=None
                if known.heartbeat
                else f"if heartbeat.interval.ms is its default, {seconds(pace.heartbeat)}",
            )
    if known.poll_interval and any(_kept_waiting(fault, pace) for fault in sequence.faults):
        interval = _usual_below(pace.poll_interval, round(BATCHES_A_POLL_INTERVAL * gap.high))
        if interval is not None:
            yield OtherTimeout(
                name=f"max.poll.interval.ms of {seconds(interval)} instead of {seconds(pace.poll_interval)}",
                pace=replace(pace, poll_interval=interval),
                price=f"Members that take longer than {seconds(interval)} for a batch would then leave the group.",
            )


def _died(fault: Fault) -> bool:
    """Whether its session had to end before the group missed it."""
    return isinstance(fault, Went) and fault.how == "died"


def _was_evicted(fault: Fault, pace: Pace) -> bool:
    """Whether a member that lived lost its place."""
    return isinstance(fault, StoodStill) and not _kept_waiting(fault, pace)


def _kept_waiting(fault: Fault, pace: Pace) -> bool:
    """Whether it was stuck while a rebalance waited for it, and not for so long that it was removed."""
    return isinstance(fault, StoodStill) and fault.how == "stuck" and fault.end - fault.begin < pace.poll_interval


def _usual_below(present: int, least: int) -> int | None:
    return max((one for one in USUAL_TIMEOUTS_MS if least <= one <= present // SHORTER), default=None)
