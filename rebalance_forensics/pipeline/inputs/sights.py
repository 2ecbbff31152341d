"""Results of probing each file once, kept in the ledger while the file is unchanged.

How a file is read depends on the other files of its log, and, for a log without dates, on all other files. The results
of probing them are enough to decide it, so that no file is opened again.
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

# Fields of a profile that affect no event: what continues in other files is in `followed_by`.
_NOT_IN_EVENTS = frozenset({"continues_in", "defects", "kafka_version", "late", "near_ms"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One log and its identity when it was opened. `release` is the Kafka version that its lines showed when read."""

    file: InputFile
    look: Look
    heads: Mapping[int, str]
    """Hashes of its first bytes, by the number of bytes."""
    etag: str
    fingerprint: str | None = None
    release: str | None = None


def profiles_beside(
    sights: Sequence[Sight], zones: ZoneRules, former: Collection[Sight] = ()
) -> dict[str, FileProfile]:
    """The profile of each file, by path; deleted files in `former` still help to determine those of the others."""
    by_content = {(sight.file.path, sight.look.found): sight for sight in former}
    known = [*by_content.values(), *sights]
    looks = [sight.look for sight in known]
    found = profiles_of([sight.file for sight in known], looks, zones, deleted=len(by_content))
    return {sight.file.path: each for sight, each in zip(sights, found[len(by_content) :], strict=True)}


def read_as(profile: FileProfile, look: Look) -> str:
    """A digest of everything that decides which events a file's lines become, including the year of dates without."""
    own = {name: value for name, value in msgspec.to_builtins(profile).items() if name not in _NOT_IN_EVENTS}
    years = [with_year(at, profile.near_ms) for at in look.dates.yearless or ()]
    near = profile.near_ms if profile.partly_dated else None
    return sha256(payload_of((own, years, near)).encode()).hexdigest()[:16]


class _Shown(Struct, kw_only=True, omit_defaults=True):
    by: str
    file: InputFile
    look: Look
    release: str | None = None


def shown(sight: Sight) -> str:
    """A sight as JSON for the ledger, which has columns for the path, location and size of the file."""
    file = structs.replace(sight.file, path="", location="", size=0)
    return payload_of(_Shown(by=__version__, file=file, look=sight.look, release=sight.release))


def sight_of(cells: Mapping[str, Any], location: str = "") -> Sight | None:
    """The sight from a row of the ledger; None if the row has none, or one of another release of this program."""
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
    """A hash of some blocks of a file, or of all of a small file; None in an object store."""
    # An object that is replaced gets a later time by the store's clock, so that no fingerprint is needed.
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
    """True if a file with the known size and modification time is not the one that was read."""
    # Unlike the modification time, no program can set the change time of an inode: only files whose change time is
    # later than the last run's listing are opened.
    if listed.changed_ms is None or fingerprint is None:
        return False
    # A file server's clock differs from ours by an hour at most.
    if since_ms is not None and listed.changed_ms < since_ms - HOUR_MS:
        return False
    return fingerprint_of(listed) not in (fingerprint, None)
