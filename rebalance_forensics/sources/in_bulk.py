"""Reading plain logs fast: only records that a prefilter hits are framed, all other lines are only counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.blocks import Block
from rebalance_forensics.sources.counting import SplitCounts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.line_by_line import long_line
from rebalance_forensics.sources.peeling import has_header
from rebalance_forensics.sources.profile import FileProfile
from rebalance_forensics.sources.recording import MAX_BYTES, MAX_LINES, Framed
from rebalance_forensics.sources.text import text_of

Relevant = Callable[[bytes], Sequence[int]]

_PROBES = 16
_SUSPICIOUS = 20
"""Fewer headers than one in so many lines: the layout may have changed, look closer."""


@dataclass(slots=True)
class BulkFramer:
    """Frames the records of one split of a plain file that a prefilter hits.

    Every block is cut before its last header and the rest carried on, so that records are whole.
    `edge` is told the first and the last record of each block, for the times that a file covers.
    """

    profile: FileProfile
    counts: SplitCounts
    relevant: Relevant
    edge: Callable[[Framed], None]
    start: int = 0
    end: int | None = None
    _starts: tuple[bytes, ...] = ()
    _lines: int = 0
    _headed: bool = False

    def __post_init__(self) -> None:
        self._starts = self.profile.starts

    def frame(self, blocks: Iterator[Block]) -> Iterator[Framed]:
        """The hit records that start in this split."""
        carry, offset = b"", self.start
        for block in blocks:
            data, offset = (carry + block.data if carry else block.data), block.offset - len(carry)
            if self.end is not None and offset + len(data) >= self.end:
                owned = self._owned(data, self.end - offset)
                tail = b"" if block.dropped else self._tail(data[owned:], blocks)
                yield from self._block(offset, data[:owned] + tail, owned)
                return
            cut = len(data) if block.dropped else self._last_header(data)
            carry = data[cut:]
            yield from self._block(offset, data[:cut] if carry else data, cut)
            offset += cut
            if block.dropped:
                self._note_long_line(data, block.dropped)
        if carry:
            yield from self._block(offset, carry, len(carry))

    @staticmethod
    def _owned(data: bytes, limit: int) -> int:
        """Where the first line starts that belongs to the next split."""
        if limit <= 0:
            return 0
        return data.find(b"\n", limit - 1) + 1 or len(data)

    def _tail(self, rest: bytes, blocks: Iterator[Block]) -> bytes:
        """The lines after the split that go on with its last record."""
        at = lines = 0
        while lines < MAX_LINES and at < MAX_BYTES:
            stop = rest.find(b"\n", at) + 1
            if stop == 0:
                more = next(blocks, None)
                if more is not None:
                    rest += more.data
                    continue
                stop = len(rest)
            if stop == at or self._is_header(rest, at, stop):
                break
            at, lines = stop, lines + 1
        return rest[:at]

    def _note_long_line(self, data: bytes, dropped: int) -> None:
        self.counts.bytes += dropped
        self.counts.complain(long_line(self._lines, dropped + len(data) - data.rfind(b"\n", 0, len(data) - 1) - 1))

    def _is_header(self, data: bytes, at: int, stop: int) -> bool:
        """Whether a record starts with this line, in the file's layout or in any other."""
        if data[at : at + 1] in (b" ", b"\t", b"\n", b"\r", b""):
            return False
        text = text_of(data[at:stop][:4096])
        if data.startswith(self._starts, at):
            names = (self.profile.layout, *self.profile.layouts)
            known = layouts.by_name()
            if any(name in known and known[name].is_header(text) for name in names):
                return True
        return has_header(text)

    def _last_header(self, data: bytes) -> int:
        """Where the last record of a block starts; its end when there is none in reach."""
        stop, lines = len(data), 0
        while stop > 0 and lines < MAX_LINES and len(data) - stop < MAX_BYTES:
            at = data.rfind(b"\n", 0, stop - 1) + 1
            if self._is_header(data, at, stop):
                return at
            stop, lines = at, lines + 1
        return len(data)

    def _block(self, offset: int, data: bytes, owned: int) -> Iterator[Framed]:
        """Count a block of whole records, `owned` bytes of it this split's, and frame those that are hit."""
        if not owned:
            return
        lines = data.count(b"\n", 0, owned) + (0 if data[owned - 1 : owned] == b"\n" else 1)
        self.counts.lines += lines
        self.counts.bytes += owned
        records = self._headers(data, owned, lines)
        self.counts.records += records
        first = self._first_header(data, owned, lines, records)
        if first < owned:
            if not self._headed or offset == 0:
                self.edge(self._framed(offset, data, first, 0))
            self._headed = True
            yield from self._hit_records(offset, data, first)
            self._see_last(offset, data, owned)
        self._lines += lines

    def _see_last(self, offset: int, data: bytes, owned: int) -> None:
        at = self._last_header(data[max(0, owned - MAX_BYTES) : owned]) + max(0, owned - MAX_BYTES)
        if at < owned:
            self.edge(self._framed(offset, data, at, 0))

    def _headers(self, data: bytes, owned: int, lines: int) -> int:
        """How many records start in a block, by how headers begin; other layouts are looked for on the way."""
        found = self._count(data, owned)
        probes = _PROBES if found * _SUSPICIOUS >= lines else 16 * _PROBES
        before = self._starts
        for probe in range(probes):
            at = data.rfind(b"\n", 0, owned * probe // probes) + 1
            if not data.startswith(self._starts, at) and self._is_header(data, at, data.find(b"\n", at) + 1 or len(data)):
                self._learn(data, at)
        return found if before == self._starts else self._count(data, owned)

    def _learn(self, data: bytes, at: int) -> None:
        """Count headers of another layout too from now on."""
        name = layouts.header_layout(text_of(data[at : at + 4096].split(b"\n", 1)[0]))
        if name:
            starts = layouts.by_name()[name].starts
            used = tuple(start for start in starts if data.startswith(start, at))
            self._starts = (*self._starts, *(start for start in used if start not in self._starts))

    def _count(self, data: bytes, owned: int) -> int:
        inside = sum(data.count(b"\n" + start, 0, owned + len(start) - 1) for start in self._starts)
        return inside + data.startswith(self._starts)

    def _first_header(self, data: bytes, owned: int, lines: int, records: int) -> int:
        """Where the first record starts; lines before the first of the file, and blocks without any, are unparsed."""
        at = skipped = 0
        while at < owned:
            stop = data.find(b"\n", at) + 1 or len(data)
            if self._is_header(data, at, stop):
                break
            skipped += bool(data[at:stop].strip())
            at = stop
            if skipped > MAX_LINES and not records:
                at, skipped = owned, lines
        if (not self._headed and self.start == 0 and not self.profile.continued) or (at >= owned and skipped > MAX_LINES):
            self.counts.unparsed += skipped
        return at

    def _framed(self, offset: int, data: bytes, start: int, number: int) -> Framed:
        stop = data.find(b"\n", start) + 1 or len(data)
        return Framed(offset + start, number, Line(text=text_of(data[start:stop])))

    def _hit_records(self, offset: int, data: bytes, first: int) -> Iterator[Framed]:
        """The records of a block that hold a hit, whole."""
        done, counted, number = first, 0, self._lines + 1
        for hit in self.relevant(data):
            if hit < done:
                continue
            start = self._record_start(data, hit, done)
            number, counted = number + data.count(b"\n", counted, start), start
            framed = self._framed(offset, data, start, number)
            done = self._complete(framed, data, start)
            yield framed

    def _record_start(self, data: bytes, hit: int, lowest: int) -> int:
        """The header of the record around a hit."""
        at, stop = data.rfind(b"\n", lowest, hit) + 1 or lowest, len(data)
        stop = data.find(b"\n", hit) + 1 or len(data)
        while at > lowest and not self._is_header(data, at, stop):
            at, stop = max(data.rfind(b"\n", 0, at - 1) + 1, lowest), at
        return at

    def _complete(self, framed: Framed, data: bytes, start: int) -> int:
        """Add the lines that go on with a record; where the next one starts."""
        at = data.find(b"\n", start) + 1 or len(data)
        while at < len(data):
            stop = data.find(b"\n", at) + 1 or len(data)
            if self._is_header(data, at, stop):
                break
            if not framed.takes(text_of(data[at:stop])):
                self.counts.complain(f"the record at byte {framed.offset:,} has no end; it was cut after {len(framed.more):,} lines")
                break
            at = stop
        return at
