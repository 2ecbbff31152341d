"""Subscribed topics or partitions were created or deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import absences, distinct_events, formed_at, touched
from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.diagnosis.episodes.topics import subscriptions
from rebalance_forensics.diagnosis.episodes.topics.epochs import unmoved_epochs
from rebalance_forensics.diagnosis.episodes.topics.missing_topics import (
    REFUSING,
    WAITING,
    LostInternalTopics,
    VanishedTopics,
    lost_internal_topics,
    unready_topics,
    vanished_topics,
)
from rebalance_forensics.diagnosis.model import Advice, Severity
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, Row, clue, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.wording.culprits import topic_culprits
from rebalance_forensics.diagnosis.wording.durations import capitalized, lasting, listed, span
from rebalance_forensics.events.base import Event
from rebalance_forensics.records import natural
from rebalance_forensics.timeline import windows
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance, Request, fact_at
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.time_index import TimeIndex, grouped

CHANGE_LOGGED = clue("changed-metadata-logged", DECISIVE + WEAK, "a changed topic was logged as the reason to rejoin")
ALL_NEW = clue("new-partitions", DECISIVE, "the rebalance assigned partitions that no member had before")
SEEM_NEW = clue("partitions-seem-new", STRONG, "members got partitions that none of those with a log had before")
READ_TOPIC_CHANGED = clue("topic-of-the-group-changed", DECISIVE, "a change of a topic that it reads was logged")
TOPIC_CHANGED = clue("some-topic-changed", STRONG, "a changed topic was logged, which the group may read")
CHANGED_NEARBY = clue("topic-changed-nearby", 0, "a topic changed shortly before; the group may not read it")
NOT_SHOWN = clue("no-change-shown", -WEAK, "these logs show no change of a topic that the group reads")
EPOCH_FOLLOWED = clue("epoch-followed", DECISIVE, "the group epoch rose at the first heartbeat after a topic changed")
DELETION_LOGGED = clue("deletion-logged", DECISIVE + WEAK, "a topic that members read was deleted or is missing")
COMMIT_REFUSED = clue("commit-refused", WEAK, "a commit was refused: the broker knows no such topic")
COMMITS_REFUSED = clue("commits-refused", STRONG, "commits were refused again and again: the topic does not exist")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Changed topics and rebalances that they may explain; members held up by deleted topics."""
    vanished = vanished_topics(timeline)
    for change in topic_changes(timeline):
        began = [*map(fact_at, change.facts)] or [*map(time_of, change.lines)]
        if not any(topics.covers(change.topics, min(began), max(began)) for topics in vanished):
            yield about_topic_change(timeline, change)
    # The coordinator of a KIP-1071 group revokes all tasks when a source topic is deleted.
    for unready in (topics for topics in unready_topics(timeline) if topics.deleted):
        begin, end = unready.begin, unready.end
        names, lines = listed(unready.topics), distinct_events(unready.reports)
        restore = Advice(
            action=f"Create {names} again, or remove the topic from the topology and restart.",
            why=f"The coordinator reported missing topics to the members{lasting(timeline.measured(end - begin))}.",
        )
        yield Hypothesis(
            because=lines,
            culprits=topic_culprits(unready.topics),
            clues={DELETION_LOGGED: Present(lines)},
            severity="critical",
            onset=begin,
            implies=(
                *timeline.rebalances.between(begin - windows.HEARTBEAT_MS, end),
                *timeline.moves(begin, end + windows.HEARTBEAT_MS),
            ),
            narrative=f"{names} was deleted while the application read it, and the coordinator no longer assigns any "
            "task.",
            advice=(restore,),
        )
    yield from (about_lost_internal_topics(timeline, lost) for lost in lost_internal_topics(timeline))
    yield from (about_vanished_topics(timeline, topics) for topics in vanished)


