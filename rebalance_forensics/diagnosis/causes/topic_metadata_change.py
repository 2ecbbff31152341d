"""Topics or partitions of the subscription were created or deleted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Literal

from msgspec import Struct

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import (
    Absence,
    absences,
    distinct_events,
    formed_at,
    touched,
)
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.episodes.topics.missing_topics import (
    REFUSING,
    WAITING,
    UnreadyTopics,
    VanishedTopics,
    deleted_source_topics,
    vanished_topics,
)
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import (
    GIVING,
    NewPartitions,
    assigned_topics,
    changed_topics,
    knows_no_partition_yet,
    new_partitions,
    of_the_group,
    read_by_the_group,
    rejoins_without_reason,
    subscribed_topics,
    topics_changed_before,
    topics_under_pattern,
)
from rebalance_forensics.diagnosis.model import Advice, Severity
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, Row, clue, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.wording.culprits import topic_culprits
from rebalance_forensics.diagnosis.wording.durations import lasting, span
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import TopicChanged
from rebalance_forensics.events.epochs import GroupEpochBumped
from rebalance_forensics.events.rebalances import RebalanceStarted
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance, Request, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import (
    AT_ONCE_MS,
    HEARTBEAT_MS,
    NEXT_HEARTBEAT_MS,
    ONE_SCALING_MS,
    REQUEST_TIMEOUT_MS,
)

CHANGE_LOGGED = clue("changed-metadata-logged", DECISIVE + WEAK, "the leader's log, or its reason to rejoin, says so")
ALL_NEW = clue("new-partitions", DECISIVE, "the rebalance assigned partitions that no member had before")
SEEM_NEW = clue("partitions-seem-new", STRONG, "members got partitions that none of those with a log had before")
READ_TOPIC_CHANGED = clue("topic-of-the-group-changed", DECISIVE, "brokers logged a change of a topic that it reads")
TOPIC_CHANGED = clue("some-topic-changed", STRONG, "brokers logged a changed topic, which the group may read")
CHANGED_NEARBY = clue("topic-changed-nearby", 0, "a topic changed shortly before; the group may not read it")
NOT_SHOWN = clue("no-change-shown", -WEAK, "these logs show no change of a topic that the group reads")
EPOCH_FOLLOWED = clue("epoch-followed", DECISIVE, "the group epoch rose at the first heartbeat after a topic changed")
DELETION_LOGGED = clue("deletion-logged", DECISIVE + WEAK, "a topic that members read was deleted or is missing")
COMMITS_REFUSED = clue("commits-refused", STRONG, "commits were refused again and again: the topic does not exist")
# The sign for each way in which a change of topics shows.
HOW: Mapping[Shown, Row] = {
    "change-logged": CHANGE_LOGGED,
    "all-new": ALL_NEW,
    "seem-new": SEEM_NEW,
    "read-topic-changed": READ_TOPIC_CHANGED,
    "topic-changed": TOPIC_CHANGED,
    "changed-nearby": CHANGED_NEARBY,
    "not-shown": NOT_SHOWN,
    "epoch-followed": EPOCH_FOLLOWED,
}
# Evidence of changed topics or partitions.
CHANGING = (Request, TopicChanged, GroupEpochBumped, *GIVING)
# How a change shows, from a line that names it to no line at all.
Shown = Literal[
    "change-logged", "all-new", "seem-new", "read-topic-changed", "topic-changed", "changed-nearby", "not-shown",
    "epoch-followed",
]  # fmt: skip


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Whatever shows changed topics, or may be due to them; and members held up by topics that are gone."""
    vanished = vanished_topics(timeline)
    changes = (
        c for c in topic_changes(timeline) if not any(topic_set.covers(c.topics, *c.began) for topic_set in vanished)
    )
    yield from (about_topic_change(timeline, change) for change in changes)
    yield from (about_deleted_source_topics(timeline, deleted) for deleted in deleted_source_topics(timeline))
    yield from (about_vanished_topics(timeline, topic_set) for topic_set in vanished)


