"""Clients that could not log in to the brokers."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.advice.brokers import renew_credentials
from rebalance_forensics.diagnosis.episodes.coordinator.failed_logins import failed_logins, words_of_refusal
from rebalance_forensics.diagnosis.episodes.coordinator.join_rejections import is_out
from rebalance_forensics.diagnosis.episodes.members.absences import distinct_events, with_rebalances
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.sign import Present, stated
from rebalance_forensics.diagnosis.wording.culprits import culprits_of
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import DENIED_BEFORE_MS, REJECTED_AWAY_MS

NOT_AUTHENTICATED = stated("not-authenticated", present="the brokers did not accept its credentials")


def about_failed_logins(timeline: Timeline) -> Iterator[Hypothesis]:
    """Each client that the brokers turned away before it could ask for anything."""
    for participant, events in sorted(failed_logins(timeline).items(), key=lambda item: item[0].name):
        first, last = time_of(events[0]), time_of(events[-1])
        culprits, words = culprits_of(timeline, [participant]), words_of_refusal(events)
        moves = timeline.moves(first - DENIED_BEFORE_MS, last + REJECTED_AWAY_MS, participant)
        yield Hypothesis(
            because=events,
            culprits=culprits,
            answers={NOT_AUTHENTICATED: Present(distinct_events(events))},
            participants=(participant,),
            severity="critical" if is_out(timeline, participant, last) else "warning",
            brings=with_rebalances(timeline, moves),
            struck_at=first,
            narrative=f"{culprits[0].name} could not log in to the brokers{f': {words}' if words else ''}.",
            advice=renew_credentials(events),
        )
