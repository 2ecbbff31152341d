"""A group whose lines print no time: what was told of durations is taken back, and a gap says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from rebalance_forensics.diagnosis.model import Gap, Impact, Incident, RootCause
from rebalance_forensics.records import BY_ORDER_MS
from rebalance_forensics.timeline.group_timeline import Timeline

_DURATION = re.compile(
    r"(?:,? (?:for|after|within|in|over|lasted))?(?: (?:up to|about|at least|only))?"
    r" \d{1,9}(?:\.\d{1,3})? (?:ms|min \d{1,2} s|min|s|h \d{1,2} min|h|d \d{1,2} h|d)\b(?! by default)"
)


def is_untimed(timeline: Timeline) -> bool:
    """Whether only the order of the lines is known."""
    return timeline.first >= BY_ORDER_MS


def untimed(incidents: Iterable[Incident]) -> list[Incident]:
    """The incidents without durations: the place of a line among others is no time."""
    return [
        replace(
            each,
            summary=_without_durations(each.summary),
            root_causes=tuple(map(_untimed_cause, each.root_causes)),
            ruled_out=tuple(replace(out, why=_without_durations(out.why)) for out in each.ruled_out),
            impact=Impact(
                members=each.impact.members, partitions=each.impact.partitions, rebalances=each.impact.rebalances
            ),
            what_if=(),
        )
        for each in incidents
    ]


def _untimed_cause(cause: RootCause) -> RootCause:
    return replace(cause, narrative=_without_durations(cause.narrative))


def _without_durations(text: str) -> str:
    return _DURATION.sub("", text)


def untimed_gaps(timeline: Timeline, gaps: Sequence[Gap]) -> tuple[Gap, ...]:
    """The gaps without durations, and that there are none."""
    return (
        *(replace(gap, what=_without_durations(gap.what), started_at=None, ended_at=None) for gap in gaps),
        Gap(
            what=f"No line about group {timeline.group} has a time: the order of the lines is taken for their order in "
            "time.",
            started_at=None,
            ended_at=None,
            consequence="How long anything took, and whether two things happened at the same time, is unknown. "
            "The same lines with their times would show it.",
        ),
    )
