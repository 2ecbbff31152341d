"""Kafka's own bugs: named when the release is affected and the logs show the signature, never by version alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, cast

import yaml
from msgspec import Struct

from rebalance_forensics.diagnosis.model import KnownBug
from rebalance_forensics.diagnosis.reference.bug_signatures import Signature, Step, Value, Witness, find
from rebalance_forensics.events.base import Event
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.releases import Affected, Release, Side, any_in, parse_release, releases_of
from rebalance_forensics.timeline.windows import ONE_SCALING_MS

Component = Literal["broker", "client", "streams", "connect"]
FILE = Path(__file__).with_suffix(".yaml")


class Bug(Struct, frozen=True, kw_only=True):
    """One bug as data. `signature` is None where no log can prove it; `not_matched` then says why.

    `dated_by_words`: only affected releases write the lines of its signature, so no version need be logged.
    """

    jira: str
    title: str
    component: Component
    affected: tuple[Affected, ...]
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
        if seen and (dated or releases.affects(bug.side, bug.affected, seen)):
            found.append(KnownBug(jira=bug.jira, title=bug.title, fixed_in=", ".join(bug.fixed_in) or None))
    return tuple(found)


def _suspects(timeline: Timeline) -> list[Bug]:
    """The bugs of releases that run here and that logs can prove."""
    return _bugs_in(timeline.kind, timeline.cached(releases_of).known)


@lru_cache(maxsize=256)
def _bugs_in(kind: str, running: frozenset[tuple[Side, Release, Release]]) -> list[Bug]:
    of_kind = [b for b in all_bugs() if b.component not in ("streams", "connect") or b.component == kind]
    possible = (b for b in of_kind if _dates_itself(b, running) or any_in(running, b.side, b.affected))
    return [b for b in possible if b.signature is not None]


def _dates_itself(bug: Bug, running: frozenset[tuple[Side, Release, Release]]) -> bool:
    """True if its words alone prove an affected release, since no line of that side shows the release."""
    return bug.dated_by_words and all(side != bug.side for side, _, _ in running)


@cache
def all_bugs() -> tuple[Bug, ...]:
    """Every bug there is, by number."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    bugs = [_bug(entry) for entry in yaml.load(FILE.read_text(encoding="utf-8"), Loader=loader)]  # noqa: S506 - it is safe
    return tuple(sorted(bugs, key=lambda b: int(b.jira.removeprefix("KAFKA-"))))


def _bug(entry: Mapping[str, object]) -> Bug:
    signature = entry.get("signature")
    return Bug(
        jira=str(entry["jira"]),
        title=str(entry["title"]),
        component=cast("Component", entry["component"]),
        affected=tuple(_range(str(text)) for text in _listed(entry["affected"])),
        fixed_in=tuple(str(release) for release in _listed(entry["fixed_in"])),
        says=str(entry["says"]),
        causes=_words(entry.get("causes", ())),
        signature=_signature(cast("Mapping[str, object]", signature)) if signature else None,
        not_matched=cast("str | None", entry.get("not_matched")),
        dated_by_words=bool(entry.get("dated_by_words")),
    )


def _range(text: str) -> Affected:
    """`<2.0.1`, `2.4.0-<2.8.2` or `2.3.0-`."""
    first, _, below = text.partition("<")
    lowest = first.rstrip("-")
    return Affected(parse_release(lowest) if lowest else (0,), parse_release(below) if below else None)


def _signature(entry: Mapping[str, object]) -> Signature:
    steps = cast("Iterable[Mapping[str, object]]", entry["steps"])
    return Signature(
        steps=tuple(_step(step) for step in steps),
        times=cast("int", entry.get("times", 1)),
        kinds=_words(entry.get("kinds", ())),
        modes=_words(entry.get("modes", ())),
        protocols=_words(entry.get("protocols", ())),
        settings=_conditions(entry.get("settings", {})),
    )


def _step(entry: Mapping[str, object]) -> Step:
    unknown = entry.keys() - set(Step.__struct_fields__)
    if unknown:
        raise ValueError(f"{FILE.name}: a step knows no {', '.join(sorted(unknown))}")
    read: dict[str, object] = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
    if "where" in read:
        read["where"] = _conditions(read["where"])
    return Step(**read)  # type: ignore[arg-type]  # the names are checked above, the values by the tests


def _conditions(entry: object) -> dict[str, tuple[Value, ...]]:
    conditions = cast("Mapping[str, Value | list[Value]]", entry)
    return {name: tuple(v) if isinstance(v, list) else (v,) for name, v in conditions.items()}


def _listed(entry: object) -> list[object]:
    return cast("list[object]", entry)


def _words(entry: object) -> tuple[str, ...]:
    return tuple(cast("Iterable[str]", entry))