CAUSE = Cause(
    propose=propose,
    evidence_types=(
        Request,
        ev.TopicChanged,
        ev.GroupEpochBumped,
        *subscriptions.NAMING_PARTITIONS,
        *REFUSING,
        *WAITING,
    ),
    signs=(
        speaks_for(rejoins.topic_changed_before, 0, absent=STRONG),
        speaks_against(rejoins.subscription_logged, STRONG + WEAK),
    ),
    implies=("slow-processing", "rebalance-straggler"),
    lookalikes=("subscription-change", "enforced-rebalance"),
)


def about_topic_change(timeline: Timeline, change: TopicChange) -> Hypothesis:
    """Subscribed topics or partitions that changed, as logged or as inferred."""
    culprits = _read_topics_of(timeline, change)
    which, count, done = listed(change.topics), len(change.topics), _done_to(change)
    if len(culprits) < count and change.shown is not CHANGED_NEARBY:
        words = (
            f"Subscribed topics were created, deleted or given partitions; {which} changed just before, and the logs "
            "do not show which of them the group reads."
        )
    elif change.shown is NOT_SHOWN:
        words = f"The subscribed topics or their partitions may have changed{f': {which}' if which else ''}."
    elif change.shown is CHANGED_NEARBY and isinstance(change.facts[0], Rebalance):
        words = f"No reason was logged; {which} changed just before, which may be the reason."
    elif not which:
        words = "Subscribed topics were created, deleted or given partitions; the logs do not name them."
    else:
        topics, were = ("topic", "was") if count == 1 else ("topics", "were")
        clause = f"{topics} {which} {were} {' or '.join(done) or 'created, deleted or given partitions'}."
        words = f"A member saw that {clause}" if done else capitalized(clause)
    changed = f"{count} topics" if len(culprits) > 1 else "one topic" if culprits else "what changed"
    made = "one rebalance" if change.rebalances == 1 else f"{change.rebalances} rebalances"
    deleted = "deleted" in done
    once = Advice(
        action="Create topics and add partitions in one go, outside busy hours.",
        why=f"Every change that the leader notices rebalances the whole group: {changed} caused {made}{change.during}.",
        cost="New topics and partitions wait for the next round of changes.",
    )
    return Hypothesis(
        because=change.lines,
        culprits=topic_culprits(culprits),
        clues={change.shown: Present(change.lines)},
        severity="warning" if deleted else "info",
        onset=next((fact.started_at for fact in change.facts if isinstance(fact, Rebalance)), None),
        explains=change.facts,
        implies=(*change.facts, *touched(timeline, change.facts)),
        narrative=words,
        advice=(_restored(which),) if deleted else (once,) if change.shown is not NOT_SHOWN else (),
    )


def _read_topics_of(timeline: Timeline, change: TopicChange) -> Sequence[str]:
    """The changed topics; if only brokers name several, those that the group reads (all if it reads a pattern)."""
    if not change.by_brokers or len(change.topics) < 2 or subscriptions.subscribes_by_pattern(timeline):
        return change.topics
    return [topic for topic in change.topics if topic in subscriptions.read_topics(timeline)]


def about_lost_internal_topics(timeline: Timeline, lost: LostInternalTopics) -> Hypothesis:
    """A streams group whose tasks were revoked because its changelog or repartition topics were deleted."""
    names, lines = listed(lost.topics), distinct_events([*lost.deleted[:2], *lost.reports])
    begin, end = time_of(lines[0]), time_of(lost.restored or lost.reports[-1])
    until = end + windows.ROUND_TRIP_MS
    topic, were = ("topic", "was") if len(lost.topics) == 1 else ("topics", "were")
    again = f"The coordinator had {names} created again, empty" if lost.restored else f"{names} {were} deleted"
    reset = Advice(
        action=f"Find out who deleted {names}; if results must be complete, reset the application and process again.",
        why=f"{again}: unprocessed records of a repartition topic, and the state in a changelog topic, are lost.",
    )
    rebalances = tuple(timeline.rebalances.between(begin, until))
    return Hypothesis(
        because=[*lines, *([lost.restored] if lost.restored else [])],
        culprits=topic_culprits(lost.topics),
        clues={DELETION_LOGGED: Present(lines)},
        severity="warning" if lost.restored else "critical",
        onset=begin,
        until=until,
        ongoing=lost.restored is None and timeline.last - end <= windows.HEARTBEAT_MS,
        explains=rebalances,
        implies=rebalances,
        narrative=f"Internal {topic} {names} {were} deleted while the application ran: all its tasks were revoked.",
        advice=(reset,),
    )


