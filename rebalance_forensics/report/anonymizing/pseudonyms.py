"""Pseudonyms: each name gets one, by its kind and in the order it is first seen."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

SEGMENT = re.compile(r"(?=[-.])")
BROKER = re.compile(r"(?:broker-)?\d+")
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
# Words of Kafka's own that end a name: what a thread or an embedded consumer is called.
OWN_WORDS = re.compile(
    r"[-.](?:StreamThread|GlobalStreamThread|consumer|restore|producer|admin|task|worker|connector)\b.*"
)


@dataclass(slots=True)
class Pseudonyms:
    """Real name -> pseudonym; grows while a report is rewritten."""

    real: frozenset[str] = frozenset()
    """Names that somebody has, so that no pseudonym is one of them."""
    given: dict[str, str] = field(default_factory=dict)
    numbers: Counter[str] = field(default_factory=Counter)
    taken: set[str] = field(default_factory=set)

    def of(self, name: str, kind: str) -> str:
        """Give a name its pseudonym, a new one where it has none."""
        if not name or BROKER.fullmatch(name) or name in self.taken or name.startswith("__"):
            return name
        if name not in self.given:
            if UUID.fullmatch(name):
                kind = "id"
            elif ADDRESS.fullmatch(name):
                kind = "address"
            self.given[name] = self._new(kind)
            self.taken.add(self.given[name])
        return self.given[name]

    def _new(self, kind: str) -> str:
        self.numbers[kind] += 1
        pseudonym = f"{kind}-{self.numbers[kind]}"
        return self._new(kind) if pseudonym in self.real else pseudonym

    def within(self, token: str) -> str:
        """Rewrite a token of a text: a known name, or a known name with more behind it, as a partition has."""
        if token in self.given:
            return self.given[token]
        cuts = [cut.start() for cut in SEGMENT.finditer(token) if cut.start() > 0]
        for cut in reversed(cuts):
            if token[:cut] in self.given:
                return self.given[token[:cut]] + self._rest(token[cut:])
        return token

    def _rest(self, rest: str) -> str:
        """Keep a partition number and Kafka's own words behind a name; give anything else a pseudonym."""
        if re.fullmatch(r"[-.](?:\d{1,6}\.?|)", rest) or OWN_WORDS.fullmatch(rest):
            return UUID.sub(lambda found: self.of(found.group(), "id"), rest)
        return rest[0] + self.within_or_new(rest[1:])

    def within_or_new(self, token: str) -> str:
        """Rewrite what stands behind a known name, be it known or not."""
        known = self.within(token)
        return known if known != token or not token else self.of(token, "part")
