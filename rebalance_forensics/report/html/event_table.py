"""The timeline table: what the picture draws as marks, in words and with its lines, for whoever reads without one."""

from __future__ import annotations

from msgspec import Struct

from rebalance_forensics.report.html.budget import Budget
from rebalance_forensics.report.html.picture_choice import SEVERITIES
from rebalance_forensics.report.lanes import lanes_of
from rebalance_forensics.report.plain_text import lines_of
from rebalance_forensics.timeline.model import GroupHistory, Mark

TEXT_CHARACTERS = 200


class EventRow(Struct, frozen=True, kw_only=True):
    """One event with the lanes it stands in."""

    mark: Mark
    who: tuple[str, ...]
    text: str


def events_of(history: GroupHistory, budget: Budget) -> tuple[tuple[EventRow, ...], int]:
    """List the events of a group by time, faults before the rest where not all fit, and say how many are left out."""
    lanes: dict[Mark, list[str]] = {}
    for lane in lanes_of(history):
        for mark in lane.marks:
            lanes.setdefault(mark, []).append(lane.name)
    room = budget.events.room(0)
    kept = sorted(lanes, key=lambda mark: (SEVERITIES[mark.severity], mark.at))[:room]
    budget.events.left -= len(kept)
    budget.omit("rows of events", len(lanes) - len(kept))
    rows = (
        EventRow(
            mark=mark,
            who=tuple(dict.fromkeys(lanes[mark])),
            text=" ".join(lines_of(mark.evidence.text, TEXT_CHARACTERS)),
        )
        for mark in sorted(kept, key=lambda mark: (mark.at, mark.evidence.path, mark.evidence.byte_offset))
    )
    return tuple(rows), len(lanes) - len(kept)
