"""What syslog daemons do to the text of a line."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources.envelopes.base import Line, TextEnvelope

_ESCAPED = (("#011", "\t"), ("#033[", "\x1b["))
"""How rsyslog writes the control characters that logs hold: tabs and colours."""


class SyslogEnvelope(TextEnvelope, frozen=True, kw_only=True):
    """An envelope that may escape control characters."""

    def peel(self, line: Line) -> Sequence[Line] | None:
        """The line inside."""
        inside = TextEnvelope.peel(self, line)
        return None if inside is None else tuple(replace(each, text=_unescaped(each.text)) for each in inside)


def _unescaped(text: str) -> str:
    if "#0" in text:
        for written, meant in _ESCAPED:
            text = text.replace(written, meant)
    return text
