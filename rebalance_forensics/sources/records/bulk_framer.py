"""Reads plain logs fast: only records that the prefilter hits are framed, all other lines are only counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.lines.blocks import Block, LineStarts, lines_before
from rebalance_forensics.sources.lines.line_counts import SplitCounts
from rebalance_forensics.sources.lines.searchable import Relevant
from rebalance_forensics.sources.lines.text import text_of
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.line_framer import long_line
from rebalance_forensics.sources.records.profiled_peeler import DATED
from rebalance_forensics.sources.records.record_builder import MAX_BYTES, MAX_LINES, Batch, Framed, in_batches

_NEWLINE = 0x0A
_SEPARATOR = 0x1E
_PROBES = 16
# No header is longer; a JSON object is one only as a whole, and one that holds a client's settings has 5 kB.
_HEADER_BYTES = 4096
_BRACE = 0x7B
_BLANK = b" \t\r\n\x0b\x0c\x00"
# With fewer headers than one in this many lines, the layout may have changed and is checked.
_SUSPICIOUS = 20


@dataclass(slots=True)
class BulkFramer:
    """Frames the records of one split of a plain file that a prefilter hits.

    `edge` gets the first and the last record of each block, for the times that a file covers.
    """

    profile: FileProfile
    counts: SplitCounts
    relevant: Relevant
    edge: Callable[[Framed], None]
    start: int = 0
    end: int | None = None
    _starts: tuple[bytes, ...] = ()
    _line_starts: LineStarts = field(init=False)
    _lines: int = 0
    _headed: bool = False
    _timed: Line | None = None
    """The last header with a time above the record that was framed last, which ended at `_timed_until`."""
    _timed_until: int = 0

    def __post_init__(self) -> None:  # noqa: D105
        self._starts = self.profile.starts

    def frame(self, blocks: Iterator[Block]) -> Iterator[Batch]:
        """The hit records that start in this split; each block is completed by the lines that lead the next."""
        pending: Block | None = None
        tail: list[bytes] = []
        for block in blocks:
            lead = self._lead(block.data) if pending is not None else 0
            whole = lead == len(block.data)
            if whole and not block.dropped and sum(map(len, tail)) < MAX_BYTES:
                tail.append(block.data)
                continue
            if pending is not None:
                end = pending.end + sum(map(len, tail)) + lead
                yield from self._block(pending, b"".join((*tail, block.data[:lead])))
                if whole:
                    self._drop(block)
                if self.end is not None and end > self.end:
                    return
            tail = []
            pending = block._replace(offset=block.offset + lead, data=block.data[lead:]) if lead else block
            pending = None if whole else pending
        if pending is not None:
            yield from self._block(pending, b"".join(tail))

    def _lead(self, data: bytes, at: int = 0) -> int:
        """The start of the first record at or after a line, or the farthest that one record may extend."""
        start = at
        for _ in range(MAX_LINES):
            stop = data.find(b"\n", at) + 1 or len(data)
            if at == stop or self._is_header(data, at, stop):
                return at
            at = stop
            if at - start > MAX_BYTES:
                break
        return at

    def _is_header(self, data: bytes, at: int, stop: int) -> bool:
        """True if a record starts with this line, in the file's layout or in any other."""
        if DATED.match(data, at):
            return True
        if at == stop or data[at] not in _may_begin():
            return False
        text = text_of(data[at : min(stop, at + (MAX_BYTES if data[at] == _BRACE else _HEADER_BYTES))])
        if data.startswith(self._starts, at):
            names = (self.profile.layout, *self.profile.layouts)
            known = layouts.by_name()
            if any(name in known and known[name].is_header(text) for name in names):
                return True
        return layouts.begins_record(text)

    def _last_header(self, data: bytes, stop: int) -> int:
        """The start of the last record before `stop`; `stop` itself where none is in reach."""
        end, lines = stop, 0
        while stop > 0 and lines < MAX_LINES and end - stop < MAX_BYTES:
            at = data.rfind(b"\n", 0, stop - 1) + 1
            if self._is_header(data, at, stop):
                return at
            stop, lines = at, lines + 1
        return end

    def _block(self, block: Block, tail: bytes) -> Iterator[Batch]:
        """Count the lines of a block, and of those that continue it, that are this split's; frame the hit records."""
        offset, data = block.offset, block.data + tail if tail else block.data
        owned, stop = len(data), len(data)
        # Where the block ends in a line that was not kept whole, the tail stands further on in the file.
        end = None if self.end is None else self.end - offset
        if end is not None and end > len(block.data):
            end = max(len(block.data), end - block.dropped)
        if end is not None and len(data) > end:
            owned = lines_before(data, end)
            stop = self._lead(data, owned)
        if not owned:
            return
        self._line_starts = LineStarts(data)
        lines = self._line_starts.newlines_before(owned) + (data[owned - 1] != _NEWLINE)
        self.counts.lines += lines
        self.counts.bytes += owned
        first = self._first_header(data, owned)
        last = self._last_header(data, owned) if first < owned else owned
        self.counts.records += self._headers(data, owned, lines)
        if first < owned:
            self.edge(self._framed(offset, data, first, 0))
            self._headed = True
            yield from in_batches(self._hit_records(offset, data, first, owned, stop))
        if last < owned:
            self.edge(self._framed(offset, data, last, 0))
        self._lines += lines
        if owned >= len(block.data):
            self._drop(block, tail.count(b"\n"))

    def _drop(self, block: Block, following: int = 0) -> None:
        """Count the bytes of a block's last line that were not kept; `following` lines after it are counted already."""
        if self.end is None or block.offset < self.end:
            self.counts.bytes += block.dropped
        if block.lost:
            length = len(block.data) - block.data.rfind(b"\n", 0, -1) - 1 + block.dropped
            self.counts.complain(long_line(self._lines - following, length))

    def _headers(self, data: bytes, owned: int, lines: int) -> int:
        """The number of records that start in a block, by the first bytes of headers; probes find other layouts."""
        found = self._count(owned)
        probes = _PROBES if found * _SUSPICIOUS >= lines else 16 * _PROBES
        before = self._starts
        for probe in range(probes):
            at = self._line_starts.line_around(owned * probe // probes)
            if not data.startswith(self._starts, at) and self._is_header(
                data, at, data.find(b"\n", at) + 1 or len(data)
            ):
                self._learn(data, at)
        return found if before == self._starts else self._count(owned)

    def _learn(self, data: bytes, at: int) -> None:
        """Count headers of another layout too from now on."""
        name = layouts.header_layout(text_of(data[at : at + 4096].split(b"\n", 1)[0]))
        if name:
            starts = layouts.by_name()[name].starts
            used = tuple(start for start in starts if data.startswith(start, at))
            self._starts = (*self._starts, *(start for start in used if start not in self._starts))

    def _count(self, owned: int) -> int:
        """Count lines by their first bytes."""
        return self._line_starts.beginning_with(self._starts, owned)

    def _first_header(self, data: bytes, owned: int) -> int:
        """The start of the first record; lines before it are unparsed unless they may continue one of another split."""
        at = tested = 0
        while at < owned:
            stop = data.find(b"\n", at) + 1 or len(data)
            if self._is_header(data, at, stop):
                break
            tested += 1
            # Tens of thousands of lines are not tested one by one.
            at = stop if tested <= MAX_LINES else self._line_starts.next_beginning_with(self._starts, stop, owned)
        first_of_all = self.start == 0 and not self.profile.continued
        if self._headed or first_of_all or tested > MAX_LINES:
            self.counts.unparsed += sum(bool(line.strip(_BLANK)) for line in data[:at].split(b"\n"))
        return at

    def _framed(self, offset: int, data: bytes, start: int, number: int) -> Framed:
        stop = data.find(b"\n", start) + 1 or len(data)
        return Framed(offset + start, number, Line(text=text_of(data[start:stop])))

    def _hit_records(self, offset: int, data: bytes, first: int, owned: int, stop: int) -> Iterator[Framed]:
        """The complete records of a block that have a hit."""
        done = first
        self._timed_until = 0
        for line in self._line_starts.bounds_of_lines_with(self.relevant(data)):
            before, start, behind = line
            if start < done:
                continue
            if start >= stop:
                return
            dated = DATED.match(data, start) is not None
            if not dated:
                start = self._record_start(data, start, done)
                before = self._line_starts.newlines_before(start)
                behind = data.find(b"\n", start) + 1 or len(data)
            if start >= owned:
                return
            framed = Framed(offset + start, self._lines + before + 1, Line(text=text_of(data[start:behind])))
            if dated:
                self._timed, self._timed_until = framed.line, start
            else:
                framed.above = self._header_with_time(data, framed.line, start)
            alone = behind < stop and DATED.match(data, behind)
            self._timed_until = done = behind if alone else self._complete(framed, data, start, stop)
            yield framed

    def _header_with_time(self, data: bytes, line: Line, start: int) -> Line | None:
        """The nearest header with a time above a line that the JVM printed without one; None for other lines."""
        is_untimed = layouts.is_untimed_output(line.text)
        if (is_untimed and self.profile.layouts != ("jvm-output",)) or line.text.startswith(("Full", '"')):
            self._timed = self._last_with_time(data, start)
        elif not is_untimed:
            self._timed = line
        return self._timed if is_untimed else None

    def _last_with_time(self, data: bytes, stop: int) -> Line | None:
        for _ in range(MAX_LINES):
            if stop <= self._timed_until:
                break
            at = data.rfind(b"\n", 0, stop - 1) + 1
            text = text_of(data[at:stop][:_HEADER_BYTES])
            if self._is_header(data, at, stop) and not layouts.is_untimed_output(text):
                return Line(text=text)
            stop = at
        return self._timed

    def _record_start(self, data: bytes, hit: int, lowest: int) -> int:
        """The header of the record around a hit."""
        at = data.rfind(b"\n", lowest, hit) + 1 or lowest
        if at == lowest or DATED.match(data, at):
            return at
        stop = data.find(b"\n", hit) + 1 or len(data)
        while at > lowest and not self._is_header(data, at, stop):
            at, stop = max(data.rfind(b"\n", 0, at - 1) + 1, lowest), at
        return at

    def _complete(self, framed: Framed, data: bytes, start: int, end: int) -> int:
        """Add the lines that continue a record; the start of the next one."""
        at = data.find(b"\n", start) + 1 or len(data)
        while at < end:
            stop = data.find(b"\n", at) + 1 or len(data)
            if data[at] not in _BLANK and self._is_header(data, at, stop):
                break
            place = framed.offset + at - start, framed.number + 1 + len(framed.more)
            if not framed.takes(text_of(data[at:stop]), place):
                self.counts.complain(
                    f"the record at byte {framed.offset:,} has no end; it was cut after {len(framed.more):,} lines"
                )
                return self._behind(data, at, end)
            at = stop
        return at

    def _behind(self, data: bytes, at: int, end: int) -> int:
        """The start of the next record after one that was cut; the lines between belong to none."""
        start = at
        while at < end and not self._is_header(data, at, data.find(b"\n", at) + 1 or len(data)):
            at = self._line_starts.next_beginning_with(self._starts, data.find(b"\n", at) + 1 or len(data), end)
        self.counts.unparsed += sum(bool(line.strip(_BLANK)) for line in data[start:at].split(b"\n"))
        return at


@cache
def _may_begin() -> frozenset[int]:
    """The bytes with which a record may begin in any layout."""
    return frozenset(start[0] for layout in layouts.by_name().values() for start in layout.starts) | {_SEPARATOR}
