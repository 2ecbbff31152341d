"""HotSpot's hs_err file: one record of the fatal error and its time."""

# JDK 11 and later print the time near the top, JDK 8 and older at the very end, after the registers, the stacks of all
# threads and the libraries.

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from rebalance_forensics.sources.envelopes.base import Line, Placed
from rebalance_forensics.sources.lines.text import lines_of
from rebalance_forensics.sources.times.timestamps import Stamp

_BEGINS = (
    "# A fatal error has been detected by the Java Runtime",
    "# There is insufficient memory for the Java Runtime",
)
_SECTION = re.compile(r"^-{15}  [A-Z] [A-Z ]*-{10,}", re.MULTILINE)
_TIME = re.compile(r"[Tt]ime: [A-Z][a-z]{2} (?P<time>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})(?: (?P<zone>\S+))?")
_ZONE = re.compile(r"timezone: (?P<zone>\S+)")
_IN_UTC = ("UTC", "GMT", "Z", "+00:00")
# What identifies the process: the command line, and the list of its threads, of which a server has thousands.
_COMMAND = re.compile(r"(?:Command Line|java_command): |Java Threads: ")
_OF_A_CONSUMER = re.compile(
    r"(?:=>)?\s*0x[0-9a-f]+ JavaThread \"(?:kafka-coordinator-heartbeat-thread|consumer_background)"
)
_MOST_THREADS = 200
_USED = re.compile(r"\s.{3,40}\btotal \d+[KM], used \d+[KM]")


def is_document(text: str) -> bool:
    """True for an hs_err file; its first lines alone also appear in the standard output of the process."""
    head = text.lstrip("#\r\n ")
    return f"# {head}".startswith(_BEGINS) and _SECTION.search(text) is not None


def entries(chunks: Iterator[bytes]) -> Iterator[Placed]:
    """The error with its frame and the heap, at the time when the process ended."""
    quoted: list[str] = []
    time = zone = None
    in_heap = False
    begun: int | None = None
    number = offset = threads = 0
    for at, raw in enumerate(lines_of(chunks), 1):
        text = raw.rstrip(b"\r\n").decode("utf-8", "replace")
        if begun is None:
            if text.startswith(_BEGINS):
                begun, number = offset, at
            offset += len(raw)
        # The heap history further below has the sizes before and after earlier collections.
        in_heap = text == "Heap:" or (in_heap and text != "")
        if begun is None:
            continue
        if text.startswith("#") or _COMMAND.match(text) or (in_heap and _USED.match(text)):
            quoted.append(text)
        elif threads < _MOST_THREADS and _OF_A_CONSUMER.match(text):
            threads += 1
            quoted.append(text)
        found = None if time else _TIME.match(text)
        time, zone = (found["time"], found["zone"]) if found else (time, zone)
        if zone is None and (found := _ZONE.match(text)):
            zone = found["zone"]
    if begun is not None:
        stamp = _stamp(time, zone) if time else None
        yield begun, number, Line(text="\n".join(quoted), local=stamp)


def _stamp(time: str, zone: str | None) -> Stamp | None:
    try:
        moment = datetime.strptime(" ".join(time.split()) + " +0000", "%b %d %H:%M:%S %Y %z")
    except ValueError:  # a month of another language, or a leap second
        return None
    return Stamp(round(moment.timestamp() * 1000), 0 if zone in _IN_UTC else None)
