"""Members that stopped heartbeating: what each way of falling silent would say of it."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.diagnosis.advice.sessions import (
    after_crash,
    after_network_outage,
    after_pause,
    after_static_expiry,
)
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, is_missing
from rebalance_forensics.diagnosis.episodes.members.circumstances import named_as_static, surrounding_generations
from rebalance_forensics.diagnosis.episodes.members.deaths import death_of
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import last_line, lines_after
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.absences import about_heartbeat_loss
from rebalance_forensics.diagnosis.signs.connections import failed_requests, troubled
from rebalance_forensics.diagnosis.wording.narratives import cut_off, sent_no_heartbeat, stopped_without_leaving
from rebalance_forensics.diagnosis.wording.timeouts import session_limit
from rebalance_forensics.timeline.facts import Arrival
from rebalance_forensics.timeline.group_timeline import Timeline


def about_crash(timeline: Timeline, absence: Absence, newcomers: Sequence[Arrival]) -> Hypothesis:
    """Its process died; `newcomers` without a name took its place."""
    died = death_of(timeline, absence)
    return about_heartbeat_loss(
        timeline,
        absence,
        narrative=stopped_without_leaving(timeline, absence, newcomers),
        severity="critical" if is_missing(timeline, [absence]) and not newcomers else "warning",
        own=(*((died,) if died is not None else ()), *last_line(timeline, absence)),
        implies=newcomers,
        advice=after_crash(timeline, absence),
    )


def about_pause(timeline: Timeline, absence: Absence) -> Hypothesis:
    """Its process stood still and resumed later."""
    own = lines_after(timeline, absence)
    return about_heartbeat_loss(
        timeline,
        absence,
        narrative=sent_no_heartbeat(timeline, absence, own),
        severity="warning",
        own=own,
        advice=after_pause(timeline, absence),
    )


def about_lost_connection(timeline: Timeline, absence: Absence) -> Hypothesis:
    """It ran, and could not reach the brokers."""
    own = troubled(timeline, absence)
    return about_heartbeat_loss(
        timeline,
        absence,
        narrative=cut_off(timeline, absence, own or failed_requests(absence)),
        severity="critical" if is_missing(timeline, [absence]) else "warning",
        own=own[:6],
        circumstances=(*own[-1:], *surrounding_generations(timeline, [absence.at])),
        advice=after_network_outage(timeline, absence),
    )


def about_static_expiry(timeline: Timeline, absence: Absence) -> Hypothesis:
    """A static member was down for longer than its session."""
    limit = session_limit(timeline, absence.participant)
    return about_heartbeat_loss(
        timeline,
        absence,
        narrative=f"Static member {{who}} stayed away longer than {limit} and was removed.",
        severity="warning",
        own=last_line(timeline, absence),
        circumstances=named_as_static(timeline, absence),
        advice=after_static_expiry(timeline, absence),
        as_instance=True,
    )
