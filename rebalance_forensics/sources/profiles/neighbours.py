"""Completes profiles from the other files of a run: layouts, zones, releases, dates, continued records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.records import DAY_MS, FIRST_DAY
from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.documents import PASTE
from rebalance_forensics.sources.files import rotation
from rebalance_forensics.sources.files.hosts import host_of
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles import dates
from rebalance_forensics.sources.profiles.dates import Dates, Neighbours
from rebalance_forensics.sources.profiles.profile import FileProfile, Look, with_defect
from rebalance_forensics.sources.profiles.profile import look as look_at
from rebalance_forensics.sources.times.zones import ZoneRules
from rebalance_forensics.utc_offsets import name_of_offset


def profile(file: InputFile) -> FileProfile:
    """The profile of one file; without dates in it, its name and modification time date it."""
    return profiles([file])[0]


def profiles(files: Sequence[InputFile], tz: ZoneRules | None = None) -> tuple[FileProfile, ...]:
    """The profiles of files; those without dates are also dated by the other files, else their day is unknown."""
    looks = list(map(look_at, files))
    return _without_days(files, looks, profiles_of(files, looks, tz or ZoneRules()))


def _without_days(
    files: Sequence[InputFile], looks: Sequence[Look], found: tuple[FileProfile, ...]
) -> tuple[FileProfile, ...]:
    """The profiles, with those that only modification times would date moved to days before `FIRST_DAY`.

    The days between files are kept, so that a file written after midnight still comes after the previous one.
    """
    undated = [file.mtime_ms for file, own in zip(files, found, strict=True) if own.day_by_age]
    # Next to a log whose day is known, such as a syslog without years, modification times show the distance to it.
    timed = [own for own, look in zip(found, looks, strict=True) if look.dates.first is not None]
    if not undated or any(not own.day_by_age for own in timed):
        return found
    earlier_ms = (max(undated) // DAY_MS) * DAY_MS - FIRST_DAY // 2
    return tuple(
        replace(own, midnight_ms=own.midnight_ms - earlier_ms) if own.day_by_age and own.midnight_ms else own
        for own in found
    )


def profiles_of(
    files: Sequence[InputFile], looks: Sequence[Look], tz: ZoneRules, *, deleted: int = 0
) -> tuple[FileProfile, ...]:
    """The profiles of files that were inspected before; the first `deleted` ones are gone, but date the others."""
    sound = [index for index, look in enumerate(looks) if look.found.readable]
    deleted_sound = sum(index < deleted for index in sound)
    together = _together(
        [files[index] for index in sound], [looks[index] for index in sound], tz, deleted=deleted_sound
    )
    by_index = dict(zip(sound, together, strict=True))
    return tuple(by_index.get(index, look.found) for index, look in enumerate(looks))


def _together(files: Sequence[InputFile], looks: Sequence[Look], tz: ZoneRules, *, deleted: int) -> list[FileProfile]:
    """Complete the profiles: which files are one log, and when those without dates were written."""
    # A deleted file was not written at the same time as the file that has its name now.
    taken = {file.path for file in files[deleted:]}
    current = [index >= deleted or file.path not in taken for index, file in enumerate(files)]
    times = (
        [look.dates.first if counts else None for look, counts in zip(looks, current, strict=True)],
        [look.dates.own if counts else None for look, counts in zip(looks, current, strict=True)],
    )
    found = [_ruled(file, look.found, tz) for file, look in zip(files, looks, strict=True)]
    try:
        found = _chained(files, found, looks, rotation.chains(files, *times), deleted)
    except Exception as error:  # noqa: BLE001 - whatever it was, each file can be read by itself
        found = [
            with_defect(each, "which other files it continues in could not be determined", error) for each in found
        ]
    found = _in_the_zone_of_their_host(files, found)
    shown = [each for look in looks if (each := look.dates.own)] + [each for look in looks if (each := look.dates.tied)]
    # If no line prints a date, the name or the modification time of a file may show a day, which dates the others too.
    shown = shown or [
        day for file, look in zip(files, looks, strict=True) if (day := dates.shown_day(file, look.dates))
    ]
    known = Neighbours.of(shown)
    done: list[FileProfile] = []
    for file, look, own in zip(files, looks, found, strict=True):
        try:
            itself = look.dates.own if own.partly_dated else None
            done.append(_dated(file, look.dates, own, Neighbours.of([itself]) if itself else known))
        except Exception as error:  # noqa: BLE001
            done.append(replace(with_defect(own, "its dates could not be determined", error), readable=False))
    return done


def _ruled(file: InputFile, found: FileProfile, tz: ZoneRules) -> FileProfile:
    """The profile with the user's zones, which take precedence over those that the file shows."""
    if tz == ZoneRules():
        return found
    return replace(
        found,
        zone=tz.zone_of(host_of(file.path), file.path) or found.zone,
        zones=tuple((name, tz.zone_of(name, file.path) or zone) for name, zone in found.zones),
    )


