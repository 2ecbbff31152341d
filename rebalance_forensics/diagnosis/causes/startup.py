"""The group forms from empty."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, WEAK, Cause, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import touched
from rebalance_forensics.diagnosis.episodes.members.departures import startup_arrivals
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.signs import starts
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.diagnosis.wording.participants import counted_members
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import LAST_JOINED_MS

FROM_EMPTY = stated("joined-an-empty-group", present="the group was empty, and these members joined it together")
PERHAPS_EMPTY = stated(
    "joined-perhaps-an-empty-group", present="these members joined together; no line shows that the group was empty"
)


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every time members arrive at an empty group, one soon after another."""
    for run in startup_arrivals(timeline):
        participants = tuple(dict.fromkeys(a.participant for a in run))
        empty = starts.was_empty(timeline, run)
        rebalances = [r for r in touched(timeline, run) if r.started_at <= run[-1].at + LAST_JOINED_MS]
        yield Hypothesis(
            because=tuple(e for a in run for e in a.events[:2]),
            culprits=(the_group(timeline, participants),),
            severity="info",
            brings=(*run, *rebalances),
            explains=tuple(run),
            participants=participants,
            answers={FROM_EMPTY if empty else PERHAPS_EMPTY: Present(tuple(e for a in run for e in a.events[:1]))},
            narrative=(
                f"Group started: {counted_members(timeline, participants)} joined"
                f"{'' if empty else '; no line shows that the group was empty'}."
            ),
        )


CAUSE = Cause(
    summary="The group started from empty; its first rebalances are expected.",
    mechanism=(
        "Members arrive at an Empty group. The coordinator waits group.initial.rebalance.delay.ms for "
        "more of them, then creates the first generation; each later member causes another one."
    ),
    shows="Arrivals in state Empty, old generation 0, or process starts of all members.",
    remedy="Nothing to do. Many small generations at start: raise group.initial.rebalance.delay.ms.",
    usual="benign",
    propose=propose,
    signs=(
        speaks_for(FROM_EMPTY, DECISIVE),
        speaks_for(PERHAPS_EMPTY, WEAK),
    ),
    brings=("scale-out",),
    lookalikes=("scale-out",),
    settings=("group.initial.rebalance.delay.ms",),
    kips=("KIP-134", "KIP-394"),
)
