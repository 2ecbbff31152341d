"""Normalizes line ends: CR, runs of NUL and byte order marks become line feeds, and offsets stay the same."""

# Old Macs and some appliances end lines with CR. A run of NUL is left where nothing was written, by a crash or by a log
# that was truncated while its writer kept its position (`copytruncate`); a byte order mark within a file is where
# another file was appended. The text after either is unrelated to the text before it.

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

NUL = b"\x00"
LOOK_BEHIND = 32
"""Bytes before a position that decide whether a line starts there."""

# This many NULs within a line are padding; fewer may be part of a logged key.
_PADDING_BYTES = 16
_MOST_PENDING = 64 << 10
_BOM = rb"\xef\xbb\xbf|\xff\xfe|\xfe\xff"
_LONE_CR = re.compile(rb"\r(?!\n|\Z)")
_MARK = re.compile(_BOM)
_PADDING = re.compile(rb"(\r?\n)?((?:\x00+|" + _BOM + rb")+)(?=([\r\n])?)")
_LEADING = re.compile(rb"(?:\x00+|" + _BOM + rb")*")
_PADDING_GOES_ON = bytes(LOOK_BEHIND)
_NULS = bytes(1 << 20)
# Bytes that the next ones may turn into padding, or continue.
_UNDECIDED = b"\x00\xef\xbb\xbf\xff\xfe"


def line_feeds(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same number of bytes with LF or CRLF at the end of each line."""
    # The line end before padding is moved after it, so that the next line starts with its text and the number of lines
    # stays the same. Padding within a line ends that line. A CR at the very end stays: an LF may follow it in another
    # file.
    pending = b""
    for chunk in chunks:
        if pending.endswith(_PADDING_GOES_ON) and is_nul(chunk):
            # It means the same before the pending padding as after it.
            yield chunk
            continue
        data = pending + chunk if pending else chunk
        decided = _decided(data)
        pending = data[decided:]
        if decided:
            yield _with_line_feeds(data[:decided] if pending else data, pending[:1])
        if len(pending) > _MOST_PENDING:
            surplus, pending = _shortened(pending)
            yield surplus
    if pending:
        yield _with_line_feeds(pending, b"")


def is_nul(data: bytes) -> bool:
    """True if all bytes are NUL; holes of a sparse file are compared as a block, not byte by byte."""
    return data == (_NULS if len(data) == len(_NULS) else bytes(len(data)))


def after_padding(chunks: Iterator[bytes]) -> tuple[int, Iterator[bytes]]:
    """The number of padding bytes at the start of a file, and the chunks after them."""
    skipped, pending = 0, b""
    for chunk in chunks:
        pending += chunk
        match = _LEADING.match(pending)
        cut = match.end() if match else 0
        skipped, pending = skipped + cut, pending[cut:]
        # A mark may continue in the next chunk.
        if len(pending) >= len(_UNDECIDED) or (pending and pending[:1] not in (b"\xef", b"\xff", b"\xfe")):
            break
    return skipped, chain((pending,), chunks) if pending else chunks


def _decided(data: bytes) -> int:
    """The length of the prefix that does not depend on the bytes that follow."""
    if data[-1:] not in (b"\n", b"\r") and data[-1] not in _UNDECIDED:
        return len(data)
    end = len(data.rstrip(_UNDECIDED))
    end -= data.endswith(b"\n", 0, end)
    return end - data.endswith(b"\r", 0, end)


def _with_line_feeds(data: bytes, following: bytes) -> bytes:
    """The bytes with LF or CRLF, given what follows."""
    # Four searches for a byte usually find nothing to do.
    size = len(data)
    if b"\r" in data:
        data = _LONE_CR.sub(b"\n", data + following)[:size]
    if NUL in data or ((b"\xef" in data or b"\xff" in data) and _MARK.search(data)):
        data = _PADDING.sub(_moved, data + following)[:size]
    return data


def _moved(match: re.Match[bytes]) -> bytes:
    size, end = len(match[0]), match[1] or b""
    if match[3] is not None:
        return end + bytes(size - len(end))
    if not end and size < _PADDING_BYTES and not match[2].strip(NUL):
        return bytes(size)
    return bytes(size - 1) + b"\n"


def _shortened(pending: bytes) -> tuple[bytes, bytes]:
    """The part of a long run of padding that can be passed on, and enough of the rest to recognize it."""
    pending = _LONE_CR.sub(b"\n", pending)
    match = _PADDING.match(pending)
    if match is None or match.end() < len(pending) - LOOK_BEHIND:
        starts = [run.start() for run in _PADDING.finditer(pending) if run.end() >= len(pending) - len(_UNDECIDED)]
        decided = min([len(pending) - len(_UNDECIDED), *starts])
        return _with_line_feeds(pending[:decided], pending[decided : decided + 1]), pending[decided:]
    kept = (match[1] or b"") + bytes(LOOK_BEHIND) + pending[match.end() :]
    return bytes(len(pending) - len(kept)), kept