CAUSE = Cause(
    summary="Topics or partitions of the subscription were created or deleted.",
    mechanism=(
        "The leader compares the metadata it assigned with what it sees now; if they differ, it rejoins "
        "and starts a rebalance; under KIP-848 the coordinator does this. A pattern "
        "subscription may also match topics that nobody had in mind."
    ),
    shows=(
        "'cached metadata has changed from … to …', the group leader rejoins; a topic was created or "
        "got more partitions just before."
    ),
    remedy="Create topics in batches; make pattern subscriptions as narrow as they can be.",
    usual="planned",
    propose=propose,
    evidence_types=(*CHANGING, *REFUSING, *WAITING),
    signs=(
        speaks_for(rejoins.topic_changed_before, 0, absent=STRONG),
        speaks_against(rejoins.follower_rejoined, WEAK),
        speaks_against(rejoins.subscription_logged, STRONG + WEAK),
    ),
    implies=("slow-processing", "rebalance-straggler"),
    lookalikes=("subscription-change", "enforced-rebalance"),
    settings=("metadata.max.age.ms",),
)


def about_topic_change(timeline: Timeline, change: TopicChange) -> Hypothesis:
    """Topics or partitions changed under the subscription, by a line or by inference."""
    return Hypothesis(
        because=change.lines,
        culprits=topic_culprits(change.topics),
        clues={HOW[change.shown]: Present(change.lines)},
        severity="info",
        onset=next((fact.started_at for fact in change.facts if isinstance(fact, Rebalance)), None),
        explains=change.facts,
        implies=(*change.facts, *touched(timeline, change.facts)),
        narrative=_change_in_words(change),
        advice=change_in_one_go(change) if change.shown != "not-shown" else (),
    )


def _change_in_words(change: TopicChange) -> str:
    which = ", ".join(change.topics)
    if change.shown == "not-shown":
        return "The subscribed topics or their partitions may have changed" + (f": {which}." if which else ".")
    if change.shown == "changed-nearby" and isinstance(change.facts[0], Rebalance):
        return f"No reason was logged; {which} changed just before, which may be the reason."
    if not which:
        return "Subscribed topics were created, deleted or given partitions; the logs do not name them."
    topics, were = ("Topic", "was") if len(change.topics) == 1 else ("Topics", "were")
    return f"{topics} {which} {were} created, deleted or given partitions."


def about_vanished_topics(timeline: Timeline, vanished: VanishedTopics) -> Hypothesis:
    """Members that do not rejoin because they cannot commit what they read of a topic that is gone."""
    begin, end, names = vanished.begin, vanished.end, ", ".join(vanished.topics)
    late = [a for a in absences(timeline, ("poll-timeout",)) if vanished.blocked_in_commit(a)]
    facts = [*timeline.moves(begin, end + HEARTBEAT_MS), *(fact for away in late for fact in away.facts)]
    asked = [r for r in timeline.requests.between(begin - NEXT_HEARTBEAT_MS, end) if not _is_of_others(r, vanished)]
    who = f"{vanished.members} members" if vanished.members > 1 else "one member"
    noticed = [e for r in asked if r.why == "metadata-changed" for e in r.events[:1]]
    lines = distinct_events([*vanished.deleted[:2], *_first_and_last(vanished), *noticed])
    unsaid = CHANGE_LOGGED if noticed else COMMITS_REFUSED
    return Hypothesis(
        because=lines,
        culprits=topic_culprits(vanished.topics),
        clues={DELETION_LOGGED if vanished.deleted else unsaid: Present(lines)},
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
        clues={DELETION_LOGGED: Present(lines)},
        severity="critical",
        onset=begin,
        implies=(
            *timeline.rebalances.between(begin - HEARTBEAT_MS, end),
            *timeline.moves(begin, end + HEARTBEAT_MS),
        ),
        narrative=f"{names} was deleted while the application read it, and the coordinator no longer assigns any task.",
        advice=restore_source_topics(names, timeline.measured(end - begin)),
    )


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


class TopicChange(Struct, frozen=True, kw_only=True):
    """Facts that changed topics may explain, and the lines that show it."""

    facts: tuple[Request | Rebalance, ...]
    topics: tuple[str, ...]
    lines: tuple[Event, ...]
    shown: Shown
    rebalances: int
    during: str = ""

    @property
    def began(self) -> tuple[int, int]:
        """When the first and the last of its facts began."""
        at = [fact_at(fact) for fact in self.facts]
        return min(at), max(at)


