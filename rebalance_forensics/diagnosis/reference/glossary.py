"""What explanations look up: causes and what is behind them, follow-ups, lookalikes, settings, KIPs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from msgspec import Struct, convert

WHERE = "https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals"
Usual = Literal["fault", "planned", "benign", "unknown"]


class Topic(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What `explain` prints of a root cause, of what lies behind one, or of a follow-up rebalance.

    `shows` is how logs show it; `settings` and `kips` are those that matter to it.
    """

    summary: str
    mechanism: str = ""
    shows: str = ""
    remedy: str
    usual: Usual = "unknown"
    settings: tuple[str, ...] = ()
    kips: tuple[str, ...] = ()


class Lookalikes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two causes, and in a sentence what tells them apart."""

    causes: tuple[str, str]
    apart: str


class Glossary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file glossary.yaml."""

    causes: dict[str, Topic]
    settings: dict[str, str]
    kips: dict[str, str]
    follow_ups: dict[str, Topic]
    lookalikes: tuple[Lookalikes, ...]
    links: dict[str, Topic]

    def neighbours_of(self, cause: str) -> Iterator[tuple[str, str]]:
        """Yield each cause that looks like this one, and how to tell them apart."""
        for pair in self.lookalikes:
            if cause in pair.causes:
                yield pair.causes[cause == pair.causes[0]], pair.apart


@cache
def glossary() -> Glossary:
    """The glossary; most reports need none of it."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return convert(yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), Loader=loader), Glossary)  # noqa: S506 - it is safe
