"""Detects lines that are only a part of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from msgspec.structs import replace

from rebalance_forensics.records import LEFT_OUT, LogRecord
from rebalance_forensics.sources.layouts.base import Parsed

_FORM_BYTES = 10
_TIME_BYTES = 24
_HEADER_BYTES = 64
# The number of bytes on either side of a cut that are searched for together.
_CUT_BYTES = 8
_SURE_LOGGERS = 2
_DIGIT = re.compile(rb"\d")


def is_severed(first: bytes, other: bytes, is_usual: Callable[[bytes], bool], *, continued: bool = False) -> bool:
    """True if the first line of a file lacks the start of its header, compared with another line with a whole one."""
    # Such a rest may look like a header of another layout or of another year: `6-11-20 10:15:30`. If the file is known
    # to continue another, all but the end of the header may be missing.
    form = _form(other)
    if not other or _form(first) == form:
        return False
    return any(
        _form(other[:size] + first) == form and not is_usual(other[:size]) and is_usual(other[:size] + first)
        for size in range(1, _HEADER_BYTES if continued else _FORM_BYTES)
    )


def has_form_of(line: bytes, other: bytes) -> bool:
    """True if two lines start alike, except for digits, over the length of a time."""
    return _DIGIT.sub(b"9", line[:_TIME_BYTES]) == _DIGIT.sub(b"9", other[:_TIME_BYTES])


def fit(end: bytes, start: bytes, corpus: bytes) -> bool | None:
    """True if two halves of a line fit together like other lines of the log; None if the log has neither half."""
    # They do not fit if one of them occurs elsewhere in the log, but never next to text like the other.
    end, start, corpus = (_DIGIT.sub(b"9", each) for each in (end[-_CUT_BYTES:], start[:_CUT_BYTES], corpus))
    if end + start in corpus:
        return True
    return False if end in corpus or start in corpus else None


def ends_with_logger(text: str, parsed: Parsed) -> bool:
    """True if a record ends with its logger in parentheses."""
    return bool(parsed.logger) and text.rstrip().endswith(f"({parsed.logger})")


def marked_if_torn(batches: Iterable[list[LogRecord]]) -> Iterator[list[LogRecord]]:
    """The records of a file; if all but the last end with their logger, the last one is marked as truncated."""
    pending: list[LogRecord] = []
    loggers, strangers = 0, False
    try:
        for batch in batches:
            if not batch:
                continue
            if pending and not strangers:
                own = _ending_a_line(pending)
                loggers, strangers = loggers + own, own < len(pending)
            yield pending
            pending = batch
    except Exception:
        yield pending  # if reading fails, the records before are passed on
        raise
    if pending and not strangers:
        own = _ending_a_line(pending[:-1])
        if loggers + own >= _SURE_LOGGERS and own == len(pending) - 1:
            pending = [*pending[:-1], _torn(pending[-1])]
    yield pending


def _ending_a_line(records: Iterable[LogRecord]) -> int:
    """The number of records with their logger in parentheses on the first line."""
    return sum([record.logger is not None and f"({record.logger}" in record.text for record in records])


def _torn(last: LogRecord) -> LogRecord:
    """The record with an ellipsis for what was cut off; a record without a level is output of a JVM that died."""
    headed = last.level is not None and not last.bare and "\n" not in last.message
    torn = headed and last.logger is None and LEFT_OUT not in last.message
    return replace(last, message=f"{last.message}{LEFT_OUT}") if torn else last


def _form(line: bytes) -> bytes:
    """The first bytes of a line, with digits masked."""
    return _DIGIT.sub(b"9", line[:_FORM_BYTES])
