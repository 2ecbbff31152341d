"""The alternatives for an incident: protocols that the group could run, and shorter timeouts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import sqrt
from statistics import median

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.episodes.members.rebalance_notices import rebalance_notices
from rebalance_forensics.diagnosis.model import Impact, Saving, WhatIf
from rebalance_forensics.diagnosis.what_if.faults import (
    FaultSequence,
    Pace,
    ProcessEnded,
    ProcessStalled,
    ProcessStarted,
    fault_sequence,
)
from rebalance_forensics.diagnosis.what_if.simulations import Protocol, Simulated, simulate, spread_of
from rebalance_forensics.diagnosis.wording.durations import counted, seconds
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.clients import every_client_is_java
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.profile import assignors_in
from rebalance_forensics.timeline.releases import Release, Side, releases_of

# Batches that take more than a third of max.poll.interval.ms would soon exceed it even in normal operation.
BATCHES_A_POLL_INTERVAL = 3
# At most half of the current value: the next usual value below it may be too close to matter.
SHORTER = 2
# Minimum number of waits from which to estimate the length of a batch.
FEWEST = 3
# Four in five medians of n uniform waits are within this, divided by the square root of n, of the true median.
UNEVEN = 0.9


class KnownTimeouts(Struct, frozen=True, kw_only=True):
    """Timeouts from the logs; `least_session` is group.min.session.timeout.ms, or its default if not logged."""

    least_session: int
    heartbeat: bool
    poll_interval: bool


class OtherTimeout(Struct, frozen=True, kw_only=True):
    """A different value of one timeout, and its trade-off."""

    name: str
    pace: Pace
    price: str
    condition: str | None = None


def other_timeouts(sequence: FaultSequence, pace: Pace, gap: PollGap, known: KnownTimeouts) -> Iterator[OtherTimeout]:
    """Yield shorter values of the timeouts for which the group waited: half, or the usual value below that."""
    # A crashed member is evicted when its session expires; a shorter session evicts paused members sooner as well.
    died = any(isinstance(fault, ProcessEnded) and fault.how == "died" for fault in sequence.faults)
    still = [fault for fault in sequence.faults if isinstance(fault, ProcessStalled)]
    if died and all(_delayed_rebalance(fault, pace) for fault in still):
        session = _usual_below(pace.session, max(known.least_session, timeouts.HEARTBEATS_PER_SESSION * pace.heartbeat))
        if session is not None:
            yield OtherTimeout(
                name=f"session.timeout.ms of {seconds(session)} instead of {seconds(pace.session)}",
                pace=replace(pace, session=session),
                price=f"The group would then also evict members that pause for {seconds(session)}.",
                condition=None
                if known.heartbeat
                else f"if heartbeat.interval.ms is its default, {seconds(pace.heartbeat)}",
            )
    if known.poll_interval and any(_delayed_rebalance(fault, pace) for fault in still):
        interval = _usual_below(pace.poll_interval, round(BATCHES_A_POLL_INTERVAL * gap.high))
        if interval is not None:
            yield OtherTimeout(
                name=f"max.poll.interval.ms of {seconds(interval)} instead of {seconds(pace.poll_interval)}",
                pace=replace(pace, poll_interval=interval),
                price=f"Members that take longer than {seconds(interval)} for a batch would then leave the group.",
            )


def _delayed_rebalance(fault: ProcessStalled, pace: Pace) -> bool:
    """True if a rebalance waited for the stuck member, but for less than max.poll.interval.ms."""
    return fault.how == "stuck" and fault.end - fault.begin < pace.poll_interval


def _usual_below(present: int, least: int) -> int | None:
    return max((usual for usual in windows.USUAL_TIMEOUTS if least <= usual <= present // SHORTER), default=None)


COOPERATIVE = "cooperative rebalancing"
STATIC = "static membership (group.instance.id)"
KIP_848 = "the KIP-848 protocol (group.protocol=consumer)"
BUILT_IN = "org.apache.kafka.clients.consumer."
# KIP-429; KIP-345; KIP-848, which is only early access or a preview in 3.7 to 3.9.
NEEDS: dict[str, dict[Side, Release]] = {
    COOPERATIVE: {"client": (2, 4)},
    STATIC: {"broker": (2, 3), "client": (2, 3)},
    KIP_848: {"broker": (4, 0), "client": (4, 0)},
}


class Alternative(Struct, frozen=True, kw_only=True):
    """A protocol that the group could run; `condition` is what the logs do not show, as `if the brokers run 4.0 …`."""

    name: str
    protocol: Protocol
    condition: str | None = None


def protocol_of(timeline: Timeline) -> Protocol | None:
    """Return the protocol of a consumer group of Java clients; None for other groups, which cannot be simulated."""
    if timeline.kind != "consumer" or timeline.protocol != "classic" or timeline.mode not in ("eager", "cooperative"):
        return None
    members = timeline.membership.members
    if not members or not every_client_is_java(timeline):
        return None
    static = [bool(who.instance_ids) for who in members]
    if any(static) != all(static):
        return None
    if timeline.mode == "cooperative":
        return "cooperative, static" if all(static) else "cooperative"
    return "eager, static" if all(static) else "eager"


def alternatives_to(timeline: Timeline, protocol: Protocol) -> Iterator[Alternative]:
    """Yield the protocols that the logged releases and assignors allow."""
    built_in = _assignors_are_built_in(timeline)
    offers: list[tuple[str, Protocol, bool]] = [
        (COOPERATIVE, "cooperative", protocol == "eager" and built_in),
        (COOPERATIVE, "cooperative, static", protocol == "eager, static" and built_in),
        (STATIC, "eager, static", protocol == "eager"),
        (STATIC, "cooperative, static", protocol == "cooperative"),
        (KIP_848, "KIP-848", protocol in ("eager", "cooperative") and built_in),
    ]
    for name, other, offered in offers:
        if not offered:
            continue
        missing = _missing(timeline, NEEDS[name])
        if missing is not None:
            yield Alternative(name=name, protocol=other, condition=missing or None)


def _missing(timeline: Timeline, needs: dict[Side, Release]) -> str | None:
    """Return the condition that the logs do not show, empty if none; None if a release is too old."""
    runs = releases_of(timeline).reported
    unknown = []
    for side, least in needs.items():
        running = [release[-1] for release in runs.get(side, {}).values()]
        if any(release.high[:2] < least for release in running):
            return None
        if not running:
            unknown.append(f"the {side}s run {'.'.join(map(str, least))} or newer")
    return f"if {' and '.join(unknown)}" if unknown else ""


def _assignors_are_built_in(timeline: Timeline) -> bool:
    # A custom assignor has a purpose that another protocol would not keep.
    return all(name.startswith(BUILT_IN) or "." not in name for name in assignors_in(timeline.settings))


# A saving of less than a tenth of the cost does not matter either.
LEAST_PART = 0.1
# Maximum deviation of a simulation of the actual incident, in total and by partition.
OFF_PART = 0.25
# Since this release a member that has to commit before it joins returns from poll() meanwhile (KAFKA-13310).
COMMITS_ASYNC = (3, 2)


def alternatives(
    timeline: Timeline, started: int, ended: int, impact: Impact, rebalances: Sequence[Rebalance]
) -> tuple[WhatIf, ...]:
    """Return the protocols and timeouts that would have cost less; none if the simulation does not match the logs."""
    own = protocol_of(timeline)
    if own is None or impact.unread_partition_ms is None or impact.unread_partition_ms < windows.ROUND_TRIP_MS:
        return ()
    offers = tuple(alternatives_to(timeline, own))
    sequence = fault_sequence(timeline, started, ended, rebalances)
    session = timeouts.shown_session_ms(timeline)
    if sequence is None or session is None:
        return ()
    auto_commit = timeline.settings.get("enable.auto.commit", "true") == "true"
    commits = auto_commit and not _commits_before_it_returns(timeline)
    gap = poll_gap(timeline, sequence.until, commits_first=commits)
    if gap is None:
        return (_unknown(offers),) if offers else ()
    poll = timeouts.shown_poll_ms(timeline, any_member=True)
    pace = Pace(
        between_polls=(gap.low, gap.high),
        heartbeat=timeouts.heartbeat_interval_ms(timeline),
        session=session,
        poll_interval=poll or timeouts.DEFAULTS[timeouts.POLL],
        commits_first=commits,
    )
    known = KnownTimeouts(
        least_session=timeouts.setting_ms(timeline, timeouts.LEAST_SESSION)
        or timeouts.DEFAULTS[timeouts.LEAST_SESSION],
        heartbeat=timeouts.shown_ms(timeline, timeouts.HEARTBEAT) is not None,
        poll_interval=poll is not None,
    )
    present = simulate(sequence, pace, own)
    if not _is_like(present, impact):
        return ()
    case = _Case(sequence, replace(pace, commits_first=auto_commit), pace, gap, impact, present, own, known)
    return tuple(_better_alternatives(case, offers))


class _Case(Struct, frozen=True):
    """The observed incident and the parameters of its simulations."""

    sequence: FaultSequence
    epochs: Pace
    classic: Pace
    gap: PollGap
    impact: Impact
    present: Simulated
    own: Protocol
    known: KnownTimeouts

    def under(self, protocol: Protocol) -> Simulated:
        """Simulate the incident's faults under another protocol."""
        return simulate(self.sequence, self.epochs if protocol == "KIP-848" else self.classic, protocol)


