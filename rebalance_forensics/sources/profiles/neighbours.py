"""What the files of one run tell of each other: layouts, zones, releases, dates, and where a record continues."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from rebalance_forensics.sources import layouts
from rebalance_forensics.sources.documents import PASTE
from rebalance_forensics.sources.files import rotation
from rebalance_forensics.sources.files.hosts import host_of
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles import dates
from rebalance_forensics.sources.profiles.dates import Dates, Neighbours
from rebalance_forensics.sources.profiles.profile import FileProfile, Look, with_defect
from rebalance_forensics.sources.profiles.profile import look as look_at
from rebalance_forensics.sources.times import zones
from rebalance_forensics.sources.times.zones import ZoneRules


def profile(file: InputFile, tz: ZoneRules | None = None) -> FileProfile:
    """Tell what one file is; a file without dates is dated by itself, its name and its age."""
    return profiles([file], tz)[0]


def profiles(files: Sequence[InputFile], tz: ZoneRules | None = None) -> tuple[FileProfile, ...]:
    """Tell what each file is; files without dates are dated by their neighbours too."""
    return profiles_of(files, list(map(look_at, files)), tz or ZoneRules())


def profiles_of(
    files: Sequence[InputFile], looks: Sequence[Look], tz: ZoneRules, *, gone: int = 0
) -> tuple[FileProfile, ...]:
    """The same from what was seen of them before; the first `gone` files tell of others, but can be read no more."""
    sound = [index for index, look in enumerate(looks) if look.found.readable]
    still = sum(index < gone for index in sound)
    together = _together([files[index] for index in sound], [looks[index] for index in sound], tz, gone=still)
    told = dict(zip(sound, together, strict=True))
    return tuple(told.get(index, look.found) for index, look in enumerate(looks))


def _together(files: Sequence[InputFile], looks: Sequence[Look], tz: ZoneRules, *, gone: int) -> list[FileProfile]:
    """What files tell of each other: which are one log, and when those without dates were written."""
    # What is gone from a name that another file has now was not written beside that.
    taken = {file.path for file in files[gone:]}
    told = [index >= gone or file.path not in taken for index, file in enumerate(files)]
    times = (
        [look.dates.first if tells else None for look, tells in zip(looks, told, strict=True)],
        [look.dates.own if tells else None for look, tells in zip(looks, told, strict=True)],
    )
    found = [_ruled(file, look.found, tz) for file, look in zip(files, looks, strict=True)]
    try:
        found = _chained(files, found, looks, rotation.chains(files, *times), gone)
    except Exception as error:  # noqa: BLE001 - whatever it was, each file can be read by itself
        found = [
            with_defect(each, "which other files it continues in could not be determined", error) for each in found
        ]
    shown = [each for look in looks if (each := look.dates.own)] + [each for look in looks if (each := look.dates.tied)]
    known = Neighbours.of(shown)
    done: list[FileProfile] = []
    for file, look, own in zip(files, looks, found, strict=True):
        try:
            done.append(_dated(file, look.dates, own, _beside(look.dates, own, known)))
        except Exception as error:  # noqa: BLE001
            done.append(replace(with_defect(own, "its dates could not be told", error), readable=False))
    return done


def _beside(dates: Dates, found: FileProfile, known: Neighbours) -> Neighbours:
    return Neighbours.of([dates.own]) if dates.own and found.partly_dated else known


def _ruled(file: InputFile, found: FileProfile, tz: ZoneRules) -> FileProfile:
    """What the user says of zones counts more than what a file shows."""
    if tz == ZoneRules():
        return found
    return replace(
        found,
        zone=tz.zone_of(host_of(file.path), file.path) or found.zone,
        zones=tuple((name, tz.zone_of(name, file.path) or zone) for name, zone in found.zones),
    )


def _chained(
    files: Sequence[InputFile],
    found: list[FileProfile],
    looks: Sequence[Look],
    chains: Sequence[Sequence[int]],
    gone: int,
) -> list[FileProfile]:
    """Let the files of one rolled log tell of each other: layout, zone, release, and where a record continues."""
    done = list(found)
    for chain in chains:
        members = [found[index] for index in chain]
        told = next((each for each in members if each.layout != layouts.UNKNOWN), members[0])
        for position, index in enumerate(chain):
            own = done[index] if done[index].layout != layouts.UNKNOWN else replace(told, near_ms=done[index].near_ms)
            done[index] = replace(
                own,
                document=None if own.document == PASTE and len(chain) > 1 else own.document,
                zone=own.zone or next((each.zone for each in members if each.zone), None),
                kafka_version=_release(own, members),
                component=_component(members) or own.component,
                host=own.host or told.host,
                closed=any(each.closed for each in members if each.layout == own.layout),
                continued=position > 0,
                cut_by_size=rotation.are_cut_by_size([files[each] for each in chain]),
                continues_in=tuple(files[later] for later in chain[position + 1 :] if later >= gone),
                followed_by=_followed_by(
                    looks[index], [looks[later] for later in chain[position + 1 :] if later >= gone]
                ),
            )
    return done


def _followed_by(own: Look, later: Sequence[Look]) -> tuple[str, ...]:
    """The beginnings of the next files, as far as a record can continue there: a line without an end in any of them.

    The other lines beside them show whether two halves of a line belong together.
    """
    told: list[str] = []
    for each in later:
        if not each.line:
            continue
        if own.ended is not True:
            told.append(each.line if own.ended is None else each.head)
        if each.lead is None:
            break
        told.append(each.lead)
        if each.found.layout != layouts.UNKNOWN:
            break
    return tuple(told)


def _release(own: FileProfile, chain: Sequence[FileProfile]) -> str | None:
    """The release that one of them names, else the best bound."""
    said = [each.kafka_version for each in chain if each.kafka_version]
    exact = [release for release in said if not release.startswith(">")]
    return (
        own.kafka_version
        if own.kafka_version in exact
        else next(iter(exact), own.kafka_version or next(iter(said), None))
    )


def _component(chain: Sequence[FileProfile]) -> str | None:
    """What one of them shows beyond being a consumer; a Streams log may hold only its consumers' lines."""
    said = [each.component for each in chain if each.component]
    return next((component for component in said if component != "consumer"), next(iter(said), None))


def _dated(file: InputFile, shown: Dates, found: FileProfile, neighbours: Neighbours) -> FileProfile:
    """Tell how to complete the dates of a file; one without any gets the midnight before its first record."""
    near = dates.near_to(file, shown, neighbours)
    found = replace(found, near_ms=near, date_order=dates.order_of(shown, near))
    if found.dated:
        return found
    midnight, offset = dates.midnight_of(file, shown, neighbours)
    zone = found.zone or (None if offset is None else zones.named(offset))
    return replace(found, midnight_ms=midnight, zone=zone)
