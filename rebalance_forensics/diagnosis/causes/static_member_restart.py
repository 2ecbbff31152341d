"""A static member was restarted within its session timeout, without a rebalance (KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.episodes.members.restarts import (
    RETURNS,
    facts_of_returns,
    former_may_still_run,
    join_responses_of,
    loads_before,
    static_returns,
)
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, Answer, Present, Row, clue
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.facts import StaticReturn
from rebalance_forensics.timeline.group_timeline import Timeline

REPLACED = clue("static-member-replaced", DECISIVE, "the coordinator replaced its member id under the same instance id")
SAME_GENERATION = clue("same-generation-again", DECISIVE, "a new process joined the generation the group already had")
FORMER_STOPPED = clue(
    "former-process-stopped",
    WEAK,
    "its former process had stopped",
)
# A duplicate group.instance.id looks the same.
FORMER_UNHEARD = clue(
    "former-process-unheard", -STRONG - WEAK, "no log shows whether the process before it had stopped"
)
# A coordinator that resumes after a pause removes its members before it learns that another broker took over.
COORDINATOR_MOVED = clue(
    "coordinator-moved-before",
    -STRONG - WEAK,
    "its coordinator had moved shortly before: a member that the former coordinator removed rejoins in the same way",
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for each run of returns of static members."""
    for group in static_returns(timeline):
        participants = tuple(dict.fromkeys(r.participant for r in group))
        lines = distinct_events(e for r in group for e in r.events)
        who = "One static member" if len(participants) == 1 else f"{len(participants)} static members"
        whose = "its" if len(participants) == 1 else "their"
        replaced = any(isinstance(r.fact, StaticReturn) for r in group)
        clues: dict[Row, Answer] = {REPLACED if replaced else SAME_GENERATION: Present(lines)}
        if former_may_still_run(timeline, group):
            clues[FORMER_UNHEARD] = Present(lines)
        elif replaced and (loads := loads_before(timeline, group)):
            clues[COORDINATOR_MOVED] = Present(loads)
        elif replaced:
            clues[FORMER_STOPPED] = Present(lines)
        yield Hypothesis(
            because=lines,
            circumstances=join_responses_of(timeline, group),
            culprits=culprits_of(timeline, participants, as_instance=True),
            severity="info",
            implies=facts_of_returns(timeline, group),
            participants=participants,
            clues=clues,
            explains=tuple(r.fact for r in group if r.fact is not None),
            narrative=f"{who} came back within session.timeout.ms and kept {whose} assignment: no rebalance.",
        )


CAUSE = Cause(
    propose=propose,
    evidence_types=RETURNS,
    implies=("rolling-restart", "scale-out", "member-left", "static-member-expired"),
    lookalikes=("static-member-fenced", "rolling-restart"),
)
