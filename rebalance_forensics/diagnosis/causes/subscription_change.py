"""A member changed its subscription."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, touched
from rebalance_forensics.diagnosis.episodes.topics import subscriptions
from rebalance_forensics.diagnosis.episodes.topics.epochs import UnmovedEpoch, unmoved_epochs
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, Row, clue, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.diagnosis.wording.durations import listed
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import TimeIndex
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_REBALANCE_MS

REASON_LOGGED = clue(
    "changed-subscription-logged", DECISIVE + WEAK, "a changed subscription was logged as the reason to rejoin"
)
PERHAPS_A_PATTERN = clue(
    "perhaps-a-pattern",
    WEAK,
    "a changed subscription was logged as the reason to rejoin, but a topic was created that its pattern may match",
)
SUBSCRIBED_AGAIN = clue("subscribed-again", STRONG, "the same process subscribed to other topics")
TAKEN_UP = clue("topic-taken-up", STRONG, "one member alone was assigned topics that nobody had before")
NEW_PATTERN = clue(
    "new-pattern-resolved",
    DECISIVE,
    "the coordinator resolved a pattern that is new to the group, and no member joined",
)
SAME_TOPICS = clue(
    "epoch-of-the-same-topics", STRONG, "the epoch rose without a join, a departure or a change of the group's topics"
)
OTHER_TOPICS = clue(
    "epoch-of-other-topics",
    STRONG,
    "the group subscribes to other topics from this epoch on, and no member joined or left",
)
OTHER_METADATA = clue(
    "epoch-of-other-metadata", 0, "the group's topics or their partitions changed; these logs do not show which"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that logged the change, subscribed again, alone got new topics assigned, or rejoined without a reason."""
    foreign = subscriptions.foreign_assignments(timeline)
    logged = [
        r
        for r in timeline.requests
        if r.why == "subscription-changed"
        and r.participant not in foreign
        and subscriptions.topics_under_pattern(timeline, r) is None
    ]
    for request in logged:
        if request.participant is not None:
            maybe_pattern = _new_topics_uncovered(timeline, request)
            shown = PERHAPS_A_PATTERN if maybe_pattern else REASON_LOGGED
            yield _about(timeline, request.participant, shown, request.events, (request,))
    yield from _resubscribed(timeline, TimeIndex(r for r in logged if r.participant is not None))
    for growth in subscriptions.new_partitions(timeline):
        if growth.only_recipient is not None:
            topics = tuple(growth.topics)
            yield _about(timeline, growth.only_recipient, TAKEN_UP, growth.lines, (growth.rebalance,), topics)
    yield from filter(None, (_by_epochs(timeline, epochs) for epochs in unmoved_epochs(timeline)))
    for request in subscriptions.rejoins_without_reason(timeline) if timeline.kind == "consumer" else ():
        if request.participant is not None:
            yield _about(timeline, request.participant, None, request.events, (request,))


def _about(
    timeline: Timeline,
    participant: Participant,
    shown: Row | None,
    lines: Sequence[Event],
    facts: tuple[Request | Rebalance, ...],
    topics: tuple[str, ...] = (),
) -> Hypothesis:
    """A member that changed its subscription; `shown` is None if that is only possible.

    `topics` are those that only this member was assigned afterwards.
    """
    at, culprits = time_of(lines[0]), culprits_of(timeline, [participant])
    before = timeline.events_from(participant, ev.Subscribed).last(at)
    # Without a known request, the change caused the rebalances right after it.
    rebalances = touched(timeline, facts) if facts else tuple(timeline.rebalances.between(at, at + AT_ONCE_MS - 1))
    if topics:
        words = f"was the only member assigned {listed(topics)} afterwards"
    elif shown is None:
        words = "rejoined, and no reason was logged: it may have changed its subscription"
    elif shown is PERHAPS_A_PATTERN:
        words = "changed its subscription, or reads a pattern of topics that matches others now"
    else:
        words = f"changed its subscription{_from_to(timeline, participant, lines)}"
    return Hypothesis(
        because=lines,
        circumstances=(before,) if before is not None else (),
        culprits=culprits,
        clues={} if shown is None else {shown: Present(distinct_events(lines))},
        participants=(participant,),
        severity="info",
        onset=next((f.started_at for f in facts if isinstance(f, Rebalance)), None),
        implies=(*facts, *rebalances),
        explains=facts or rebalances,
        narrative=f"{culprits[0].name} {words}.",
    )


