"""Limits the threads that are read from a dump: a few hundred of a pool show as much as thousands."""

from __future__ import annotations

import re
from collections import Counter

from rebalance_forensics.sources.records.record_builder import Framed

MOST_ALIKE = 256
# If all have different names and calls. A poll loop is not one of a thousand threads with the same name, and threads
# with frames of a Kafka client are always read.
MOST_OF_A_NAME = 1024
MOST_OF_A_DUMP = 2048
# HotSpot's header of a thread; a quoted log line also starts with a quotation mark.
_THREAD = re.compile(r'"[^"\n]{1,400}"(?:[^\n]{0,400}\b(?:tid|nid|prio)=| - Thread t@)')
_WORD = re.compile(r"\w+")
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")


class DumpedThreads:
    """Counts the threads of each dump with the same name except for numbers, and those with the same calls."""

    def __init__(self) -> None:
        self.alike = self.different = 0
        self._dump: object = None
        self._seen: Counter[str] = Counter()

    def leaves_out(self, framed: Framed) -> bool:
        """True for a thread beyond the limit for its kind; each dump is counted separately."""
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
        """Sentences about threads that were not read."""
        alike = f"{self.alike:,} threads in its dumps were left out: each looks like {MOST_ALIKE} others of its dump"
        different = (
            f"{self.different:,} threads in its dumps were left out: of those that differ, {MOST_OF_A_DUMP:,} of a "
            f"dump are read, {MOST_OF_A_NAME:,} of one name, and all in which a client of Kafka shows"
        )
        return [alike] * (self.alike > 0) + [different] * (self.different > 0)
