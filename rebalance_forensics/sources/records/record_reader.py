"""The records of a split: complete, in file order, with their places; all other lines are counted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from msgspec.structs import replace

from rebalance_forensics.records import LogRecord, Origin
from rebalance_forensics.sources import documents, layouts
from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.files.codecs import Damage
from rebalance_forensics.sources.files.containers import UNREADABLE
from rebalance_forensics.sources.files.decompression import chunks_of
from rebalance_forensics.sources.lines.blocks import Block, from_first_line, lines_before, whole_lines
from rebalance_forensics.sources.lines.line_counts import SplitCounts
from rebalance_forensics.sources.lines.line_ends import LOOK_BEHIND, after_padding, line_feeds
from rebalance_forensics.sources.lines.searchable import Relevant
from rebalance_forensics.sources.profiles.peeler import opened, parse_fields
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.bulk_framer import BulkFramer
from rebalance_forensics.sources.records.dumped_threads import DumpedThreads
from rebalance_forensics.sources.records.envelope_framer import EnvelopeFramer
from rebalance_forensics.sources.records.file_ends import FileEnd
from rebalance_forensics.sources.records.line_framer import Framer, long_line, placed_lines
from rebalance_forensics.sources.records.record_builder import Batch, Framed, Recorder, in_batches
from rebalance_forensics.sources.records.seams import Seam
from rebalance_forensics.sources.records.splits import Split
from rebalance_forensics.sources.times.timestamps import Stamp

_NO_TEXT = b"\x00 \t\r\x0b\x0c"


def counted_without_hits(blocks: Iterable[Block], end: int | None, relevant: Relevant, counts: SplitCounts) -> bool:
    """Count the lines that start before `end`; False as soon as a prefilter finds something in them."""
    # Each line of such a file would be tried with every envelope and layout, which takes 60 us; a search takes 0.3 us.
    for block in blocks:
        if end is not None and block.offset >= end:
            break
        data = block.data if end is None else block.data[: lines_before(block.data, end - block.offset)]
        if relevant(data.replace(b"\x00", b"") if b"\x00" in data else data):
            return False
        lines = data.removesuffix(b"\n").split(b"\n")
        counts.bytes += len(data)
        counts.lines += len(lines)
        counts.unparsed += sum(1 for line in lines if line.strip(_NO_TEXT))
        if block.dropped and len(data) == len(block.data):
            counts.bytes += block.dropped
            if block.lost:
                counts.complain(long_line(counts.lines, len(lines[-1]) + 1 + block.dropped))
    return True


__all__ = ["Relevant", "SplitCounts", "parse_line", "read_records"]


def read_records(split: Split, relevant: Relevant | None, counts: SplitCounts) -> Iterator[list[LogRecord]]:
    """The records that start in a split, in batches; those that `relevant` hits, or all.

    `counts` gets what was read and lost.
    """
    if relevant is not None and split.profile.unlike_a_log:
        found = SplitCounts()
        if counted_without_hits(_blocks(split, found), split.end, relevant, found):
            counts.add(found)
            return
    recorder, threads = Recorder(split.file.path, split.profile, counts), DumpedThreads()
    framed = (_without_alike(batch, threads) for batch in _framed(split, relevant, counts, recorder))
    in_bulk = split.profile.plain or split.profile.one_to_one
    yield from recorder.records(framed) if relevant is None or in_bulk else _hit(framed, relevant, recorder)
    for sentence in threads.sentences():
        counts.complain(sentence)


def _without_alike(batch: Batch, threads: DumpedThreads) -> Batch:
    return [each for each in batch if each.line.text[:1] != '"' or not threads.leaves_out(each)]


def _framed(split: Split, relevant: Relevant | None, counts: SplitCounts, recorder: Recorder) -> Iterator[Batch]:
    """The lines of a split framed to records: only the hit ones where the bytes show that."""
    if split.profile.document:
        return in_batches(_frame_document(split, _readable(split, counts, 0), counts))
    to_the_end = FileEnd(split, counts, relevant)
    if relevant is not None and (split.profile.one_to_one or split.profile.plain):
        kind = EnvelopeFramer if split.profile.one_to_one else BulkFramer
        bulk = kind(split.profile, counts, relevant, recorder.see, split.start, split.end)
        return bulk.frame(to_the_end.blocks(_blocks(split, counts), bulk))
    framer = Framer(split.profile, counts, split.start, split.end)
    return in_batches(framer.frame(placed_lines(to_the_end.blocks(_blocks(split, counts), framer), counts, framer)))


def _blocks(split: Split, counts: SplitCounts) -> Iterator[Block]:
    """The lines from the start of a split on, in blocks; padding at the start of a file is no line."""
    at = max(0, split.start - 1 - LOOK_BEHIND)
    chunks = _readable(split, counts, at)
    if at == 0:
        at, chunks = after_padding(chunks)
        counts.bytes += at if split.start == 0 else 0
    chunks = line_feeds(chunks)
    if split.start == 0 and not split.profile.newest_first:
        chunks = _whole_header(split.profile, chunks)
    at, chunks = from_first_line(chunks, at, split.start, split.end)
    yield from whole_lines(chunks, at)


def _whole_header(profile: FileProfile, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks; a first line that lacks the beginning of its header is marked as a continuation."""
    first = next(chunks, b"")
    yield b"\t" + first[1:] if first and Seam(profile).is_severed(first) else first
    yield from chunks


