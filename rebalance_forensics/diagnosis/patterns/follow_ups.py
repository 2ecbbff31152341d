"""Rebalances that only follow from an earlier one: what each is for, and what it costs."""

from __future__ import annotations

from msgspec import Struct


class FollowUp(Struct, frozen=True, kw_only=True):
    """A kind of follow-up, told as causes are."""

    summary: str
    mechanism: str
    remedy: str = "Nothing to do: it belongs to the rebalance before it; look at what caused that."
    settings: tuple[str, ...] = ()
    kips: tuple[str, ...] = ()


# By the names that reports give them; the follow-up `shutdown` is told by the cause streams-shutdown.
FOLLOW_UPS: dict[str, FollowUp] = {
    "cooperative": FollowUp(
        summary="The second rebalance of cooperative rebalancing, which hands over what the first revoked.",
        mechanism=(
            "Under a cooperative assignor members keep their partitions while they join. Whoever has to give some up "
            "revokes them after the first rebalance and joins again; the second one gives them to their new owners. "
            "Only these partitions are paused."
        ),
        settings=("partition.assignment.strategy",),
        kips=("KIP-429",),
    ),
    "probing": FollowUp(
        summary="A Streams leader asks whether a warm-up has caught up, so that the task can move.",
        mechanism=(
            "A stateful task moves only when its new owner has restored the state. Until then the leader schedules a "
            "rebalance every probing.rebalance.interval.ms to look. It ends by itself; if it never does, the cause is "
            "probing-loop."
        ),
        settings=("probing.rebalance.interval.ms", "acceptable.recovery.lag", "max.warmup.replicas"),
        kips=("KIP-441",),
    ),
    "version-probing": FollowUp(
        summary="Streams members of different releases agree on a subscription format that all of them read.",
        mechanism=(
            "During a rolling upgrade a newer member writes a format that an older leader does not know. The leader "
            "answers with the one that it knows, and the member joins again with that."
        ),
        remedy="Nothing to do while an upgrade is under way; it ends when all members run one release.",
    ),
    "connect-delayed": FollowUp(
        summary="Connect gives away the work of a worker that did not come back in time.",
        mechanism=(
            "When a worker goes, its connectors and tasks stay unassigned for scheduled.rebalance.max.delay.ms, so "
            "that a restart moves nothing. When that is over, or the worker is back, another rebalance assigns them."
        ),
        remedy="Lower scheduled.rebalance.max.delay.ms if tasks must not stay unassigned that long after a "
        "worker is lost.",
        settings=("scheduled.rebalance.max.delay.ms",),
        kips=("KIP-415",),
    ),
    "endpoint": FollowUp(
        summary="Streams tells every instance the new host info (application.server) of one.",
        mechanism=(
            "Instances tell each other where to query state. When one is back under another endpoint the group "
            "rebalances once more, so that everybody learns it; the cause is streams-endpoint-change."
        ),
        settings=("application.server",),
    ),
    "rejoin": FollowUp(
        summary="The round trip for a member id; benign.",
        mechanism=(
            "A newcomer joins without a member id, is told one (MEMBER_ID_REQUIRED) and joins again with it, so that "
            "the coordinator does not count members that never come back."
        ),
        kips=("KIP-394",),
    ),
}
