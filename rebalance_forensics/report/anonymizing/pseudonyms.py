"""Pseudonyms: one for each name, numbered by kind in the order of first appearance."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

SEGMENT = re.compile(r"(?=[-.])")
INNER = re.compile(r"[-._/:+]")
NUMBERED = re.compile(r"(.+?)(-\d{1,6})?", re.DOTALL)
# A broker id or a Streams task, which identify no owner.
NUMBER = re.compile(r"(?:broker-)?\d+|\d+_\d+")
ADDRESS = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}")
UUID = re.compile(r"([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
TOKEN = re.compile(r"[\w.@…-]+")
# Suffixes that Kafka adds to names: of member ids, Streams threads and clients, internal topics.
WITH_ID = re.compile(
    rf"(.+)-({UUID.pattern})(-(?:Global)?(?:StreamThread|StateUpdater)\S{{0,200}}?|-admin)?(?:-({UUID.pattern}))?",
    re.IGNORECASE,
)
INTERNAL_TOPIC = re.compile(r"-(.+)-((?:changelog|repartition|subscription-\w+-topic)(?:-\d{1,6})?)")
OWN_STORE = re.compile(r"(?:KSTREAM|KTABLE|COGROUPKSTREAM)-[A-Z-]+-\d{10}")
# Kafka's own words at the end of a name, for threads and embedded consumers.
OWN_WORDS = re.compile(
    r"[-.](?:StreamThread|GlobalStreamThread|consumer|restore|producer|admin|task|worker|connector)\b.*"
)
# Words that may be names but reveal nothing about their owner.
NOBODY = frozenset({
    *("closed", "closing", "evicted", "expired", "failed", "joined", "joining", "leaving", "left", "paused"),
    *("rejoined", "removed", "restarted", "started", "stopped", "unread", "unsubscribed", "vanished", "waiting"),
    *("assignment", "broker", "brokers", "client", "cluster", "connect", "connector", "controller", "console"),
    *("consumer", "consumers", "coordinator", "epoch", "generation", "group", "groups", "heartbeat", "host"),
    *("id", "instance", "kafka", "leader", "member", "members", "metadata", "null", "offset", "offsets"),
    *("partition", "partitions", "poll", "process", "producer", "protocol", "rebalance", "server", "session"),
    *("state", "stderr", "stdout", "stream", "streams", "subscription", "task", "tasks", "thread", "topic"),
    *("topics", "worker"),
    *("container", "containerd", "deployment", "docker", "kernel", "kubelet", "node", "pod", "replica", "supervisord"),
    *("statefulset", "systemd"),
})  # fmt: skip
# For these kinds, "orders-3" is partition 3 of "orders".
NUMBERED_KINDS = ("topic", "connector")
SHORTEST_INSIDE = 5


@dataclass(slots=True)
class Pseudonyms:
    """Real name -> pseudonym; grows while a report is rewritten."""

    real: frozenset[str] = frozenset()
    """Real names, which no pseudonym may equal."""
    given: dict[str, str] = field(default_factory=dict)
    numbers: Counter[str] = field(default_factory=Counter)
    taken: set[str] = field(default_factory=set)
    _literal: re.Pattern[str] | None = None
    _uncommon: dict[str, str] = field(default_factory=dict)
    """Names that consist of several tokens, and their forms in JSON."""
    texts: dict[tuple[str, bool], str] = field(default_factory=dict)
    """(text, from a log or not) -> rewritten text: a broker's line appears in each of its groups."""
    tokens: dict[str, str] = field(default_factory=dict)
    """Token -> rewritten token; cleared with each new pseudonym."""

    def of(self, name: str, kind: str) -> str:
        """The pseudonym of a name; a new one if it has none."""
        if not name or NUMBER.fullmatch(name) or name in self.taken or name.startswith("__"):
            return name
        if name not in self.given:
            self._give(name, self._composed(name, kind) or self._new(self._kind(name, kind)))
        return self.given[name]

    def _give(self, name: str, pseudonym: str) -> None:
        self.tokens.clear()
        self.taken.add(pseudonym)
        self.given[name] = pseudonym
        # Steps of a chain abbreviate random ids to their start.
        self.given.setdefault(UUID.sub(r"\1…", name), pseudonym)
        if not TOKEN.fullmatch(name):
            self._uncommon[name] = pseudonym
            self._literal = None
        if (escaped := json.dumps(name)[1:-1]) != name:
            self._uncommon[escaped] = pseudonym
            self._literal = None

    def _kind(self, name: str, kind: str) -> str:
        if UUID.fullmatch(name):
            return "id"
        return "address" if ADDRESS.fullmatch(name) else kind

    def _composed(self, name: str, kind: str) -> str | None:
        # Keep the relation of a name to the one it is made from, and Kafka's own words in it.
        if made := WITH_ID.fullmatch(name):
            head, first, _, middle, second, _ = made.groups()
            owner = "group" if middle else "client" if kind == "member" else kind
            ids = [self.of(part, "id") for part in (first, second) if part]
            return "-".join([self.of(head, owner), ids[0] + (middle or ""), *ids[1:]])
        stem, number = cast("re.Match[str]", NUMBERED.fullmatch(name)).groups()
        if number and kind in NUMBERED_KINDS and self.given.get(stem, "").startswith(kind):
            return self.given[stem] + number
        for cut in (cut.start() for cut in SEGMENT.finditer(name)):
            if name[:cut] in self.given and (internal := INTERNAL_TOPIC.fullmatch(name, cut)):
                store = (
                    internal.group(1) if OWN_STORE.fullmatch(internal.group(1)) else self.of(internal.group(1), "store")
                )
                return f"{self.given[name[:cut]]}-{store}-{internal.group(2)}"
        return None

    def _new(self, kind: str) -> str:
        self.numbers[kind] += 1
        pseudonym = f"{kind}-{self.numbers[kind]}"
        return self._new(kind) if pseudonym in self.real else pseudonym

    def literally(self, text: str) -> str:
        """Rewrite names that are not a single token, because they contain blanks, slashes or punctuation."""
        if not self._uncommon:
            return text
        if self._literal is None:
            longest_first = sorted(self._uncommon, key=lambda name: (-len(name), name))
            either = "|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in longest_first)
            self._literal = re.compile(either)
        return self._literal.sub(lambda found: self._uncommon[found.group()], text)

    def within(self, token: str) -> str:
        """Rewrite a token of a text: a known name, or one with a prefix or a suffix."""
        if token in NOBODY or token in self.taken:
            return token
        if token in self.given:
            return self.given[token]
        cuts = [cut.start() for cut in SEGMENT.finditer(token) if cut.start() > 0]
        for cut in reversed(cuts):
            if token[:cut] in self.given and token[:cut] not in NOBODY:
                return self.given[token[:cut]] + self._rest(token[cut:])
        return token

    def _rest(self, rest: str) -> str:
        # Keep a partition number and Kafka's own words behind a name; give anything else a pseudonym.
        if re.fullmatch(r"[-.](?:\d{1,6}\.?|)", rest) or OWN_WORDS.fullmatch(rest):
            return UUID.sub(lambda found: self.of(found.group(), "id"), rest)
        return rest[0] + self.within_or_new(rest[1:])

    def within_or_new(self, token: str, kind: str = "part") -> str:
        """Rewrite the suffix of a known name, known or not; a partition keeps its number."""
        known = self.within(token)
        if known != token or not token:
            return known
        stem, number = cast("re.Match[str]", NUMBERED.fullmatch(token)).groups()
        return self.of(stem, kind) + (number or "")

    def holds_a_name(self, token: str) -> bool:
        """True if a token contains a known name."""
        edges = [edge.start() for edge in INNER.finditer(token)]
        parts = (
            token[start:end]
            for start in (0, *(edge + 1 for edge in edges))
            for end in (*edges, len(token))
            if end - start >= SHORTEST_INSIDE
        )
        return bool(edges) and any(part in self.given and part not in NOBODY for part in parts)
