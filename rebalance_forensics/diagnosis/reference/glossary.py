"""The glossary for explanations: causes, causes behind them, follow-ups, lookalikes, settings, KIPs."""

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
    """What `explain` prints for a root cause, for a cause behind one, or for a follow-up rebalance.

    `shows` is how it appears in logs; `settings` and `kips` are the relevant ones.
    """

    summary: str
    mechanism: str = ""
    shows: str = ""
    remedy: str
    usual: Usual = "unknown"
    settings: tuple[str, ...] = ()
    kips: tuple[str, ...] = ()


class Lookalikes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two similar causes, and a sentence that distinguishes them."""

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
        """Yield each cause that looks like this one, and how to distinguish them."""
        for pair in self.lookalikes:
            if cause in pair.causes:
                yield pair.causes[cause == pair.causes[0]], pair.apart


@cache
def glossary() -> Glossary:
    """Return the glossary, loaded on first use because most reports do not need it."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return convert(yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), Loader=loader), Glossary)  # noqa: S506 - it is safe
