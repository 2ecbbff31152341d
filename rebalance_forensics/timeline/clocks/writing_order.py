"""The order in which lines were written: that of the file, or the reverse where an export is newest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from operator import attrgetter

from msgspec.structs import replace

from rebalance_forensics.events.base import Event
from rebalance_forensics.records import ORDER_EPOCH, SECOND_MS, EpochMs


def as_written(events: Iterable[Event]) -> Iterator[Event]:
    """The events file by file, each file from its oldest line on."""
    in_files = sorted(events, key=lambda e: (e.origin.path, e.origin.byte_offset))
    for _, in_file in groupby(in_files, key=attrgetter("origin.path")):
        of_file = list(in_file)
        yield from reversed(of_file) if is_newest_first(of_file) else of_file


def is_newest_first(events: Sequence[Event]) -> bool:
    """True where the times of a file's lines decrease."""
    times = [event.at for event in events if event.at is not None]
    if times == sorted(times):
        return False
    steps = Counter((after > before) - (after < before) for before, after in pairwise(times))
    return steps[-1] > 2 * steps[1]


def with_times(events: Sequence[Event], others: Sequence[Event] = ()) -> list[Event]:
    """The events as written; a line without a time takes that of the line before it in its log, `others` included."""
    last: dict[tuple[str, str | None], EpochMs] = {}
    filled = []
    lent = set(map(id, others))
    for event in as_written([*events, *others]):
        place = event.speaker.file, event.speaker.host
        if event.at is not None:
            last[place] = event.at
        if id(event) not in lent:
            filled.append(replace(event, at=last[place]) if event.at is None and place in last else event)
    return filled


def in_order(events: Sequence[Event]) -> list[Event]:
    """Lines of which none has a time, with times that show their order and no duration."""
    return [replace(event, at=EpochMs(ORDER_EPOCH + at * SECOND_MS)) for at, event in enumerate(as_written(events), 1)]