def _in_the_zone_of_their_host(files: Sequence[InputFile], found: Sequence[FileProfile]) -> list[FileProfile]:
    """Assign client logs without a zone the zone that all other logs of their host in the same directory show."""
    homes = [(file.path.rpartition("/")[0], own.host) for file, own in zip(files, found, strict=True)]
    zones: dict[tuple[str, str | None], set[str]] = defaultdict(set)
    for home, own in zip(homes, found, strict=True):
        if own.zone is not None:
            zones[home].add(own.zone)
    done: list[FileProfile] = []
    for home, own in zip(homes, found, strict=True):
        unknown = own.zone is None and own.host is not None and own.component != "broker"
        zone, *others = zones[home] if unknown and zones[home] else {None}
        # A program may log in UTC wherever it runs.
        done.append(own if zone in (None, name_of_offset(0)) or others else replace(own, zone=zone))
    return done


def _chained(
    files: Sequence[InputFile],
    found: list[FileProfile],
    looks: Sequence[Look],
    chains: Sequence[Sequence[int]],
    deleted: int,
) -> list[FileProfile]:
    """Complete the files of each rolled log from each other: layout, zone, release, continued records."""
    done = list(found)
    for chain in chains:
        members = [found[index] for index in chain]
        known = next((each for each in members if each.layout != layouts.UNKNOWN), members[0])
        zone = next((each.zone for each in members if each.zone), None)
        releases = [each.kafka_version for each in members if each.kafka_version]
        component = _component(members)
        closed = {each.layout for each in members if each.closed}
        cut_by_size = rotation.are_cut_by_size([files[each] for each in chain])
        for position, index in enumerate(chain):
            later = [each for each in chain[position + 1 :] if each >= deleted]
            own = done[index] if done[index].layout != layouts.UNKNOWN else replace(known, near_ms=done[index].near_ms)
            done[index] = replace(
                own,
                document=None if own.document == PASTE and len(chain) > 1 else own.document,
                zone=own.zone or zone,
                kafka_version=_release(own, releases),
                component=component or own.component,
                host=own.host or known.host,
                closed=own.layout in closed,
                continued=position > 0,
                cut_by_size=cut_by_size,
                continues_in=tuple(files[each] for each in later),
                followed_by=_followed_by(looks[index], [looks[each] for each in later]),
            )
    return done


def _followed_by(own: Look, later: Sequence[Look]) -> tuple[str, ...]:
    """The starts of the following files in which a record may continue, or an unfinished line of any of them."""
    # The lines around them show whether two halves of a line belong together.
    beginnings: list[str] = []
    for each in later:
        if not each.line:
            continue
        if own.ended is not True:
            beginnings.append(each.line if own.ended is None else each.head)
        if each.lead is None:
            break
        beginnings.append(each.lead)
        if each.found.layout != layouts.UNKNOWN:
            break
    return tuple(beginnings)


def _release(own: FileProfile, releases: Sequence[str]) -> str | None:
    """The release that one file of a log names, else the best lower bound; `releases` are those of all its files."""
    if own.kafka_version is not None and not own.kafka_version.startswith(">") and own.kafka_version in releases:
        return own.kafka_version
    exact = next((release for release in releases if not release.startswith(">")), None)
    return exact or own.kafka_version or next(iter(releases), None)


def _component(chain: Sequence[FileProfile]) -> str | None:
    """The component that one of the files shows beyond a consumer; a Streams log may contain only consumers' lines."""
    components = [each.component for each in chain if each.component]
    return next((component for component in components if component != "consumer"), next(iter(components), None))


def _dated(file: InputFile, shown: Dates, found: FileProfile, neighbours: Neighbours) -> FileProfile:
    """The profile with its dates completed; a file without dates gets the midnight before its first record."""
    near = dates.near_to(file, shown, neighbours)
    found = replace(found, near_ms=near, date_order=dates.order_of(shown, near))
    if found.dated:
        return found
    midnight, offset, day_from = dates.midnight_of(file, shown, neighbours)
    zone = found.zone or (None if offset is None else name_of_offset(offset))
    return replace(found, midnight_ms=midnight, zone=zone, day_by_age=day_from == "age")