def about_vanished_topics(timeline: Timeline, vanished: VanishedTopics) -> Hypothesis:
    """Members that do not rejoin because they cannot commit offsets of a deleted topic."""
    begin, end, names = vanished.begin, vanished.end, listed(vanished.topics)
    late = [a for a in absences(timeline, ("poll-timeout",)) if vanished.blocked_in_commit(a)]
    facts = [*timeline.moves(begin, end + windows.HEARTBEAT_MS), *(fact for away in late for fact in away.facts)]
    # Not rejoins for which members logged a change of other topics.
    asked = [
        request
        for request in timeline.requests.between(begin - windows.NEXT_HEARTBEAT_MS, end)
        if not (seen := _changed_in([request])) or not seen.isdisjoint(vanished.topics)
    ]
    who = f"{vanished.members} members" if vanished.members > 1 else "one member"
    noticed = [e for r in asked if r.why == "metadata-changed" for e in r.events[:1]]
    by_partition = grouped(vanished.refused, attrgetter("partition")).values()
    first_and_last = (event for refused in by_partition for event in (refused[0], refused[-1]))
    lines = distinct_events([*vanished.deleted[:2], *first_and_last, *noticed])
    indirect = CHANGE_LOGGED if noticed else COMMITS_REFUSED if vanished.is_certain else COMMIT_REFUSED
    # A Streams application cannot run without a source topic; a consumer continues with its other topics.
    severity: Severity = "warning" if late or end - begin > windows.REQUEST_TIMEOUT_MS else "info"
    return Hypothesis(
        because=lines,
        culprits=topic_culprits(vanished.topics),
        clues={DELETION_LOGGED if vanished.deleted else indirect: Present(lines)},
        severity="critical" if timeline.kind == "streams" else severity,
        onset=begin,
        ongoing=vanished.ongoing,
        explains=tuple(r for r in touched(timeline, asked) if r.started_at <= end),
        implies=(*asked, *facts, *touched(timeline, [*asked, *facts])),
        narrative=(
            f"{names} was deleted while members read it; {who} tried{lasting(timeline.measured(end - begin))} to "
            "commit its offsets and did not rejoin meanwhile."
            if vanished.is_certain
            else f"{names} may have been deleted: a broker that does not know it refused a commit."
        ),
        advice=(_restored(names),),
    )


def _restored(names: str) -> Advice:
    return Advice(
        action=f"Create {names} again, or remove the topic from the application and restart it.",
        why="A commit for a deleted topic is retried until it times out, and the whole group waits.",
        cost="The records of the deleted topic stay lost.",
    )


def _done_to(change: TopicChange) -> list[str]:
    """The kinds of change in members' metadata; empty if a rejoin or rebalance shows the change."""
    seen = {} if change.facts else {e.change: None for e in change.lines if isinstance(e, ev.TopicChanged)}
    return [_AS_SEEN[each] for each in seen]


_AS_SEEN = {"created": "created", "deleted": "deleted", "partitions-added": "given partitions"}


class TopicChange(NamedTuple):
    """Facts that changed topics may explain, the topics, and the lines and the sign that show it."""

    facts: tuple[Request | Rebalance, ...]
    topics: Sequence[str]
    lines: tuple[Event, ...]
    shown: Row
    rebalances: int = 1
    during: str = ""
    by_brokers: bool = False
    """True if only brokers name the topics, which may include topics that the group does not read."""


