"""What explanations look up: settings, KIPs, follow-ups, what stands behind causes, and causes that look alike."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import yaml
from msgspec import Struct, convert

WHERE = "https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals"


class FollowUp(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A rebalance that only follows from an earlier one: what it is for, and what it costs."""

    summary: str
    mechanism: str
    remedy: str = "Nothing to do: it belongs to the rebalance before it; look at what caused that."
    settings: tuple[str, ...] = ()
    kips: tuple[str, ...] = ()


class Lookalikes(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two causes, and what tells them apart."""

    causes: tuple[str, str]
    apart: str


class LinkKind(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What may stand behind a cause: what it is, how it shows, what to do about it."""

    summary: str
    shows: str
    remedy: str


class Glossary(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file glossary.yaml."""

    settings: dict[str, str]
    kips: dict[str, str]
    follow_ups: dict[str, FollowUp]
    lookalikes: tuple[Lookalikes, ...]
    links: dict[str, LinkKind]


_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
GLOSSARY = convert(yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), Loader=_LOADER), Glossary)  # noqa: S506 - it is safe
SETTINGS, KIPS, FOLLOW_UPS, LINKS = GLOSSARY.settings, GLOSSARY.kips, GLOSSARY.follow_ups, GLOSSARY.links


def neighbours_of(cause: str) -> Iterator[tuple[str, str]]:
    """Yield each cause that looks like this one, and how to tell them apart."""
    for pair in GLOSSARY.lookalikes:
        if cause in pair.causes:
            yield pair.causes[cause == pair.causes[0]], pair.apart
