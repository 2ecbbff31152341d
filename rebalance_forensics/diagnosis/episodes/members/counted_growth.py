"""Growth that only the coordinator's counts show: larger generations without a line about a join."""

from __future__ import annotations

from itertools import pairwise

from msgspec import Struct

from rebalance_forensics.diagnosis.episodes.runs import runs
from rebalance_forensics.events.base import Event
from rebalance_forensics.events.process import SettingsReported
from rebalance_forensics.events.rebalances import GenerationStabilized, GroupEmptied
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.facts import Rebalance
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.windows import ONE_SCALING_MS, PROCESS_START_MS, ROUND_TRIP_MS


class Growth(Struct, frozen=True, kw_only=True):
    """A group that grew from `before` to `after` members, and the rebalances of the growth."""

    before: int
    after: int
    since_the_first: bool
    """Counted from generation 1 on: no former member can have come back."""
    lines: tuple[Event, ...]
    rebalances: tuple[Rebalance, ...]


def counted_growths(timeline: Timeline) -> list[Growth]:
    """Growth by steps of a scaling, in excerpts only: a whole log names each member that joins."""
    return timeline.cached(_counted_growths) if timeline.coverage.is_excerpt else []


def _counted_growths(timeline: Timeline) -> list[Growth]:
    counts = [e for e in timeline.of(GenerationStabilized) if e.member_count and e.at is not None]
    steps: list[tuple[GenerationStabilized, GenerationStabilized]] = []
    most = 0
    for before, after in pairwise(counts):
        most = max(most, before.member_count or 0)
        if (after.member_count or 0) > most and _is_unnamed(timeline, before, after):
            steps.append((before, after))
    since = counts[0].generation if counts else None
    return [_growth(timeline, run, since) for run in runs(steps, lambda s: time_of(s[1]), ONE_SCALING_MS)]


def _is_unnamed(timeline: Timeline, before: GenerationStabilized, after: GenerationStabilized) -> bool:
    """True if no member is known to have joined or left, and the group was not just forming."""
    begin, end = time_of(before), time_of(after)
    still_forms = before.generation == 1 and end - begin <= PROCESS_START_MS
    if still_forms or timeline.of(GroupEmptied).any_between(begin, end):
        return False
    moves = timeline.arrivals, timeline.departures
    return not any(facts.any_between(begin + 1, end + ROUND_TRIP_MS) for facts in moves)


def _growth(
    timeline: Timeline, steps: list[tuple[GenerationStabilized, GenerationStabilized]], since: int | None
) -> Growth:
    reached = {after.generation: time_of(after) for _, after in steps}
    begin, end = time_of(steps[0][0]), time_of(steps[-1][1])
    return Growth(
        before=steps[0][0].member_count or 0,
        after=steps[-1][1].member_count or 0,
        since_the_first=since == 1,
        lines=(
            *dict.fromkeys(e for step in reversed(steps) for e in reversed(step)),
            *timeline.of(SettingsReported).between(begin, end),
        ),
        rebalances=tuple(r for r in timeline.rebalances if reached.get(r.generation or -1) == r.stabilized_at),
    )
