"""Threads of a dump: of thousands, some hundred of a pool show as much as all of them."""

from __future__ import annotations

import re
from collections import Counter

from rebalance_forensics.sources.records.record_builder import Framed

MOST_ALIKE = 256
# Where all have names and calls of their own. A poll loop is not among a thousand threads of one name, and those in
# which a client of Kafka shows are read in any case.
MOST_OF_A_NAME = 1024
MOST_OF_A_DUMP = 2048
# HotSpot's line of a thread; a quoted line of a log begins with a quotation mark as well.
_THREAD = re.compile(r'"[^"\n]{1,400}"(?:[^\n]{0,400}\b(?:tid|nid|prio)=| - Thread t@)')
_WORD = re.compile(r"\w+")
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")


class DumpedThreads:
    """Counts the threads of each dump that have one name, but for numbers, and those that make the same calls, too."""

    def __init__(self) -> None:
        self.alike = self.different = 0
        self._dump: object = None
        self._seen: Counter[str] = Counter()

    def leaves_out(self, framed: Framed) -> bool:
        """True for a thread beyond the first of its kind; the same calls in the next dump count anew."""
        line = framed.line
        if _THREAD.match(line.text) is None:
            return False
        dump = framed.above.text if framed.above is not None else (line.at, line.local)
        if dump != self._dump:
            self._dump, self._seen = dump, Counter()
        first, *more = line.text.split("\n")
        calls = "\n".join(each for each in framed.more or more if "at " in each[:8])
        name = " ".join(word for word in _WORD.findall(first.split('"', 2)[1]) if word.isalpha())
        look = f"{name}\n{calls.translate(_WITHOUT_DIGITS)}"
        self._seen[look] += 1
        if self._seen[look] > MOST_ALIKE:
            self.alike += 1
            return True
        if (self._seen[name] < MOST_OF_A_NAME and self._seen[""] < MOST_OF_A_DUMP) or "kafka" in look:
            self._seen.update((name, ""))
            return False
        self.different += 1
        return True

    def sentences(self) -> list[str]:
        """What is not read of the dumps."""
        alike = f"{self.alike:,} threads in its dumps were left out: each looks like {MOST_ALIKE} others of its dump"
        different = (
            f"{self.different:,} threads in its dumps were left out: of those that differ, {MOST_OF_A_DUMP:,} of a "
            f"dump are read, {MOST_OF_A_NAME:,} of one name, and all in which a client of Kafka shows"
        )
        return [alike] * (self.alike > 0) + [different] * (self.different > 0)
