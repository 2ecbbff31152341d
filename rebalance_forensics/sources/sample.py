"""A sample of a file: its first lines and some from its middle and end, peeled and parsed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice

from rebalance_forensics.sources import documents, layouts
from rebalance_forensics.sources.codecs import Damage
from rebalance_forensics.sources.containers import UNREADABLE
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.files import InputFile
from rebalance_forensics.sources.layouts.base import Parsed
from rebalance_forensics.sources.opening import chunks_of
from rebalance_forensics.sources.peeling import opened, parse_fields
from rebalance_forensics.sources.text import text_of

_HEAD = 256 << 10
_ELSEWHERE = 32 << 10
_HEAD_RECORDS = 150
_HEAD_LINES = 1500
_LATE_RECORDS = 30


@dataclass(frozen=True, slots=True)
class Sampled:
    """One line of the sample; `parsed` when a record starts with it, `late` when it is not from the beginning.

    `raw` is the line of the file in which it was found, `among` how many that holds.
    """

    line: Line
    layout: str
    parsed: Parsed | None
    late: bool
    raw: str = ""
    among: int = 1


@dataclass(slots=True)
class Sample:
    """What was looked at of one file."""

    head: bytes = b""
    elsewhere: list[bytes] = field(default_factory=list)
    document: str | None = None
    lines: list[Sampled] = field(default_factory=list)
    head_lines: int = 0

    text: str = ""


def sample_of(file: InputFile) -> Sample:
    """Look at a file's beginning, and at its middle and end when they can be reached without reading all of it."""
    head = _bytes_at(file, 0, _HEAD)
    sample = Sample(head=head, document=documents.kind_of(head))
    if sample.document:
        lines = _entries(file, sample.document)
    else:
        lines = list(_lines(head, whole=len(head) < _HEAD))
        sample.elsewhere = [] if file.codec else [_bytes_at(file, at, _ELSEWHERE) for at in _places(file.size)]
    sample.text = b"\n".join((head, *sample.elsewhere)).decode("utf-8", "replace")
    sample.lines.extend(islice(_parsed(lines, late=False), _HEAD_RECORDS))
    sample.head_lines = len(sample.lines)
    for part in sample.elsewhere:
        late = list(_lines(part, whole=False))[1:]
        sample.lines.extend(islice(_parsed(late, late=True), _LATE_RECORDS))
    return sample


def _entries(file: InputFile, kind: str) -> list[Line]:
    """The first entries of a document, as far as they can be read."""
    lines: list[Line] = []
    with suppress(*UNREADABLE, Damage):
        rows = documents.rows(chunks_of(file.location, file.members, 0), kind)
        lines.extend(Line(text=row.text, fields=row.fields) for row in islice(rows, _HEAD_RECORDS))
    return lines


def _places(size: int) -> tuple[int, ...]:
    return (size // 2, size - _ELSEWHERE) if size > 2 * _HEAD else ()


def beginning(file: InputFile, size: int) -> bytes:
    """The first bytes of a file, as far as they can be read."""
    return _bytes_at(file, 0, size)


def _bytes_at(file: InputFile, start: int, size: int) -> bytes:
    """Some bytes of a file; what cannot be read is said when the file is read."""
    data = b""
    try:
        for chunk in chunks_of(file.location, file.members, start):
            data += chunk[: size - len(data)]
            if len(data) >= size:
                break
    except UNREADABLE:
        return data
    return data


def _lines(data: bytes, *, whole: bool) -> Iterator[Line]:
    """The lines of a piece; the last is left out when it may be cut."""
    lines = data.split(b"\n")
    for line in islice(lines if whole else lines[:-1] or lines, _HEAD_LINES):
        yield Line(text=text_of(line[: 64 << 10]))


def _parsed(lines: list[Line], *, late: bool) -> Iterator[Sampled]:
    """The lines that start a record, and the first of those that do not."""
    for line in lines:
        if line.fields is None and line.text[:1] in ("", " ", "\t"):
            continue
        inside = opened(line)
        for each in inside:
            found = parse_fields(each.fields) if each.fields is not None else layouts.parse(each.text)
            layout, parsed = found or (layouts.UNKNOWN, None)
            yield Sampled(each, layout, parsed, late, line.text, len(inside))
