"""Hypotheses about clients that the brokers rejected, and the answers that they received."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.advice.brokers import allow_migration, grant_access
from rebalance_forensics.diagnosis.advice.deployments import unique_instance_ids
from rebalance_forensics.diagnosis.episodes.coordinator.denied_principals import DeniedPrincipals
from rebalance_forensics.diagnosis.episodes.coordinator.denied_topics import DeniedTopics
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import (
    Denial,
    Rejection,
    denial_in,
    denial_text,
    moves_during_rejection,
    was_not_readmitted,
)
from rebalance_forensics.diagnosis.episodes.coordinator.mixed_protocols import MixedProtocols
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.fences import Fence, moves_during_fence
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice, Culprit
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.signs.fences import shown_by
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, the_group
from rebalance_forensics.diagnosis.wording.durations import occurrences, span, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.unnamed_groups import in_words
from rebalance_forensics.timeline.windows import AT_ONCE_MS, ONE_REBALANCE_MS

DENIED = stated("denied", present="the brokers answered it with an authorization error")
LEFT_WHEN_DENIED = stated(
    "left-when-denied", present="all members left right after a broker denied somebody READ on a topic"
)
LEFT_AGAIN = stated("left-again", present="members came back and left right after another such denial")
REJECTED = stated("rejected", present="the coordinator rejected it with this error")
MIGRATION_REFUSED = stated(
    "migration-refused", present="the coordinator refused to let members of both group protocols into the group"
)

MOST_DENIALS = 8
"""So many lines of an authorizer show it; the others say the same."""
# FENCED_INSTANCE_ID is fatal (AbstractCoordinator): poll() throws FencedInstanceIdException from then on.
_STAYS_OUT = " A fenced consumer does not rejoin by itself: that process has to be restarted."
MANY_FENCES = 6
"""Fences after which two processes are surely taking the place from each other in turns."""


def about_rejection(
    timeline: Timeline, rejection: Rejection, *, narrative: str, advice: tuple[Advice, ...]
) -> Hypothesis:
    """A client was turned away, for one reason."""
    culprits = culprits_of(timeline, [rejection.participant])
    return Hypothesis(
        because=rejection.events,
        culprits=culprits,
        answers={REJECTED: Present(distinct_events(rejection.events))},
        participants=(rejection.participant,),
        severity="warning",
        implies=with_rebalances(timeline, rejection.facts(timeline)),
        narrative=narrative.replace("{who}", culprits[0].name),
        advice=advice,
    )


def about_refused_migration(timeline: Timeline, mixture: MixedProtocols) -> Hypothesis:
    """Members of one group protocol were turned away from a group of the other."""
    whose = mixture.participants
    facts = [f for p in whose for f in moves_during_rejection(timeline, p, mixture.begin, mixture.end)]
    culprits = culprits_of(timeline, whose) if whose else (the_group(timeline),)
    who = ", ".join(c.name for c in culprits) if whose else "A member"
    joins = "were rejected: they join" if len(culprits) > 1 else "was rejected: it joins"
    group = "classic" if mixture.joined_with == "consumer" else "consumer"
    return Hypothesis(
        because=mixture.lines,
        culprits=culprits,
        answers={MIGRATION_REFUSED: Present(mixture.lines)},
        participants=whose,
        severity="warning",
        implies=with_rebalances(timeline, facts),
        narrative=(
            f"{who} {joins} with the {mixture.joined_with} protocol, the group uses the {group} one, "
            f"and the coordinator does not convert it{f' ({mixture.reason})' if mixture.reason else ''}."
        ),
        advice=allow_migration(mixture.lines),
    )


def about_denial(timeline: Timeline, participant: Participant, events: Sequence[Event]) -> Hypothesis:
    """A client was denied the group or its topics."""
    first, last = events[0].at or 0, events[-1].at or 0
    culprits = culprits_of(timeline, [participant])
    denial, words = denial_in(events), denial_text(events[0]).rstrip(". ")
    number, what = occurrences(denial.of_group) + occurrences(denial.of_others), _denied(timeline, denial)
    moves = timeline.moves(first - AT_ONCE_MS, last + ONE_REBALANCE_MS, participant)
    return Hypothesis(
        because=events,
        culprits=culprits,
        answers={DENIED: Present(distinct_events(events))},
        participants=(participant,),
        severity="critical" if was_not_readmitted(timeline, participant, last) else "warning",
        implies=with_rebalances(timeline, moves),
        struck_at=first,
        narrative=f"{culprits[0].name} is not authorized{f' to access {what}' if what else f': {words}'}.",
        advice=grant_access(what, f"{times(number)}{span(events) if number > 1 else ''}"),
    )


def about_denied_principals(timeline: Timeline, denials: DeniedPrincipals) -> Hypothesis:
    """Brokers denied a principal what a member needs, and no client's log shows it."""
    first, last = denials.begin, denials.end
    moves = [f for p in denials.lost for f in timeline.moves(first, last + ONE_REBALANCE_MS, p)]
    out = any(was_not_readmitted(timeline, p, last) for p in denials.lost)
    what, number = in_words(timeline.group), occurrences(denials.events)
    denied = f"{', '.join(denials.operations)} on {what} ({', '.join(denials.requests)})"
    return Hypothesis(
        because=denials.events,
        culprits=culprits_of(timeline, denials.lost) or (the_group(timeline),),
        answers={DENIED: Present(denials.events[:MOST_DENIALS])},
        participants=denials.lost,
        severity="critical" if out else "warning",
        implies=with_rebalances(timeline, moves),
        struck_at=first,
        narrative=f"The brokers denied {' and '.join(denials.principals)} {denied}.",
        advice=grant_access(what, f"{times(number)}{span(denials.events) if number > 1 else ''}"),
    )


