"""Members that did not call poll() in time."""

from __future__ import annotations

from rebalance_forensics.diagnosis.advice.poll_loops import shorten_loops
from rebalance_forensics.diagnosis.episodes.members.absences import is_missing
from rebalance_forensics.diagnosis.episodes.members.poll_timeouts import PollTimeouts, missed_between
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.signs.poll_timeouts import shown_by
from rebalance_forensics.diagnosis.wording.narratives import did_not_poll
from rebalance_forensics.timeline.group_timeline import Timeline

MANY = 3
"""Poll timeouts soon after one another beyond which a group does little else."""


def about_poll_timeouts(timeline: Timeline, slow: PollTimeouts) -> Hypothesis:
    """Its poll timeout expired, or may have expired, once or again and again."""
    return about_absences(
        timeline,
        slow.absences,
        because=slow.lines,
        brings=missed_between(timeline, slow.absences),
        answers=shown_by(slow),
        severity="critical" if is_missing(timeline, slow.absences) or len(slow.absences) > MANY else "warning",
        narrative=did_not_poll(timeline, slow),
        advice=shorten_loops(timeline, slow),
    )
