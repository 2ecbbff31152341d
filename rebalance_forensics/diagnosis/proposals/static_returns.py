"""Static members that came back in time: told by the coordinator, or by a rejoin of the same generation."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.episodes.members.static_returns import (
    Return,
    around_returns,
    former_unheard,
    joins_of,
)
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.facts import StaticReturn
from rebalance_forensics.timeline.group_timeline import Timeline

REPLACED = stated("static-member-replaced", present="the coordinator replaced its member id under the same instance id")
SAME_GENERATION = stated("same-generation-again", present="a new process joined the generation the group already had")
FORMER_UNHEARD = stated("former-process-unheard", present="no log shows whether the process before it had stopped")


def about_returns(timeline: Timeline, group: Sequence[Return]) -> Hypothesis:
    """They came back within their sessions, one soon after another."""
    participants = tuple(dict.fromkeys(r.participant for r in group))
    lines = distinct_events(e for r in group for e in r.events)
    who = "One static member" if len(participants) == 1 else f"{len(participants)} static members"
    return Hypothesis(
        because=lines,
        circumstances=joins_of(timeline, group),
        culprits=culprits_of(timeline, participants, as_instance=True),
        severity="info",
        brings=around_returns(timeline, group),
        participants=participants,
        answers=_shown_by(timeline, group, Present(lines)),
        explains=tuple(r.fact for r in group if r.fact is not None),
        narrative=f"{who} came back within session.timeout.ms and kept their assignment: no rebalance.",
    )


def _shown_by(timeline: Timeline, group: Sequence[Return], told: Present) -> dict[Sign, Answer]:
    replaced = any(isinstance(r.fact, StaticReturn) for r in group)
    shown: dict[Sign, Answer] = {REPLACED if replaced else SAME_GENERATION: told}
    return shown | {FORMER_UNHEARD: told} if former_unheard(timeline, group) else shown