def topic_changes(timeline: Timeline) -> Iterator[TopicChange]:
    """Leaders that logged changed metadata; otherwise new partitions, or rejoins after a topic changed."""
    if timeline.kind == "connect":  # workers subscribe to no topic
        return
    formed = formed_at(timeline)
    asked = [r for r in timeline.requests if r.at > formed]
    logged = [r for r in asked if r.why == "metadata-changed" or topics_under_pattern(timeline, r) is not None]
    logged = [r for r in logged if not knows_no_partition_yet(timeline, r)]
    others = [r for r in logged if not _noticed_only_vanished_topics(timeline, r)]
    for group in runs(others, lambda r: r.at, ONE_SCALING_MS):
        yield _noticed(timeline, group, "change-logged", [])
    near = TimeIndex(logged)
    without_reason = [r for r in rejoins_without_reason(timeline) if not _is_next_to(r, near)]
    for request in without_reason:
        yield from _perhaps_noticed(timeline, request)
    yield from _grown(timeline, [*logged, *without_reason])
    yield from _right_after_a_change(timeline)
    yield from _bumped_by_metadata(timeline)


def _noticed(timeline: Timeline, group: Sequence[Request], shown: Shown, topics: list[Event]) -> TopicChange:
    seen = {t for r in group for e in r.events for t in changed_topics(e)}
    seen |= {t for r in group for t in topics_under_pattern(timeline, r) or ()}
    names = sorted(seen) or _grown_names(timeline, group) or _names_of(topics) or _made_before(timeline, group)
    return TopicChange(
        facts=tuple(group),
        topics=tuple(names),
        lines=distinct_events([*(e for r in group for e in r.events), *topics]),
        shown=shown,
        rebalances=len(touched(timeline, group)) or len(group),
        during=span(r.events[0] for r in group if r.events),
    )


def _noticed_only_vanished_topics(timeline: Timeline, request: Request) -> bool:
    """True if the request shows only the topics that are gone, while members cannot commit what they read of them."""
    seen = {topic for e in request.events for topic in changed_topics(e)}
    return bool(seen) and any(vanished.covers(seen, request.at, request.at) for vanished in vanished_topics(timeline))


def _perhaps_noticed(timeline: Timeline, request: Request) -> Iterator[TopicChange]:
    """A rejoin without a reason, explained by topics changed just before or partitions assigned afterwards."""
    changed = of_the_group(timeline, topics_changed_before(timeline, request.at))
    grown = _grown_by(timeline, [request])
    if grown:
        changed = [e for e in changed if set(_names_of([e])) & {t for g in grown for t in g.topics}]
    topics = [*changed, *(e for g in grown for e in g.lines)]
    if any(g.taken_up_by for g in grown):
        return
    if topics:
        yield _noticed(timeline, [request], _shown_by(timeline, topics, grown), topics)
    elif timeline.kind == "consumer":
        yield _noticed(timeline, [request], "not-shown", [])


def _shown_by(timeline: Timeline, topics: list[Event], grown: list[NewPartitions]) -> Shown:
    # Streams members rejoin for reasons of their own, which no broker logs.
    if timeline.kind == "streams":
        return "changed-nearby"
    if grown:
        return "all-new" if all(g.complete for g in grown) else "seem-new"
    subscribed, read = subscribed_topics(timeline), read_by_the_group(timeline, topics)
    if read and (not subscribed or subscribed & set(_names_of(read))):
        return "read-topic-changed"
    # Every group of the cluster sees topics come and go; this one may read none of them, or only from now on.
    return "changed-nearby" if subscribed and not read else "topic-changed"


def _grown_by(timeline: Timeline, group: Sequence[Request]) -> list[NewPartitions]:
    grown = timeline.cached(_growths_by_rebalance)
    return [g for r in touched(timeline, group) for g in grown.get(r.id, ())]


def _growths_by_rebalance(timeline: Timeline) -> dict[str, list[NewPartitions]]:
    found: dict[str, list[NewPartitions]] = defaultdict(list)
    for growth in new_partitions(timeline):
        found[growth.rebalance.id].append(growth)
    return found


