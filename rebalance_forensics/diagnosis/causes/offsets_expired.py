"""Committed offsets of an empty group were removed (KIP-186, KIP-211)."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.cause import Cause, Hypothesis
from rebalance_forensics.diagnosis.model import Advice
from rebalance_forensics.diagnosis.sign import DECISIVE, WEAK, Present, clue
from rebalance_forensics.diagnosis.wording.culprits import the_group
from rebalance_forensics.diagnosis.wording.durations import seconds
from rebalance_forensics.events.coordinator import OffsetsExpired
from rebalance_forensics.events.rebalances import GroupDied, GroupEmptied
from rebalance_forensics.records import elapsed
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_timeline import Timeline

EXPIRED = clue("offsets-expired", DECISIVE + WEAK, "a broker removed expired offsets while the group was empty")


def propose(timeline: Timeline) -> Iterator[Hypothesis]:
    """Committed offsets of this group that expired while it was empty, at most one hypothesis."""
    events = timeline.of(OffsetsExpired)
    expired = [
        e
        for e in events
        if _names_group(timeline, e) or (_may_count_group(timeline, e) and _is_empty(timeline, time_of(e)))
    ]
    if not expired:
        return
    emptied = timeline.of(GroupEmptied, GroupDied).between(0, time_of(expired[0]))
    empty_for_ms = elapsed(emptied[0].at, expired[0].at) if emptied else None
    setting = timeline.settings.get("offsets.retention.minutes")
    if empty_for_ms is None:
        why = f"The group was empty for longer than offsets.retention.minutes{f' ({setting})' if setting else ''}."
    else:
        retention = f"is {setting}" if setting else "is not in the logs but must have been shorter"
        why = f"The group had been empty for {seconds(empty_for_ms)}; offsets.retention.minutes {retention}."
    yield Hypothesis(
        because=(*expired, *emptied[-2:]),
        culprits=(the_group(timeline, timeline.membership.members),),
        clues={EXPIRED: Present(tuple(expired))},
        severity="warning",
        onset=expired[0].at,
        narrative=(
            "Committed offsets of the empty group expired: when its members come back they start at auto.offset.reset."
        ),
        advice=(
            Advice(
                action="Raise offsets.retention.minutes above the longest time a group may be empty.",
                why=why,
                cost="Trade-off: offsets of abandoned groups are kept longer, too.",
            ),
        ),
    )


CAUSE = Cause(
    propose=propose,
    evidence_types=(OffsetsExpired,),
)


def _names_group(timeline: Timeline, event: OffsetsExpired) -> bool:
    return event.group == timeline.group or timeline.group in event.groups


def _may_count_group(timeline: Timeline, event: OffsetsExpired) -> bool:
    """True if the line counts offsets without naming their groups and was logged by this group's coordinator."""
    if event.group is not None or event.groups or not event.count:
        return False
    places = {(e.speaker.broker, e.speaker.offsets_partition) for e in timeline.coordinator_events}
    broker, partition = event.speaker.broker, event.speaker.offsets_partition
    return any(b == broker and (partition is None or p is None or p == partition) for b, p in places)


def _is_empty(timeline: Timeline, at: int) -> bool:
    """True if the last member had left before that time and none had joined since."""
    # A KIP-848 coordinator does not log that a group became empty, but its generations show it.
    logged = map(time_of, timeline.of(GroupEmptied, GroupDied).between(0, at - 1))
    reached = [g.started_at or g.completed_at or at for g in timeline.generations if g.outcome == "empty"]
    emptied = max([*logged, *(t for t in reached if t < at)], default=None)
    return emptied is not None and not timeline.arrivals.any_between(emptied + 1, at)
