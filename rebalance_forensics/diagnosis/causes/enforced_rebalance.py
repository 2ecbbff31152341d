"""The application asked for a rebalance (Consumer.enforceRebalance, KIP-568, KIP-800)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.episodes.topics.subscriptions import rejoins_without_reason
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Present, Row, clue, speaks_against
from rebalance_forensics.diagnosis.signs import rejoins
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.clients import is_java
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact, Request
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.join_barriers import joined_at, was_first_to_join
from rebalance_forensics.timeline.releases import Affected, releases_of
from rebalance_forensics.timeline.windows import HEARTBEAT_MS, TICK_MS

ENFORCED_LOGGED = clue("enforced-logged", DECISIVE + WEAK, "the reason to rejoin says that the application enforced it")
OWN_WORDS = clue("own-words", STRONG, "the reason to rejoin is the application's own text; no Kafka client writes it")
REJOINED_IN_VAIN = clue(
    "rejoined-in-vain", STRONG, "it rejoined for no visible reason and got the assignment it already had"
)
NO_OTHER_REASON = clue(
    "no-other-reason", STRONG + WEAK, "its release logs every other reason to rejoin, and it rejoined first without one"
)

# Lines that show why a member joins again, or that its membership ended.
_REJOIN_REASONS = (
    ev.CoordinatorLost, ev.InstanceFenced, ev.LeaveSent, ev.PollTimeoutExpired, ev.Subscribed, ev.ConsumerClosed,
    ev.HeartbeatFailed, ev.JoinFailed, ev.JoinRequested, ev.SyncFailed,
)  # fmt: skip
# Clients that log changed topics and subscriptions, but not an enforced rebalance.
_LOGS_OTHER_REASONS = Affected((2, 7), (3, 0))


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members that enforced a rebalance, gave the application's own reason for one, or rejoined without a reason."""
    # Since 3.0 clients log enforceRebalance. Before that, it is the only reason to rejoin that they do not log.
    for request in timeline.requests:
        enforced = request.why == "enforced"
        if request.participant is not None and (enforced or _has_application_reason(timeline, request)):
            shown = ENFORCED_LOGGED if enforced else OWN_WORDS
            words = f"asked for a rebalance: {request.reason or 'no reason given'}"
            yield _about(timeline, request.participant, request.events, (request,), shown, words)
    for rejoined in _unexplained_rejoins(timeline):
        if rejoined.before.generation == rejoined.now.generation:
            words = (
                "apparently asked for a rebalance without effect: it rejoined for no logged reason and got its old "
                f"assignment back; the group stayed in generation {rejoined.now.generation}"
            )
            lines = (rejoined.start, rejoined.now)
            yield _about(timeline, rejoined.participant, lines, (), REJOINED_IN_VAIN, words)
        elif rejoined.before.generation == rejoined.now.generation - 1:
            yield from _without_a_reason(timeline, rejoined)
    for request in rejoins_without_reason(timeline) if timeline.kind == "consumer" else ():
        if request.participant is not None:
            words = "may have asked for a rebalance: it rejoined, and no reason was logged"
            yield _about(timeline, request.participant, request.events, (request,), None, words)


def _about(
    timeline: Timeline, who: Participant, lines: Sequence[Event], facts: tuple[Fact, ...], shown: Row | None, words: str
) -> Hypothesis:
    """A member that rejoined because its application requested it; `shown` is None if that is only possible."""
    culprits = culprits_of(timeline, [who])
    return Hypothesis(
        because=lines,
        culprits=culprits,
        clues={} if shown is None else {shown: Present(distinct_events(lines))},
        participants=(who,),
        severity="info",
        implies=with_rebalances(timeline, facts),
        explains=facts,
        narrative=f"The application of {culprits[0].name} {words}.",
    )


CAUSE = Cause(
    propose=propose,
    evidence_types=(Request, ev.JoinSucceeded),
    signs=(
        speaks_against(rejoins.no_hint, WEAK),
        speaks_against(rejoins.topic_changed_before, STRONG),
        speaks_against(rejoins.partitions_grew, STRONG),
        speaks_against(rejoins.subscription_logged, STRONG),
    ),
    lookalikes=("subscription-change", "topic-metadata-change"),
)


class Rejoin(NamedTuple):
    """A member's next join without a logged reason: the previous join, the attempt and its success."""

    participant: Participant
    before: ev.JoinSucceeded
    start: ev.JoinStarted
    now: ev.JoinSucceeded


def _unexplained_rejoins(timeline: Timeline) -> list[Rejoin]:
    """Joins of members whose membership had not ended, without a logged reason."""
    # Before 3.0 enforceRebalance is the only reason to rejoin that clients do not log. The coordinator rebalances only
    # if the leader rejoins; another member with unchanged metadata receives its assignment again.
    rejoins: list[Rejoin] = []
    joined: dict[Participant, ev.JoinSucceeded] = {}
    attempts: dict[Participant, ev.JoinStarted] = {}
    may_be = timeline.kind == "consumer" and len(timeline.of(ev.JoinSucceeded)) > 1 and timeline.of(ev.JoinStarted)
    for event in timeline.of(ev.JoinStarted, ev.JoinSucceeded, *_REJOIN_REASONS) if may_be else ():
        participant = timeline.participants.of_speaker(event)
        if participant is None:
            continue
        if isinstance(event, ev.JoinStarted):
            attempts[participant] = event
        elif isinstance(event, ev.JoinSucceeded):
            before, start = joined.get(participant), attempts.pop(participant, None)
            same = before is not None and before.member == event.member and place_name(before) == place_name(event)
            restarted = timeline.starts.of(participant).any_between(time_of(before) if before else 0, time_of(event))
            if before is not None and start is not None and same and is_java(event) and not restarted:
                rejoins.append(Rejoin(participant, before, start, event))
            joined[participant] = event
        else:
            joined.pop(participant, None)
    return rejoins


def _without_a_reason(timeline: Timeline, rejoined: Rejoin) -> Iterator[Hypothesis]:
    # Clients 2.7 and 2.8 log every other reason to rejoin, so a member that rejoins first without one enforced it.
    who, at = rejoined.participant, time_of(rejoined.start)
    rebalance = next((r for r in timeline.rebalances if joined_at(r, who) == at), None)
    if rebalance is None or not was_first_to_join(rebalance, who):
        return
    if timeline.moves(at - HEARTBEAT_MS, at + TICK_MS):
        return
    gave_up = timeline.events_from(who, ev.PartitionsRevoked).between(time_of(rejoined.before), at)
    hands_over = timeline.mode != "eager" and any(e.partitions for e in gave_up)
    if hands_over or not releases_of(timeline).affects("client", [_LOGS_OTHER_REASONS], [rejoined.start]):
        return
    requests = timeline.requests.of(who).between(at - TICK_MS, at + HEARTBEAT_MS)
    lines = (rejoined.start, *rebalance.events, rejoined.now)
    words = "asked for a rebalance: it rejoined for no other reason"
    yield _about(timeline, who, lines, (*requests, rebalance), NO_OTHER_REASON, words)


def _has_application_reason(timeline: Timeline, request: Request) -> bool:
    """True if the coordinator logs a reason that no client sends by itself: it was passed to enforceRebalance."""
    if timeline.kind != "consumer" or request.why not in ("other", "member-rejoined", "leader-rejoined"):
        return False
    return any(isinstance(e, ev.RebalanceStarted) and e.why == "own-words" for e in request.events)