def _commits_before_it_returns(timeline: Timeline) -> bool:
    latest = [release[-1] for release in releases_of(timeline).reported.get("client", {}).values()]
    return bool(latest) and all(release.high[:2] < COMMITS_ASYNC for release in latest)


def _is_like(present: Simulated, impact: Impact) -> bool:
    """True if the simulation of the group's own protocol matches the logs."""
    unread, stopped = impact.unread_partition_ms or 0, impact.stopped_ms
    off = max(OFF_PART * unread, windows.HEARTBEAT_MS * (impact.unread_partitions or 1))
    near = present.partition_ms.low - off <= unread <= present.partition_ms.high + off
    if stopped is None:
        return near
    off = max(OFF_PART * stopped, windows.HEARTBEAT_MS)
    return near and present.stopped_ms.low - off <= stopped <= present.stopped_ms.high + off


def _better_alternatives(case: _Case, offers: Sequence[Alternative]) -> Iterator[WhatIf]:
    for offer in offers:
        yield from _if_better(case, offer.name, case.under(offer.protocol), _explained(case, offer), offer.condition)
    for other in other_timeouts(case.sequence, case.classic, case.gap, case.known):
        simulated = simulate(case.sequence, other.pace, case.own)
        explanation = f"{_simulated_with(case)} {other.price}"
        yield from _if_better(case, other.name, simulated, explanation, other.condition)


