"""Members that stopped heartbeating: what every cause of it puts forward in the same shape."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from rebalance_forensics.diagnosis.absences import (
    SILENT,
    Absence,
    absences,
    distinct_events,
    session_timeout_ms,
    touched,
)
from rebalance_forensics.diagnosis.culprits import culprits_of
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice, Severity
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalancing import AssignmentReceived
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.time_index import InTime


def losses(timeline: Timeline) -> list[Absence]:
    """Every absence of a member that said nothing of leaving."""
    return absences(timeline, SILENT)


def hypothesis_about(
    timeline: Timeline,
    absence: Absence,
    *,
    narrative: str,
    severity: Severity,
    own: Sequence[Event] = (),
    brings: Sequence[Fact] = (),
    advice: tuple[Advice, ...] = (),
    as_instance: bool = False,
) -> Hypothesis:
    """One member's silence, put down to one cause; `{who}` in the narrative is its name, `own` what its log shows."""
    culprits = culprits_of(timeline, [absence.actor], as_instance=as_instance)
    facts = (*absence.facts(), *brings)
    return Hypothesis(
        because=distinct_events([*(e for d in absence.departures for e in d.events), *own, *absence.events()]),
        culprits=culprits,
        narrative=narrative.format(who=culprits[0].name),
        severity=severity,
        explains=tuple(absence.departures),
        brings=(*facts, *touched(timeline, facts)),
        actors=(absence.actor,),
        absences=(absence,),
        onset=_silent_since(timeline, absence, own),
        struck_at=absence.at,
        advice=advice,
    )


def _silent_since(timeline: Timeline, absence: Absence, own: Sequence[Event]) -> int:
    """When it fell silent, as far as its lines tell; its last word may be hours older than a session."""
    told = [e.at for e in (*own, *absence.events()) if e.at is not None]
    return max(min(told, default=absence.at), absence.at - session_timeout_ms(timeline))


def last_line(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The last that its own log shows before a start, a shutdown or its end."""
    told = [*(absence.stop.events if absence.stop else ()), *(absence.start.events[:1] if absence.start else ())]
    if told or not absence.actor.has_log:
        return tuple(told)
    before = timeline.said_by(absence.actor, Event).last(absence.at)
    return (before,) if before is not None and before.at else ()


def lines_after(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The first that its own log shows after the group lost it."""
    if not absence.actor.has_log or absence.start is not None:
        return ()
    return tuple(islice(timeline.said_by(absence.actor, Event).onwards(absence.at + 1), 4))


def is_static(timeline: Timeline, absence: Absence) -> bool:
    """Whether it is a static member, by its instance id or by the coordinator's count."""
    if absence.actor.instance_ids:
        return True
    return not absence.actor.has_log and _all_static(timeline, absence.at)


def _all_static(timeline: Timeline, at: int) -> bool:
    """From 2.7 on a coordinator counts the static members of each generation; logs may begin after it named them."""
    told = timeline.remembered(_counted)
    nearest = told.last(at) or told.first(at)
    return nearest is not None and nearest.static_count == nearest.member_count


def _counted(timeline: Timeline) -> InTime[AssignmentReceived]:
    told = timeline.of(AssignmentReceived)
    return InTime((e for e in told if e.member_count and e.static_count is not None), time_of)


def long_enough_ms(timeline: Timeline) -> int:
    """How long the logs must go on after a departure before a missing return says something.

    A silence that has lasted for a session is as likely as not to last for another one.
    """
    return session_timeout_ms(timeline)


def patience_ms(timeline: Timeline) -> int:
    """How long the logs must go on after a departure before its return can be called missing."""
    return max(2 * session_timeout_ms(timeline), 20_000)
