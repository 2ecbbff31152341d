"""Members that asked to join and never got in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rebalance_forensics.diagnosis.episodes.members.waiting_members import WaitingMember
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.wording.culprits import culprit_of
from rebalance_forensics.diagnosis.wording.durations import lasting, times
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.rebalances import SyncFailed
from rebalance_forensics.timeline.group_timeline import Timeline

MOST_ANSWERS = 2


def about_waiting(timeline: Timeline, out: Sequence[WaitingMember]) -> Hypothesis:
    """Members that tried to join again and again without success, with the answers they received."""
    culprits = tuple(culprit_of(w.participant) for w in out)
    return Hypothesis(
        because=tuple(line for w in out for line in w.lines),
        culprits=culprits,
        severity="warning",
        participants=tuple(w.participant for w in out),
        onset=min(w.begin for w in out),
        until=max(w.end for w in out),
        narrative=(
            f"{culprits[0].name if len(out) == 1 else f'{len(out)} members'} "
            f"{_attempts_in_words(out, timeline.measured(max(w.end - w.begin for w in out)))}{_answers(out)}."
        ),
    )


def _attempts_in_words(out: Sequence[WaitingMember], longest: int | None) -> str:
    attempts, up_to = sum(w.attempts for w in out), "" if len(out) == 1 else "up to "
    if any(w.picked for w in out):
        who = "it" if len(out) == 1 else "they"
        within = lasting(longest, f" within {up_to}{{}}")
        return f"asked to join {times(attempts)}{within}, and these lines do not show that {who} got in"
    asked = f"asked to join {times(attempts)} but never got in" if attempts else "subscribed but never joined"
    return asked + lasting(longest, f": {up_to}{{}} without an assignment")


def _answers(out: Sequence[WaitingMember]) -> str:
    """The answers they received, the most frequent first."""
    failures = Counter((_request(e), e.error or e.detail or "no reason logged") for w in out for e in w.refused)
    parts = [f"{api} failed {times(number)} ({error})" for (api, error), number in failures.most_common(MOST_ANSWERS)]
    lost = sum(len(w.lost) for w in out)
    parts += [f"the coordinator was lost {times(lost)}"] if lost else []
    return f"; {', '.join(parts)}" if parts else ", and no logged error explains it"


def _request(event: Event) -> str:
    return "SyncGroup" if isinstance(event, SyncFailed) else "JoinGroup"