def topic_changes(timeline: Timeline) -> Iterator[TopicChange]:
    """Rejoins for changed metadata, as logged or after a topic changed, new partitions, and changes without rejoins."""
    if timeline.kind == "connect":  # workers subscribe to no topic
        return
    formed = formed_at(timeline) or 0
    asked = [r for r in timeline.requests if r.at > formed]
    logged = [
        r for r in asked if r.why == "metadata-changed" or subscriptions.topics_under_pattern(timeline, r) is not None
    ]
    logged = [r for r in logged if not subscriptions.knows_no_partition_yet(timeline, r)]
    # Not rejoins for deleted topics whose offsets members cannot commit.
    vanished = vanished_topics(timeline)
    others = [
        r
        for r in logged
        if not ((seen := _changed_in([r])) and any(topics.covers(seen, r.at, r.at) for topics in vanished))
    ]
    for group in runs(others, lambda r: r.at, windows.ONE_SCALING_MS):
        yield _noticed(timeline, group, CHANGE_LOGGED, [])
    near, reach = TimeIndex(logged), windows.NEXT_HEARTBEAT_MS - 1
    without_reason = [
        r for r in subscriptions.rejoins_without_reason(timeline) if not near.any_between(r.at - reach, r.at + reach)
    ]
    for request in without_reason:
        yield from _perhaps_noticed(timeline, request)
    yield from _grown(timeline, [*logged, *without_reason])
    yield from _right_after_a_change(timeline)
    yield from _bumped_by_metadata(timeline)
    for unshown in subscriptions.changes_without_a_rebalance(timeline):
        if changed := subscriptions.of_the_group(timeline, [*unshown]):
            yield TopicChange((), _names_of(changed), distinct_events(changed), _shown_by(timeline, changed, []))


def _changed_in(requests: Sequence[Request]) -> set[str]:
    """The topics whose change the rejoining members logged."""
    return {topic for request in requests for event in request.events for topic in subscriptions.changed_topics(event)}


def _noticed(timeline: Timeline, group: Sequence[Request], shown: Row, topics: list[Event]) -> TopicChange:
    seen = _changed_in(group) | {t for r in group for t in subscriptions.topics_under_pattern(timeline, r) or ()}
    names = sorted(seen or {t for g in _grown_by(timeline, group) for t in g.topics}, key=natural)
    by_brokers = not names
    names = names or _names_of(topics)
    if not names:
        # The topics that brokers changed just before; if known, only those that members read.
        made = {name for r in group for name in _names_of(subscriptions.topics_changed_before(timeline, r.at))}
        names = sorted(made & set(subscriptions.assigned_topics(timeline).partitions) or made, key=natural)
    return TopicChange(
        facts=tuple(group),
        topics=names,
        lines=distinct_events([*(e for r in group for e in r.events), *topics]),
        shown=shown,
        rebalances=len(touched(timeline, group)) or len(group),
        during=span(r.events[0] for r in group if r.events),
        by_brokers=by_brokers,
    )


def _perhaps_noticed(timeline: Timeline, request: Request) -> Iterator[TopicChange]:
    """A rejoin without a reason that topics changed just before, or new partitions afterwards, may explain."""
    changed = subscriptions.of_the_group(timeline, subscriptions.topics_changed_before(timeline, request.at))
    grown = _grown_by(timeline, [request])
    if grown:
        changed = [e for e in changed if set(_names_of([e])) & {t for g in grown for t in g.topics}]
    topics = [*changed, *(e for g in grown for e in g.lines)]
    if any(g.only_recipient for g in grown):
        return
    if topics:
        yield _noticed(timeline, [request], _shown_by(timeline, topics, grown), topics)
    elif timeline.kind == "consumer":
        yield _noticed(timeline, [request], NOT_SHOWN, [])