def _if_better(case: _Case, name: str, other: Simulated, explanation: str, condition: str | None) -> Iterator[WhatIf]:
    """Return the alternative with its savings, unless these are too small to matter."""
    present = case.present
    pairs = list(zip(present.runs, other.runs, strict=True))
    unread = _saving([a.partition_ms - b.partition_ms for a, b in pairs], case.impact.unread_partition_ms)
    known = case.impact.stopped_ms is not None
    stopped = _saving([a.stopped_ms - b.stopped_ms for a, b in pairs], case.impact.stopped_ms) if known else None
    if _is_worth_it(unread, present.partition_ms.middle) or _is_worth_it(stopped, present.stopped_ms.middle):
        yield WhatIf(alternative=name, unread=unread, stopped=stopped, explanation=explanation, condition=condition)


def _saving(differences: list[float], cost: int | None) -> Saving:
    """Return the saving over the simulations, capped at the actual cost because simulations are approximate."""
    spread = spread_of(differences)
    low, likely, high = (
        round(value) if cost is None else min(round(value), cost) for value in (spread.low, spread.middle, spread.high)
    )
    return Saving(low=low, likely=likely, high=high)


def _is_worth_it(saving: Saving | None, present: float) -> bool:
    return saving is not None and saving.low > 0 and saving.likely >= max(windows.ROUND_TRIP_MS, LEAST_PART * present)


