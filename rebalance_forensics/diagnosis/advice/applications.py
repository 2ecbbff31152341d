"""Advice on applications: exceptions that end consumers, stream threads or instances, restoration that is too slow."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.replaced_threads import ReplacedThreads
from rebalance_forensics.diagnosis.episodes.members.streams_shutdowns import ShutdownAsked
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import counted, lasting, span
from rebalance_forensics.records import elapsed


def restart_task(failed: str) -> tuple[Advice, ...]:
    """A sink task of Connect that threw, and stays failed."""
    restart = Advice(
        action=(
            "Fix what the task threw, then restart it: POST /connectors/NAME/tasks/N/restart. If a record causes it, "
            "let the connector skip it: errors.tolerance=all with a dead letter queue (KIP-298)."
        ),
        why=f"The consumer closed after {failed}; Connect does not restart a failed task by itself.",
        cost="With errors.tolerance=all records are skipped; what put() throws fails the task all the same.",
    )
    return (restart,)


def handle_exception(away: Absence, exception: str) -> tuple[Advice, ...]:
    """A member that closed after an exception."""
    instance = away.participant.kind == "instance"
    after = "" if away.back_at is None else lasting(elapsed(away.at, max(away.back_at, away.at)), " after {}")
    back = f"and was back{after or ' later'}" if away.back_at is not None else None
    handle = Advice(
        action=(
            "Handle that exception in the topology, or skip the record with an exception handler: "
            "deserialization.exception.handler (KIP-161) or processing.exception.handler (KIP-1033, 3.9)."
            if instance
            else "Handle that exception in the poll loop, or let the process restart at once."
        ),
        why=f"It closed after {exception} {back or 'and was not back when the logs end'}.",
        cost="A skipped record is lost unless it goes to a dead letter topic; each restart costs a rebalance.",
    )
    return (handle,)


def outlast_lost_connections(exception: str) -> tuple[Advice, ...]:
    """A KafkaJS consumer that reached no broker until it gave up."""
    outlast = Advice(
        action="Look at why the broker was not reachable; raise retry.retries of the KafkaJS client to outlast it.",
        why=f"It closed after {exception}: its connection failed, not a record.",
        cost="With more retries the consumer is silent for longer before its application hears of the failure.",
    )
    return (outlast,)


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


def start_again(asked: ShutdownAsked, instances: int) -> tuple[Advice, ...]:
    """A Streams application that one of its instances stopped."""
    what = "that exception" if asked.exception else "what triggered the shutdown"
    again = Advice(
        action=f"Fix {what}, then restart the application.",
        why=f"SHUTDOWN_APPLICATION stopped all instances ({instances} in these logs); none restarts by itself.",
        cost="REPLACE_THREAD would keep the application running, but a poison record kills the new thread as well.",
    )
    return (again,)


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
