"""Advice on applications: exceptions that end consumers, stream threads or instances, restoration that is too slow."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.replaced_threads import ReplacedThreads
from rebalance_forensics.diagnosis.episodes.members.streams_shutdowns import ShutdownAsked
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import seconds, span


def handle_exception(away: Absence, exception: str) -> tuple[Advice, ...]:
    """A member that closed after an exception."""
    instance = away.participant.kind == "instance"
    back = f"it was back after {seconds(max(away.back_at - away.at, 0))}" if away.back_at is not None else None
    handle = Advice(
        action=(
            "Handle that exception in the topology or by an exception handler that skips the record (KIP-161)."
            if instance
            else "Handle that exception in the poll loop, or let the process restart at once."
        ),
        why=f"{exception} ended it; {back or 'it did not come back while these logs last'}.",
        cost="A record that is skipped is lost unless it is kept elsewhere; each restart costs a rebalance.",
    )
    return (handle,)


def skip_poison_records(replaced: ReplacedThreads) -> tuple[Advice, ...]:
    """Stream threads that die and are replaced."""
    skip = Advice(
        action=(
            "Handle the record that kills the thread: a processing or deserialization exception "
            "handler that skips the record."
        ),
        why=f"A poison record kills the next thread too: {replaced.count} were replaced{span(replaced.told)}.",
        cost="Skipped records need a dead letter topic.",
    )
    return (skip,)


def start_again(asked: ShutdownAsked, instances: int) -> tuple[Advice, ...]:
    """A Streams application that one of its instances stopped."""
    thrown = f"{asked.exception} was thrown just before. " if asked.exception else ""
    again = Advice(
        action="Fix what made it ask, then start the application again.",
        why=(f"{thrown}SHUTDOWN_APPLICATION stops all instances ({instances} were seen); none comes back by itself."),
        cost="A handler that replaces the thread keeps the others running, and dies again on the same record.",
    )
    return (again,)


def catch_up(rounds: int, interval_ms: int, lag: str | None) -> tuple[Advice, ...]:
    """Warm-ups that never catch up."""
    faster = Advice(
        action="Raise acceptable.recovery.lag or max.warmup.replicas, or find why restoration is slow.",
        why=(
            f"{rounds} probing rebalances so far, one every {seconds(interval_ms)}: they repeat until each "
            f"warm-up's lag is below acceptable.recovery.lag{f' ({lag})' if lag else ''}."
        ),
        cost="A task moved earlier restores longer before it processes.",
    )
    return (faster,)
