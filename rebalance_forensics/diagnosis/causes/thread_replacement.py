"""A Streams instance replaces threads that die (KIP-671)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.episodes.members.departures import initial_arrivals
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import thrown_by
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses, process_survived
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.seen import client_log
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Answer, Present, Row, Unobservable, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.durations import counted, span
from rebalance_forensics.diagnosis.wording.durations import times as times_in_words
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.streams import ThreadAdded, ThreadFailed, ThreadRemoved
from rebalance_forensics.timeline import timeouts, windows
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival, Departure, Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.names import streams_thread
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex

HANDLER_REPLACED = clue(
    "handler-replaced-thread", DECISIVE + WEAK, "the uncaught exception handler of the instance answered REPLACE_THREAD"
)
SUCCESSOR_ADDED = clue(
    "successor-added-at-once",
    DECISIVE,
    "a thread was informed to shut down and its successor was added at once, not by hand",
)
THREADS_SWAPPED = clue(
    "threads-swapped", STRONG, "threads of the instance left while others of the same process joined in their place"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for each instance whose handler replaced a dying thread, from its best evidence."""
    # Streams 2.8 to 3.0 do not log the handler's response: a thread stops and adds another one at once.
    by_handler: dict[Participant, list[Event]] = {}
    for event in timeline.of(ThreadAdded, ThreadFailed):
        participant = timeline.participants.of_speaker(event)
        failed = isinstance(event, ThreadFailed) and "REPLACE" in (event.response or "").upper()
        if participant is not None and (failed or (isinstance(event, ThreadAdded) and event.replacing)):
            by_handler.setdefault(participant, []).append(event)
    known: set[Participant] = set()
    searches = (
        (HANDLER_REPLACED, by_handler),
        (SUCCESSOR_ADDED, _replaced_in_place(timeline)),
        (THREADS_SWAPPED, _swapped_threads(timeline)),
    )
    for shown, found in searches:
        yield from (about_replaced_threads(timeline, *each, shown) for each in found.items() if each[0] not in known)
        known |= found.keys()


CAUSE = Cause(
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
    silence="dead",
)


def about_replaced_threads(
    timeline: Timeline, participant: Participant, lines: Sequence[Event], shown: Row
) -> Hypothesis:
    """An instance whose uncaught exception handler replaced one or more threads."""
    times = TimeIndex([time_of(e) for e in lines], at=int)
    begin, end = times[0] - windows.PROCESS_START_MS, times[-1] + windows.PROCESS_START_MS
    facts = _moves_of_threads(timeline, participant, lines, times)
    thrown = thrown_by(timeline, participant, begin, times[-1] + windows.ROUND_TRIP_MS)
    errors = [
        e
        for e in thrown
        if times.any_between(time_of(e) - windows.ROUND_TRIP_MS, time_of(e) + windows.PROCESS_START_MS)
    ]
    names = {getattr(event, "exception", None) for event in (*lines, *errors)} - {None}
    of_what = f" after {names.pop()}" if len(names) == 1 else ""
    # ksqlDB replaces a failed thread after a back-off; the rebalance starts when the failed thread shuts down.
    failed = {e.thread or e.speaker.thread for e in lines if isinstance(e, ThreadFailed)} - {None}
    ended = [time_of(e) for e in timeline.of(ThreadRemoved) if e.phase == "stopped" and e.thread in failed]
    later = (r for r in timeline.rebalances if any(at <= r.started_at <= at + windows.PROCESS_START_MS for at in ended))
    clues: dict[Row, Answer] = {shown: Present(tuple(lines))}
    if not participant.has_log:  # only the instance's own log shows the handler's response
        clues = {HANDLER_REPLACED: Unobservable((client_log(participant, begin, end),))} | clues
    culprits, count = culprits_of(timeline, [participant]), sum(not isinstance(e, ThreadRemoved) for e in lines)
    effects = (e for move in facts for e in getattr(move, "events", [])[:2])
    return Hypothesis(
        because=[*errors[:3], *lines, *errors[3:], *effects],
        culprits=culprits,
        severity="critical" if count > 2 else "warning",
        explains=(*with_rebalances(timeline, facts), *later),
        participants=(participant,),
        clues=clues,
        narrative=f"{culprits[0].name} replaced a dying stream thread {times_in_words(count)}{of_what}; each "
        "replacement causes a leave and a join.",
        advice=(
            Advice(
                action=(
                    "Handle the exception that kills the thread. If a record causes it, skip the record: set "
                    "processing.exception.handler (KIP-1033, 3.9), or deserialization.exception.handler "
                    "(default.deserialization.exception.handler before 4.0) if the record cannot be deserialized."
                ),
                why=f"Otherwise it kills the new thread as well: {counted(count, 'thread')} replaced{span(lines)}.",
                cost="A skipped record is lost unless it goes to a dead letter topic.",
            ),
        ),
    )


def _moves_of_threads(
    timeline: Timeline, participant: Participant, lines: Sequence[Event], times: TimeIndex[int]
) -> list[Fact]:
    """The departures of the failed threads and the arrivals of their replacements."""
    initial = initial_arrivals(timeline)
    moves = timeline.moves(times[0] - windows.PROCESS_START_MS, times[-1] + windows.PROCESS_START_MS, participant)
    near = (m for m in moves if times.any_between(m.at - windows.PROCESS_START_MS, m.at + windows.PROCESS_START_MS))
    facts: list[Fact] = [m for m in near if m.id not in initial]
    return facts + [d for d in _expiries_of(timeline, participant, lines) if d not in facts]