def _shown_by(timeline: Timeline, topics: list[Event], grown: list[subscriptions.NewPartitions]) -> Row:
    # Streams members also rejoin for reasons that brokers do not log.
    if timeline.kind == "streams":
        return CHANGED_NEARBY
    if grown:
        return ALL_NEW if all(g.complete for g in grown) else SEEM_NEW
    subscribed, read = subscriptions.subscribed_topics(timeline), subscriptions.read_by_the_group(timeline, topics)
    if read and (not subscribed or subscribed & set(_names_of(read))):
        return READ_TOPIC_CHANGED
    # All groups of the cluster log changes of topics; this one may not read them, or only from now on.
    return CHANGED_NEARBY if subscribed and not read else TOPIC_CHANGED


def _grown_by(timeline: Timeline, group: Sequence[Request]) -> list[subscriptions.NewPartitions]:
    grown = _growths_by_rebalance(timeline)
    return [g for r in touched(timeline, group) for g in grown.get(r.id, ())]


@cached_answer
def _growths_by_rebalance(timeline: Timeline) -> dict[str, list[subscriptions.NewPartitions]]:
    return grouped(subscriptions.new_partitions(timeline), lambda growth: growth.rebalance.id)


def _grown(timeline: Timeline, requests: list[Request]) -> Iterator[TopicChange]:
    """New partitions after rebalances without a logged reason."""
    known = {r.id for r in touched(timeline, requests)}
    growths = [
        g for g in subscriptions.new_partitions(timeline) if g.rebalance.id not in known and g.only_recipient is None
    ]
    for run in runs(growths, lambda g: g.rebalance.started_at, windows.ONE_SCALING_MS):
        yield TopicChange(
            facts=tuple(g.rebalance for g in run),
            topics=sorted({t for g in run for t in g.topics}),
            lines=distinct_events(e for g in run for e in (*g.lines[:3], *g.rebalance.events[:1])),
            shown=ALL_NEW if all(g.complete for g in run) else SEEM_NEW,
            rebalances=len(run),
        )


def _right_after_a_change(timeline: Timeline) -> Iterator[TopicChange]:
    # Before 2.1 coordinators log no reason: a topic that changed since the last rebalance may be the reason.
    if timeline.kind != "consumer" or any(a.has_log for a in timeline.membership.members):
        return
    grown = {g.rebalance.id for g in subscriptions.new_partitions(timeline)}
    for before, rebalance in pairwise(timeline.rebalances):
        opened = [e for e in rebalance.events if isinstance(e, ev.RebalanceStarted)]
        if rebalance.id in grown or not opened or any(e.trigger is not None for e in opened):
            continue
        made = subscriptions.topics_changed_before(timeline, rebalance.started_at)
        topics = [e for e in made if time_of(e) > before.ended_at()]
        if topics and not timeline.moves(rebalance.started_at - windows.HEARTBEAT_MS, rebalance.ended_at()):
            lines = distinct_events([*opened, *topics[:4]])
            yield TopicChange((rebalance,), _names_of(topics), lines, CHANGED_NEARBY, by_brokers=True)


def _bumped_by_metadata(timeline: Timeline) -> Iterator[TopicChange]:
    """KIP-848 group epochs that followed a topic change and that no member caused."""
    for epochs in unmoved_epochs(timeline):
        first, at = epochs[0], epochs[0].rebalance.started_at
        if first.same_topics or first.patterns:
            continue
        topics = subscriptions.of_the_group(timeline, subscriptions.topics_changed_before(timeline, at))
        if topics:
            prompt = at - time_of(topics[-1]) <= windows.AT_ONCE_MS
            shown = EPOCH_FOLLOWED if prompt else CHANGED_NEARBY
            lines = distinct_events([*(epoch.bumped for epoch in epochs), *topics])
            facts = tuple(epoch.rebalance for epoch in epochs)
            yield TopicChange(facts, _names_of(topics), lines, shown, by_brokers=True, rebalances=len(facts))


def _names_of(topics: list[Event]) -> list[str]:
    return sorted({e.topic for e in topics if isinstance(e, ev.TopicChanged)})
