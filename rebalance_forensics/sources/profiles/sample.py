"""Samples a file: its first lines and some from its middle and end, unwrapped and parsed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics.sources import documents, layouts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.files.codecs import Damage
from rebalance_forensics.sources.files.containers import UNREADABLE
from rebalance_forensics.sources.files.decompression import chunks_of
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.layouts.base import OWN_HEADER, Parsed
from rebalance_forensics.sources.layouts.split_messages import awaits_message
from rebalance_forensics.sources.lines.cut_lines import cut_column
from rebalance_forensics.sources.lines.line_ends import after_padding, line_feeds
from rebalance_forensics.sources.lines.text import is_of_the_host, text_of
from rebalance_forensics.sources.pastes import recognition
from rebalance_forensics.sources.profiles.peeler import opened, parse_fields
from rebalance_forensics.sources.profiles.torn_lines import is_severed

_HEAD = 256 << 10
_ELSEWHERE = 32 << 10
_HEAD_RECORDS = 150
_HEAD_LINES = 1500
_LATE_RECORDS = 30
# Lines read for each requested record: logged configurations are long.
_MOST_LINES = 4
_BLANK = ("", " ", "\t")
_PASTED = ("indented",)
_TIMES_IN_FRONT = "timestamp-prefix"
_NO_LAYOUT = "bare-message"
_WORDS = re.compile(rb"[A-Za-z]{2}[^\s\w]{0,3} ")
_NOT_TYPED = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Sampled(Struct, frozen=True):
    """One line of the sample; `parsed` if a record starts with it, `late` if it is not from the start of the file.

    `raw` is the line of the file that contains it, `among` how many lines that contains.
    """

    line: Line
    layout: str
    parsed: Parsed | None
    late: bool
    raw: str = ""
    among: int = 1

    @property
    def begins(self) -> bool:
        """True for a record, and for lines of the kernel or a supervisor in syslog, which have no layout."""
        return self.parsed is not None or is_of_the_host(self.line.stream)


@dataclass(slots=True)
class Sample:
    """The sample of one file."""

    head: bytes = b""
    elsewhere: list[bytes] = field(default_factory=list)
    document: str | None = None
    lines: list[Sampled] = field(default_factory=list)
    head_lines: int = 0
    cut_at: int | None = None
    """The column at which its lines were truncated."""

    text: str = ""


def sample_of(file: InputFile) -> Sample:
    """Sample the start of a file, and its middle and end if they can be reached without reading all of it."""
    head = _lines_at(file, 0, _HEAD)
    sample = Sample(head=head, document=documents.kind_of(head))
    if sample.document:
        lines = _entries(file, sample.document)
    else:
        lines = list(_lines(head, whole=len(head) < _HEAD))
        sample.elsewhere = [] if file.codec else [_lines_at(file, at, _ELSEWHERE) for at in _places(file.size)]
    sample.text = b"\n".join((head, *sample.elsewhere)).decode("utf-8", "replace")
    first = _parsed(lines, _HEAD_RECORDS)
    chain, layout = _usual(first)
    if _TIMES_IN_FRONT not in chain and any(_goes_on(line) for line in first):
        chain, layout = (*chain, _TIMES_IN_FRONT), None
    if chain or not any(line.parsed for line in first):
        first = _parsed(lines, _HEAD_RECORDS, chain or _PASTED, layout)
    first = _without_severed(first)
    sample.cut_at = _cut_at(lines, first)
    if sample.document is None and _is_paste(file, sample, first):
        sample.document, sample.cut_at = documents.PASTE, None
        first = _parsed([line for _, _, line in documents.rows(iter((sample.head,)), documents.PASTE)], _HEAD_RECORDS)
        sample.elsewhere = []
    sample.lines, sample.head_lines = first, len(first)
    for part in sample.elsewhere:
        late = _parsed(list(_lines(part, whole=False))[1:], _LATE_RECORDS, chain, layout)
        sample.lines.extend(replace(line, late=True) for line in late)
    return sample


def _cut_at(lines: Sequence[Line], first: Sequence[Sampled]) -> int | None:
    """The column at which a file's lines were truncated: those inside an envelope, or all of them."""
    if any(line.line.envelopes for line in first):
        return cut_column([(line.line.text, line.parsed is not None) for line in first if line.among == 1])
    begun = {line.raw for line in first if line.parsed}
    last = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].text in begun), -1)
    return cut_column([(line.text, line.text in begun) for line in lines[: last + 1]])


def _is_paste(file: InputFile, sample: Sample, first: Sequence[Sampled]) -> bool:
    """True if a file has to be restored to the original log before it can be read."""
    if file.size > recognition.LARGEST or _NOT_TYPED.search(sample.head) or not _WORDS.search(sample.head):
        return False
    begun = [line for line in first if line.begins]
    if all(line.layout == _NO_LAYOUT for line in begun):
        return True
    headers = [line.raw for line in begun]
    return recognition.is_broken(sample.head.decode("utf-8", "replace"), headers, cut=sample.cut_at is not None)


