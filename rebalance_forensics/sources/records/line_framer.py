"""Framing of every line: files in envelopes, documents, exports that are newest first, logs without dates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from msgspec.structs import replace

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.lines.blocks import Block
from rebalance_forensics.sources.lines.line_counts import SplitCounts
from rebalance_forensics.sources.lines.text import text_of
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.profiled_peeler import DATED, Peeler
from rebalance_forensics.sources.records.record_builder import Framed

_MOST_PARTS = 4096


@dataclass(slots=True)
class _Stream:
    """The open parts of one stream of lines: a record that may continue, parts of a line, lines before their header.

    `timed` is the last line that showed a time.
    """

    record: Framed | None = None
    timed: Line | None = None
    parts: list[Placed] = field(default_factory=list)
    waiting: list[Placed] = field(default_factory=list)
    gave_up: bool = False


@dataclass(slots=True)
class Framer:
    """Joins lines to records, host by host and stream by stream."""

    # A split that starts inside a file owns no line before the first header of a stream: those belong to records
    # that start before it. Lines from `end` on only complete what has started.
    profile: FileProfile
    counts: SplitCounts
    start: int = 0
    end: int | None = None
    _peeler: Peeler = field(init=False)
    _streams: dict[tuple[str | None, str], _Stream] = field(default_factory=dict)

    def __post_init__(self) -> None:  # noqa: D105
        self._peeler = Peeler(self.profile)

    def frame(self, placed: Iterable[Placed]) -> Iterator[Framed]:
        """The records that start in this split."""
        for offset, number, raw in placed:
            past = self.end is not None and offset >= self.end
            if past and not any(stream.record or stream.parts for stream in self._streams.values()):
                break
            for line in self._peeler.opened(raw):
                yield from self._take(offset, number, line, past=past)
        for stream in self._streams.values():
            yield from self._close(stream)

    def _take(self, offset: int, number: int, line: Line, *, past: bool) -> Iterator[Framed]:
        stream = self._streams.setdefault((line.host, line.stream), _Stream())
        if line.partial or stream.parts:
            stream.parts.append((offset, number, line))
            if line.partial and len(stream.parts) < _MOST_PARTS:
                return
            offset, number, line = _joined(stream.parts)
            stream.parts = []
        if self._peeler.starts(line):
            yield from self._header(stream, offset, number, line, past=past)
        elif self.profile.upwards:
            stream.waiting.append((offset, number, line))
        else:
            self._continuation(stream, offset, number, line, past=past)

    def _header(self, stream: _Stream, offset: int, number: int, line: Line, *, past: bool) -> Iterator[Framed]:
        if stream.record is not None:
            # jstack prints the time in a line of its own above the dump.
            if stream.record.more and DATED.fullmatch(stream.record.more[-1].encode()):
                stream.timed = replace(line, text=stream.record.more.pop(), fields=None)
                stream.record.places.pop()
            yield stream.record
            stream.record = None
        if past:
            return
        stream.gave_up = False
        is_untimed = line.fields is None and layouts.is_untimed_output(line.text)
        stream.timed = stream.timed if is_untimed else line
        if not line.begins or self._peeler.knows(line):  # a line that does not begin starts only as it is known
            self.counts.records += 1
        else:
            self.counts.unparsed += 1
        stream.record = Framed(offset, number, line, above=stream.timed if is_untimed else None)
        for at, place, waiting in reversed(stream.waiting):
            stream.record.takes(waiting.text, (at, place))
        stream.waiting = []
        if self.profile.upwards:
            yield stream.record
            stream.record = None

    def _continuation(self, stream: _Stream, offset: int, number: int, line: Line, *, past: bool) -> None:
        if stream.record is not None and stream.record.takes(line.text, (offset, number)):
            return
        if stream.record is not None and not stream.gave_up:
            stream.gave_up = True
            self.counts.complain(
                f"the record at byte {stream.record.offset:,} has no end; it was cut "
                f"after {len(stream.record.more):,} lines"
            )
        if stream.record is None and DATED.fullmatch(line.text.encode()):
            stream.timed = line  # above the first dump of a file
            return
        orphan = stream.record is None and (self.start > 0 or self.profile.continued)
        if line.text.strip() and not orphan and not past:
            self.counts.unparsed += 1

    def _close(self, stream: _Stream) -> Iterator[Framed]:
        if stream.parts:
            offset, number, line = _joined(stream.parts)
            stream.parts = []
            yield from self._take(offset, number, line, past=False)
        if stream.record is not None:
            yield stream.record
        self.counts.unparsed += sum(1 for _, _, line in stream.waiting if line.text.strip())


def _joined(parts: list[Placed]) -> Placed:
    """The line that its envelope had cut into parts."""
    offset, number, first = parts[0]
    return offset, number, replace(first, text="".join(line.text for _, _, line in parts), partial=False)


def placed_lines(blocks: Iterable[Block], counts: SplitCounts, framer: Framer) -> Iterator[Placed]:
    """Every line with its place; lines before the framer's end are counted."""
    number = size = 0
    for block in blocks:
        end = framer.end
        at = block.offset
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        for raw in lines:
            number += 1
            size = min(len(raw) + 1, block.offset + len(block.data) - at)
            if end is None or at < end:
                counts.lines += 1
                counts.bytes += size
            yield at, number, Line(text=text_of(raw))
            at += size
        if block.dropped and (end is None or at - size < end):
            counts.bytes += block.dropped
            if block.lost:
                counts.complain(long_line(number, len(lines[-1]) + 1 + block.dropped))


def long_line(number: int, size: int) -> str:
    """The sentence about a line whose end was not kept."""
    return f"line {number:,} of its part is {size:,} bytes long; only its beginning was read"
