"""Members that did not call poll() in time."""

from __future__ import annotations

from rebalance_forensics.diagnosis.advice.poll_loops import close_the_old, shorten_loops
from rebalance_forensics.diagnosis.episodes.members.absences import is_missing
from rebalance_forensics.diagnosis.episodes.members.poll_timeouts import PollTimeouts, missed_between
from rebalance_forensics.diagnosis.episodes.members.unclosed_consumers import made_beside
from rebalance_forensics.diagnosis.group_settings import setting
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.signs.poll_timeouts import shown_by
from rebalance_forensics.diagnosis.wording.narratives import did_not_poll, left_unclosed
from rebalance_forensics.timeline.group_timeline import Timeline

MANY = 3
"""Poll timeouts soon after one another beyond which a group does little else."""


def about_poll_timeouts(timeline: Timeline, slow: PollTimeouts) -> Hypothesis:
    """Its poll timeout expired, or may have expired, once or again and again."""
    limit = slow.limit_told_ms or setting(timeline, "max.poll.interval.ms", 0)
    beside = [a for away in slow.absences if (a := made_beside(timeline, away, limit)) is not None]
    unclosed = len(beside) == len(slow.absences)
    missing = is_missing(timeline, slow.absences) and not unclosed
    return about_absences(
        timeline,
        slow.absences,
        because=slow.lines,
        circumstances=[e for a in beside for e in a.events[:1]],
        brings=[*missed_between(timeline, slow.absences), *beside],
        answers=shown_by(slow),
        severity="critical" if missing or len(slow.absences) > MANY else "warning",
        narrative=left_unclosed(timeline, slow) if unclosed else did_not_poll(timeline, slow),
        advice=close_the_old() if unclosed else shorten_loops(timeline, slow),
        onset=min(a.at for a in beside) if unclosed else None,
    )
