"""What if: the faults of an incident under the protocols that the group could run, against the one it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Impact, Saving, WhatIf
from rebalance_forensics.diagnosis.reference.releases import releases_of
from rebalance_forensics.diagnosis.what_if.available import KIP_848, STATIC, Alternative, alternatives_to, protocol_of
from rebalance_forensics.diagnosis.what_if.faults import Came, FaultSequence, Pace, StoodStill, Went
from rebalance_forensics.diagnosis.what_if.observed_faults import fault_sequence, heartbeat_of, poll_interval_of
from rebalance_forensics.diagnosis.what_if.poll_gap import PollGap, poll_gap
from rebalance_forensics.diagnosis.what_if.simulations import Protocol, Simulated, simulate, spread_of
from rebalance_forensics.diagnosis.wording.durations import counted, seconds
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.ownership.timeouts import timeouts_of
from rebalance_forensics.timeline.windows import BARRIER_TIMEOUT_MS, LIKE_THE_LOGS_MS, SHORT_BATCH_MS, WORTH_A_CHANGE_MS

LEAST_PART = 0.1
"""Nor is a gain under a tenth of what there was."""
OFF_PART = 0.25
"""A simulation of what did happen comes this close to all of it, or so close partition by partition."""
COMMITS_ASYNC = (3, 2)
"""From here on a member that has to commit before it joins returns from poll() meanwhile (KAFKA-13310)."""


def alternatives(
    timeline: Timeline, started: int, ended: int, impact: Impact, rebalances: Sequence[Rebalance]
) -> tuple[WhatIf, ...]:
    """The protocols that would have cost less; empty where none would, or where a simulation proves nothing."""
    own = protocol_of(timeline)
    if own is None or impact.unread_partition_ms is None or impact.unread_partition_ms < WORTH_A_CHANGE_MS:
        return ()
    offers = tuple(alternatives_to(timeline, own))
    sequence = fault_sequence(timeline, started, ended, rebalances) if offers else None
    timeouts = timeouts_of(timeline)
    if sequence is None or timeouts.session is None:
        return ()
    auto_commit = timeline.settings.get("enable.auto.commit", "true") == "true"
    commits = auto_commit and not _commits_before_it_returns(timeline)
    gap = poll_gap(timeline, sequence.until, commits_first=commits)
    if gap is None:
        return (_unknown(offers),)
    pace = Pace(
        between_polls=(gap.low, gap.high),
        heartbeat=heartbeat_of(timeouts),
        session=timeouts.session,
        poll_interval=poll_interval_of(timeouts) or BARRIER_TIMEOUT_MS,
        commits_first=commits,
    )
    present = simulate(sequence, pace, own)
    if not _is_like(present, impact):
        return ()
    case = _Case(sequence, replace(pace, commits_first=auto_commit), pace, gap, impact, present)
    return tuple(_offered(case, offers))


class _Case(Struct, frozen=True):
    """What one incident is judged by."""

    sequence: FaultSequence
    epochs: Pace
    classic: Pace
    gap: PollGap
    impact: Impact
    present: Simulated

    def under(self, protocol: Protocol) -> Simulated:
        """The same faults under another protocol."""
        return simulate(self.sequence, self.epochs if protocol == "KIP-848" else self.classic, protocol)


def _commits_before_it_returns(timeline: Timeline) -> bool:
    told = [one[-1] for one in timeline.remembered(releases_of).told.get("client", {}).values()]
    return bool(told) and all(one.high[:2] < COMMITS_ASYNC for one in told)


def _is_like(present: Simulated, impact: Impact) -> bool:
    """Whether the simulation of the group's own protocol comes to what the logs show."""
    unread, stopped = impact.unread_partition_ms or 0, impact.stopped_ms
    off = max(OFF_PART * unread, LIKE_THE_LOGS_MS * (impact.unread_partitions or 1))
    near = present.partition_ms.low - off <= unread <= present.partition_ms.high + off
    if stopped is None:
        return near
    off = max(OFF_PART * stopped, LIKE_THE_LOGS_MS)
    return near and present.stopped_ms.low - off <= stopped <= present.stopped_ms.high + off


def _offered(case: _Case, offers: Sequence[Alternative]) -> Iterator[WhatIf]:
    for offer in offers:
        other = case.under(offer.protocol)
        pairs = list(zip(case.present.runs, other.runs, strict=True))
        unread = _saving([a.partition_ms - b.partition_ms for a, b in pairs])
        told = case.impact.stopped_ms is not None
        stopped = _saving([a.stopped_ms - b.stopped_ms for a, b in pairs]) if told else None
        present = case.present
        if _is_worth_it(unread, present.partition_ms.middle) or _is_worth_it(stopped, present.stopped_ms.middle):
            yield WhatIf(
                alternative=offer.name,
                unread=unread,
                stopped=stopped,
                explanation=_explained(case, offer),
                condition=offer.condition,
            )


def _saving(differences: list[float]) -> Saving:
    spread = spread_of(differences)
    return Saving(low=round(spread.low), likely=round(spread.middle), high=round(spread.high))


def _is_worth_it(saving: Saving | None, present: float) -> bool:
    return saving is not None and saving.low > 0 and saving.likely >= max(WORTH_A_CHANGE_MS, LEAST_PART * present)


def _explained(case: _Case, offer: Alternative) -> str:
    gap, now = case.gap, seconds(round(case.present.partition_ms.middle))
    lasts = (
        f"{seconds(round(gap.low))} to {seconds(round(gap.high))}" if gap.high >= SHORT_BATCH_MS else "less than 0.1 s"
    )
    batches = f"{lasts} between polls"
    text = (
        f"Simulated with the faults of this incident ({_faults(case.sequence)}) and {batches}, as seen in "
        f"{counted(gap.waits, 'rejoin')}. As a check, the simulated unread partition time under the present "
        f"protocol is "
        f"{now}; in the logs it is {seconds(case.impact.unread_partition_ms or 0)}."
    )
    session = seconds(case.classic.session)
    if offer.name == KIP_848:
        return (
            f"{text} The brokers' group.consumer.session.timeout.ms is assumed to be {session}, like the members' own "
            "now."
        )
    if offer.name == STATIC:
        return f"{text} A member that is back within session.timeout.ms ({session}) causes no rebalance."
    return text


def _faults(sequence: FaultSequence) -> str:
    closed = sum(isinstance(f, Went) and f.how == "closed" for f in sequence.faults)
    died = sum(isinstance(f, Went) and f.how == "died" for f in sequence.faults)
    frozen = sum(isinstance(f, StoodStill) and f.how == "frozen" for f in sequence.faults)
    stuck = sum(isinstance(f, StoodStill) and f.how == "stuck" for f in sequence.faults)
    came = sum(isinstance(f, Came) for f in sequence.faults)
    counts = ((closed, "shut down"), (died, "died"), (frozen, "frozen"), (stuck, "stuck"), (came, "started"))
    return ", ".join(f"{count} {what}" for count, what in counts if count)


def _unknown(offers: Sequence[Alternative]) -> WhatIf:
    return WhatIf(
        alternative=" or ".join(dict.fromkeys(offer.name for offer in offers)),
        unread=None,
        stopped=None,
        explanation="not simulated: the cost depends on the time between polls, which the logs do not show.",
    )
