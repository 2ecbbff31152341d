"""Peeling of the lines of a file whose envelopes and layout are known."""

from __future__ import annotations

import re

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.envelopes.base import Line
from rebalance_forensics.sources.layouts.base import NOT_AN_ENVELOPE, Layout
from rebalance_forensics.sources.lines.text import is_jvm_output, is_of_a_trace, is_of_the_host
from rebalance_forensics.sources.profiles.peeler import opened
from rebalance_forensics.sources.profiles.profile import FileProfile

# No line that continues a record begins with a date and a time: such a line is a header without being parsed.
DATED = re.compile(rb"\[?(?:19|20)\d\d-\d\d-\d\d[ T]\d\d:\d\d:\d\d")
_BLANK = ("", " ", "\t")


class Peeler:
    """Peels lines by the file's profile, and in any way that works where the profile is wrong."""

    def __init__(self, profile: FileProfile) -> None:
        known = layouts.by_name()
        self._chain, self._layout = profile.envelopes, profile.layout
        self._expected: tuple[Layout, ...] = tuple(known[name] for name in profile.layouts if name in known)
        self._trusted = tuple(layout for layout in self._expected if layout.rank in NOT_AN_ENVELOPE)
        self._seen: dict[str, set[str]] = {}

    def opened(self, raw: Line) -> list[Line]:
        """The lines in a raw line; a header of the file's own layout, or a continuation, is left as it is."""
        plain = not self._chain and raw.fields is None
        if plain and (raw.text[:1] in _BLANK or any(layout.is_header(raw.text) for layout in self._trusted)):
            return [raw]
        return opened(raw, self._chain, self._layout)

    def single(self, raw: Line) -> Line | None:
        """The line in a raw line of a file whose envelopes hold one each."""
        inside = self.opened(raw)
        return inside[0] if inside else None

    def starts(self, line: Line) -> bool:
        """True if a record starts with a peeled line."""
        return line.begins or self.knows(line)

    def knows(self, line: Line) -> bool:
        """True if a record of a known layout starts with a peeled line."""
        if line.fields is not None:
            return True
        if is_of_the_host(line.stream) and line.text.strip():
            return not is_of_a_trace(line.text)
        if line.text[:1] in _BLANK:
            return False
        if line.at is not None and is_jvm_output(line.text):
            return True  # a container's collector gives what the JVM prints to stderr a time of its own
        return any(layout.is_header(line.text) for layout in self._expected) or self._begins(line)

    def _begins(self, line: Line) -> bool:
        """True if a record starts in a layout that the sample did not have: surely, or as others of its host."""
        if line.host is None:
            return layouts.begins_record(line.text)
        seen = self._seen.setdefault(line.host, set())
        if layouts.begins_record(line.text):
            seen.add(layouts.header_layout(line.text) or layouts.UNKNOWN)
            return True
        return bool(seen) and layouts.header_layout(line.text) in seen
