"""Texts of the page's data taken apart: what they have in common is written once, and so is each name and number."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

WORD = re.compile(r"[\w-]+")
DIGIT = re.compile(r"\d")
HOLE = "\0"
"""Stands where a text differs from others like it. No harmless text holds it: `plain_text` shows it as an escape."""


@dataclass(slots=True)
class Texts:
    """Texts told by their number. The page's script puts them together again from `rows` and `parts`."""

    numbers: dict[str, int] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    """Where each part stands in the list of parts."""
    rows: list[list[int]] = field(default_factory=list)
    """For each text the place of its pattern, then the places of what fills the holes of that pattern."""

    @property
    def parts(self) -> list[str]:
        """Patterns, and what fills their holes."""
        return list(self.places)

    def number_of(self, text: str) -> int:
        """Take a harmless text in, once; give its number."""
        if text not in self.numbers:
            self.numbers[text] = len(self.rows)
            self.rows.append([self._place(part) for part in _parts(text)])
        return self.numbers[text]

    def _place(self, part: str) -> int:
        return self.places.setdefault(part, len(self.places))


def _parts(text: str) -> list[str]:
    """The pattern of a text, then its words with a digit in them: names, numbers and times are what varies."""
    varying: list[str] = []

    def hole(word: re.Match[str]) -> str:
        if not DIGIT.search(word.group()):
            return word.group()
        varying.append(word.group())
        return HOLE

    return [WORD.sub(hole, text), *varying]
