"""A static member came back in time: no rebalance (KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members import static_returns as returns
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.facts import StaticReturn
from rebalance_forensics.timeline.group_timeline import Timeline

REPLACED = stated("static-member-replaced", present="the coordinator replaced its member id under the same instance id")
SAME_GENERATION = stated("same-generation-again", present="a new process joined the generation the group already had")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Static members replaced by themselves, told by the coordinator or by a rejoin of the same generation."""
    for group in returns.static_returns(timeline):
        participants = tuple(dict.fromkeys(r.participant for r in group))
        lines = distinct_events(e for r in group for e in r.events)
        replaced = any(isinstance(r.fact, StaticReturn) for r in group)
        who = "One static member" if len(participants) == 1 else f"{len(participants)} static members"
        yield Hypothesis(
            because=lines,
            circumstances=returns.joins_of(timeline, group),
            culprits=culprits_of(timeline, participants, as_instance=True),
            severity="info",
            brings=returns.around_returns(timeline, group),
            participants=participants,
            answers={REPLACED if replaced else SAME_GENERATION: Present(lines)},
            explains=tuple(r.fact for r in group if r.fact is not None),
            narrative=f"{who} came back within session.timeout.ms and kept their assignment: no rebalance.",
        )


CAUSE = Cause(
    summary="A static member came back in time; the group did not rebalance.",
    mechanism=(
        "A static member (group.instance.id) sends no LeaveGroup. When it joins again within "
        "session.timeout.ms the coordinator replaces its member id and returns the cached assignment."
    ),
    shows=(
        "'Static member … Replacing previously mapped member', 'will not trigger rebalance', the same "
        "generation as before."
    ),
    remedy="Nothing to do: this is what static membership is for.",
    usual="planned",
    propose=propose,
    told_by=returns.RETURNS,
    signs=(speaks_for(REPLACED, DECISIVE + WEAK), speaks_for(SAME_GENERATION, DECISIVE)),
    brings=("rolling-restart", "scale-out", "member-left", "static-member-expired"),
    lookalikes=("static-member-fenced", "rolling-restart"),
    settings=("group.instance.id", "session.timeout.ms"),
    kips=("KIP-345",),
)
