"""A member unsubscribed."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import absences
from rebalance_forensics.diagnosis.episodes.members.clean_exits import ended_with_its_process
from rebalance_forensics.diagnosis.proposals import about_absences
from rebalance_forensics.diagnosis.sign import DECISIVE, WEAK, speaks_for
from rebalance_forensics.diagnosis.signs import departures
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Members whose leave reason is that they unsubscribed."""
    for away in absences(timeline, ("unsubscribed",)):
        if not ended_with_its_process(away):
            again = ", and subscribed again later" if away.back_at is not None else ""
            narrative = f"{{who}} unsubscribed from all topics and left the group{again}."
            yield about_absences(timeline, [away], severity="info", narrative=narrative)


CAUSE = Cause(
    propose=propose,
    signs=(speaks_for(departures.unsubscribe_logged, DECISIVE + WEAK),),
    implies=("member-left", "scaling-flap"),
    lookalikes=("member-left", "scale-in"),
)
