"""Finds bytes that mark the start of a record in wrapped lines, so that records are counted without unwrapping."""

from __future__ import annotations

from rebalance_forensics.sources.profiles.sample import Sample, Sampled

_INSIDE = 3
_RECOGNISED = 11
_BEFORE = (9, 5, 3, 2)
_MOST = 3


def marks_of(sample: Sample) -> tuple[bytes, ...] | None:
    """Byte strings, one of which is in each raw line that starts a record and in no other line.

    Empty if every line is a record; None if there are no such strings, or if lines contain several records.
    """
    if sample.document or any(line.among != 1 for line in sample.lines):
        return None
    headers = [line for line in sample.lines if line.parsed is not None]
    if any(line.parsed is None and line.begins for line in sample.lines) and _is_syslog(sample, headers):
        return ()
    return next(
        (marks for before in _BEFORE if (marks := _marks(headers, before)) and _are_reliable(marks, sample)), None
    )


def _is_record(line: Sampled) -> bool:
    """True if a line is a JSON object that is a record by itself."""
    return line.line.fields is not None or (line.raw.startswith("{") and line.raw == line.line.text)


def _is_syslog(sample: Sample, headers: list[Sampled]) -> bool:
    """True if every line of a program starts a record; programs such as cron, which log none, do not count."""
    in_records = {(line.line.host, line.line.stream) for line in headers}
    return all(line.begins or (line.line.host, line.line.stream) not in in_records for line in sample.lines)


def _marks(headers: list[Sampled], before: int) -> tuple[bytes, ...] | None:
    """The bytes around the start of the content in each of these lines."""
    found: set[bytes] = set()
    for line in headers:
        mark = mark_in(line.raw.encode(), line.line.text.encode(), before + _INSIDE)
        if not mark or line.line.fields is not None:
            return None
        found.add(mark)
        if len(found) > _MOST:
            return None
    return tuple(sorted(found)) or None


def mark_in(raw: bytes, inside: bytes, length: int) -> bytes:
    """The bytes of a raw line around the start of its content; empty if the content is encoded differently."""
    at = raw.rfind(inside[:_RECOGNISED])
    return raw[max(0, at - length + _INSIDE) : at + _INSIDE] if at >= 0 else b""


def _are_reliable(marks: tuple[bytes, ...], sample: Sample) -> bool:
    """True if the marks occur once in each header and nowhere else."""
    return all(
        sum(line.raw.encode().count(mark) for mark in marks) == (line.parsed is not None) for line in sample.lines
    )
