"""The time span of each log according to the ledger: only within it can the absence of a line be evidence."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from rebalance_forensics.job.lake.ledger import Entry
from rebalance_forensics.job.steps.partitioning import Days
from rebalance_forensics.pipeline.tables.rows import millis, moment
from rebalance_forensics.pipeline.tables.schemas import Cells
from rebalance_forensics.records import DAY_MS
from rebalance_forensics.timeline.coverage import LogSpan, LogsRead, logs_read

SpansByDate = Mapping[int, LogsRead]
"""Date -> the logs that were read, with their time spans."""


def heard_cells(spans: Iterable[LogSpan]) -> list[Cells]:
    """The merged time spans of a log's parts, as cells of the ledger; excerpts get no times."""
    # An excerpt may omit any line, so its time span proves nothing.
    return [
        {"path": path, "host": host, "first": None, "last": None}
        if read.excerpt
        else {"path": path, "host": host, "first": moment(read.first), "last": moment(read.last)}
        for (path, host), read in sorted(logs_read(spans).items(), key=repr)
        if read.excerpt or (read.first is not None and read.last is not None)
    ]


def heard_in(entry: Entry) -> Iterator[LogSpan]:
    """The log spans from a row of the ledger; none for a file that could not be read."""
    for row in entry.cells["heard"] or ():
        if row["first"] is None:
            yield LogSpan(
                path=row["path"],
                host=row["host"],
                opening=None,
                closing=None,
                lines="pasted",
                records=1,
                about_groups=1,
            )
            continue
        first, last = millis(row["first"]), millis(row["last"])
        # An hour of a table is a part of its logs; `start` orders the parts by time.
        yield LogSpan(path=row["path"], host=row["host"], opening=first, closing=last, start=first)


def heard_on(days: Days, entries: Iterable[Entry]) -> SpansByDate:
    """The log spans on each investigated date, cut to the window of its investigation."""
    found: dict[int, list[LogSpan]] = defaultdict(list)
    dates = sorted(days.investigated)
    for entry in entries:
        for span in heard_in(entry):
            opening, closing = span.opening, span.closing
            if opening is None or closing is None:
                for day in dates:
                    found[day].append(span)
                continue
            earliest = (opening - days.lookahead_ms) // DAY_MS
            for day in dates[bisect_left(dates, earliest) :]:
                since, until = (edge // 1000 for edge in days.window(day))
                if since > closing:
                    break
                if until > opening:
                    cut = replace(span, opening=max(opening, since), closing=min(closing, until - 1))
                    found[day].append(cut)
    return {day: logs_read(spans) for day, spans in found.items()}


def newly_heard(removed: Iterable[Entry], added: Iterable[Entry]) -> set[tuple[int, int]]:
    """The periods in which log coverage changed, so that the absence of a line has another meaning than before."""
    before, after = (logs_read(span for entry in of for span in heard_in(entry)) for of in (removed, added))
    found: set[tuple[int, int]] = set()
    for log in before.keys() | after.keys():
        spans = [(span.first, span.last) for each in (before, after) if (span := each.get(log)) is not None]
        if len(spans) == 1:
            found |= {(first, last) for first, last in spans if first is not None and last is not None}
            continue
        for before_at, after_at in zip(*spans, strict=True):
            if before_at is not None and after_at is not None and before_at != after_at:
                found.add((min(before_at, after_at), max(before_at, after_at)))
    return found
