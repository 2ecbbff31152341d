"""A static member was away for longer than session.timeout.ms (KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import attrgetter

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.episodes.members.absences import Absence
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import is_static, last_line, losses
from rebalance_forensics.diagnosis.proposals import about_heartbeat_loss
from rebalance_forensics.diagnosis.sign import DECISIVE, STRONG, speaks_against, speaks_for
from rebalance_forensics.diagnosis.signs import connections, heartbeats
from rebalance_forensics.diagnosis.wording import sessions
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.time_index import TimeIndex


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """A hypothesis for every static member that stopped sending heartbeats: it may have been down for too long."""
    for absence in losses(timeline):
        if is_static(timeline, absence):
            limit = sessions.session_limit(timeline, absence.participant)
            yield about_heartbeat_loss(
                timeline,
                absence,
                narrative=f"Static member {{who}} stayed away longer than {limit} and was removed.",
                severity="warning",
                own=last_line(timeline, absence),
                circumstances=named_as_static(timeline, absence),
                advice=sessions.after_static_expiry(timeline, absence),
                as_instance=True,
            )


CAUSE = Cause(
    propose=propose,
    signs=(
        speaks_for(heartbeats.static_member, STRONG, absent=DECISIVE),
        speaks_for(heartbeats.no_leave_sent, 0, absent=DECISIVE),
        speaks_for(heartbeats.shut_down, STRONG),
        speaks_for(heartbeats.new_process, STRONG),
        speaks_against(heartbeats.own_log_continues, STRONG, absent=STRONG),
        speaks_against(connections.disconnects, STRONG),
        speaks_against(connections.gave_up_unasked, STRONG),
    ),
    implies=("process-crash", "rebalance-straggler"),
    lookalikes=("process-pause", "network-partition", "static-member-restart"),
    silence="dead",
)


def named_as_static(timeline: Timeline, absence: Absence) -> tuple[Event, ...]:
    """The last line before the absence that shows the member's group.instance.id; empty without one."""
    members = {departure.member for departure in absence.departures}
    lines_by_instance = _by_instance(timeline)
    before = [
        e for i in absence.participant.instance_ids if (e := lines_by_instance.get(i, TimeIndex()).last(absence.at - 1))
    ]
    of_member = [e for e in before if getattr(e, "member", None) in members]
    return tuple((of_member or before)[:1])


@cached_answer
def _by_instance(timeline: Timeline) -> Mapping[str, TimeIndex[Event]]:
    lines = (e for e in timeline.group_events if getattr(e, "instance_id", None) and e.at is not None)
    return TimeIndex(lines, time_of).by(attrgetter("instance_id"))