def _by_epochs(timeline: Timeline, epochs: tuple[UnmovedEpoch, ...]) -> Hypothesis | None:
    """A subscription that changed by the coordinator's lines alone, which do not name the member; or None."""
    first, members = epochs[0], timeline.membership.members
    at = first.rebalance.started_at
    begin = at - ONE_REBALANCE_MS
    if any(begin <= time_of(event) <= at for _, event in subscriptions.resubscriptions(timeline)):
        return None
    # A client-side pattern changes a subscription without a line in its client's log when a topic matches it.
    unknown = first.same_topics is None and not first.patterns
    if unknown or timeline.kind not in ("consumer", "share") or all(a.has_log for a in members):
        return None
    changed = subscriptions.topics_changed_before(timeline, at)
    if first.patterns:
        shown, words = NEW_PATTERN, f"subscribed to the pattern {listed(first.patterns)}"
    elif first.same_topics:
        shown, words = SAME_TOPICS, "changed its subscription: it reads topics that others read already"
    elif changed:
        return None
    elif subscriptions.logs_of_topic_changes(timeline, begin, at):
        shown, words = OTHER_TOPICS, "changed its subscription: the group reads other topics than before"
    else:
        shown, words = OTHER_METADATA, f"may have changed its subscription: {OTHER_METADATA.sign.present}"
    rebalances = tuple(epoch.rebalance for epoch in epochs)
    lines = tuple(e for epoch in epochs for e in epoch.lines)
    who = "A member" if len(rebalances) == 1 else "Members"
    return Hypothesis(
        because=lines,
        culprits=(),
        clues={shown: Present(first.lines)},
        severity="info",
        onset=at,
        implies=rebalances,
        explains=rebalances,
        narrative=f"{who} {words}.",
    )


def _from_to(timeline: Timeline, participant: Participant, lines: Sequence[Event]) -> str:
    """` from orders to orders, returns`; empty unless a line names both or the process subscribed twice."""
    for event in lines:
        if (change := subscriptions.change_in(event)) is not None:
            return f" from {_topics(change[0])} to {_topics(change[1])}"
    at = time_of(lines[0])
    for who, event in subscriptions.resubscriptions(timeline):
        if who is participant and abs(time_of(event) - at) < AT_ONCE_MS:
            before = timeline.events_from(who, ev.Subscribed).last(time_of(event) - 1)
            if before is not None and isinstance(event, ev.Subscribed) and _read(before) and _read(event):
                return f" from {_read(before)} to {_read(event)}"
    return ""


def _read(event: ev.Subscribed) -> str:
    return listed(sorted(event.topics)) or event.topic_pattern or ""


CAUSE = Cause(
    propose=propose,
    evidence_types=(
        Request,
        ev.Subscribed,
        ev.SubscriptionUpdated,
        ev.GroupEpochBumped,
        *subscriptions.NAMING_PARTITIONS,
    ),
    signs=(
        speaks_for(rejoins.subscription_logged, STRONG, absent=STRONG),
        speaks_against(rejoins.topic_changed_before, STRONG),
        speaks_against(rejoins.partitions_grew, STRONG),
        speaks_against(rejoins.took_the_lead, STRONG),
    ),
    lookalikes=("topic-metadata-change", "enforced-rebalance"),
)


def _topics(printed: str) -> str:
    """The topics in a client's text `[returns, orders]`, in order, in words."""
    return listed(sorted(filter(None, re.split(r"[\[\], ]+", printed)))) or "no topic"


def _new_topics_uncovered(timeline: Timeline, request: Request) -> bool:
    """True if a member may subscribe to a pattern that matches a new topic which no broker's log covers."""
    at = request.at
    if subscriptions.is_mismatch(request):
        return False
    if timeline.events_from(request.participant, ev.Subscribed).last(at) is not None or subscriptions.subscribed_topics(
        timeline
    ):
        return False
    return not subscriptions.logs_of_topic_changes(timeline, at - ONE_REBALANCE_MS, at)


def _resubscribed(timeline: Timeline, logged: TimeIndex[Request]) -> Iterator[Hypothesis]:
    """Processes that subscribed to other topics without logging this as the reason to rejoin."""
    for participant, event in subscriptions.resubscriptions(timeline):
        at = time_of(event)
        if not logged.of(participant).any_between(at - AT_ONCE_MS + 1, at + AT_ONCE_MS - 1):
            near = timeline.requests.of(participant).between(at, at + AT_ONCE_MS - 1)
            lines = (event, *(e for r in near for e in r.events))
            yield _about(timeline, participant, SUBSCRIBED_AGAIN, lines, tuple(near[:1]))
