"""What a picture keeps where it cannot hold everything: lanes, marks and stretches, the most telling first."""

from __future__ import annotations

from collections.abc import Sequence

from rebalance_forensics.report.html.budget import Budget
from rebalance_forensics.report.html.incident_links import Links
from rebalance_forensics.report.html.prepared_history import DISTURBANCES, ReadyLane
from rebalance_forensics.report.html.shapes import Bar, Window
from rebalance_forensics.report.wording import count
from rebalance_forensics.timeline.model import Mark

SEVERITIES = {"fault": 0, "notice": 1, "plain": 2}

LeftOut = list[str]


def chosen_lanes(
    lanes: Sequence[ReadyLane], window: Window, culprits: frozenset[str], budget: Budget, left_out: LeftOut
) -> tuple[ReadyLane, ...]:
    """Keep the lanes that say something here: the culprits', the brokers', then the most disturbed."""
    seen = [lane for lane in lanes if lane.speaks_in(window)]
    room = budget.lanes.room(budget.pictures)
    budget.lanes.left -= min(len(seen), room)
    if len(seen) <= room:
        return tuple(seen)
    kept = set(sorted(range(len(seen)), key=lambda place: weight_of(seen[place], culprits))[:room])
    left_out.append(f"{count(len(seen) - len(kept), 'lane')} of members with less to tell")
    return tuple(lane for place, lane in enumerate(seen) if place in kept)


def weight_of(ready: ReadyLane, culprits: frozenset[str]) -> tuple[bool, bool, int, int]:
    """Sort key of a lane: the culprits', the brokers', then by faults and disturbances."""
    faults, disturbances = ready.weight
    theirs = not culprits.isdisjoint((ready.lane.name, ready.lane.owner))
    return not theirs, ready.lane.kind != "broker", -faults, -disturbances


def chosen_marks(
    lanes: Sequence[ReadyLane], window: Window, links: Links, budget: Budget, left_out: LeftOut
) -> list[list[Mark]]:
    """Keep faults before notices before the rest, and what an incident quotes before what it does not."""
    found = [
        (number, mark) for number, lane in enumerate(lanes) for mark in lane.marks.between(window.start, window.end)
    ]
    room = budget.marks.room(budget.pictures)
    if len(found) > room:
        left_out.append(f"{count(len(found) - room, 'mark')}, the plainest first")
        budget.omit("marks in pictures, the plainest", len(found) - room)
        found = _most_important(found, room, links)
    budget.marks.left -= len(found)
    kept: list[list[Mark]] = [[] for _ in lanes]
    # Faults are drawn last, on top of what happened in the same instant.
    for number, mark in sorted(found, key=lambda pair: (-SEVERITIES[pair[1].severity], pair[1].at)):
        kept[number].append(mark)
    return kept


def _most_important(found: Sequence[tuple[int, Mark]], room: int, links: Links) -> list[tuple[int, Mark]]:
    """Fill the room rank by rank; of the rank that no longer fits, take marks evenly spread over time."""
    ranks: dict[tuple[int, bool], list[tuple[int, Mark]]] = {}
    for number, mark in sorted(found, key=lambda pair: pair[1].at):
        ranks.setdefault((SEVERITIES[mark.severity], links.of_mark(mark) is None), []).append((number, mark))
    kept: list[tuple[int, Mark]] = []
    for _, marks in sorted(ranks.items()):
        free = room - len(kept)
        kept += marks if len(marks) <= free else [marks[index * len(marks) // free] for index in range(free)]
    return kept


def chosen_bars(rows: Sequence[Sequence[Bar]], budget: Budget, left_out: LeftOut) -> list[tuple[Bar, ...]]:
    """Keep disturbances before quiet stretches and wide ones before narrow ones, which nobody would see."""
    room = budget.spans.room(budget.pictures)
    everything = [bar for bars in rows for bar in bars]
    if len(everything) > room:
        left_out.append(f"{count(len(everything) - room, 'stretch', 'stretches')}, the shortest first")
        budget.omit("stretches in pictures, the shortest", len(everything) - room)
        order = sorted(range(len(everything)), key=lambda index: _slightness(everything[index]))
        kept = {id(everything[index]) for index in order[:room]}
        rows = [[bar for bar in bars if id(bar) in kept] for bars in rows]
    budget.spans.left -= sum(map(len, rows))
    return [tuple(bars) for bars in rows]


def _slightness(bar: Bar) -> tuple[bool, float]:
    return bar.kind not in DISTURBANCES, -bar.width
