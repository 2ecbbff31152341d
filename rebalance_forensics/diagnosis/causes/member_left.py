"""A member closed its consumer while the group kept running, other than in a deployment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.behind import Link
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members import sink_tasks
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.clean_exits import (
    closings,
    left_without_client_log,
    missing_from_next_list,
)
from rebalance_forensics.diagnosis.episodes.members.departures import was_last_member
from rebalance_forensics.diagnosis.episodes.members.errors_before_exit import (
    exception_before,
    exception_name,
    inconclusive_errors,
    is_of_a_connection,
)
from rebalance_forensics.diagnosis.episodes.runs import ONE_PLAN, runs
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals import about_absences
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, clue, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import departures, others
from rebalance_forensics.diagnosis.wording.durations import lasting, listed, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.connect import WorkChanged
from rebalance_forensics.events.partitions import ListenerFailed
from rebalance_forensics.events.streams import StreamsStateChanged
from rebalance_forensics.records import elapsed
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import ONE_SCALING_MS, ONE_STEP_MS

ERROR_UNHEARD = clue("error-unheard", -STRONG, "no log of its own shows whether an error made it close")
NEXT_STEP_UNHEARD = clue(
    "next-step-unheard",
    -WEAK,
    "the coordinator is not heard long enough to show whether others were restarted before or after it",
)
ERROR_BESIDE = clue(
    "error-beside", -WEAK, "another thread logged the error, or it was logged before and the loop went on after it"
)
STOPPED_BY_ITS_WORKER = clue("stopped-by-its-worker", STRONG, "a Connect worker logged that it stopped the task")
MISSING_FROM_LIST = clue("missing-from-the-next-list", WEAK, "the next list of all members lacks it")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Single members that closed, after an exception or not, and members missing from a later list of the group."""
    moved: list[tuple[Absence, Arrival]] = []
    for away in closings(timeline):
        first = Present(away.departures[0].events[:1])
        if errors := exception_before(timeline, away):
            yield about_failure(timeline, away, errors)
        elif (again := sink_tasks.next_start(timeline, away)) is not None:
            moved.append((away, again))
        elif away.back_at is not None:
            # It closed without a logged error and came back.
            begin, end = away.at - ONE_STEP_MS, (away.back_at or away.at) + ONE_STEP_MS
            back = "shut down and was started again" if away.start is not None else "closed its consumer and came back"
            yield about_absences(
                timeline,
                [away],
                severity="info",
                narrative=f"{{who}} {back}.",
                clues={} if covering(timeline.coverage.brokers, begin, end) else {NEXT_STEP_UNHEARD: first},
            )
        elif left_without_client_log(timeline, [away]):
            # In the coordinator's log, a close after an error and a shutdown look the same.
            is_instance = away.participant.kind == "instance"
            left = "A thread of {who} left the group" if is_instance else "{who} closed its consumer"
            yield about_absences(
                timeline,
                [away],
                severity="warning",
                narrative=f"{left}; only its own log would show whether an error was the reason.",
                clues={ERROR_UNHEARD: first},
            )
        elif beside := inconclusive_errors(timeline, away):
            yield about_absences(
                timeline,
                [away],
                severity="warning",
                narrative=f"{{who}} closed its consumer; the logs do not show whether {exception_name(beside[0])}, "
                "which was logged just before, was the reason.",
                clues={ERROR_BESIDE: Present(tuple(beside[:4]))},
            )
    for run in runs(moved, lambda pair: pair[0].at, ONE_SCALING_MS):
        yield _stopped_tasks(timeline, run)
    for away in missing_from_next_list(timeline):
        # The logs do not contain the lines between the two lists.
        yield about_absences(
            timeline,
            [away],
            severity="info",
            narrative="{who} is no longer in the group; these lines do not show whether it left or was removed.",
            clues={MISSING_FROM_LIST: Present(tuple(e for d in away.departures for e in d.events))},
        )


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_for(departures.error_before_close, DECISIVE - WEAK, absent=0),
        speaks_for(departures.closed, STRONG, absent=DECISIVE),
        speaks_against(departures.connection_lost, STRONG + WEAK),
        speaks_against(departures.reason_cut_off, WEAK),
        speaks_against(others.others_unheard, WEAK),
        speaks_against(departures.return_unheard, WEAK),
        speaks_for(departures.thread_left, WEAK),
        speaks_for(departures.task_left, WEAK),
    ),
    implies=("scale-in",),
    lookalikes=("scale-in", "slow-processing", "process-crash", "rolling-restart"),
    silence="stopped",
)


