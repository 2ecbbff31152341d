"""Members that did not call poll() in time."""

from __future__ import annotations

from rebalance_forensics.diagnosis.advice.brokers import bring_broker_back
from rebalance_forensics.diagnosis.advice.poll_loops import close_the_old, shorten_loops
from rebalance_forensics.diagnosis.episodes.members.absences import is_missing
from rebalance_forensics.diagnosis.episodes.members.poll_timeouts import PollTimeouts, missed_between
from rebalance_forensics.diagnosis.episodes.members.unclosed_consumers import made_beside
from rebalance_forensics.diagnosis.episodes.members.unreachable_brokers import Unreachable, waited_for
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals.absences import about_absences
from rebalance_forensics.diagnosis.sign import Answer, Present, Sign
from rebalance_forensics.diagnosis.signs.poll_timeouts import OUT_OF_REACH, shown_by
from rebalance_forensics.diagnosis.wording.culprits import broker, culprits_of
from rebalance_forensics.diagnosis.wording.narratives import did_not_poll, left_unclosed
from rebalance_forensics.timeline.group_timeline import Timeline

MANY = 3
"""Poll timeouts soon after one another beyond which a group does little else."""


def about_poll_timeouts(timeline: Timeline, slow: PollTimeouts) -> Hypothesis:
    """Its poll timeout expired, or may have expired, once or again and again."""
    beside = [a for away in slow.absences if (a := made_beside(timeline, away, slow.limit_ms or 0)) is not None]
    unclosed = len(beside) == len(slow.absences)
    gone = [d for a in slow.absences for d in a.departures]
    waited = waited_for(timeline, gone)
    missing = is_missing(timeline, slow.absences) and not unclosed
    return about_absences(
        timeline,
        slow.absences,
        because=slow.lines,
        circumstances=[*(e for a in beside for e in a.events[:1]), *(waited.lines if waited is not None else ())],
        brings=[*missed_between(timeline, slow.absences), *beside],
        answers=shown_by(slow) | _by_chance(waited, len(gone)),
        severity="critical" if missing or len(slow.absences) > MANY else "warning",
        culprits=(broker(waited.broker),) if waited is not None else (),
        narrative=(left_unclosed(slow) if unclosed else did_not_poll(timeline, slow, waited)).replace(
            "{who}", ", ".join([c.name for c in culprits_of(timeline, [a.participant for a in slow.absences])])
        ),
        advice=close_the_old() if unclosed else _bring_back(waited) + shorten_loops(timeline, slow),
        onset=min(a.at for a in beside) if unclosed else None,
    )


def _by_chance(waited: Unreachable | None, members: int) -> dict[Sign, Answer]:
    """One member may have been slow just while a broker was away; several at once were not by chance."""
    return {OUT_OF_REACH: Present(waited.lines)} if waited is not None and members == 1 else {}


def _bring_back(waited: Unreachable | None) -> tuple[Advice, ...]:
    return () if waited is None else bring_broker_back(waited.broker)
