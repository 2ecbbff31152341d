"""The Kafka releases that the processes of a group report, and whether a range of releases contains them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Literal

from msgspec import Struct, field

from rebalance_forensics import events as ev
from rebalance_forensics.events.base import CLIENT_ROLES, Event
from rebalance_forensics.timeline.event_index import time_of
from rebalance_forensics.timeline.group_attribution import group_in
from rebalance_forensics.timeline.group_timeline import Timeline, cached_answer
from rebalance_forensics.timeline.identity.participants import Participant, place_name
from rebalance_forensics.timeline.time_index import TimeIndex, grouped, lists_by_key

Release = tuple[int, ...]
Side = Literal["broker", "client"]
LAST_PATCH = 999
_OF_CONSUMERS = ("ConsumerConfig", "ShareConsumerConfig")
"""The configurations of consumers, which register with AppInfoParser."""
_VERSION = re.compile(r"(\d+(?:\.\d+){1,3})(.*)", re.DOTALL)
_CONFLUENT = ("-ccs", "-ce")


class ReportedRelease(Struct, frozen=True):
    """A release that a process reported; a vendor's version only shows that it is between `low` and `high`."""

    at: int
    low: Release
    high: Release


class Affected(Struct, frozen=True):
    """The affected releases, from `first` and before `below`; `below` is None if no release has the fix."""

    first: Release
    below: Release | None

    def contains(self, release: ReportedRelease) -> bool:
        """True if the reported release is certainly affected."""
        return self.first <= release.low and (self.below is None or release.high < self.below)


class Releases(Struct, frozen=True):
    """The reported releases by side and by place of the process."""

    reported: dict[Side, dict[str, TimeIndex[ReportedRelease]]] = field(default_factory=dict)
    """Oldest first."""
    known: frozenset[tuple[Side, Release, Release]] = frozenset()
    """The distinct reported releases."""
    configured: dict[str, TimeIndex[ev.SettingsReported]] = field(default_factory=dict)
    """Place with several reported releases -> the configurations of the group's clients in it."""

    def affects(self, side: Side, ranges: Sequence[Affected], speakers: Sequence[Event]) -> bool:
        """True if all processes of the side that wrote these lines are affected; all of the side if none wrote them."""
        places = self.reported.get(side, {})
        of_side = [e for e in speakers if (e.speaker.role == "broker") == (side == "broker")]
        places_of_lines = ((place_name(e), e.at or 0) for e in of_side if place_name(e) in places)
        known = [release for place, at in places_of_lines for release in self._running(places[place], place, at)]
        if not known and not of_side:
            known = [reports[-1] for reports in places.values()]
        return bool(known) and all(any(r.contains(release) for r in ranges) for release in known)

    def _running(self, reports: TimeIndex[ReportedRelease], place: str, at: int) -> Sequence[ReportedRelease]:
        """The possible releases of the group's process at that time; several if other processes write to its log."""
        # A client logs its configuration, then its release (KafkaConsumer).
        configuration = self.configured[place].last(at) if place in self.configured else None
        since = reports.between(configuration.at or 0, at) if configuration is not None else ()
        return since or (reports.last(at) or reports[0],)


def any_in(running: Iterable[tuple[Side, Release, Release]], side: Side, ranges: Sequence[Affected]) -> bool:
    """True if a process of that side runs an affected release."""
    releases = [ReportedRelease(0, low, high) for of, low, high in running if of == side]
    return any(r.contains(release) for release in releases for r in ranges)


@cached_answer
def releases_of(timeline: Timeline) -> Releases:
    """The releases that Kafka processes of a known side reported."""
    found = _reported(timeline, timeline.versions)
    clients = found["client"]
    several = {place for place, reports in clients.items() if len({(r.low, r.high) for r in reports}) > 1}
    dumps = [e for e in timeline.of(ev.SettingsReported) if place_name(e) in several and group_in(e) == timeline.group]
    configured = {place: TimeIndex(there, time_of) for place, there in grouped(dumps, place_name).items()}
    if configured:
        # Repeated reports are needed too: without them, reports cannot be matched to clients.
        repeated = _reported(timeline, [e for e in timeline.of(ev.VersionReported) if place_name(e) in configured])
        clients.update(repeated["client"])
    known = ((side, t.low, t.high) for side, places in found.items() for reports in places.values() for t in reports)
    return Releases(found, frozenset(known), configured)


