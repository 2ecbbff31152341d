"""Which templates a message may be of: by how it begins, then by the longest words in it."""

from __future__ import annotations

from collections.abc import Iterable

from rebalance_forensics.catalog.compiled import Entry

_WIDTHS = (24, 12, 6, 3)
"""Leads are looked up by as many of their first characters as one of these; the longest that fits."""


class Index:
    """Templates by the beginning of their messages."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._by_lead: dict[int, dict[str, list[Entry]]] = {width: {} for width in _WIDTHS}
        self._anywhere: list[Entry] = []
        for entry in entries:
            width = next((width for width in _WIDTHS if len(entry.lead) >= width), None)
            if width is None:
                self._anywhere.append(entry)
            else:
                self._by_lead[width].setdefault(entry.lead[:width], []).append(entry)

    def candidates(self, message: str) -> list[Entry]:
        """The templates whose lead and longest words the message has."""
        found = [entry for entry in self._anywhere if entry.needle in message and message.startswith(entry.lead)]
        for width, table in self._by_lead.items():
            for entry in table.get(message[:width], ()):
                if entry.needle in message:
                    found.append(entry)
        return found