def _without_severed(first: list[Sampled]) -> list[Sampled]:
    """The first lines, except one whose header lost its start: its time would be in another year."""
    if not first or not first[0].parsed or first[0].line.fields is not None:
        return first
    other = next((line for line in first[1:] if line.parsed and line.layout != first[0].layout), first[0])
    layout = layouts.by_name()[other.layout]

    def is_usual(raw: bytes) -> bool:
        return layout.is_header(text_of(raw))

    untimed = other.parsed and other.parsed.stamp and not first[0].parsed.stamp
    severed = untimed or is_severed(first[0].raw.encode(), other.raw.encode(), is_usual, continued=True)
    return first[1:] if severed else first


def _usual(lines: Sequence[Sampled]) -> tuple[tuple[str, ...], str | None]:
    """The envelopes and the layout of most lines that certainly start a record."""
    # After a shipper's time any line looks like the start of a record, and so does each line of a configuration in
    # separate entries; those count only if there are no others.
    known = layouts.by_name()
    sure = [line for line in lines if line.parsed and (known[line.layout].rank in OWN_HEADER or line.parsed.level)]
    begun = [line for line in sure if line.parsed and line.parsed.message[:1] not in _BLANK]
    usual = Counter((line.line.envelopes, line.layout) for line in begun or sure).most_common(1)
    return usual[0][0] if usual else ((), None)


def _entries(file: InputFile, kind: str) -> list[Line]:
    """The first readable entries of a document."""
    lines: list[Line] = []
    with suppress(*UNREADABLE, Damage):
        rows = documents.rows(chunks_of(file.place), kind)
        lines.extend(line for _, _, line in islice(rows, _HEAD_RECORDS))
    return lines


def _places(size: int) -> tuple[int, ...]:
    return (size // 2, size - _ELSEWHERE) if size > 2 * _HEAD else ()


def beginning(file: InputFile, size: int) -> bytes:
    """The first readable bytes of a file."""
    return _taken(chunks_of(file.place), size)


def has_line_end(file: InputFile) -> bool | None:
    """True if a file's last line has a line end; None for a compressed file, which would have to be read to the end."""
    return None if file.codec or file.members else _taken(chunks_of(file.place, max(0, file.size - 1)), 1) == b"\n"


def first_lines(file: InputFile, size: int) -> tuple[int, bytes]:
    """The number of padding bytes at the start of a file, and the bytes after them; every line ends with LF."""
    chunks = chunks_of(file.place)
    try:
        skipped, chunks = after_padding(chunks)
    except UNREADABLE:
        return 0, b""
    return skipped, _taken(line_feeds(chunks), size)


def _lines_at(file: InputFile, start: int, size: int) -> bytes:
    """Some bytes of a file; errors are reported when the file is read."""
    if start == 0:
        return first_lines(file, size)[1]
    return _taken(line_feeds(chunks_of(file.place, start)), size)


def _taken(chunks: Iterator[bytes], size: int) -> bytes:
    taken = bytearray()
    try:
        for chunk in chunks:
            taken += chunk[: size - len(taken)]
            if len(taken) >= size:
                break
    except UNREADABLE:
        return bytes(taken)
    return bytes(taken)


def _lines(data: bytes, *, whole: bool) -> Iterator[Line]:
    """The lines of a piece, without the last one if it may be incomplete."""
    lines = data.split(b"\n")
    for line in islice(lines if whole else lines[:-1] or lines, _HEAD_LINES):
        yield Line(text=text_of(line[: 64 << 10]))


def _goes_on(line: Sampled) -> bool:
    """True if a line that starts with a time continues a record: the time is the collector's."""
    if line.layout != "dated-message" or line.parsed is None or line.parsed.level:
        return False
    rest = line.line.text[layouts.end_of_time(line.line.text) :]
    return rest.startswith((" \t", "\t\t", "   ")) or rest.lstrip().startswith(("at ", "Caused by: "))


def _parsed(lines: Sequence[Line], most: int, chain: Sequence[str] = (), layout: str | None = None) -> list[Sampled]:
    """Up to `most` lines that start a record, and the lines between them."""
    found: list[Sampled] = []
    headers, waiting = 0, False
    for line in lines:
        if line.fields is None and line.text[:1] in _BLANK and not chain and not waiting:
            continue
        inside = opened(line, chain, layout)
        for each in inside:
            name, parsed = _read(each) or (layouts.UNKNOWN, None)
            if parsed is not None and waiting and parsed.stamp is None and parsed.logger is None:
                name, parsed = layouts.UNKNOWN, None  # the message of the header above, in any format
            waiting = parsed is not None and each.fields is None and awaits_message(parsed.message)
            found.append(Sampled(each, name, parsed, late=False, raw=line.text, among=len(inside)))
            headers += parsed is not None
        if headers >= most or len(found) >= _MOST_LINES * most:
            break
    return found


def _read(line: Line) -> tuple[str, Parsed] | None:
    if line.fields is not None:
        return parse_fields(line.fields)
    return None if line.text[:1] in _BLANK else layouts.parse(line.text)
