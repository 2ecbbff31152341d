"""A static member stayed away beyond session.timeout.ms (KIP-345)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import DECISIVE, STRONG, Cause, speaks_against, speaks_for
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import is_static, losses
from rebalance_forensics.diagnosis.hypothesis import Hypothesis
from rebalance_forensics.diagnosis.proposals.heartbeat_losses import about_static_expiry
from rebalance_forensics.diagnosis.signs import connections, heartbeats
from rebalance_forensics.timeline.group_timeline import Timeline


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Every static member that stopped heartbeating may have been down for longer than its session."""
    for absence in losses(timeline):
        if is_static(timeline, absence):
            yield about_static_expiry(timeline, absence)


CAUSE = Cause(
    summary="A static member stayed away beyond session.timeout.ms and the group rebalanced without it.",
    mechanism=(
        "A static member sends no LeaveGroup when it closes. Its partitions wait for it, "
        "unread, until the session expires; then the coordinator removes it and rebalances."
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
        speaks_against(heartbeats.own_log_continues, STRONG, absent=STRONG),
        speaks_against(connections.disconnects, STRONG),
        speaks_against(connections.gave_up_unasked, STRONG),
    ),
    implies=("process-crash", "rebalance-straggler"),
    lookalikes=("process-pause", "network-partition", "static-member-restart"),
    settings=("group.instance.id", "session.timeout.ms", "group.max.session.timeout.ms"),
    kips=("KIP-345",),
)
