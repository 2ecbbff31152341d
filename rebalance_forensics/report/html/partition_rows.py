"""Rows of partitions: who read each of them, when, and while nobody could, since when and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from rebalance_forensics.report.html.budget import Budget
from rebalance_forensics.report.html.incident_links import Links
from rebalance_forensics.report.html.prepared_history import ReadyHistory
from rebalance_forensics.report.html.shapes import REASONS, Bar, Window
from rebalance_forensics.report.plain_text import line_of
from rebalance_forensics.report.wording import count, in_ranges, natural
from rebalance_forensics.timeline.model import ReadSpan, UnreadSpan

NAME_CHARACTERS = 80
Stretches = tuple[Bar, ...]


def partition_bars(
    history: ReadyHistory, window: Window, links: Links, budget: Budget, left_out: list[str]
) -> list[tuple[str, str, Stretches]]:
    """Give each row its label, its whole name and its stretches; partitions with equal stretches share a row."""
    # Equal stretches are one object: to compare what thousands of partitions hold would take seconds.
    alike: dict[tuple[int, ...], tuple[Stretches, list[str]]] = {}
    for partition, bars in _by_partition(history, window, links).items():
        alike.setdefault(tuple(map(id, bars)), (tuple(bars), []))[1].append(partition)
    rows = sorted(alike.values(), key=lambda row: -_unread_ms(row[0]))
    room = budget.partition_rows.room(budget.pictures)
    if len(rows) > room:
        several = count(sum(len(partitions) for _, partitions in rows[room:]), "partition")
        left_out.append(f"{several} in {count(len(rows) - room, 'row')}, those least unread")
        budget.omit("partitions in pictures, those least unread", sum(len(named) for _, named in rows[room:]))
    shown = rows[:room]
    budget.partition_rows.left -= len(shown)
    return [(*_named(partitions), bars) for bars, partitions in sorted(shown, key=lambda row: natural(row[1][0]))]


def share_bars(history: ReadyHistory, window: Window, links: Links) -> Iterator[Bar]:
    """Show how many partitions were unread at a time."""
    steps: dict[int, int] = defaultdict(int)
    for gap in history.unread.touching(window.start, window.end):
        steps[gap.started_at] += 1
        if gap.ended_at is not None:
            steps[gap.ended_at] -= 1
    unread, known = 0, len(history.partitions)
    for begun, ended in pairwise([*sorted(steps), None]):
        unread += steps[begun or 0]
        if begun is not None and unread > 0 and window.shows(begun, ended):
            x, width = window.cut(begun, ended)
            yield Bar(
                kind="unread-share",
                x=x,
                width=width,
                started_at=begun,
                ended_at=ended,
                label=f"{unread} of {count(known, 'partition')} unread",
                incident=links.of_gap(begun, ended),
                share=unread / known,
            )


def _by_partition(history: ReadyHistory, window: Window, links: Links) -> Mapping[str, list[Bar]]:
    found: dict[str, list[Bar]] = defaultdict(list)
    for span in history.read.touching(window.start, window.end):
        bar = _read(span, history, window)
        for partition in span.partitions:
            found[partition].append(bar)
    made: dict[UnreadSpan, Stretches] = {}
    for gap in history.unread.touching(window.start, window.end):
        # What it has in common with the gaps of other partitions.
        common = replace(gap, partition="")
        if common not in made:
            made[common] = tuple(_unread(gap, history, window, links))
        found[gap.partition].extend(made[common])
    return {partition: found[partition] for partition in sorted(found, key=natural)}


def _read(span: ReadSpan, history: ReadyHistory, window: Window) -> Bar:
    """Cut where the picture ends: partitions that only differ before or after it are alike in it."""
    x, width = window.cut(span.started_at, span.ended_at)
    label = f"read by {line_of(history.names.get(span.member, span.member), NAME_CHARACTERS)}"
    beyond = span.ended_at is not None and span.ended_at > window.end
    label += ", since before this picture begins" if span.started_at < window.start else ""
    label += ", until after it ends" if beyond else ""
    return Bar(
        kind="read",
        x=x,
        width=width,
        started_at=max(span.started_at, window.start),
        ended_at=window.end if beyond else span.ended_at,
        label=label,
        look=f"o{history.owners[span.member]}",
    )


def _unread(gap: UnreadSpan, history: ReadyHistory, window: Window, links: Links) -> Iterator[Bar]:
    reader = gap.client_id and history.names.get(gap.client_id, gap.client_id)
    whose = f", was read by {line_of(reader, NAME_CHARACTERS)}" if reader else ""
    x, width = window.cut(gap.started_at, gap.ended_at)
    incident = links.of_gap(gap.started_at, gap.ended_at)
    yield Bar(
        kind="unread",
        x=x,
        width=width,
        started_at=gap.started_at,
        ended_at=gap.ended_at,
        label=f"{REASONS[gap.why]}{whose}",
        incident=incident,
        look=gap.why,
    )
    if gap.from_earliest is not None and window.start <= gap.started_at and gap.from_earliest < gap.started_at:
        x, width = window.cut(gap.from_earliest, gap.started_at)
        yield Bar(
            kind="perhaps",
            x=x,
            width=width,
            started_at=gap.from_earliest,
            ended_at=gap.started_at,
            label="perhaps unread already: the logs do not show since when",
            incident=incident,
        )


def _unread_ms(bars: Sequence[Bar]) -> float:
    return sum(bar.width for bar in bars if bar.kind == "unread")


def _named(partitions: Sequence[str]) -> tuple[str, str]:
    ranges = in_ranges(partitions)
    if len(partitions) == 1:
        return ranges, partitions[0]
    return ranges, f"{ranges} ({count(len(partitions), 'partition')}, alike)"
