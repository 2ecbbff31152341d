"""The Kafka releases that the processes of a group report, and whether a range of releases contains them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal

from msgspec import Struct, field

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import CLIENT_ROLES, Event
from rebalance_forensics.records import Origin
from rebalance_forensics.timeline.group_timeline import Timeline
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.time_index import TimeIndex, grouped, lists_by_key

Release = tuple[int, ...]
Side = Literal["broker", "client"]
LAST_PATCH = 999
_VERSION = re.compile(r"(\d+(?:\.\d+){1,3})(.*)", re.DOTALL)
_CONFLUENT = ("-ccs", "-ce")


class ReportedRelease(Struct, frozen=True):
    """A release as a process reported it: between `low` and `high` where a vendor's number leaves the patch open."""

    at: int
    low: Release
    high: Release


class Affected(Struct, frozen=True):
    """Releases from `first` on and before `below`; no `below` means that no release is known to be free of it."""

    first: Release
    below: Release | None

    def contains(self, release: ReportedRelease) -> bool:
        """True where the reported release is surely among them."""
        return self.first <= release.low and (self.below is None or release.high < self.below)


class Releases(Struct, frozen=True):
    """Reported releases by side and by the place of the process."""

    reported: dict[Side, dict[str, TimeIndex[ReportedRelease]]] = field(default_factory=dict)
    """Oldest first; a process that reports the release of its last report again has not changed it."""
    known: frozenset[tuple[Side, Release, Release]] = frozenset()
    """Each release that was reported, once."""

    def affects(self, side: Side, ranges: Sequence[Affected], speakers: Sequence[Event]) -> bool:
        """True where all processes of the side that wrote these lines, or all of the side if none did, are affected."""
        places = self.reported.get(side, {})
        of_side = [e for e in speakers if (e.speaker.role == "broker") == (side == "broker")]
        reported = ((places[place_name(e)], e.at or 0) for e in of_side if place_name(e) in places)
        known = [reports.last(at) or reports[0] for reports, at in reported]
        if not known and not of_side:
            known = [reports[-1] for reports in places.values()]
        return bool(known) and all(any(r.contains(release) for r in ranges) for release in known)


def any_in(running: Iterable[tuple[Side, Release, Release]], side: Side, ranges: Sequence[Affected]) -> bool:
    """True where a process of that side runs an affected release."""
    releases = [ReportedRelease(0, low, high) for of, low, high in running if of == side]
    return any(r.contains(release) for release in releases for r in ranges)


def releases_of(timeline: Timeline) -> Releases:
    """Every release that a Kafka process of known side reported."""
    found: dict[Side, dict[str, list[ReportedRelease]]] = {"broker": defaultdict(list), "client": defaultdict(list)}
    versions = timeline.versions
    clients = {e.speaker.file for e in timeline.own if e.speaker.role in CLIENT_ROLES} if versions else set()
    clients |= {log[0].speaker.file for log in timeline.nearby.logs}
    for event in versions:
        spread = release_range(event.version) if event.product in ("kafka", "streams") else None
        if spread is None:
            continue
        is_client = event.speaker.role in CLIENT_ROLES or event.speaker.file in clients
        side: Side | None = "broker" if event.speaker.role == "broker" else "client" if is_client else None
        reports = found[side][place_name(event)] if side is not None else []
        if not reports or (reports[-1].low, reports[-1].high) != spread:
            reports.append(ReportedRelease(event.at or 0, *spread))
    known = ((side, t.low, t.high) for side, places in found.items() for reports in places.values() for t in reports)
    indexed = {side: {place: TimeIndex(reports) for place, reports in places.items()} for side, places in found.items()}
    return Releases(indexed, frozenset(known))


# Every client of a process logs its version: a log may hold the same one by the thousand.
@lru_cache(maxsize=1 << 10)
def release_range(text: str) -> tuple[Release, Release] | None:
    """The Apache releases that a version string may stand for; None for a snapshot, whose fixes are unknown."""
    found = _VERSION.match(text.strip())
    if found is None or "SNAPSHOT" in text:
        return None
    release, suffix = parse_release(found[1]), found[2]
    if suffix.startswith(_CONFLUENT):
        return _of_confluent(release)
    # A vendor's build on top of a release may hold later fixes of the same line.
    return (release, release) if not suffix else (release, (*release[:2], LAST_PATCH))


def parse_release(text: str) -> Release:
    """`3.9.1` as numbers."""
    return tuple(int(part) for part in text.split("."))


def _of_confluent(release: Release) -> tuple[Release, Release] | None:
    # Confluent Platform 5.0 carries Kafka 2.0, 6.0 carries 2.6, 7.0 carries 3.0, 8.0 carries 4.0.
    major, minor = release[:2]
    base = {5: (2, minor), 6: (2, 6 + minor), 7: (3, minor), 8: (4, minor)}.get(major)
    return None if base is None else ((*base, 0), (*base, LAST_PATCH))


def latest_release(timeline: Timeline) -> dict[Participant, Release]:
    """Participant -> the release that its process reported last.

    Where several processes write to one file, that is the one behind the client's own configuration; else the latest.
    """
    found: dict[Participant, set[Release]] = defaultdict(set)
    for event in timeline.versions:
        if (spread := release_range(event.version)) is not None:
            for participant in timeline.participants.at_place(event):
                found[participant].add(spread[1][:2])
    several = {who for who, known in found.items() if len(known) > 1}
    configured = _configured_releases(timeline, several) if several else {}
    return {who: configured.get(who) or max(known) for who, known in found.items()}


def _configured_releases(timeline: Timeline, participants: Iterable[Participant]) -> dict[Participant, Release]:
    """The release behind the last configuration of each of these members that one follows."""
    # AppInfoParser writes the release as the client is created, right behind its configuration (KafkaConsumer).
    by_client = lists_by_key((client, who) for who in participants for client in who.client_ids)
    by_file = grouped(sorted(timeline.of(ev.VersionReported), key=_origin), lambda event: event.speaker.file)
    found: dict[Participant, Release] = {}
    for dump in timeline.of(ev.SettingsReported):
        for who in by_client.get(dict(dump.settings).get("client.id") or "", ()):
            reports = by_file.get(dump.speaker.file, [])
            behind = islice(reports, bisect_right(reports, dump.origin, key=_origin), None)
            own = (e for e in behind if who in timeline.participants.at_place(e))
            release = next((spread[1][:2] for e in own if (spread := release_range(e.version)) is not None), None)
            found |= {who: release} if release is not None else {}
    return found


def _origin(event: Event) -> Origin:
    return event.origin
