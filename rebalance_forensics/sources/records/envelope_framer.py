"""Reads wrapped logs and JSON lines fast: only lines around the prefilter's hits are unwrapped, others counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.lines.blocks import Block, lines_before
from rebalance_forensics.sources.lines.line_counts import SplitCounts
from rebalance_forensics.sources.lines.searchable import Relevant, hit_lines
from rebalance_forensics.sources.lines.text import text_of
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.profiles.record_markers import mark_in
from rebalance_forensics.sources.records.line_framer import long_line
from rebalance_forensics.sources.records.profiled_peeler import Peeler
from rebalance_forensics.sources.records.record_builder import MAX_LINES, Batch, Framed, in_batches

# How far the lines of one record may be apart in a stream of several hosts.
_REACH = 1 << 20


@dataclass(slots=True)
class _Window:
    """The lines of a block, with those that were peeled so far."""

    offset: int
    first_number: int
    lines: list[bytes]
    hits: list[int]
    starts: list[int] = field(default_factory=list)
    peeled: dict[int, Line | None] = field(default_factory=dict)
    owned: bytes = b""

    def __post_init__(self) -> None:
        at = self.offset
        for line in self.lines:
            self.starts.append(at)
            at += len(line) + 1


Place = tuple[int, int]
"""The index of a window and of a line in it."""


@dataclass(slots=True)
class EnvelopeFramer:
    """Frames the hit records of a file whose lines are wrapped, one to one, or are JSON objects."""

    # Three blocks are held: a record may begin before the block in which it is hit and end after it.
    profile: FileProfile
    counts: SplitCounts
    relevant: Relevant
    edge: Callable[[Framed], None]
    start: int = 0
    end: int | None = None
    _peeler: Peeler = field(init=False)
    _windows: list[_Window] = field(default_factory=list)
    _done: set[int] = field(default_factory=set)
    _number: int = 1
    _marks: list[bytes] = field(init=False)

    def __post_init__(self) -> None:  # noqa: D105
        self._peeler = Peeler(self.profile)
        self._marks = list(self.profile.header_marks or ())

    def frame(self, blocks: Iterator[Block]) -> Iterator[Batch]:
        """The hit records that start in this split."""
        for block in blocks:
            self._windows.append(self._window(block))
            if len(self._windows) > 1:
                yield from in_batches(self._hit_records(len(self._windows) - 2))
            if len(self._windows) > 2:
                self._windows.pop(0)
            if self.end is not None and block.offset > self.end + _REACH:
                break
        if self._windows:
            yield from in_batches(self._hit_records(len(self._windows) - 1))

    def _window(self, block: Block) -> _Window:
        lines = block.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        window = _Window(block.offset, self._number, lines, list(hit_lines(lines, self.relevant)))
        self._number += len(lines)
        self._count(block, window)
        return window

    def _count(self, block: Block, window: _Window) -> None:
        """Count the lines of a block that are this split's; records by how their headers look in the envelope."""
        owned = len(block.data) if self.end is None else lines_before(block.data, self.end - block.offset)
        if not owned:
            return
        lines = block.data.count(b"\n", 0, owned) + (not block.data.endswith(b"\n", 0, owned))
        self.counts.lines += lines
        whole = owned == len(block.data)
        self.counts.bytes += owned + (block.dropped if whole else 0)
        window.owned = block.data[:owned] if owned < len(block.data) else block.data
        self.counts.records += sum(map(window.owned.count, self._marks)) if self._marks else lines
        if block.lost and whole:
            size = len(window.lines[-1]) + 1 + block.dropped
            self.counts.complain(long_line(window.first_number + len(window.lines) - 1, size))

    def _hit_records(self, index: int) -> Iterator[Framed]:
        """The records that are hit in a window."""
        self._see_edges(index)
        window = self._windows[index]
        step = -1 if self.profile.upwards else 1
        for line in window.hits:
            head = self._head((index, line), -step)
            if head is None:
                # Of a split that starts inside a file, such a line belongs to a record that starts before it.
                self.counts.unparsed += self.start == 0 and self._owned((index, line))
                continue
            if not self._owned(head):
                continue
            offset = self._windows[head[0]].starts[head[1]]
            if offset not in self._done:
                self._done.add(offset)
                self._learn(head)
                yield self._whole(head, step)

    def _see_edges(self, index: int) -> None:
        """Pass the first and the last record of a window to `edge`."""
        lines = len(self._windows[index].lines)
        for line, step in ((0, 1), (lines - 1, -1)):
            head = self._head((index, line), step)
            if head is not None and self._owned(head):
                self.edge(self._framed(head))

    def _learn(self, head: Place) -> None:
        """Count records with another kind of header as well: a stream of several hosts has several kinds."""
        window, line = self._windows[head[0]], self._line(head)
        raw = window.lines[head[1]]
        if not self._marks or line is None or any(mark in raw for mark in self._marks):
            return
        mark = mark_in(raw, line.text.encode(), len(self._marks[0]))
        if mark:
            self._marks.append(mark)
            for known in self._windows:
                self.counts.records += known.owned.count(mark)

    def _owned(self, place: Place) -> bool:
        offset = self._windows[place[0]].starts[place[1]]
        return self.end is None or offset < self.end

    def _line(self, place: Place) -> Line | None:
        """The peeled line at a place; None for an empty envelope."""
        window = self._windows[place[0]]
        if place[1] not in window.peeled:
            window.peeled[place[1]] = self._peeler.single(Line(text=text_of(window.lines[place[1]])))
        return window.peeled[place[1]]

    def _walk(self, place: Place, step: int) -> Iterator[Place]:
        """The places after (or before) one, as far as the blocks at hand and a record's limits reach."""
        window, line = place
        for _ in range(MAX_LINES):
            line += step
            if not 0 <= line < len(self._windows[window].lines):
                window += step
                if not 0 <= window < len(self._windows):
                    return
                line = 0 if step > 0 else len(self._windows[window].lines) - 1
                if line < 0:
                    return
            yield window, line

    def _head(self, place: Place, step: int) -> Place | None:
        """The place of the header of a line's record; None if it is out of reach or before this split."""
        line = self._line(place)
        if line is None:
            return None
        if self._starts(line):
            return place
        for other in self._walk(place, step):
            found = self._line(other)
            if found is not None and _of_one_stream(found, line) and self._starts(found):
                return other
        return None

    def _starts(self, line: Line) -> bool:
        """True if a record starts with a line, or with a JSON object of which only the beginning is in it."""
        return self._peeler.starts(line) or (line.partial and line.text.startswith('{"'))

    def _header_with_time(self, head: Place, step: int) -> Line | None:
        """The nearest header with a time above a line that the JVM printed without one."""
        for place in self._walk(head, step):
            line = self._line(place)
            if line is not None and self._starts(line) and not layouts.is_untimed_output(line.text):
                return line
        return None

    def _framed(self, head: Place) -> Framed:
        line = self._line(head)
        assert line is not None
        return Framed(*self._in_file(head), line)

    def _in_file(self, place: Place) -> tuple[int, int]:
        """The byte offset and the number of a line."""
        window = self._windows[place[0]]
        return window.starts[place[1]], window.first_number + place[1]

    def _whole(self, head: Place, step: int) -> Framed:
        """A record with the lines that continue it."""
        framed = self._framed(head)
        if framed.line.at is None and framed.line.fields is None and layouts.is_untimed_output(framed.line.text):
            framed.above = self._header_with_time(head, -step)
        if framed.line.fields is not None and not framed.line.partial:
            return framed
        goes_on, seen = framed.line.partial, 0
        for place in self._walk(head, step):
            line = self._line(place)
            seen += len(self._windows[place[0]].lines[place[1]])
            if seen > _REACH:
                break
            if line is None or not _of_one_stream(line, framed.line):
                continue
            if goes_on:
                framed.append(line.text)
            elif self._starts(line) or not framed.takes(line.text, self._in_file(place)):
                break
            goes_on = line.partial
        return framed


def _of_one_stream(line: Line, other: Line) -> bool:
    return line.host == other.host and line.stream == other.stream