def _simulated_with(case: _Case) -> str:
    gap, now = case.gap, seconds(round(case.present.partition_ms.middle))
    lasts = (
        f"{seconds(round(gap.low))} to {seconds(round(gap.high))}"
        if gap.high >= windows.SHORTEST_UNREAD_MS
        else "less than 0.1 s"
    )
    batches = f"{lasts} between polls"
    return (
        f"Simulated with the faults of this incident ({_faults(case.sequence)}) and {batches}, as seen in "
        f"{counted(gap.waits, 'rejoin')}. As a check, the simulated unread partition time under the present "
        f"protocol is "
        f"{now}; in the logs it is {seconds(case.impact.unread_partition_ms or 0)}."
    )


def _explained(case: _Case, offer: Alternative) -> str:
    text, session = _simulated_with(case), seconds(case.classic.session)
    if offer.name == KIP_848:
        return (
            f"{text} The brokers' group.consumer.session.timeout.ms is assumed to be {session}, like the members' own "
            "now."
        )
    if offer.name == STATIC:
        return f"{text} A member that is back within session.timeout.ms ({session}) causes no rebalance."
    return text


def _faults(sequence: FaultSequence) -> str:
    kinds = Counter("started" if isinstance(fault, ProcessStarted) else fault.how for fault in sequence.faults)
    shown = ("closed", "shut down"), ("died", "died"), ("frozen", "frozen"), ("stuck", "stuck"), ("started", "started")
    return ", ".join(f"{kinds[kind]} {what}" for kind, what in shown if kinds[kind])


def _unknown(offers: Sequence[Alternative]) -> WhatIf:
    return WhatIf(
        alternative=" or ".join(dict.fromkeys(offer.name for offer in offers)),
        unread=None,
        stopped=None,
        explanation="not simulated, because the cost depends on the time between polls, which the logs do not show.",
    )


class PollGap(Struct, frozen=True, kw_only=True):
    """Time in ms between two polls of a busy member, its range, and the number of waits that it is estimated from."""

    low: float
    likely: float
    high: float
    waits: int


def poll_gap(timeline: Timeline, until: int, *, commits_first: bool) -> PollGap | None:
    """Estimate the gap from rebalances up to a time; None if too few members log both the notice and the rejoin."""
    # The heartbeat thread logs that the group is rebalancing, and the member rejoins at its next poll. The notice comes
    # at a random time within a batch, so that a batch takes about twice the median wait.
    waits = [wait for at, wait in _waits(timeline) if at <= until]
    busy = [wait for wait in waits if wait > windows.REQUEST_MS]
    known = busy if len(busy) >= FEWEST else waits
    if len(known) < FEWEST:
        return None
    # A cooperative member that commits before it joins also waits for the poll after that.
    polls = 1.5 if timeline.mode == "cooperative" and commits_first and known is busy else 0.5
    likely = max(windows.REQUEST_MS, median(known) / polls)
    apart = min(0.6, UNEVEN / sqrt(len(known))) * (0.5 / polls)
    return PollGap(low=likely * (1 - apart), likely=likely, high=likely * (1 + apart), waits=len(known))


@cached_answer
def _waits(timeline: Timeline) -> list[tuple[int, int]]:
    """Return (time of the rejoin, wait in ms) for every member that logs both the notice and the rejoin."""
    notices = (n for participant in timeline.participants.everybody for n in rebalance_notices(timeline, participant))
    known = ((n.began_at, n.polled_after_ms) for n in notices)
    return sorted((began + waited, waited) for began, waited in known if waited is not None)
