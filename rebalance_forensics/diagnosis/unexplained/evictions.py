"""Members that were running and connected, but whose session expired because brokers throttled their requests."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from msgspec.structs import replace

from rebalance_forensics.diagnosis.cause import Hypothesis
from rebalance_forensics.diagnosis.engine.drafts import Draft
from rebalance_forensics.diagnosis.episodes.members.absences import Absence, is_missing
from rebalance_forensics.diagnosis.episodes.members.heartbeat_loss import losses
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.proposals import about_heartbeat_loss
from rebalance_forensics.diagnosis.signs.connections import throttled_requests, waits_on_open_connections
from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline


def throttled_members(timeline: Timeline, assigned: Container[str], drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """Evictions that no cause explains, of members whose own lines rule out the process and the network."""
    hypotheses = (weighed.hypothesis for draft in drafts for weighed in draft.findings)
    explained = {fact.id for hypothesis in hypotheses for fact in hypothesis.accounts_for}
    for absence in losses(timeline):
        if not explained.isdisjoint(departure.id for departure in absence.departures):
            continue
        if evicted := _about(timeline, absence):
            rebalances = (fact for fact in evicted.implies if isinstance(fact, Rebalance) and fact.id not in assigned)
            yield replace(evicted, explains=(*evicted.explains, *rebalances))


# A broker reads nothing from a throttled connection, heartbeats included, until the throttle time is over (KIP-219,
# ClientQuotaManager.throttle). Clients log the throttle time since 3.8, and only that of requests in flight.
def _about(timeline: Timeline, absence: Absence) -> Hypothesis | None:
    throttled = throttled_requests(timeline, absence)
    own_lines = throttled or waits_on_open_connections(timeline, absence)
    if not own_lines:
        return None
    if throttled:
        longest = seconds(max(e.throttle_ms or 0 for e in throttled))
        why = f"while a quota held its requests back for up to {longest}; a throttled connection carries no heartbeats"
    else:
        why = (
            "while it was running and none of its connections broke: the brokers did not answer it in time, as when a "
            "quota throttles its requests"
        )
    advice = Advice(
        action="Check the quotas of {who} (kafka-configs.sh --describe --entity-type clients, users), and raise "
        "request_percentage or have it send fewer requests.",
        why="A broker reads nothing from a connection that it throttles, heartbeats included (KIP-219).",
    )
    return about_heartbeat_loss(
        timeline,
        absence,
        narrative=f"{{who}} was evicted for missing heartbeats {why}.",
        severity="critical" if is_missing(timeline, [absence]) else "warning",
        own=tuple(own_lines)[:6],
        advice=(advice,),
    )
