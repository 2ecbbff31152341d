"""Members that ran and were connected, and whose session expired because brokers held their requests back."""

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


def held_back(timeline: Timeline, assigned: Container[str], drafts: Sequence[Draft]) -> Iterator[Hypothesis]:
    """The evictions that no cause explains, of members whose own lines clear process and network."""
    found = (weighed.hypothesis for draft in drafts for weighed in draft.findings)
    known = {fact.id for hypothesis in found for fact in hypothesis.accounts_for}
    for absence in losses(timeline):
        if not known.isdisjoint(departure.id for departure in absence.departures):
            continue
        if evicted := _about(timeline, absence):
            begun = (fact for fact in evicted.implies if isinstance(fact, Rebalance) and fact.id not in assigned)
            yield replace(evicted, explains=(*evicted.explains, *begun))


# A broker reads nothing from a connection that it throttles until the throttle time is over, heartbeats included
# (KIP-219, ClientQuotaManager.throttle); clients log the throttle time since 3.8, and only of a request under way.
def _about(timeline: Timeline, absence: Absence) -> Hypothesis | None:
    throttled = throttled_requests(timeline, absence)
    own = throttled or waits_on_open_connections(timeline, absence)
    if not own:
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
        own=tuple(own)[:6],
        advice=(advice,),
    )
