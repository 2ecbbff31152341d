"""Clients that a coordinator rejected or denied: the error, the clients, and their joins and departures meanwhile."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from msgspec import Struct

from rebalance_forensics import events as ev
from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.answers import error_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.names import topic_of
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.time_index import grouped, lists_by_key
from rebalance_forensics.timeline.timeouts import number_of
from rebalance_forensics.timeline.windows import ONE_REBALANCE_MS, ROUND_TRIP_MS

_DENIALS = ("GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")
# Lines that may log a denial.
DENYING = (
    ev.AuthorizationFailed, ev.JoinFailed, ev.SyncFailed, ev.HeartbeatFailed, ev.GroupHeartbeatFailed,
    ev.OffsetCommitFailed, ev.ExceptionLogged,
)  # fmt: skip
# Lines that may log a rejected client.
REJECTING = (ev.JoinFailed, ev.SyncFailed, ev.GroupHeartbeatFailed, ev.ExceptionLogged)
REJECTED = clue("rejected", DECISIVE + WEAK, "the coordinator rejected it with this error")


@cached_answer
def denied(timeline: Timeline) -> dict[Participant, list[Event]]:
    """Clients that were denied access to the group or its topics -> the lines that log it."""
    denials = (e for e in timeline.of(*DENYING) if _is_denial(e, timeline.group))
    return lists_by_key((participant, e) for e in denials for participant in _denied_participants(timeline, e))


def _denied_participants(timeline: Timeline, denial: Event) -> list[Participant]:
    speaker = timeline.participants.of_speaker(denial)
    if speaker is not None or not isinstance(denial, ev.ExceptionLogged):
        return [] if speaker is None else [speaker]
    return [a for a in timeline.participants.at_place(denial) if a.has_log]


def _is_denial(event: Event, group: str) -> bool:
    if isinstance(event, ev.ExceptionLogged):
        if error_of(event) == "GROUP_AUTHORIZATION_FAILED":
            return event.names in ((), (group.partition(" ")[0],))
        return (event.exception or "").endswith("TopicAuthorizationException")
    return isinstance(event, ev.AuthorizationFailed) or error_of(event) in _DENIALS


class Rejection(Struct, frozen=True):
    """A rejected client and every line that logs a rejection."""

    participant: Participant
    events: tuple[Event, ...]

    def facts(self, timeline: Timeline) -> list[Fact]:
        """Its joins, closes and departures during the rejections."""
        return moves_during_rejection(timeline, self.participant, self.events[0].at or 0, self.events[-1].at or 0)


def rejections(timeline: Timeline, error: str) -> list[Rejection]:
    """The clients rejected with this error, sorted by name."""
    lines = (event for event in timeline.of(*REJECTING) if error_of(event) == error)
    clients = grouped(lines, partial(_rejected_client, timeline))
    found = (Rejection(client, tuple(events)) for client, events in clients.items() if client is not None)
    return sorted(found, key=lambda rejection: rejection.participant.name)


def moves_during_rejection(timeline: Timeline, participant: Participant, first: int, last: int) -> list[Fact]:
    """The joins, closes and departures of a rejected client, from its first rejection to its last."""
    facts: list[Fact] = [*timeline.stops.of(participant).between(first - ROUND_TRIP_MS, last + ONE_REBALANCE_MS)]
    facts += timeline.departures.of(participant).between(first - ROUND_TRIP_MS, last + ONE_REBALANCE_MS)
    facts += timeline.arrivals.of(participant).between(first - ONE_REBALANCE_MS, last + ONE_REBALANCE_MS)
    return facts


def _rejected_client(timeline: Timeline, event: Event) -> Participant | None:
    return timeline.participants.of_speaker(event) or timeline.participants.of_member(getattr(event, "member", None))


def most_members(timeline: Timeline, refusals: Sequence[Event]) -> int | None:
    """The group's maximum size, from a rejection, else from a broker's configuration; None if unknown."""
    for event in refusals:
        if isinstance(event, ev.GroupHeartbeatFailed | ev.ExceptionLogged) and event.max_size is not None:
            return event.max_size
    return number_of(timeline.settings.get(size_setting(timeline), ""))


def size_setting(timeline: Timeline) -> str:
    """The broker setting that limits the size of groups of this protocol (KIP-389, KIP-848, KIP-932, KIP-1071)."""
    protocol = f"{timeline.protocol}." if timeline.protocol in ("consumer", "share", "streams") else ""
    return f"group.{protocol}max.size"


class Denial(Struct, frozen=True):
    """A client's denials: lines about its group, and lines about topics or an unnamed resource."""

    of_group: tuple[Event, ...]
    of_others: tuple[Event, ...]

    @property
    def topics(self) -> tuple[str, ...]:
        """The topics that the lines name."""
        denials = [e for e in self.of_others if isinstance(e, ev.AuthorizationFailed) and e.resource == "topic"]
        of_partitions = {topic_of(e.partition) for e in denials if e.partition is not None}
        return tuple(sorted(of_partitions.union(*(e.names for e in denials))))


def denial_in(events: Sequence[Event]) -> Denial:
    """Sort these lines by what they deny."""
    of_group = [e for e in events if _is_about_group(e)]
    return Denial(tuple(of_group), tuple(e for e in events if e not in of_group))


def _is_about_group(event: Event) -> bool:
    return "group" in (getattr(event, "resource", None), (error_of(event) or "").partition("_")[0].lower())


_SENTENCE = re.compile(r"[A-Z][^\[\]]{0,400}[Aa]uthoriz[^()]*")


def denial_text(event: Event) -> str:
    """The sentence of the line about the denial, without the logger class."""
    reason: str | None = getattr(event, "detail", None) or getattr(event, "error", None)
    sentence = _SENTENCE.search(event.text)
    return reason or (sentence[0] if sentence else event.text)[:160].strip()


def was_not_readmitted(timeline: Timeline, participant: Participant, last: int) -> bool:
    """True if the client was a member, left around `last` and did not come back."""
    departure = timeline.departures.of(participant).last(last + ONE_REBALANCE_MS)
    return departure is not None and departure.at > last - ONE_REBALANCE_MS and departure.returned is None


def about_rejection(
    timeline: Timeline, rejection: Rejection, *, narrative: str, advice: tuple[Advice, ...]
) -> Hypothesis:
    """The hypothesis that a client was rejected; the narrative's `{who}` is replaced by its name."""
    culprits = culprits_of(timeline, [rejection.participant])
    return Hypothesis(
        because=rejection.events,
        culprits=culprits,
        clues={REJECTED: Present(distinct_events(rejection.events))},
        participants=(rejection.participant,),
        severity="warning",
        implies=with_rebalances(timeline, rejection.facts(timeline)),
        narrative=narrative.replace("{who}", culprits[0].name),
        advice=advice,
    )