def _stopped_tasks(timeline: Timeline, starts: Sequence[tuple[Absence, Arrival]]) -> Hypothesis:
    """Consumers of sink tasks that were stopped and started again, on the same Connect worker or another."""
    stopped = [e for away, _ in starts for e in sink_tasks.stopped_by_its_worker(timeline, away)[:2]]
    stops = Counter(sink_tasks.task_of(away.participant) or "" for away, _ in starts)
    hosts = dict.fromkeys(filter(None, (sink_tasks.moved_to(timeline, *pair) for pair in starts)))
    tasks = "Sink task {} was" if len(stops) == 1 else "Sink tasks {} were"
    by = f" by {'its worker' if len(stops) == 1 else 'their workers'}" if stopped else ""
    where = f" on {listed([*hosts])}" if len(hosts) == len(stops) else ""
    most = max(stops.values())
    again = f" {times(most)}" if most > ONE_PLAN else ""
    return about_absences(
        timeline,
        [away for away, _ in starts],
        because=stopped,
        severity="warning" if again else "info",
        implies=[again for _, again in starts],
        clues={STOPPED_BY_ITS_WORKER: Present(tuple(stopped))} if stopped else {},
        narrative=f"{tasks.format(listed(sorted(stops)))} stopped{by} and started again{where}{again}: Connect workers "
        "do that when they rebalance, when a connector changes and when a failed task is restarted.",
    )


def about_failure(timeline: Timeline, away: Absence, errors: Sequence[Event]) -> Hypothesis:
    """A consumer that closed after an exception, or threads that ended while their instance continues."""
    # poll() wraps an exception of the listener in a KafkaException (ConsumerCoordinator.invokeOnAssignment).
    first = next((e for e in errors if isinstance(e, ListenerFailed)), errors[0])
    exception, threads = exception_name(first), listed(away.ended_threads)
    stopped = away.stop.events if away.stop is not None else ()
    in_error = any(isinstance(e, StreamsStateChanged) and e.after == "ERROR" for e in stopped)
    closed = "{who} is in state ERROR and processes nothing until it is started again: its threads ended"
    closed = closed if in_error else "{who} closed its consumer"
    are, them = ("is", "it") if len(away.ended_threads) == 1 else ("are", "them")
    ended = f"{threads} of {{who}} {are} gone, and the instance runs on without {them}," if threads else closed
    return about_absences(
        timeline,
        [away],
        because=errors[:6],
        severity="critical" if was_last_member(timeline, away) else "warning",
        hit_at=away.stop.at if away.stop is not None else None,
        narrative=f"{ended} after {exception}.",
        advice=(after_failure(away, first, exception),),
        behind=()
        if isinstance(first, StreamsStateChanged)
        else (Link("exception", _behind_close(first, exception), 0.9, errors[:4]),),
    )


def _behind_close(error: Event, exception: str) -> str:
    if isinstance(error, ListenerFailed):
        return f"{exception}, which ended poll()"
    return f"the application logged {exception} before it closed the consumer"


def after_failure(away: Absence, error: Event, exception: str) -> Advice:
    """Advice for a failed sink task, a KafkaJS consumer that gave up, a failed listener or another exception."""
    if isinstance(error, WorkChanged):
        return Advice(
            action=(
                "Fix what the task threw, then restart it: POST /connectors/NAME/tasks/N/restart. If a record causes "
                "it, let the connector skip it: errors.tolerance=all with a dead letter queue (KIP-298)."
            ),
            why=f"The consumer closed after {exception}; Connect does not restart a failed task by itself.",
            cost="With errors.tolerance=all records are skipped; what put() throws fails the task all the same.",
        )
    if is_of_a_connection(error):
        return Advice(
            action="Find out why the broker was unreachable; raise retry.retries of the KafkaJS client to outlast it.",
            why=f"It closed after {exception}: its connection failed, not a record.",
            cost="With more retries the consumer is silent for longer before its application hears of the failure.",
        )
    if isinstance(error, ListenerFailed):
        return Advice(
            action=f"Fix {error.during or 'the callback'} of {error.listener or 'the rebalance listener'}, or catch "
            "there what it throws.",
            why=f"It closed after {exception}: poll() passes that on to the application, and each rebalance calls the "
            "listener again.",
        )
    after = "" if away.back_at is None else lasting(elapsed(away.at, max(away.back_at, away.at)), " after {}")
    back = f"and was back{after or ' later'}" if away.back_at is not None else "and was not back by the end of the logs"
    return Advice(
        action=(
            "Handle the exception in the topology, or skip the record with an exception handler: "
            "deserialization.exception.handler (KIP-161) or processing.exception.handler (KIP-1033, 3.9)."
            if away.participant.kind == "instance"
            else "Handle the exception in the poll loop, or let {who} restart at once."
        ),
        why=f"It closed after {exception} {back}.",
        cost="A skipped record is lost unless it goes to a dead letter topic; each restart costs a rebalance.",
    )
