"""Topics that changed or vanished under a subscription, or that an application waits for."""

from __future__ import annotations

from rebalance_forensics.diagnosis.advice.topics import (
    change_in_one_go,
    make_topics_ready,
    restore_source_topics,
    restore_topics,
)
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, absences, distinct_events, touched
from rebalance_forensics.diagnosis.episodes.topics.metadata_snapshots import changed_topics
from rebalance_forensics.diagnosis.episodes.topics.topic_changes import TopicChange
from rebalance_forensics.diagnosis.episodes.topics.unready_topics import UnreadyTopics, rebalances_without_topics
from rebalance_forensics.diagnosis.episodes.topics.vanished_topics import VanishedTopics
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Severity
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.signs import metadata
from rebalance_forensics.diagnosis.wording.culprits import topic_culprits
from rebalance_forensics.diagnosis.wording.durations import lasting
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, NEXT_HEARTBEAT_MS, REQUEST_TIMEOUT_MS

UNREADY = stated("topics-unready", present="the coordinator told the members that topics are missing or do not fit")
STORM = 3
"""Rebalances for changed topics within minutes of each other that are no single plan any more."""


def about_topic_change(timeline: Timeline, change: TopicChange) -> Hypothesis:
    """Topics or partitions changed under the subscription, by a line or by inference."""
    shown = change.shown not in ("not-shown", "changed-nearby")
    return Hypothesis(
        because=change.lines,
        culprits=topic_culprits(change.topics),
        answers={metadata.HOW[change.shown]: Present(change.lines)},
        severity="warning" if change.rebalances > STORM and shown else "info",
        onset=next((fact.started_at for fact in change.facts if isinstance(fact, Rebalance)), None),
        explains=change.facts,
        implies=(*change.facts, *touched(timeline, change.facts)),
        narrative=_change_in_words(change),
        advice=change_in_one_go(change) if change.shown != "not-shown" else (),
    )


def _change_in_words(change: TopicChange) -> str:
    which = ", ".join(change.topics) or "the logs do not say which"
    if change.shown == "not-shown":
        return f"Topics or partitions of the subscription may have changed: {which}."
    if change.shown == "changed-nearby" and isinstance(change.facts[0], Rebalance):
        return f"No reason was logged; {which} changed just before, which may be the reason."
    return f"Topics or partitions of the subscription changed: {which}."


def about_vanished_topics(timeline: Timeline, vanished: VanishedTopics) -> Hypothesis:
    """Members that do not rejoin because they cannot commit what they read of a topic that is gone."""
    begin, end, names = vanished.begin, vanished.end, ", ".join(vanished.topics)
    late = [a for a in absences(timeline, ("poll-timeout",)) if vanished.blocked_in_commit(a)]
    facts = [*timeline.moves(begin, end + HEARTBEAT_MS), *(fact for away in late for fact in away.facts)]
    asked = [r for r in timeline.requests.between(begin - NEXT_HEARTBEAT_MS, end) if not _is_of_others(r, vanished)]
    who = f"{vanished.members} members" if vanished.members > 1 else "one member"
    noticed = [e for r in asked if r.why == "metadata-changed" for e in r.events[:1]]
    lines = distinct_events([*vanished.deleted[:2], *_first_and_last(vanished), *noticed])
    unsaid = metadata.CHANGE_LOGGED if noticed else metadata.COMMITS_REFUSED
    return Hypothesis(
        because=lines,
        culprits=topic_culprits(vanished.topics),
        answers={metadata.DELETION_LOGGED if vanished.deleted else unsaid: Present(lines)},
        severity=_severity(timeline, vanished, late),
        onset=begin,
        ongoing=vanished.ongoing,
        explains=tuple(r for r in touched(timeline, asked) if r.started_at <= end),
        implies=(*asked, *facts, *touched(timeline, [*asked, *facts])),
        narrative=(
            f"{names} was deleted while members read it; {who} tried{lasting(timeline.measured(end - begin))} to "
            "commit its offsets and did not rejoin meanwhile."
        ),
        advice=restore_topics(names),
    )


def _is_of_others(request: Request, vanished: VanishedTopics) -> bool:
    """True if the rejoining members logged a change of other topics."""
    seen = {topic for event in request.events for topic in changed_topics(event)}
    return bool(seen) and seen.isdisjoint(vanished.topics)


def _severity(timeline: Timeline, vanished: VanishedTopics, late: list[Absence]) -> Severity:
    # An application of Streams cannot do without a source topic; a consumer reads on what is left to it.
    if timeline.kind == "streams":
        return "critical"
    return "warning" if late or vanished.end - vanished.begin > REQUEST_TIMEOUT_MS else "info"


def _first_and_last(vanished: VanishedTopics) -> list[Event]:
    """The first and the last refusal of each topic and partition."""
    ends: dict[str | None, list[Event]] = {}
    for event in vanished.refused:
        ends.setdefault(event.partition, []).append(event)
    return [event for events in ends.values() for event in (events[0], events[-1])]


def about_deleted_source_topics(timeline: Timeline, unready: UnreadyTopics) -> Hypothesis:
    """A KIP-1071 group whose source topics were deleted: its coordinator takes all tasks away."""
    begin, end = time_of(unready.reports[0]), time_of(unready.reports[-1])
    names = ", ".join(unready.topics)
    lines = distinct_events(unready.reports)
    return Hypothesis(
        because=lines,
        culprits=topic_culprits(unready.topics),
        answers={metadata.DELETION_LOGGED: Present(lines)},
        severity="critical",
        onset=begin,
        implies=(
            *timeline.rebalances.between(begin - HEARTBEAT_MS, end),
            *timeline.moves(begin, end + HEARTBEAT_MS),
        ),
        narrative=f"{names} was deleted while the application read it, and the coordinator no longer assigns any task.",
        advice=restore_source_topics(names, timeline.measured(end - begin)),
    )


def about_unready_topics(timeline: Timeline, unready: UnreadyTopics) -> Hypothesis:
    """A KIP-1071 group without the topics that its topology needs: its coordinator gives it no task."""
    wrong = "are missing" if unready.missing else "do not fit its topology"
    return Hypothesis(
        because=unready.reports,
        culprits=topic_culprits(unready.topics),
        answers={UNREADY: Present(tuple(unready.reports))},
        severity="critical",
        onset=unready.begin,
        implies=rebalances_without_topics(timeline, unready),
        narrative=(
            f"The coordinator assigned no task{lasting(timeline.measured(unready.end - unready.begin))}: topics that "
            f"the application reads {wrong} ({', '.join(unready.topics)})."
        ),
        advice=make_topics_ready(unready),
    )
