"""Advice on topics that are missing, changed or gone."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.topics.topic_changes import TopicChange
from rebalance_forensics.diagnosis.episodes.topics.unready_topics import UnreadyTopics
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.wording.durations import lasting, span, times


def change_in_one_go(change: TopicChange) -> tuple[Advice, ...]:
    """Topics that were created or extended one by one."""
    count = len(change.topics)
    changed = f"{count} topics" if count > 1 else "one topic" if count else "what changed"
    made = "one rebalance" if change.rebalances == 1 else f"{change.rebalances} rebalances"
    once = Advice(
        action="Create topics and add partitions in one go, outside busy hours.",
        why=(
            f"Every change that the leader notices rebalances the whole group: {changed} caused {made}{change.during}."
        ),
        cost="New topics and partitions wait for the next round of changes.",
    )
    return (once,)


def restore_topics(names: str) -> tuple[Advice, ...]:
    """Topics that vanished under members, which cannot commit what they read of them."""
    restore = Advice(
        action=f"Create {names} again, or remove the topic from the application and restart it.",
        why="A commit for a deleted topic is retried until it times out, and the whole group waits.",
        cost="The records of the deleted topic stay lost.",
    )
    return (restore,)


def restore_source_topics(names: str, told_for_ms: int | None) -> tuple[Advice, ...]:
    """Source topics that vanished under a KIP-1071 application."""
    restore = Advice(
        action=f"Create {names} again, or remove the topic from the topology and restart.",
        why=f"The coordinator reported missing topics to the members{lasting(told_for_ms)}.",
    )
    return (restore,)


def make_topics_ready(unready: UnreadyTopics) -> tuple[Advice, ...]:
    """Topics that a KIP-1071 application waits for."""
    remedy = "Create the topics" if unready.missing else "Give the topics the partitions that the topology expects"
    ready = Advice(
        action=f"{remedy} ({', '.join(unready.topics)}); the members then resume by themselves.",
        why=f"The coordinator reported it {times(len(unready.reports))}{span(unready.reports)}.",
    )
    return (ready,)


def create_source_topics(which: str) -> tuple[Advice, ...]:
    """Source topics without which a Streams application stops."""
    create = Advice(
        action=f"Create the missing source topics ({which}), then start the application again.",
        why="Streams creates its internal topics but never its source topics; no instance restarts by itself.",
    )
    return (create,)
