"""The end of a file: how its last record continues in the next file of its log, and a last line that is torn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from msgspec.structs import replace

from rebalance_forensics.sources.files.decompression import chunks_of
from rebalance_forensics.sources.lines.blocks import Block
from rebalance_forensics.sources.lines.line_counts import SplitCounts
from rebalance_forensics.sources.lines.searchable import Relevant, hit_lines
from rebalance_forensics.sources.profiles.sample import first_lines
from rebalance_forensics.sources.records.seams import Seam
from rebalance_forensics.sources.records.splits import Split

# The most bytes of the next file that can continue a record.
CONTINUATION_BYTES = 256 << 10


class Bounded(Protocol):
    """A framer: lines from `end` on only complete what has started before."""

    end: int | None


class FileEnd:
    """Reads a split's blocks to the end of its file, and the rest of its last record in the next files."""

    def __init__(self, split: Split, counts: SplitCounts, relevant: Relevant | None) -> None:
        self.split, self.counts, self.relevant = split, counts, relevant
        # The next file is judged as when it is read itself.
        self._seam = Seam(replace(self.split.profile, continued=True))

    def blocks(self, blocks: Iterator[Block], framer: Bounded) -> Iterator[Block]:
        """The blocks; the last line, where it has no end, in one of its own."""
        last: Block | None = None
        for block in blocks:
            if last is not None:
                yield last
            last = block
        if last is None:
            return
        if self.split.profile.newest_first:
            yield last
            return
        cut = last.data.rfind(b"\n") + 1
        if cut:
            yield last if cut == len(last.data) else Block(last.offset, last.data[:cut])
        start = last.end - len(last.data) + cut
        yield from self._rest(start, last.data[cut:], last.data[:cut], framer)

    def _rest(self, start: int, line: bytes, before: bytes, framer: Bounded) -> Iterator[Block]:
        """The bytes after the last line end, with their continuation in the next files."""
        own_length, at, end, severed = len(line), start, start + len(line), False
        # After bytes that cannot be read, no continuation is known.
        files = () if self.counts.stopped else self.split.profile.continues_in
        for file in files:
            skipped, head = first_lines(file, CONTINUATION_BYTES)
            if not head:
                continue
            if line.endswith(b"\r") and not head.startswith(b"\n"):
                line = line[:-1] + b"\n"
            first = head[: head.find(b"\n") + 1 or len(head)]
            half = first if line and not line.endswith(b"\n") else b""
            reach = self._seam.first_record(head)
            if skipped or (reach and not self._goes_on(line, first, head, before)) or (half and not reach):
                severed = bool(half and reach) and not self._seam.is_closed(line)
                self._leave_out(file.path, head[:reach], start)
                break
            if self._is_own(start) and at == start:
                self.counts.bytes -= len(half)
            framer.end = end if framer.end is None else framer.end
            data = line + head[:reach]
            if reach < len(head) or len(head) == CONTINUATION_BYTES:
                yield from _block(at, data)
                return
            cut = data.rfind(b"\n") + 1
            yield from _block(at, data[:cut])
            at, line = at + cut, data[cut:]
        if at == start and len(line) == own_length:
            yield from self._last_line(start, line, severed=severed, followed=bool(files))
        else:
            yield from _block(at, line)

    def _goes_on(self, line: bytes, first: bytes, head: bytes, before: bytes) -> bool:
        """True if the next file's first line, which is no header, continues the last line or record of this one."""
        if not line or line.endswith(b"\n"):
            return self._seam.goes_on(before + line, first)
        if line.endswith(b"\r") or not first.strip(b"\r\n"):
            return True
        own = first_lines(self.split.file, CONTINUATION_BYTES)[1]
        corpus = own[: own.rfind(b"\n") + 1] + head[len(first) :]
        return self._seam.go_together(line, first, corpus)

    def _is_own(self, start: int) -> bool:
        return self.split.end is None or start < self.split.end

    def _last_line(self, start: int, line: bytes, *, severed: bool, followed: bool) -> Iterator[Block]:
        """The last line without a line end: a record like others, unless it is torn."""
        if self.counts.stopped:
            torn = bool(line)
        elif line and not followed and (added := self._added(start + len(line))) is not None:
            line += added
            torn = not line.endswith(b"\n")
        else:
            torn = bool(line) and (severed or self._seam.is_torn(line))
        if not torn:
            yield from _block(start, line)
        elif self._is_own(start):
            self.counts.lines += 1
            self.counts.bytes += len(line)
            self.counts.unparsed += 1
            if not self.counts.stopped and self._matters(line):
                self.counts.complain(
                    f"its last line, at byte {start:,}, is torn: it was left out; "
                    "read the log again if it was still being written"
                )

    def _added(self, end: int) -> bytes | None:
        """The bytes that were appended to the last line since it was read; None for a file that does not grow."""
        file = self.split.file
        if file.codec or file.members:
            return None
        added = next(chunks_of(file.place, end), b"")
        return added[: added.find(b"\n") + 1 or len(added)] if added or end > file.size else None

    def _leave_out(self, path: str, orphans: bytes, start: int) -> None:
        """Count lines at the head of the next file whose record has no beginning."""
        if not self._is_own(start):
            return
        self.counts.unparsed += sum(bool(line.strip()) for line in orphans.split(b"\n"))
        if orphans and self._matters(orphans):
            self.counts.complain(
                f"{path} begins with the rest of a record whose beginning was lost when the log was rolled; "
                "it was left out"
            )

    def _matters(self, lines: bytes) -> bool:
        """True if these lines could have been an event."""
        return self.relevant is None or next(hit_lines(lines.split(b"\n"), self.relevant), None) is not None


def _block(offset: int, data: bytes) -> Iterator[Block]:
    if data:
        yield Block(offset, data)