def _replaced_in_place(timeline: Timeline) -> dict[Participant, list[Event]]:
    """Lines of threads that stopped and added a successor at once, by instance: how 2.8 to 3.0 log REPLACE_THREAD."""
    lines: dict[Participant, list[Event]] = {}
    for added in timeline.of(ThreadAdded):
        participant = timeline.participants.of_speaker(added)
        if participant is None or added.replacing:
            continue
        at = time_of(added)
        ended = timeline.events_from(participant, ThreadRemoved).between(at - windows.AT_ONCE_MS, at)
        stopped = [e for e in ended if e.phase == "stopping" and time_of(e) >= at - windows.HEARTBEAT_MS]
        if stopped and not any(e.phase == "removing" for e in ended):
            lines.setdefault(participant, []).extend((stopped[-1], added))
    return lines


def _swapped_threads(timeline: Timeline) -> dict[Participant, list[Event]]:
    """Departures of threads that another thread of the process replaced, by instance, from brokers' logs alone.

    Only of instances that replaced several threads, or one that died while the process kept running.
    """
    lines: dict[Participant, list[Event]] = {}
    if timeline.kind != "streams":
        return lines
    initial = initial_arrivals(timeline)
    survived = {a.departures[0].id for a in losses(timeline) if a.back_at is None and process_survived(timeline, a)}
    for_good: set[Participant] = set()
    for departure in timeline.departures:
        if departure.participant.has_log:
            continue
        near = _successors(timeline, departure)
        if any(a.member != departure.member and a.id not in initial for a in near):
            lines.setdefault(departure.participant, []).append(departure.events[0])
            for_good |= {departure.participant} if departure.id in survived else set()
    return {
        participant: events
        for participant, events in lines.items()
        if (len(events) > 1 or participant in for_good) and _has_new_thread(timeline, participant)
    }


def _has_new_thread(timeline: Timeline, participant: Participant) -> bool:
    """True if a successor has a new thread number; threads that were only slow keep their numbers."""
    initial, departures = initial_arrivals(timeline), timeline.departures.of(participant)
    return any(
        a.id not in initial
        and all(
            timeline.participants.thread_of(d.member) != timeline.participants.thread_of(a.member)
            for d in departures.between(0, a.at)
        )
        for a in timeline.arrivals.of(participant)
    )


def _successors(timeline: Timeline, departure: Departure) -> list[Arrival]:
    arrivals = timeline.arrivals.of(departure.participant)
    if departure.why in ("unsubscribed", "closed", "left"):
        near = arrivals.between(departure.at - windows.PROCESS_START_MS, departure.at + windows.PROCESS_START_MS)
        nearest = min(near, key=lambda a: abs(a.at - departure.at), default=None)
        return [nearest] if nearest and _replaces_only(timeline, departure, nearest) else []
    if departure.why != "session-expired":
        return []
    # No thread joins while a process stands still, and all of them join when it is restarted.
    since = departure.at - timeouts.session_timeout_ms(timeline) - windows.NEXT_HEARTBEAT_MS
    joined = max((a.at for a in arrivals.between(0, departure.at) if a.member == departure.member), default=0)
    successors = arrivals.between(max(since, joined + 1), departure.at - windows.HEARTBEAT_MS)
    return successors if successors and all(_other_thread(timeline, a, departure) for a in successors) else []


def _replaces_only(timeline: Timeline, departure: Departure, successor: Arrival) -> bool:
    """True if another thread replaces this one while the process keeps running."""
    # When a process restarts, all of its threads leave before any joins.
    if not _other_thread(timeline, successor, departure):
        return False
    departures = timeline.departures.of(departure.participant)
    if any(d is not departure for d in departures.between(departure.at, successor.at)):
        return False
    joined = {a.member for a in timeline.arrivals.of(departure.participant).between(0, departure.at)}
    return successor.at <= departure.at + windows.HEARTBEAT_MS or bool(
        joined - {d.member for d in departures.between(0, departure.at)}
    )


def _other_thread(timeline: Timeline, arrival: Arrival, departure: Departure) -> bool:
    new, former = timeline.participants.thread_of(arrival.member), timeline.participants.thread_of(departure.member)
    return new is not None and former is not None and new != former


def _expiries_of(timeline: Timeline, participant: Participant, events: Sequence[Event]) -> list[Departure]:
    """Session expiries of threads that ended in these events without a LeaveGroup."""
    ended: dict[str, int] = {}
    for event in events:
        name = getattr(event, "thread", None) or event.speaker.thread
        if name is not None and not (isinstance(event, ThreadAdded) and not event.replacing):
            ended[name] = time_of(event)
    reach = timeouts.session_timeout_ms(timeline) + windows.NEXT_HEARTBEAT_MS
    expired = [d for d in timeline.departures.of(participant) if d.why == "session-expired"]
    return [d for d in expired if 0 <= d.at - ended.get(streams_thread(d.member or "") or "", d.at + 1) <= reach]
