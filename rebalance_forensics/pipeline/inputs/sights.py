"""What each file shows by itself: found by opening it once, kept in the ledger as long as it is as it was.

How a file is read depends on the others of its log, and for a log without dates on all others. What they show is
enough to tell, so none of them is opened again for that.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, structs

from rebalance_forensics import __version__
from rebalance_forensics.pipeline.inputs.file_listing import Listed
from rebalance_forensics.pipeline.schemas import object_of, payload_of
from rebalance_forensics.records import HOUR_MS
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.neighbours import profiles_of
from rebalance_forensics.sources.profiles.profile import FileProfile, Look
from rebalance_forensics.sources.times.timestamps import with_year
from rebalance_forensics.sources.times.zones import ZoneRules

# What of a profile shows in no event: what continues in other files is in `followed_by`.
_BESIDE = frozenset({"continues_in", "defects", "kafka_version", "late", "near_ms"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One log, and what it was known by when it was opened. `release` is what its lines said when they were read."""

    file: InputFile
    look: Look
    heads: Mapping[int, str]
    """Hashes of its first bytes, by how many they are."""
    etag: str
    fingerprint: str | None = None
    release: str | None = None


def profiles_beside(
    sights: Sequence[Sight], zones: ZoneRules, former: Collection[Sight] = ()
) -> dict[str, FileProfile]:
    """How each file is read, by path; those that are gone still tell of the others."""
    by_content = {(sight.file.path, sight.look.found): sight for sight in former}
    known = [*by_content.values(), *sights]
    looks = [sight.look for sight in known]
    found = profiles_of([sight.file for sight in known], looks, zones, deleted=len(by_content))
    return {sight.file.path: each for sight, each in zip(sights, found[len(by_content) :], strict=True)}


def read_as(profile: FileProfile, look: Look) -> str:
    """What changes when the same lines would become other events; the year of dates that print none is among it."""
    own = {name: value for name, value in msgspec.to_builtins(profile).items() if name not in _BESIDE}
    years = [with_year(at, profile.near_ms) for at in look.dates.yearless or ()]
    near = profile.near_ms if profile.partly_dated else None
    return sha256(payload_of((own, years, near)).encode()).hexdigest()[:16]


class _Shown(Struct, kw_only=True, omit_defaults=True):
    by: str
    file: InputFile
    look: Look
    release: str | None = None


def shown(sight: Sight) -> str:
    """A sight as the ledger keeps it; the name, the place and the size of the file stand in columns of their own."""
    file = structs.replace(sight.file, path="", location="", size=0)
    return payload_of(_Shown(by=__version__, file=file, look=sight.look, release=sight.release))


def sight_of(cells: Mapping[str, Any], location: str = "") -> Sight | None:
    """The sight from a row of the ledger; None where the row has none, or one of another release."""
    try:
        shown = object_of(_Shown, cells.get("shows") or "")
    except msgspec.DecodeError:
        return None
    if shown.by != __version__:
        return None
    return Sight(
        file=structs.replace(shown.file, path=cells["path"], location=location, size=cells["size"]),
        look=shown.look,
        heads={cells["head_bytes"]: cells["head"]},
        etag=cells["etag"] or "",
        fingerprint=cells["fingerprint"],
        release=shown.release,
    )


_BLOCKS, _BLOCK_BYTES = 8, 4096


def fingerprint_of(listed: Listed) -> str | None:
    """A hash of some blocks of a file, all of it where it is small; None in an object store."""
    # What is put in an object's place has a later time by the store's own clock, so there is nothing to look for.
    if listed.changed_ms is None:
        return None
    known = sha256()
    try:
        with Path(listed.location).open("rb", buffering=0) as stream:
            for number in range(_BLOCKS):
                stream.seek(max(0, listed.size - _BLOCK_BYTES) * number // (_BLOCKS - 1))
                known.update(stream.read(_BLOCK_BYTES))
    except OSError:
        return None
    return known.hexdigest()[:16]


def is_another(listed: Listed, fingerprint: str | None, since_ms: int | None) -> bool:
    """True if a file of a known size and time is not the one that was read."""
    # No program can set the time at which an inode changed; only files where that is later than the last run's
    # listing are opened.
    if listed.changed_ms is None or fingerprint is None:
        return False
    # A file server's clock is no farther from ours than an hour.
    if since_ms is not None and listed.changed_ms < since_ms - HOUR_MS:
        return False
    return fingerprint_of(listed) not in (fingerprint, None)
