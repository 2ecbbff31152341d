"""Kafka's own bugs: named when the release is affected and the logs show the signature, never by version alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal

import yaml
from msgspec import Struct, convert

from rebalance_forensics.diagnosis.model import KnownBug
from rebalance_forensics.diagnosis.reference.bug_signatures import Signature, Witness, find
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.releases import Affected, Release, Side, any_in, parse_release, releases_of
from rebalance_forensics.timeline.windows import ONE_SCALING_MS

Component = Literal["broker", "client", "streams", "connect"]
FILE = Path(__file__).with_suffix(".yaml")


class Bug(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One bug as data. `signature` is None where no log can prove it; `not_matched` then says why.

    `dated_by_words`: only affected releases write the lines of its signature, so no version need be logged.
    """

    jira: str
    title: str
    component: Component
    affected: tuple[str, ...]
    fixed_in: tuple[str, ...]
    says: str
    causes: tuple[str, ...] = ()
    signature: Signature | None = None
    not_matched: str | None = None
    dated_by_words: bool = False

    @property
    def side(self) -> Side:
        """Whose release counts."""
        return "broker" if self.component == "broker" else "client"

    @property
    def ranges(self) -> tuple[Affected, ...]:
        """The affected releases."""
        return tuple(map(_range, self.affected))


def known_bugs_of(timeline: Timeline, cause: str, because: Sequence[Event]) -> tuple[KnownBug, ...]:
    """The bugs that this finding shows, in the order of their numbers."""
    suspects = [b for b in timeline.cached(_suspects) if not b.causes or cause in b.causes]
    times = [e.at for e in because if e.at is not None] if suspects else []
    if not times:
        return ()
    releases, witness = timeline.cached(releases_of), timeline.cached(Witness)
    near = (min(times) - ONE_SCALING_MS, max(times) + ONE_SCALING_MS)
    found = []
    for bug in suspects:
        seen = find(bug.signature, witness, near) if bug.signature is not None else ()
        dated = _dates_itself(bug, releases.known)
        if seen and (dated or releases.affects(bug.side, bug.ranges, seen)):
            found.append(KnownBug(jira=bug.jira, title=bug.title, fixed_in=", ".join(bug.fixed_in) or None))
    return tuple(found)


def _suspects(timeline: Timeline) -> list[Bug]:
    """The bugs of releases that run here and that logs can prove."""
    return _bugs_in(timeline.kind, timeline.cached(releases_of).known)


@lru_cache(maxsize=256)
def _bugs_in(kind: str, running: frozenset[tuple[Side, Release, Release]]) -> list[Bug]:
    of_kind = [b for b in all_bugs() if b.component not in ("streams", "connect") or b.component == kind]
    possible = (b for b in of_kind if _dates_itself(b, running) or any_in(running, b.side, b.ranges))
    return [b for b in possible if b.signature is not None]


def _dates_itself(bug: Bug, running: frozenset[tuple[Side, Release, Release]]) -> bool:
    """True if its words alone prove an affected release, since no line of that side shows the release."""
    return bug.dated_by_words and all(side != bug.side for side, _, _ in running)


@cache
def all_bugs() -> tuple[Bug, ...]:
    """Every bug there is, by number."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    bugs = convert(yaml.load(FILE.read_bytes(), Loader=loader), list[Bug])  # noqa: S506 - it is safe
    return tuple(sorted(bugs, key=lambda b: int(b.jira.removeprefix("KAFKA-"))))


@cache
def _range(text: str) -> Affected:
    """`<2.0.1`, `2.4.0-<2.8.2` or `2.3.0-`."""
    first, _, below = text.partition("<")
    lowest = first.rstrip("-")
    return Affected(parse_release(lowest) if lowest else (0,), parse_release(below) if below else None)
