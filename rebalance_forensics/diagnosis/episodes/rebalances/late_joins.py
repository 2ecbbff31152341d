"""A member that joined long after it first heard of the rebalance, as its own log alone shows it.

Where the coordinator's log is there, or those of others who waited, they show the whole barrier (long_barriers). What a
member owes to commits of a topic that is gone belongs to that topic (vanished_topics).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rebalance_forensics.diagnosis.episodes.rebalances.hearings import Hearing, hearings
from rebalance_forensics.diagnosis.episodes.rebalances.long_barriers import LongBarrier, allowed_ms
from rebalance_forensics.diagnosis.episodes.topics.vanished_topics import vanished_topics
from rebalance_forensics.timeline.coverage import covering
from rebalance_forensics.timeline.group_timeline import Timeline


def late_joins(timeline: Timeline, barriers: Iterable[LongBarrier]) -> Iterator[Hearing]:
    """Each of them that none of the long barriers tells already."""
    if timeline.kind != "consumer":
        return
    told = [(barrier.rebalance.started_at, barrier.rebalance.ended_at()) for barrier in barriers]
    for participant in timeline.participants.everybody:
        for one in hearings(timeline, participant):
            if not one.ended_with_a_join or one.lasted_ms <= allowed_ms(timeline) or not one.is_one_rebalance(timeline):
                continue
            if any(topics.kept_busy(participant, one.began_at, one.ended_at) for topics in vanished_topics(timeline)):
                continue
            known = covering(timeline.coverage.brokers, one.began_at, one.ended_at)
            if not known and not any(begin <= one.ended_at and one.began_at <= end for begin, end in told):
                yield one
