"""A static member stayed away beyond session.timeout.ms (KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.absences import Absence, rounded_up, seconds, session_timeout_ms, session_told_ms
from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.heartbeat_loss import hypothesis_about, last_line, losses
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import Present
from rebalance_forensics.diagnosis.signs import heartbeats
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every static member that stopped heartbeating may have been down for longer than its session."""
    told = session_told_ms(timeline)
    for absence in losses(timeline):
        found = hypothesis_about(
            timeline,
            absence,
            narrative=(
                f"Static member {{who}} stayed away longer than session.timeout.ms{f' ({told} ms)' if told else ''} "
                "and was removed."
            ),
            severity="warning",
            own=last_line(timeline, absence),
            advice=(_advice(absence, session_timeout_ms(timeline)),),
            as_instance=True,
        )
        if isinstance(heartbeats.static_member.answer(timeline, found.subject()), Present):
            yield found


def _advice(away: Absence, session: int) -> Advice:
    """How long it was down counts from its own last words, else from its last heartbeat."""
    down_at = away.stop.at if away.stop is not None else away.at - session
    down = away.back_at - down_at if away.back_at is not None else None
    late = f"it took {seconds(down)}" if down is not None else "it was not back when the logs end"
    wait = seconds(down) if down is not None else "longer"
    enough = f"to about {rounded_up(down)}" if down is not None else "above the time that a restart takes"
    return Advice(
        action=f"Raise session.timeout.ms {enough}.",
        why=f"It had {seconds(session)} to come back, and {late}.",
        cost=(
            f"The partitions of a member that is really gone then wait {wait} for a reader "
            "(group.max.session.timeout.ms bounds it)."
        ),
    )


CAUSE = Cause(
    summary="A static member stayed away beyond session.timeout.ms and the group rebalanced without it.",
    mechanism=(
        "A static member sends no LeaveGroup when it closes. Its partitions wait for it, without a "
        "reader, until the session expires; then the coordinator removes it and rebalances."
    ),
    shows="Heartbeat expiry of a member with a group.instance.id, no LeaveGroup.",
    remedy=(
        "Restart faster, raise session.timeout.ms, or remove members for good with the admin client's "
        "removeMembersFromConsumerGroup."
    ),
    usual="fault",
    propose=propose,
    signs=(
        speaks_for(heartbeats.static_member, STRONG, absent=DECISIVE),
        speaks_for(heartbeats.no_leave_sent, 0, absent=DECISIVE),
        speaks_for(heartbeats.shut_down, STRONG),
        speaks_for(heartbeats.new_process, STRONG),
        speaks_against(heartbeats.own_log_goes_on, STRONG, absent=STRONG),
        speaks_against(heartbeats.disconnects, STRONG),
    ),
    brings=(
        "process-crash",
        "rebalance-straggler",
    ),
    lookalikes=("process-pause", "network-partition", "static-member-restart"),
    settings=("group.instance.id", "session.timeout.ms", "group.max.session.timeout.ms"),
    kips=("KIP-345",),
)
