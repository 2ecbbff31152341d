"""Advice on members that do not call poll() in time: max.poll.records and max.poll.interval.ms."""

from __future__ import annotations

from typing import NamedTuple

from rebalance_forensics.diagnosis.episodes.members.poll_timeouts import PollTimeouts
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import lasting, rounded_up, seconds
from rebalance_forensics.diagnosis.wording.timeouts import consumer_setting
from rebalance_forensics.timeline.clients import heartbeats_from_poll, library_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import POLL, number_of, shown_poll_ms

_POLL = "Find out what keeps that member from calling poll() during a rebalance."
_LET_HEARTBEATS_THROUGH = (
    Advice(
        action="Send heartbeats while records are handled: call heartbeat() in eachMessage or eachBatch (KafkaJS) or "
        "trigger_heartbeat (ruby-kafka), keep blocking calls out of the event loop (aiokafka).",
        why="This client sends no heartbeat while a handler keeps its loop busy.",
    ),
    Advice(
        action="Raise the session timeout above the duration of the slowest handler if such records are normal.",
        why="A handler that ends within the session timeout costs no membership.",
        cost="A dead member is then noticed later.",
    ),
)
_POLL_MORE_OFTEN = (
    Advice(
        action="Poll more often: lower max.poll.records (from 0.10 on), or move slow work out of the poll loop.",
        why="This release sends heartbeats from poll(); from 0.10.1 on a thread of their own does (KIP-62).",
    ),
    Advice(
        action="Raise session.timeout.ms above the duration of the slowest loop if such loops are normal.",
        why="A loop that ends within the session timeout costs no membership.",
        cost="A dead member is then noticed later.",
    ),
)
_LET_REBALANCES_THROUGH = (
    Advice(
        action="Return from the handler when its session ends (Sarama: session.Context().Done()), and allow rebalances "
        "while records are handled (franz-go: AllowRebalance).",
        why="A rebalance waits for the handlers of every member, and removes who comes too late.",
    ),
    Advice(
        action="Raise the rebalance timeout above the duration of the slowest handler if such records are normal.",
        why="A handler that ends within it costs no membership.",
        cost="A rebalance may then wait that long for a stuck member.",
    ),
)
_WITHOUT_POLL_TIMEOUT = {"blocked": _LET_HEARTBEATS_THROUGH, "too-late": _LET_REBALANCES_THROUGH}


def shorten_loops(timeline: Timeline, slow: PollTimeouts) -> tuple[Advice, ...]:
    """Do less between two calls of poll(), or allow it more time."""
    if all(heartbeats_from_poll(timeline, away.participant) for away in slow.absences):
        return _POLL_MORE_OFTEN
    if slow.shown in _WITHOUT_POLL_TIMEOUT:
        return _WITHOUT_POLL_TIMEOUT[slow.shown]
    spend_less = _remedy_for_slow_polls(timeline, slow)
    limit = slow.limit_ms
    if not limit:  # what it is where nobody set it differs by client
        longer = lasting(timeline.measured(slow.away_ms) or None, " by about {}")
        why = f"One poll loop exceeded max.poll.interval.ms{longer}; the logs do not show its value."
        return _shorten(timeline, spend_less, why, "above the duration of the slowest loop")
    records = timeline.settings.get("max.poll.records", "") if spend_less is _LOWER_MAX_POLL_RECORDS else ""
    away_ms = timeline.measured(slow.away_ms)
    if not away_ms:
        why = f"One poll loop took longer than max.poll.interval.ms, which is {seconds(limit)}."
        return _shorten(timeline, spend_less, why, "above the duration of the slowest loop")
    slowest = limit + away_ms
    fit = (number_of(records) or 0) * limit // slowest
    full = f" If it was a full batch (max.poll.records is {records}), only {fit} would have finished in time."
    why = f"One poll loop took about {seconds(slowest)}; max.poll.interval.ms is {seconds(limit)}.{full if fit else ''}"
    return _shorten(timeline, spend_less, why, f"to about {rounded_up(slowest)}")


def close_the_old() -> tuple[Advice, ...]:
    """A consumer that was made anew while the one before was still a member."""
    close = Advice(
        action="Close the old consumer before a new one is made, also after an error (try-with-resources).",
        why="A consumer that nobody polls keeps its partitions until its poll timeout; every rebalance waits for it.",
    )
    return (close,)


class _Remedy(NamedTuple):
    """How a client spends less time between two calls of poll(), and its price."""

    action: str
    cost: str | None


