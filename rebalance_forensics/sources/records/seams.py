"""Decides whether a line or a record continues across two files of a rolled log."""

# A log may be rolled between two records, between two lines of one, or by its size in the middle of a line; a log that
# is truncated while it is copied loses bytes there. Two halves of a line are joined only where they show that they
# belong together. A torn line is no record, which is reported where it would have been a relevant one.

from __future__ import annotations

import re

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.layouts.json_fields import object_of
from rebalance_forensics.sources.lines.text import text_of
from rebalance_forensics.sources.profiles.peeler import opened
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.profiles.torn_lines import ends_with_logger, fit, has_form_of, is_severed
from rebalance_forensics.sources.records.profiled_peeler import DATED, Peeler

_LINE_BYTES = 64 << 10
# Lines before the end of a file among which its last header is sought.
_MAX_SEARCHED = 200
_ENDS_WITH_LOGGER = re.compile(rb" \([\w$./-]+\)\s*\Z")


class Seam:
    """Classifies the lines at the ends and beginnings of a rolled log's files."""

    def __init__(self, profile: FileProfile) -> None:
        self.profile = profile
        self._peeler = Peeler(profile)

    def begins(self, raw: bytes) -> bool:
        """True if a record starts with a line, by the same rules as the framers'."""
        if not self.profile.envelopes and DATED.match(raw):
            return True
        return any(self._peeler.starts(line) for line in self._peeler.opened(_line(raw)))

    def first_record(self, head: bytes) -> int:
        """The start of the first record after lines that continue an earlier one; the end where there is none."""
        at = 0
        while at < len(head):
            stop = head.find(b"\n", at) + 1 or len(head)
            if self.begins(head[at:stop]) and not (at == 0 and self.is_severed(head)):
                break
            at = stop
        return at

    def is_severed(self, head: bytes) -> bool:
        """True if a file begins after the first bytes of a record, `6-11-20 10:15:30` of `2026-11-20 10:15:30`."""
        # Such a rest may look like a header of another layout, or like one of another year.
        first, _, rest = head[:_LINE_BYTES].partition(b"\n")
        if (
            self.profile.layout == layouts.UNKNOWN
            or first.startswith(self.profile.starts or b"\n")
            or not self.begins(first)
        ):
            return False
        other = next((line for line in rest.split(b"\n") if self._is_usual(line)), b"")
        return is_severed(first, other, self._is_usual, continued=self.profile.continued)

    def go_together(self, end: bytes, start: bytes, corpus: bytes) -> bool:
        """True if the end of a file and the start of the next, which is no header, are surely halves of one line.

        `corpus` are whole lines of the two files: the words at the seam should stand together in others.
        """
        whole = end + start
        if self.profile.cut_by_size:
            return True
        if end.lstrip()[:1] == b"{":
            return object_of(text_of(whole)) is not None and object_of(text_of(end)) is None
        if not self._is_usual(end) and self._is_usual(whole):
            other = next((line for line in corpus.split(b"\n") if self._is_usual(line)), b"")
            return has_form_of(whole, other) and fit(end, start, corpus) is not False
        fitting = fit(end, start, corpus)
        if self._is_usual(end) and self.profile.closed:
            return fitting is not False and not self.is_closed(end) and self.is_closed(whole)
        if self._is_usual(end):
            return fitting is True
        return fitting is not False and not self.is_torn(end)

    def goes_on(self, before: bytes, line: bytes) -> bool:
        """True if the last record of a file may continue with the next file's first line, which is no header."""
        # Not so where both end with a logger: each is then the end of a record of its own.
        if not self.profile.closed or line[:1] in (b" ", b"\t") or not _ENDS_WITH_LOGGER.search(line):
            return True
        lines = before.split(b"\n") if before.count(b"\n") <= _MAX_SEARCHED else before.rsplit(b"\n", _MAX_SEARCHED)[1:]
        last = next((each for each in reversed(lines) if each and self.begins(each)), None)
        return last is None or not self.is_closed(last)

    def is_torn(self, end: bytes) -> bool:
        """True if a line without a line end is visibly incomplete."""
        if end.endswith((b"\r", b"\n")):
            return False
        if end.lstrip()[:1] == b"{":
            return object_of(text_of(end)) is None
        if self._is_usual(end):
            return self.profile.closed and not self.is_closed(end)
        if self.profile.envelopes and not _inside(end, self.profile).envelopes:
            return True
        text = _inside(end, self.profile).text.encode()
        known, found = layouts.by_name().get(self.profile.layout), layouts.parse(text.decode())
        begun = known is not None and len(text) > 1 and text.startswith(known.starts)
        return begun and not (found and found[1].level)

    def _is_usual(self, raw: bytes) -> bool:
        """True if a record in the file's main layout starts with a line."""
        layout = layouts.by_name().get(self.profile.layout)
        return layout is not None and layout.is_header(_inside(raw, self.profile).text)

    def is_closed(self, raw: bytes) -> bool:
        """True if a record ends with its logger, as those of this file do."""
        text = _inside(raw, self.profile).text
        found = layouts.parse(text, self.profile.layout)
        return found is not None and ends_with_logger(text, found[1])


def _line(raw: bytes) -> Line:
    return Line(text=text_of(raw[:_LINE_BYTES]))


def _inside(raw: bytes, profile: FileProfile) -> Line:
    """The line inside a raw line's envelope."""
    if not profile.envelopes:
        return _line(raw)
    return next(iter(opened(_line(raw), profile.envelopes, profile.layout)), _line(raw))
