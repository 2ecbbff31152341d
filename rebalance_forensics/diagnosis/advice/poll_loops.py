"""Advice on members that do not call poll() in time: max.poll.records and max.poll.interval.ms."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.members.poll_timeouts import PollTimeouts
from rebalance_forensics.diagnosis.group_settings import setting
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import rounded_up, seconds
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.session_timeouts import number_of

_POLL = "Find what keeps that member from calling poll() while a rebalance runs."


def shorten_loops(timeline: Timeline, slow: PollTimeouts) -> tuple[Advice, ...]:
    """Do less between two calls of poll(), or allow it more time."""
    limit = slow.limit_told_ms or setting(timeline, "max.poll.interval.ms", 0)
    if not limit:  # what it is where nobody set it differs by client
        longer = f" by about {seconds(slow.away_ms)}" if slow.away_ms else ""
        why = f"One loop took longer than max.poll.interval.ms allows{longer}; no log shows how long that is."
        return _shorten(why, "above the time that the slowest loop takes")
    records = timeline.settings.get("max.poll.records", "")
    slowest = limit + slow.away_ms
    fit = (number_of(records) or 0) * limit // slowest if slow.away_ms else 0
    at_most = f" At that pace {fit} of the {records} records that max.poll.records allows fit in." if fit else ""
    why = f"One loop took about {seconds(slowest)}; max.poll.interval.ms allows {seconds(limit)}.{at_most}"
    return _shorten(why, f"to about {rounded_up(slowest)}")


def _shorten(why: str, enough: str) -> tuple[Advice, ...]:
    return (
        Advice(
            action="Lower max.poll.records, or move slow work out of the poll loop.",
            why=why,
            cost="Smaller batches cost throughput; work outside the loop needs its own commit logic.",
        ),
        Advice(
            action=f"Raise max.poll.interval.ms {enough} if such loops are normal.",
            why="A loop that is allowed to take that long causes no rebalance.",
            cost="A consumer that is really stuck is noticed that much later, and every rebalance may wait that long.",
        ),
    )


def poll_during_rebalances(timeline: Timeline, open_ms: int) -> tuple[Advice, ...]:
    """A member that joins late makes the whole group wait; max.poll.interval.ms bounds how long."""
    long, limit = seconds(open_ms), setting(timeline, "max.poll.interval.ms", 0)
    known = f" ({limit} ms)" if limit else ""
    return (
        Advice(action=_POLL, why=f"The whole group waited {long} for it."),
        Advice(
            action="Lower max.poll.interval.ms: it bounds how long a rebalance waits (rebalance timeout).",
            why=f"The coordinator drops a member that has not rejoined within it{known}; it was open for {long}.",
            cost="Loops that take longer than the new value are then expelled, healthy ones too.",
        ),
    )


def poll_at_last(open_ms: int) -> tuple[Advice, ...]:
    """The same where the group still waits when the logs end."""
    why = f"It kept heartbeating for {seconds(open_ms)} while the whole group waited for it."
    return (Advice(action=_POLL, why=why),)