_LOWER_MAX_POLL_RECORDS = _Remedy(
    "Lower {max.poll.records}, or move slow work out of the poll loop.",
    "Smaller batches cost throughput; work outside the loop needs its own commit logic.",
)
# StreamThread.runOnce stops taking records from its buffer at half of max.poll.interval.ms.
_FIND_WHAT_BLOCKS_THE_THREAD = _Remedy(
    "Find the one slow call: a record, a punctuator, a commit or a restore. A stream thread polls again after half of "
    "max.poll.interval.ms, so a lower max.poll.records rarely helps.",
    None,
)
# librdkafka's CONFIGURATION.md has no max.poll.records: it counts from one call of its consumer to the next.
_HANDLE_FEWER_MESSAGES = _Remedy(
    "Move slow work out of the poll loop, or handle fewer messages between two calls: librdkafka has no "
    "max.poll.records.",
    "Work outside the loop needs its own commit logic.",
)


def _remedy_for_slow_polls(timeline: Timeline, slow: PollTimeouts) -> _Remedy:
    if timeline.kind == "streams":
        return _FIND_WHAT_BLOCKS_THE_THREAD
    libraries = {library_of(timeline, away.participant) for away in slow.absences}
    if all(library is not None and library.name == "librdkafka" for library in libraries):
        return _HANDLE_FEWER_MESSAGES
    return _LOWER_MAX_POLL_RECORDS


def _shorten(timeline: Timeline, remedy: _Remedy, why: str, enough: str) -> tuple[Advice, ...]:
    return (
        Advice(
            action=remedy.action.replace("{max.poll.records}", consumer_setting(timeline, "max.poll.records")),
            why=why,
            cost=remedy.cost,
        ),
        Advice(
            action=f"Raise {consumer_setting(timeline, POLL)} {enough} if such loops are normal.",
            why="A loop that ends within max.poll.interval.ms causes no rebalance.",
            cost="A stuck consumer is then noticed later, and a rebalance may wait that long for it.",
        ),
    )


def poll_during_rebalances(timeline: Timeline, open_ms: int | None) -> tuple[Advice, ...]:
    """A member that joins late makes the whole group wait; max.poll.interval.ms bounds how long.

    `open_ms` is how long it waited here; None where the lines have no times.
    """
    limit = shown_poll_ms(timeline) or 0
    known = f" ({limit} ms)" if limit else ""
    return (
        Advice(action=_POLL, why=f"The whole group waited{lasting(open_ms, ' {}')} for it."),
        Advice(
            action=f"Lower {consumer_setting(timeline, POLL)}: it bounds how long a rebalance waits "
            "(rebalance timeout).",
            why=f"The coordinator removes members that do not rejoin within it{known}"
            f"{lasting(open_ms, '; this rebalance waited {}')}.",
            cost="Healthy members whose poll loop takes longer than the new value are then removed as well.",
        ),
    )


def allow_slower_rejoins(timeline: Timeline, timeout_ms: int | None, needed_ms: int | None) -> tuple[Advice, ...]:
    """Members that miss the rebalance timeout again and again need a longer one, or a shorter loop.

    `needed_ms` is how long a member that was removed took from the start of the rebalance to its next JoinGroup.
    """
    setting_of = "rebalance.timeout.ms" if timeline.kind == "connect" else "max.poll.interval.ms"
    known = f" ({timeout_ms} ms)" if timeout_ms else ""
    needed = None if needed_ms is None else timeline.measured(needed_ms)
    enough = f"to about {rounded_up(needed)}" if needed else "above the time that a member needs to rejoin"
    return (
        Advice(
            action=f"Raise the rebalance timeout {enough}: {setting_of} in Java clients; KafkaJS rebalanceTimeout, "
            "Sarama Consumer.Group.Rebalance.Timeout, franz-go RebalanceTimeout.",
            why=f"The coordinator removes members that do not rejoin within it{known}"
            f"{lasting(needed, '; a removed member asked to join {} after the rebalance began')}.",
            cost="A rebalance may then wait that long for a stuck member.",
        ),
        Advice(
            action=f"Call poll() more often: lower {consumer_setting(timeline, 'max.poll.records')}, or move slow work "
            "out of the poll loop.",
            why="A member can rejoin only from poll().",
        ),
    )


def poll_at_last(open_ms: int | None) -> tuple[Advice, ...]:
    """Advice for a group that still waits when the logs end."""
    why = f"It kept heartbeating{lasting(open_ms)} while the whole group waited for it."
    return (Advice(action=_POLL, why=why),)
