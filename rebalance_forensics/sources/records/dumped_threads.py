"""Threads of a dump: of thousands that look alike, as those of a pool do, some hundred show as much as all of them."""

from __future__ import annotations

import re
from collections import Counter

from rebalance_forensics.sources.records.record_builder import Framed

MOST_ALIKE = 256
# HotSpot's line of a thread; a quoted line of a log begins with a quotation mark as well.
_THREAD = re.compile(r'"[^"\n]{1,400}"(?:[^\n]{0,400}\b(?:tid|nid|prio)=| - Thread t@)')
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")


class DumpedThreads:
    """Counts the threads of each dump that have one name and are in the same calls, but for numbers."""

    def __init__(self) -> None:
        self.left_out = 0
        self._dump: str | None = None
        self._alike: Counter[str] = Counter()

    def leaves_out(self, framed: Framed) -> bool:
        """True for a thread beyond the first that look like it; the same calls in the next dump count anew."""
        if framed.line.text[:1] != '"' or _THREAD.match(framed.line.text) is None:
            return False
        dump = framed.above.text if framed.above is not None else None
        if dump != self._dump:
            self._dump, self._alike = dump, Counter()
        first, *more = framed.line.text.split("\n")
        calls = (line for line in framed.more or more if "at " in line[:8])
        look = "\n".join((first.split('"', 2)[1], *calls)).translate(_WITHOUT_DIGITS)
        self._alike[look] += 1
        if self._alike[look] <= MOST_ALIKE:
            return False
        self.left_out += 1
        return True

    def sentence(self) -> str:
        """What is not read of the dumps."""
        return f"{self.left_out:,} threads in its dumps were left out: each looks like {MOST_ALIKE} others of its dump"