def _grown(timeline: Timeline, requests: list[Request]) -> Iterator[TopicChange]:
    """New partitions after a rebalance without a logged reason."""
    known = {r.id for r in touched(timeline, requests)}
    silent = [g for g in new_partitions(timeline) if g.rebalance.id not in known and g.taken_up_by is None]
    for run in runs(silent, lambda g: g.rebalance.started_at, ONE_SCALING_MS):
        yield TopicChange(
            facts=tuple(g.rebalance for g in run),
            topics=tuple(sorted({t for g in run for t in g.topics})),
            lines=distinct_events(e for g in run for e in (*g.lines[:3], *g.rebalance.events[:1])),
            shown="all-new" if all(g.complete for g in run) else "seem-new",
            rebalances=len(run),
        )


def _is_next_to(request: Request, logged: TimeIndex[Request]) -> bool:
    return logged.any_between(request.at - NEXT_HEARTBEAT_MS + 1, request.at + NEXT_HEARTBEAT_MS - 1)


def _right_after_a_change(timeline: Timeline) -> Iterator[TopicChange]:
    # Before 2.1 a coordinator gives no reason at all: a topic that changed since the last rebalance may be it.
    if timeline.kind != "consumer" or any(a.has_log for a in timeline.membership.members):
        return
    grown = {g.rebalance.id for g in new_partitions(timeline)}
    for before, rebalance in pairwise(timeline.rebalances):
        opened = [e for e in rebalance.events if isinstance(e, RebalanceStarted)]
        if rebalance.id in grown or not opened or any(e.trigger is not None for e in opened):
            continue
        made = topics_changed_before(timeline, rebalance.started_at)
        topics = [e for e in made if time_of(e) > before.ended_at()]
        if topics and not timeline.moves(rebalance.started_at - HEARTBEAT_MS, rebalance.ended_at()):
            yield TopicChange(
                facts=(rebalance,),
                topics=tuple(_names_of(topics)),
                lines=distinct_events([*opened, *topics[:4]]),
                shown="changed-nearby",
                rebalances=1,
            )


def _bumped_by_metadata(timeline: Timeline) -> Iterator[TopicChange]:
    """KIP-848 epochs that no member caused, after a topic changed."""
    for rebalance in timeline.rebalances:
        bumps = [e for e in rebalance.events if isinstance(e, GroupEpochBumped)]
        if not bumps or _is_caused_by_member(timeline, rebalance) or _same_metadata(timeline, bumps[0]):
            continue
        topics = of_the_group(timeline, topics_changed_before(timeline, rebalance.started_at))
        if topics:
            prompt = rebalance.started_at - time_of(topics[-1]) <= AT_ONCE_MS
            yield TopicChange(
                facts=(rebalance,),
                topics=tuple(_names_of(topics)),
                lines=distinct_events([*bumps, *topics]),
                shown="epoch-followed" if prompt else "changed-nearby",
                rebalances=1,
            )


def _same_metadata(timeline: Timeline, bump: GroupEpochBumped) -> bool:
    # From 4.1 on the coordinator logs a hash of the topics that the group reads: an unchanged hash rules them out.
    before = timeline.of(GroupEpochBumped).last((bump.at or 0) - 1)
    return before is not None and bump.metadata_hash is not None and before.metadata_hash == bump.metadata_hash


def _is_caused_by_member(timeline: Timeline, rebalance: Rebalance) -> bool:
    near = (rebalance.started_at - HEARTBEAT_MS, rebalance.started_at + HEARTBEAT_MS)
    return bool(timeline.moves(*near)) or timeline.requests.any_between(*near)


def _names_of(topics: list[Event]) -> list[str]:
    return sorted({e.topic for e in topics if isinstance(e, TopicChanged)})


def _grown_names(timeline: Timeline, group: Sequence[Request]) -> list[str]:
    return sorted({t for g in _grown_by(timeline, group) for t in g.topics})


def _made_before(timeline: Timeline, group: Sequence[Request]) -> list[str]:
    """The topics that brokers changed just before; only those that members read, where that is known."""
    made = {name for r in group for name in _names_of(topics_changed_before(timeline, r.at))}
    read = set(assigned_topics(timeline).partitions)
    return sorted(made & read or made)
