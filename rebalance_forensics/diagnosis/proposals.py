"""Hypotheses about absent members, for one reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rebalance_forensics.diagnosis.behind import Link
from rebalance_forensics.diagnosis.cause import NO_CLUES, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, with_rebalances
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import silent_since
from rebalance_forensics.diagnosis.model import Advice, Culprit, Severity
from rebalance_forensics.diagnosis.sign import Answer, Need, Row
from rebalance_forensics.diagnosis.wording.culprits import culprits_of, names_of
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import AssignmentComputed, AssignmentReceived, GenerationStabilized
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant

# Events with the number of members of a generation, shortest lines first.
_LISTING = (GenerationStabilized, AssignmentReceived, AssignmentComputed)


def about_absences(
    timeline: Timeline,
    absences: Sequence[Absence],
    *,
    narrative: str,
    severity: Severity,
    because: Sequence[Event] = (),
    circumstances: Sequence[Event] = (),
    implies: Sequence[Fact] = (),
    culprits: tuple[Culprit, ...] = (),
    participants: tuple[Participant, ...] = (),
    clues: Mapping[Row, Answer] = NO_CLUES,
    advice: tuple[Advice, ...] = (),
    onset: int | None = None,
    hit_at: int | None = None,
    behind: tuple[Link, ...] = (),
    unseen: tuple[Need, ...] = (),
) -> Hypothesis:
    """Return the hypothesis that these members were absent for one reason; `{who}` in the narrative stands for them.

    The lines in `because` precede those of the absences; `implies` is added to the facts of the absences.
    """
    participants = participants or tuple(dict.fromkeys([a.participant for a in absences]))
    if len(absences) == 1:
        away = absences[0]
        events, departures, facts = away.events, tuple(away.departures), away.facts
    else:
        events = tuple([e for a in absences for e in a.events])
        departures = tuple([d for a in absences for d in a.departures])
        facts = tuple([f for a in absences for f in a.facts])
    blamed = culprits or culprits_of(timeline, participants)
    return Hypothesis(
        because=(*because, *events) if because else events,
        circumstances=circumstances,
        culprits=blamed,
        narrative=narrative.replace("{who}", names_of(blamed)),
        severity=severity,
        explains=departures,
        implies=with_rebalances(timeline, (*facts, *implies) if implies else facts),
        participants=participants,
        absences=tuple(absences),
        clues=clues,
        onset=onset,
        hit_at=hit_at,
        advice=advice,
        behind=behind,
        unseen=unseen,
    )


def about_heartbeat_loss(
    timeline: Timeline,
    absence: Absence,
    *,
    narrative: str,
    severity: Severity,
    own: Sequence[Event] = (),
    circumstances: Sequence[Event] = (),
    implies: Sequence[Fact] = (),
    advice: tuple[Advice, ...] = (),
    as_instance: bool = False,
    behind: tuple[Link, ...] = (),
    unseen: tuple[Need, ...] = (),
) -> Hypothesis:
    """Return the hypothesis that one member stopped sending heartbeats; `own` are lines of its own log about it."""
    return about_absences(
        timeline,
        [absence],
        narrative=narrative,
        severity=severity,
        because=(*absence.departure_lines, *own),
        circumstances=circumstances,
        implies=implies,
        culprits=culprits_of(timeline, [absence.participant], as_instance=as_instance),
        onset=silent_since(timeline, absence, own),
        hit_at=absence.at,
        advice=advice,
        behind=behind,
        unseen=unseen,
    )


def surrounding_generations(timeline: Timeline, times: Sequence[int]) -> tuple[Event, ...]:
    """Return the last logged generation before these times, and the first one after each."""
    for kind in _LISTING:
        listed = timeline.of(kind)
        if not listed:
            continue
        ungrouped = [listed.last(times[0] - 1), *[listed.first(at + 1) for at in (times[-1], *times[:-1])]]
        generations = tuple([event for event in ungrouped if event is not None])
        if generations:
            return generations
    return ()
