"""All members leave."""

from __future__ import annotations

from collections.abc import Iterator

from rebalance_forensics.diagnosis.comings import closings, exception_before
from rebalance_forensics.diagnosis.culprits import the_group
from rebalance_forensics.diagnosis.episodes import Away, distinct_events, runs, touched
from rebalance_forensics.diagnosis.finding import LIKELY, Finding, Rule
from rebalance_forensics.timeline.build import Timeline

ONE_SHUTDOWN_MS = 20_000


def diagnose(timeline: Timeline) -> Iterator[Finding]:
    """Every time the last member goes in good order, with those that went shortly before."""
    gone = [a for a in closings(timeline) if a.back_at is None or _later(timeline, a)]
    for group in runs(gone, lambda a: a.at, ONE_SHUTDOWN_MS):
        if _all_left(timeline, group):
            facts = tuple(f for a in group for f in a.departures)
            stops = tuple(a.stop for a in group if a.stop)
            yield Finding(
                because=distinct_events(e for a in group for e in a.events()),
                culprits=(the_group(timeline, [a.actor for a in group]),),
                confidence=LIKELY,
                severity="info",
                claims=(*facts, *stops, *touched(timeline, facts)),
                core=facts,
                narrative=f"All {len({a.actor for a in group})} members left the group in good order.",
            )


def _later(timeline: Timeline, away: Away) -> bool:
    """It came back only after everybody had gone."""
    others = [d.at for d in timeline.departures if d.actor is not away.actor and d.at < (away.back_at or 0)]
    return bool(others) and (away.back_at or 0) > max(others) and (away.back_at or 0) - away.at > ONE_SHUTDOWN_MS


def _all_left(timeline: Timeline, group: list[Away]) -> bool:
    if any(exception_before(timeline, a) for a in group):
        return False
    last = max(d.at for a in group for d in a.departures)
    gone = {a.actor for a in group}
    for actor in timeline.actors():
        if actor in gone:
            continue
        arrivals = [a.at for a in timeline.arrivals if a.actor is actor and a.at <= last]
        departures = [d.at for d in timeline.departures if d.actor is actor and d.at <= last + 1_000]
        silent_after = not any((e.at or 0) > last + 2_000 for e in timeline.events if timeline.cast.of_speaker(e) is actor)
        if not departures and (arrivals or not silent_after):
            return False
        if departures and arrivals and max(arrivals) > max(departures):
            return False
    return len(gone) == len(timeline.actors()) or len(gone) > 1


RULE = Rule(
    summary="All members left the group in good order.",
    mechanism="Each close sends LeaveGroup; the coordinator rebalances among those that are left until the group is Empty.",
    signs="Leave reason 'the consumer is being closed' of every member, then 'Group … is now empty'.",
    remedy="Nothing to do. Offsets of an empty group expire after offsets.retention.minutes.",
    usual="benign",
    rank=29,
    diagnose=diagnose,
    settings=("offsets.retention.minutes",),
)
