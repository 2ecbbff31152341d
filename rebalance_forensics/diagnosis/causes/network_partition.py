"""A member was running but could not reach the brokers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, is_missing
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals import about_heartbeat_loss, surrounding_generations
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, WEAK, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import connections, heartbeats, process_stops, returns
from rebalance_forensics.diagnosis.signs.connections import connection_losses, failed_requests
from rebalance_forensics.diagnosis.wording import sessions
from rebalance_forensics.diagnosis.wording.durations import counted, rounded_up, seconds, span
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.coordinator import CoordinatorLost, NodeDisconnected
from rebalance_forensics.timeline import timeouts
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for every member that stopped sending heartbeats: it may have been cut off."""
    for absence in losses(timeline):
        own = connection_losses(timeline, absence)
        yield about_heartbeat_loss(
            timeline,
            absence,
            narrative=cut_off(timeline, absence, own or failed_requests(absence)),
            severity="critical" if is_missing(timeline, [absence]) else "warning",
            own=own[:6],
            circumstances=(*own[-1:], *surrounding_generations(timeline, [absence.at])),
            advice=after_network_outage(timeline, absence),
            unseen=(process_stops.missing_kernel_log(timeline, absence),),
        )


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_for(heartbeats.no_leave_sent, 0, absent=DECISIVE),
        speaks_for(connections.disconnects, STRONG + WEAK, absent=DECISIVE),
        speaks_for(connections.no_route, DECISIVE),
        speaks_for(connections.cut_off_alone, STRONG),
        speaks_against(connections.one_broker_lost, WEAK),
        speaks_against(process_stops.threads_stopped, DECISIVE),
        speaks_against(process_stops.was_killed, DECISIVE),
        speaks_against(heartbeats.new_process, DECISIVE),
        speaks_against(heartbeats.shut_down, DECISIVE),
        speaks_for(returns.came_back, 0, absent=STRONG),
        speaks_against(returns.not_back_yet, WEAK),
        speaks_for(heartbeats.own_log_continues, 0, absent=DECISIVE),
        speaks_against(heartbeats.other_threads_stayed, DECISIVE),
        speaks_against(heartbeats.lost_in_the_move, STRONG),
        speaks_against(connections.throttled, DECISIVE),
        speaks_against(connections.waited_on_open_connections, DECISIVE),
        speaks_against(connections.searched_after_failed_write, DECISIVE),
    ),
    prior=-WEAK,
    implies=("rebalance-straggler", "startup"),
    lookalikes=("process-crash", "process-pause", "coordinator-failover"),
    silence="cut-off",
)


def after_network_outage(timeline: Timeline, absence: Absence) -> tuple[Advice, ...]:
    """Advice to check the network and, if the member came back, to raise the session timeout above the outage."""
    session, away = timeouts.session_timeout_ms(timeline), sessions.away_ms(absence)
    lost = timeline.events_from(absence.participant, NodeDisconnected, CoordinatorLost).between(
        absence.at - session, max(absence.back_at or 0, absence.at) + session
    )
    logged = f"; it logged {counted(len(lost), 'lost connection')}{span(lost)}" if lost else ""
    missed_heartbeats = sessions.missed_heartbeats(timeline, absence)
    who, known = absence.participant, timeouts.known_session_ms(timeline, absence.participant)
    return timeline.cached_as(
        ("after an outage", missed_heartbeats, away, logged, known),
        lambda: _after_outage(timeline, who, missed_heartbeats, away, logged),
    )


def _after_outage(
    timeline: Timeline, participant: Participant, missed_heartbeats: str, away: int | None, logged: str
) -> tuple[Advice, ...]:
    silence = sessions.silence_ms(timeline, participant, away)
    enough = rounded_up(silence) if silence else None
    check = Advice(
        action=(
            "Check the network between {who} and the brokers at that time: links, security groups, conntrack, DNS."
        ),
        why=f"{missed_heartbeats}{logged}.",
    )
    if away is None:
        return (check,)
    longer_session = Advice(
        action=f"To ride out such outages, {sessions.raise_session(timeline, enough)}.",
        figure=enough,
        why=f"The session timeout is {sessions.session_in_words(timeline, participant)}; a shorter outage causes no "
        "rebalance.",
        cost="Trade-off: a dead member is noticed only "
        f"{f'after {seconds(enough)}' if enough else 'that much later'}, and its partitions "
        "stay unread that long.",
    )
    return check, longer_session


def cut_off(timeline: Timeline, absence: Absence, own: Sequence[Event]) -> str:
    """A sentence on a member that was cut off; `own` are the lost connections in its own log."""
    lost = "its log shows lost connections to the brokers"
    if any(isinstance(e, NodeDisconnected) and e.unreached == "no-route" for e in own):
        lost = "its host had no route to the brokers (network unreachable)"
    if own and not sessions.expired_by_own_count(absence):
        return f"{{who}} was evicted for missing heartbeats while still running: {lost}."
    if own:
        return f"{{who}} {sessions.session_end(timeline, absence)}; {lost}."
    return f"{{who}} {sessions.session_end(timeline, absence)}; {sessions.its_log(absence)} whether it was cut off."