def _readable(split: Split, counts: SplitCounts, start: int) -> Iterator[bytes]:
    """The bytes from `start` on; where the rest cannot be read, that is noted."""
    try:
        yield from chunks_of(split.file.place, start)
    except Damage as damage:
        counts.stop(str(damage), may_pass=damage.may_pass)
    except UNREADABLE as error:
        counts.stop(f"cannot be read further ({error}); what came before was", may_pass=isinstance(error, OSError))


def _frame_document(split: Split, chunks: Iterator[bytes], counts: SplitCounts) -> Iterator[Framed]:
    """The records of a document that has not one record on each line."""
    counted = _counted(chunks, counts)

    def placed() -> Iterator[Placed]:
        try:
            yield from documents.rows(counted, split.profile.document or "")
        except Damage as damage:
            counts.complain(str(damage))

    return Framer(split.profile, counts).frame(placed())


def _counted(chunks: Iterator[bytes], counts: SplitCounts) -> Iterator[bytes]:
    last = b"\n"
    for chunk in chunks:
        counts.bytes += len(chunk)
        counts.lines += chunk.count(b"\n")
        last = chunk[-1:] or last
        yield chunk
    counts.lines += last != b"\n"


def _hit(framed: Iterable[Batch], relevant: Relevant, recorder: Recorder) -> Iterator[list[LogRecord]]:
    """The records that a prefilter hits, searched in batches; of the others only the times are read."""
    for batch in framed:
        texts = [_searched(each) for each in batch]
        ends = list(accumulate(len(text) + 1 for text in texts))
        hit = {bisect_right(ends, at) for at in relevant(b"\n".join(texts))}
        for index, each in enumerate(batch):
            if index in hit:
                yield from recorder.records([[each]])
            else:
                recorder.see(each)


def _searched(framed: Framed) -> bytes:
    """The bytes that the prefilter searches: the record's text, or the message of a JSON record, and its program."""
    text = framed.text()
    if framed.line.fields is not None and (found := parse_fields(framed.line.fields)):
        text = f"{found[1].message} ({found[1].logger})"
    if framed.line.stream:
        text = f"{framed.line.stream}: {text}"
    return text.encode("utf-8", "replace")


def stamp_of(line: str) -> Stamp | None:
    """The time that a line of unknown origin prints, its date and zone perhaps left out."""
    peeled = opened(Line(text=line.partition("\n")[0].rstrip("\r")))
    if not peeled:
        return None
    found = layouts.parse(peeled[0].text) if peeled[0].fields is None else parse_fields(peeled[0].fields)
    return (found[1].stamp if found else None) or peeled[0].local


def parse_line(line: str) -> LogRecord:
    """The record in a text of unknown origin, in any envelope and layout."""
    first, newline, rest = line.rstrip("\r\n").partition("\n")
    peeled = opened(Line(text=first))
    inside = peeled[0] if peeled else Line(text=first)
    if newline:
        inside = replace(inside, text=f"{inside.text}\n{rest}")
    recorder = Recorder("-", FileProfile(envelopes=inside.envelopes), SplitCounts())
    record = recorder.record(Framed(0, 1, inside))
    return replace(record, origin=Origin(path="-", byte_offset=0, line=1))
