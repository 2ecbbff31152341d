"""Streams replaces dying threads (KIP-671)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import thrown_by
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses, process_survived
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.seen import client_log
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Answer, Present, Row, Unobservable, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.durations import counted, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import ThreadAdded, ThreadFailed, ThreadRemoved
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact, Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import streams_thread
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.timeouts import session_timeout_ms
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    HEARTBEAT_MS,
    NEXT_HEARTBEAT_MS,
    PROCESS_START_MS,
    ROUND_TRIP_MS,
)

HANDLER_REPLACED = clue(
    "handler-replaced-thread", DECISIVE + WEAK, "the uncaught exception handler of the instance answered REPLACE_THREAD"
)
SUCCESSOR_ADDED = clue(
    "successor-added-at-once", DECISIVE, "a thread was told to stop and its successor was added at once, not by hand"
)
THREADS_SWAPPED = clue(
    "threads-swapped", STRONG, "threads of the instance left while others of the same process joined in their place"
)
HOW = {"handler": HANDLER_REPLACED, "successor": SUCCESSOR_ADDED, "swapped": THREADS_SWAPPED}


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Instances whose handler replaced a thread that died."""
    yield from (about_replaced_threads(timeline, replaced) for replaced in replaced_threads(timeline))


CAUSE = Cause(
    summary="A Streams instance replaces threads that die.",
    mechanism=(
        "The uncaught exception handler answers REPLACE_THREAD: the dying thread's consumer leaves, a new"
        " one joins; with a poison record this repeats forever."
    ),
    shows="'Replacing thread in the streams uncaught exception handler', threads with rising numbers.",
    remedy="Handle the exception where it arises; limit replacements.",
    usual="fault",
    propose=propose,
    implies=(
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
    settings=("num.stream.threads", "processing.exception.handler", "default.deserialization.exception.handler"),
    kips=("KIP-671", "KIP-663", "KIP-1033"),
)


def shown_by(replaced: ReplacedThreads) -> dict[Row, Answer]:
    """By what it shows; only the instance's own log names the handler's answer."""
    shown: dict[Row, Answer] = {HOW[replaced.shown]: Present(replaced.lines)}
    if replaced.participant.has_log:
        return shown
    begin, end = replaced.times[0] - PROCESS_START_MS, replaced.times[-1] + PROCESS_START_MS
    return {HANDLER_REPLACED: Unobservable((client_log(replaced.participant, begin, end),))} | shown


def about_replaced_threads(timeline: Timeline, replaced: ReplacedThreads) -> Hypothesis:
    """Its handler replaced a thread that died."""
    culprits, facts = culprits_of(timeline, [replaced.participant]), moves_of_threads(timeline, replaced)
    return Hypothesis(
        because=lines_of_threads(timeline, replaced, facts),
        culprits=culprits,
        severity="critical" if replaced.count > 2 else "warning",
        explains=(*with_rebalances(timeline, facts), *rebalances_of_threads(timeline, replaced)),
        participants=(replaced.participant,),
        clues=shown_by(replaced),
        narrative=replaced_dying_threads(culprits[0].name, replaced.count, killed_by(timeline, replaced)),
        advice=skip_poison_records(replaced),
    )


def replaced_dying_threads(who: str, count: int, thrown: str | None) -> str:
    """A Streams instance whose threads die and are replaced; `thrown` is the exception where all died of the same."""
    of_what = f" after {thrown}" if thrown else ""
    return f"{who} replaced a dying stream thread {times(count)}{of_what}; each replacement is a leave and a join."


def skip_poison_records(replaced: ReplacedThreads) -> tuple[Advice, ...]:
    """Stream threads that die and are replaced."""
    skip = Advice(
        action=(
            "Handle the exception that kills the thread. If a record causes it, skip the record: set "
            "processing.exception.handler (KIP-1033, 3.9), or deserialization.exception.handler "
            "(default.deserialization.exception.handler before 4.0) if the record cannot be deserialized."
        ),
        why=f"Otherwise it kills the new thread as well: {counted(replaced.count, 'thread')} replaced"
        f"{span(replaced.lines)}.",
        cost="A skipped record is lost unless it goes to a dead letter topic.",
    )
    return (skip,)


class ReplacedThreads(Struct, frozen=True):
    """An instance whose threads were replaced, and the lines that show it."""

    participant: Participant
    lines: tuple[Event, ...]
    shown: Literal["handler", "successor", "swapped"]

    @property
    def times(self) -> TimeIndex[int]:
        """The times of the replacements."""
        return TimeIndex([time_of(e) for e in self.lines], at=int)

    @property
    def count(self) -> int:
        """The number of replacements."""
        return sum(not isinstance(e, ThreadRemoved) for e in self.lines)


def replaced_threads(timeline: Timeline) -> Iterator[ReplacedThreads]:
    """Each instance whose handler replaced a failed thread, by its best evidence."""
    # 2.8 to 3.0 do not log the answer of the handler: there a thread stops and adds another at once.
    by_handler: dict[Participant, list[Event]] = {}
    for event in timeline.of(ThreadAdded, ThreadFailed):
        participant = timeline.participants.of_speaker(event)
        if _is_logged(event) and participant is not None:
            by_handler.setdefault(participant, []).append(event)
    yield from (ReplacedThreads(participant, tuple(events), "handler") for participant, events in by_handler.items())
    by_successor = {
        participant: events
        for participant, events in _replaced_in_place(timeline).items()
        if participant not in by_handler
    }
    yield from (
        ReplacedThreads(participant, tuple(events), "successor") for participant, events in by_successor.items()
    )
    for participant, events in _swapped_threads(timeline).items():
        if participant not in by_handler and participant not in by_successor:
            yield ReplacedThreads(participant, tuple(events), "swapped")


def moves_of_threads(timeline: Timeline, replaced: ReplacedThreads) -> list[Fact]:
    """The departures of the failed threads and the arrivals of their replacements."""
    times, participant = replaced.times, replaced.participant
    moves = timeline.moves(times[0] - PROCESS_START_MS, times[-1] + PROCESS_START_MS, participant)
    initial = initial_arrivals(timeline)
    moves = [m for m in moves if m.id not in initial]
    facts: list[Fact] = [m for m in moves if times.any_between(m.at - PROCESS_START_MS, m.at + PROCESS_START_MS)]
    return facts + [d for d in _expiries_of(timeline, participant, replaced.lines) if d not in facts]


def rebalances_of_threads(timeline: Timeline, replaced: ReplacedThreads) -> list[Rebalance]:
    """The rebalances that begin as a failed thread shuts down, after a back-off (ksqlDB)."""
    failed = {e.thread or e.speaker.thread for e in replaced.lines if isinstance(e, ThreadFailed)} - {None}
    ended = [time_of(e) for e in timeline.of(ThreadRemoved) if e.phase == "stopped" and e.thread in failed]
    return [r for r in timeline.rebalances if any(at <= r.started_at <= at + PROCESS_START_MS for at in ended)]


def lines_of_threads(timeline: Timeline, replaced: ReplacedThreads, moves: Sequence[Fact]) -> list[Event]:
    """The first exceptions, the lines about the threads, further exceptions, and the threads' moves."""
    errors = _thrown_before(timeline, replaced)
    effects = [e for move in moves for e in getattr(move, "events", [])[:2]]
    return [*errors[:3], *replaced.lines, *errors[3:], *effects]


def killed_by(timeline: Timeline, replaced: ReplacedThreads) -> str | None:
    """The exception that ended the threads; None where no line names it, or where they differ."""
    thrown = (*replaced.lines, *_thrown_before(timeline, replaced))
    names = {getattr(event, "exception", None) for event in thrown} - {None}
    return names.pop() if len(names) == 1 else None


def _replaced_in_place(timeline: Timeline) -> dict[Participant, list[Event]]:
    """Threads that stopped and added a successor at once: all that 2.8 to 3.0 log of REPLACE_THREAD."""
    found: dict[Participant, list[Event]] = {}
    for added in timeline.of(ThreadAdded):
        participant = timeline.participants.of_speaker(added)
        if participant is None or added.replacing:
            continue
        at = time_of(added)
        ended = timeline.events_from(participant, ThreadRemoved).between(at - AT_ONCE_MS, at)
        stopped = [e for e in ended if e.phase == "stopping" and time_of(e) >= at - HEARTBEAT_MS]
        if stopped and not any(e.phase == "removing" for e in ended):
            found.setdefault(participant, []).extend((stopped[-1], added))
    return found


def _swapped_threads(timeline: Timeline) -> dict[Participant, list[Event]]:
    """From brokers alone: a thread leaves while another of its process joins, repeatedly or while others stay."""
    found: dict[Participant, list[Event]] = {}
    if timeline.kind != "streams":
        return found
    initial = initial_arrivals(timeline)
    lived = {a.departures[0].id for a in losses(timeline) if a.back_at is None and process_survived(timeline, a)}
    for_good: set[Participant] = set()
    for departure in timeline.departures:
        if departure.participant.has_log:
            continue
        near = _successors(timeline, departure)
        if any(a.member != departure.member and a.id not in initial for a in near):
            found.setdefault(departure.participant, []).append(departure.events[0])
            for_good |= {departure.participant} if departure.id in lived else set()
    return {
        participant: events
        for participant, events in found.items()
        if (len(events) > 1 or participant in for_good) and _has_grown(timeline, participant)
    }


def _has_grown(timeline: Timeline, participant: Participant) -> bool:
    """True if a successor has a new thread number; slow threads come back under their old ones."""
    initial, departures = initial_arrivals(timeline), timeline.departures.of(participant)
    return any(
        a.id not in initial
        and all(_thread_of(timeline, d) != _thread_of(timeline, a) for d in departures.between(0, a.at))
        for a in timeline.arrivals.of(participant)
    )


def _successors(timeline: Timeline, departure: Departure) -> list[Arrival]:
    came = timeline.arrivals.of(departure.participant)
    if departure.why in ("unsubscribed", "closed", "left"):
        near = came.between(departure.at - PROCESS_START_MS, departure.at + PROCESS_START_MS)
        nearest = min(near, key=lambda a: abs(a.at - departure.at), default=None)
        return [nearest] if nearest and _replaces_only(timeline, departure, nearest) else []
    if departure.why != "session-expired":
        return []
    # Nothing joins for a process that stands still, and everything for one that is started anew.
    since = departure.at - session_timeout_ms(timeline) - NEXT_HEARTBEAT_MS
    joined = max((a.at for a in came.between(0, departure.at) if a.member == departure.member), default=0)
    heirs = came.between(max(since, joined + 1), departure.at - HEARTBEAT_MS)
    return heirs if heirs and all(_other_thread(timeline, a, departure) for a in heirs) else []


def _replaces_only(timeline: Timeline, departure: Departure, heir: Arrival) -> bool:
    """True if another thread joins for this one while the process keeps running."""
    # When a process restarts, all its threads leave before any joins.
    if not _other_thread(timeline, heir, departure):
        return False
    departures = timeline.departures.of(departure.participant)
    if any(d is not departure for d in departures.between(departure.at, heir.at)):
        return False
    came = {a.member for a in timeline.arrivals.of(departure.participant).between(0, departure.at)}
    return heir.at <= departure.at + HEARTBEAT_MS or bool(
        came - {d.member for d in departures.between(0, departure.at)}
    )


def _other_thread(timeline: Timeline, arrival: Arrival, departure: Departure) -> bool:
    came, former = _thread_of(timeline, arrival), _thread_of(timeline, departure)
    return came is not None and former is not None and came != former


def _thread_of(timeline: Timeline, move: Arrival | Departure) -> str | None:
    return streams_thread(timeline.participants.client_of(move.member or "") or "")


def _expiries_of(timeline: Timeline, participant: Participant, events: Sequence[Event]) -> list[Departure]:
    """The expiries, a session later, of threads that ended in these events without a LeaveGroup."""
    ended: dict[str, int] = {}
    for event in events:
        name = getattr(event, "thread", None) or event.speaker.thread
        if name is not None and not (isinstance(event, ThreadAdded) and not event.replacing):
            ended[name] = time_of(event)
    reach = session_timeout_ms(timeline) + NEXT_HEARTBEAT_MS
    expired = [d for d in timeline.departures.of(participant) if d.why == "session-expired"]
    return [d for d in expired if 0 <= d.at - ended.get(streams_thread(d.member or "") or "", d.at + 1) <= reach]


def _is_logged(event: Event) -> bool:
    if isinstance(event, ThreadFailed):
        return "REPLACE" in (event.response or "").upper()
    return isinstance(event, ThreadAdded) and event.replacing


def _thrown_before(timeline: Timeline, replaced: ReplacedThreads) -> list[Event]:
    """The exceptions just before threads were replaced."""
    times = replaced.times
    thrown = thrown_by(timeline, replaced.participant, times[0] - PROCESS_START_MS, times[-1] + ROUND_TRIP_MS)
    return [e for e in thrown if times.any_between(time_of(e) - ROUND_TRIP_MS, time_of(e) + PROCESS_START_MS)]
