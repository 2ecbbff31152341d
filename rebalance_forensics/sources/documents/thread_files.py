"""Thread dumps: the text that `jcmd PID Thread.dump_to_file` writes, and JSON dumps below a line with the time."""

# jcmd writes the process id, the time and the JVM's release above the threads. The dumps of an actuator have no time,
# so scripts that collect them print one above each.

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec.structs import replace

from rebalance_forensics.sources.documents import json_values
from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.envelopes.thread_dumps import printed_thread
from rebalance_forensics.sources.lines.text import lines_of, text_of
from rebalance_forensics.sources.times.timestamps import Stamp, read_stamp

_TO_A_FILE = re.compile(r"\d{1,10}\r?\n(?:19|20)\d\d-\d\d-\d\dT[\d:.]+Z\r?\n\d[^\n]{0,80}\n\r?\n#\d+ \"")
_LONGEST_TIME = 60
_BELOW_A_TIME = re.compile(rf"(?P<time>[^\n{{\"]{{8,{_LONGEST_TIME}}}?)\r?\n\s*\{{\s*\"(?:threads|threadDump)\"\s*:")
# JDK 25 prints the state of each thread and the time; JDK 21 prints neither, and no `at` in front of a frame.
_THREAD = re.compile(
    r"#(?P<number>\d+) \"(?P<name>.*)\"(?: virtual)?(?: (?P<state>[A-Z_]+)(?: (?P<time>[\d-]+T[\d:.]+Z))?)?\Z"
)
_CALL = re.compile(r"[ \t]++(?:at )?(?P<call>[^\s(]++\(.*|- .*)")

_Part = tuple[int, int, list[bytes]]


def is_document(text: str) -> bool:
    """True for a file that starts with such a dump."""
    found = _BELOW_A_TIME.match(text)
    return _TO_A_FILE.match(text) is not None or (found is not None and _time(found["time"]) is not None)


def entries(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The threads with their positions, each at its own time or at the one above it."""
    at: Stamp | None = None
    for offset, number, lines in _parts(chunks):
        first = text_of(lines[0])
        if (head := _THREAD.match(first)) is not None:
            found = filter(None, (_CALL.match(text_of(line)) for line in lines[1:]))
            calls = [f"\t{call}" if (call := each["call"]).startswith("- ") else f"\tat {call}" for each in found]
            text = printed_thread(head["name"], head["number"], head["state"], calls)
            yield offset, number, Line(text=text, local=_time(head["time"] or "") or at)
            continue
        at = _time(first) or at
        below = b"".join(lines[1:])
        if below.lstrip()[:1] == b"{":
            for inner, line, entry in json_values.values(iter((below,))):
                yield offset + len(lines[0]) + inner, number + line, replace(entry, local=at)


def _parts(chunks: Iterator[bytes]) -> Iterator[_Part]:
    """The lines of each thread, and those below each time, with the place of the first."""
    lines: list[bytes] = []
    begun = offset = 0
    number = 1
    for raw in lines_of(chunks):
        text = text_of(raw)
        if lines and (_THREAD.match(text) or _time(text)):
            yield begun, number, lines
            number += len(lines)
            begun, lines = offset, []
        lines.append(raw)
        offset += len(raw)
    if lines:
        yield begun, number, lines


def _time(text: str) -> Stamp | None:
    return read_stamp(text.strip()) if text[:1].isalnum() and len(text) <= _LONGEST_TIME else None
