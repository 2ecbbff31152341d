"""Effects on a group of an outage of `__consumer_offsets`."""

from __future__ import annotations

from rebalance_forensics.diagnosis.episodes.coordinator.offsets_outages import Outage
from rebalance_forensics.timeline.facts import Fact
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.timeouts import OFFSETS_WRITE, setting_ms
from rebalance_forensics.timeline.windows import ROUND_TRIP_MS


def moves_in_outage(timeline: Timeline, outage: Outage) -> list[Fact]:
    """Rejoin requests, arrivals and losses during the outage; clean closes have their own cause."""
    begin, end = outage.begin - ROUND_TRIP_MS, outage.end + setting_ms(timeline, OFFSETS_WRITE)
    facts: list[Fact] = [*timeline.requests.between(begin, end)]
    facts += timeline.arrivals.between(_refused_since(timeline, outage), end)
    departures = timeline.departures.between(begin, end)
    return facts + [d for d in departures if d.why not in ("closed", "unsubscribed")]


def _refused_since(timeline: Timeline, outage: Outage) -> int:
    """When the rebalance began whose assignment was the first not stored: its newcomers are stuck as well."""
    begin = outage.begin - ROUND_TRIP_MS
    first = next(iter(timeline.rebalances.touching(begin, outage.begin)), None)
    return first.started_at - ROUND_TRIP_MS if first is not None else begin


def rebalances_in_outage(timeline: Timeline, outage: Outage) -> list[Fact]:
    """The rebalances that could not complete."""
    write = setting_ms(timeline, OFFSETS_WRITE)
    return [*timeline.rebalances.between(outage.begin - write, outage.end + 2 * write)]
