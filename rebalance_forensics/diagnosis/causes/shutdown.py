"""All members leave."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.absences import with_rebalances
from rebalance_forensics.diagnosis.episodes.members.departures import is_empty_after, shutdowns
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.signs import closings as closes
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.diagnosis.wording.participants import counted_members
from rebalance_forensics.events.rebalances import GroupEmptied
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import CLOCK_SLACK_MS

ALL_WENT = stated("all-members-left", present="the last members that are known left one soon after another")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every time the last member shuts down cleanly, with those that went shortly before."""
    for group in shutdowns(timeline):
        participants = tuple(dict.fromkeys(a.participant for a in group))
        facts = tuple(f for a in group for f in a.departures)
        last = max(f.at for f in facts)
        emptied = timeline.of(GroupEmptied).first(last - CLOCK_SLACK_MS) if is_empty_after(timeline, last) else None
        empty = "; the group is empty" if emptied is not None else ""
        went = counted_members(timeline, participants, one="")
        yield Hypothesis(
            because=tuple(e for a in group for e in a.events()),
            circumstances=(emptied,) if emptied is not None else (),
            culprits=(the_group(timeline, participants),),
            severity="info",
            brings=(*with_rebalances(timeline, facts), *(a.stop for a in group if a.stop)),
            explains=facts,
            participants=participants,
            absences=tuple(group),
            answers={ALL_WENT: Present(tuple(e for a in group for e in a.events()[:1]))},
            narrative=f"The last {went} shut down cleanly{empty}.",
        )


CAUSE = Cause(
    summary="All members left the group cleanly.",
    mechanism=(
        "Each close sends LeaveGroup; the coordinator rebalances among the remaining members until the group is Empty."
    ),
    shows="Leave reason 'the consumer is being closed' of every member, then 'Group … is now empty'.",
    remedy="Nothing to do. Offsets of an empty group expire after offsets.retention.minutes.",
    usual="benign",
    propose=propose,
    signs=(speaks_for(ALL_WENT, DECISIVE), speaks_against(closes.error_before_close, STRONG)),
    brings=("scale-in", "member-left", "static-member-expired", "rolling-restart", "unsubscribe"),
    lookalikes=("process-crash", "streams-shutdown"),
    settings=("offsets.retention.minutes",),
)