def _reported(
    timeline: Timeline, versions: Sequence[ev.VersionReported]
) -> dict[Side, dict[str, TimeIndex[ReportedRelease]]]:
    """The releases in these lines, by side and place."""
    found: dict[Side, dict[str, list[ReportedRelease]]] = {"broker": defaultdict(list), "client": defaultdict(list)}
    clients = {e.speaker.file for e in timeline.group_events if e.speaker.role in CLIENT_ROLES} if versions else set()
    clients |= {log[0].speaker.file for log in timeline.process_events.logs}
    for event in versions:
        spread = release_range(event.version) if event.product in ("kafka", "streams") else None
        if spread is None:
            continue
        is_client = event.speaker.role in CLIENT_ROLES or event.speaker.file in clients
        side: Side | None = "broker" if event.speaker.role == "broker" else "client" if is_client else None
        if side is not None:
            found[side][place_name(event)].append(ReportedRelease(event.at or 0, *spread))
    return {side: {place: TimeIndex(reports) for place, reports in places.items()} for side, places in found.items()}


# Each client of a process logs its version: a log may contain the same one thousands of times.
@lru_cache(maxsize=1 << 10)
def release_range(text: str) -> tuple[Release, Release] | None:
    """The range of Apache releases for a version string; None for a snapshot, whose fixes are unknown."""
    found = _VERSION.match(text.strip())
    if found is None or "SNAPSHOT" in text:
        return None
    release, suffix = parse_release(found[1]), found[2]
    if suffix.startswith(_CONFLUENT):
        return _of_confluent(release)
    # A vendor's build of a release may contain later fixes of the same minor release.
    return (release, release) if not suffix else (release, (*release[:2], LAST_PATCH))


def parse_release(text: str) -> Release:
    """`3.9.1` as numbers."""
    return tuple(int(part) for part in text.split("."))


def _of_confluent(release: Release) -> tuple[Release, Release] | None:
    # Confluent Platform 5.0 carries Kafka 2.0, 6.0 carries 2.6, 7.0 carries 3.0, 8.0 carries 4.0.
    major, minor = release[:2]
    base = {5: (2, minor), 6: (2, 6 + minor), 7: (3, minor), 8: (4, minor)}.get(major)
    return None if base is None else ((*base, 0), (*base, LAST_PATCH))


class PossibleReleases(Struct, frozen=True):
    """The oldest and newest release that a process may run, as major and minor; equal if its log shows it exactly."""

    oldest: Release
    newest: Release


@cached_answer
def latest_releases(timeline: Timeline) -> dict[Participant, PossibleReleases]:
    """Participant -> the possible releases of its process, by its last report.

    If several processes write to a file, this is the report after the client's own configuration. If another client was
    configured in between, it may be either report, and without a configuration in the log, any.
    """
    found: dict[Participant, set[Release]] = defaultdict(set)
    for event in timeline.versions:
        if (spread := release_range(event.version)) is not None:
            for participant in timeline.participants.at_place(event):
                found[participant].add(spread[1][:2])
    several = {who for who, known in found.items() if len(known) > 1}
    found |= _configured_releases(timeline, several) if several else {}
    return {who: PossibleReleases(min(known), max(known)) for who, known in found.items()}


def _configured_releases(timeline: Timeline, participants: Iterable[Participant]) -> dict[Participant, set[Release]]:
    """Participant -> the possible releases that follow its last configuration, if one follows it."""
    # AppInfoParser logs the release when the client is created, directly after its configuration (KafkaConsumer).
    by_client = lists_by_key((client, who) for who in participants for client in who.client_ids)
    found: dict[Participant, set[Release]] = {}
    dumps = [e for e in timeline.of(ev.SettingsReported) if e.kind in _OF_CONSUMERS]
    lines = sorted([*dumps, *timeline.of(ev.VersionReported)], key=attrgetter("origin"))
    for in_file in grouped(lines, lambda event: event.speaker.file).values():
        awaiting: list[tuple[Sequence[Participant], set[Release]]] = []
        answers = 0
        for event in in_file:
            if isinstance(event, ev.SettingsReported):
                if answers == len(awaiting):
                    awaiting, answers = [], 0
                awaiting.append((by_client.get(dict(event.settings).get("client.id") or "", ()), set()))
            elif isinstance(event, ev.VersionReported) and (spread := release_range(event.version)) is not None:
                answers += 1
                for members, releases in awaiting if answers <= len(awaiting) else ():
                    releases.add(spread[1][:2])
                    found |= {who: releases for who in members if who in timeline.participants.at_place(event)}
    return found