def about_denied_topics(timeline: Timeline, denials: DeniedTopics) -> Hypothesis:
    """Brokers denied a topic, and all members left at once without a client's log that gives the reason."""
    lines, departures = denials.events, denials.departures
    what = f"topic{'s' if len(denials.topics) > 1 else ''} {', '.join(denials.topics)}"
    moves = timeline.moves(departures[0].at, departures[-1].at + ONE_REBALANCE_MS)
    out = any(was_not_readmitted(timeline, p, departures[-1].at) for p in denials.participants)
    who = " and ".join(denials.principals)
    return Hypothesis(
        because=[*lines[:MOST_DENIALS], *(e for d in departures for e in d.events[:1])],
        culprits=culprits_of(timeline, denials.participants),
        answers={
            LEFT_WHEN_DENIED: Present(lines[:MOST_DENIALS]),
            **({LEFT_AGAIN: Present(lines[-MOST_DENIALS:])} if denials.repeated else {}),
        },
        participants=denials.participants,
        severity="critical" if out else "warning",
        explains=departures,
        implies=with_rebalances(timeline, moves),
        struck_at=time_of(lines[0]),
        narrative=f"The brokers denied {who} READ on {what}, and all members left at once.",
        advice=grant_access(what, f"{times(occurrences(lines))}{span(lines) if len(lines) > 1 else ''}"),
    )


def _denied(timeline: Timeline, denial: Denial) -> str:
    """`group payments and topics orders, returns`; empty if no line names them."""
    topics = f"topic{'s' if len(denial.topics) > 1 else ''} {', '.join(denial.topics)}" if denial.topics else ""
    return " and ".join(filter(None, (in_words(timeline.group) if denial.of_group else "", topics)))


def about_fence(timeline: Timeline, fence: Fence) -> Hypothesis:
    """One member of an instance id fenced another, or was refused while the other lived."""
    facts = moves_during_fence(timeline, fence)
    same = f"group.instance.id {fence.instance}" if fence.instance else f"the group.instance.id of {fence.name}"
    return Hypothesis(
        because=[*fence.events, *(e for f in facts for e in getattr(f, "events", [])[:2])],
        culprits=_users_of_instance_id(timeline, fence),
        answers=shown_by(fence),
        participants=tuple(fence.participants),
        severity="critical" if len(fence.events) > MANY_FENCES else "warning",
        onset=fence.begin,
        implies=with_rebalances(timeline, facts),
        narrative=_fence_in_words(fence, same),
        advice=unique_instance_ids(fence),
    )


def _users_of_instance_id(timeline: Timeline, fence: Fence) -> tuple[Culprit, ...]:
    """The instance id, also known by its members' names; the fenced members where no line names the id."""
    culprits = culprits_of(timeline, fence.participants, as_instance=True)
    if fence.instance is None:
        return culprits
    names = {n for c in culprits for n in (c.name, *c.names)} - {fence.instance}
    return (Culprit(kind="instance", name=fence.instance, names=tuple(sorted(names))),)


def _fence_in_words(fence: Fence, same: str) -> str:
    """Two members that ran at a time, as far as the logs show that they did."""
    if fence.both_seen:
        refused = "the coordinator rejected the second while the first was running"
        what = refused if fence.refused else "the second took the place of the first and fenced it"
        return f"Two running members used {same}: {what}.{'' if fence.refused else _STAYS_OUT}"
    if fence.refused:
        return f"A member was rejected because another one, running or not yet expired, held {same}."
    return (
        f"A running member was fenced because another one had joined with {same}; these logs do not show whether both "
        f"were to run, or a restart overlapped.{_STAYS_OUT}"
    )
