"""How it shows that members are new to their group."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rebalance_forensics.diagnosis.episodes.members.absences import only_listed
from rebalance_forensics.diagnosis.episodes.members.departures import startup_arrivals
from rebalance_forensics.diagnosis.sign import Sign, stated
from rebalance_forensics.events.rebalances import AssignmentComputed, JoinReported
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant
from rebalance_forensics.timeline.windows import LAST_JOINED_MS, RESTART_PAIR_MS

NEWCOMERS = stated("new-members-joined", present="members never seen before joined a running group")
PICKED = stated("new-in-an-excerpt", present="the picked lines do not show whether they were members before")
COUNTED = stated("more-members-counted", present="the coordinator counts more members than ever since generation 1")
PICKED_COUNTS = stated(
    "more-members-than-before", present="the picked lines do not show whether the members that came are new or back"
)
ONLY_LISTED = stated("new-in-a-list", present="only the leader's list names them, so they may also have been restarted")
SOON = stated(
    "new-soon-after-the-logs-begin",
    present="the logs begin too shortly before to show whether the members that came are new or back",
)
ALONE = stated("new-and-alone", present="no line shows whether anybody else was in the group")


def shown_to_be_new(timeline: Timeline, arrivals: Sequence[Arrival]) -> Sign:
    """How it shows that nobody who came was a member before; in an excerpt only the start of a process does."""
    if _nobody_else_is_told_of(timeline, arrivals):
        return ALONE
    if all(only_listed(a) and a.start is None for a in arrivals):
        return ONLY_LISTED
    if timeline.coverage.is_excerpt and not any(a.start for a in arrivals):
        return PICKED
    return SOON if _soon_after_the_begin(timeline, arrivals) else NEWCOMERS


def _soon_after_the_begin(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """Whether who came may have gone just before the logs begin, which do not show how the group formed."""
    if startup_arrivals(timeline):
        return False
    return arrivals[0].at - timeline.coverage.begin < RESTART_PAIR_MS


def _nobody_else_is_told_of(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    came = {a.participant for a in arrivals}
    if timeline.has_coordinator_log or not came.issuperset(timeline.members()):
        return False
    return _leads_at_once(timeline, arrivals, came) or _joined_without_more(timeline, arrivals)


def _joined_without_more(timeline: Timeline, arrivals: Sequence[Arrival]) -> bool:
    """Where neither the leader nor the generation of a join is told (Sarama)."""
    told = timeline.of(JoinReported).between(arrivals[0].at, arrivals[-1].at + LAST_JOINED_MS)
    return bool(told) and not timeline.generations and not any(e.leader for e in told)


def _leads_at_once(timeline: Timeline, arrivals: Sequence[Arrival], came: Collection[Participant]) -> bool:
    """A newcomer leads its first generation only where nobody is left of the one before (ClassicGroup.add)."""
    led = timeline.of(AssignmentComputed).first(arrivals[0].at)
    if led is None or time_of(led) - arrivals[0].at > LAST_JOINED_MS:
        return False
    return timeline.participants.of_speaker(led) in came
