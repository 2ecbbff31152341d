"""Rebalances and departures that no hypothesis explains, reported as unexplained and never counted as benign."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rebalance_forensics.diagnosis.cause import Cause
from rebalance_forensics.diagnosis.engine.drafts import Assigned, Draft
from rebalance_forensics.diagnosis.engine.weights import Weighed, answers_to
from rebalance_forensics.diagnosis.unexplained import client_losses, config_lags, evictions, rebalances, waiting_members
from rebalance_forensics.timeline.group_timeline import Timeline

UNEXPLAINED = "unexplained"


def left_over(
    timeline: Timeline, causes: Mapping[str, Cause], assigned: Assigned, drafts: Sequence[Draft]
) -> Iterator[Weighed]:
    """Unexplained rebalances, waiting members, expired sessions and lost coordinators.

    Without these and without other findings, the most severe losses in the logs of single clients.
    """
    lags = config_lags.lagging_workers(timeline, assigned, drafts)
    lost = [*evictions.throttled_members(timeline, assigned, drafts)]
    evicted = {participant for hypothesis in lost for participant in hypothesis.participants}
    explained = {fact.id for hypothesis in (*lags, *lost) for fact in hypothesis.explains}
    expired = client_losses.expired_sessions(timeline, drafts)
    hypotheses = [
        *lags,
        *lost,
        *rebalances.without_cause(timeline, {*assigned, *explained}),
        *rebalances.without_generation(timeline, drafts),
        *waiting_members.kept_out(timeline, drafts),
        *(h for h in expired if evicted.isdisjoint(h.participants)),
        *client_losses.fatal_answers(timeline, drafts),
    ]
    faulty = {participant for h in hypotheses if h.severity != "info" for participant in h.participants}
    hypotheses += [h for h in client_losses.without_coordinator(timeline, drafts) if faulty.isdisjoint(h.participants)]
    for hypothesis in hypotheses if hypotheses or drafts else client_losses.gravest_losses(timeline):
        subject = hypothesis.subject()
        rows, given = answers_to(timeline, causes[UNEXPLAINED].signs, subject, hypothesis.clues)
        yield Weighed(cause=UNEXPLAINED, hypothesis=hypothesis, subject=subject, rows=rows, given=given, odds=0)
