"""Growing logs: the offset up to which each has been read for good, and the counts up to there.

The last record may have been incomplete when it was read, so the last part of a log is read again when the log has
grown; everything before that is settled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from msgspec.structs import replace

from rebalance_forensics import __version__
from rebalance_forensics.pipeline.read_split import Reading
from rebalance_forensics.pipeline.stats import SplitStats
from rebalance_forensics.pipeline.tables.rows import millis, moment
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.profile import FileProfile
from rebalance_forensics.sources.records.splits import Split
from rebalance_forensics.timeline.coverage import LogSpan

UNSETTLED_BYTES = 1 << 20
"""Maximum length of a record."""
_COUNTS = ("bytes", "lines", "records", "unparsed", "matched", "unmatched_kafka")
_TIMES = ("first", "last", "opening", "closing")
# Fields of a profile that do not affect settled events: how a file continues, how to read it fast, what depends on age.
_NOT_IN_EVENTS = {
    "layouts",
    "late",
    "defects",
    "starts",
    "header_marks",
    "closed",
    "cut_by_size",
    "continues_in",
    "followed_by",
    "kafka_version",
    "near_ms",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The part of a log that has been read for good, as a split; `read_as` identifies how it was read."""

    until: int
    """Its end; the line that contains this offset is part of it."""
    stats: SplitStats
    read_as: str


def grows(file: InputFile, profile: FileProfile) -> bool:
    """True if lines added to a file can be read without those before."""
    return not file.codec and not file.members and profile.splittable and profile.readable


def splits_of(file: InputFile, profile: FileProfile, start: int, split_bytes: int) -> tuple[Split, ...]:
    """The splits of a file from an offset on, with one boundary where the settled part will end."""
    if not profile.readable:
        return ()
    if file.codec or not profile.splittable:
        return (Split(file=file, profile=profile, index=0),)
    starts = {start, *range(start + split_bytes, file.size, split_bytes)}
    if grows(file, profile) and file.size - UNSETTLED_BYTES > start:
        starts.add(file.size - UNSETTLED_BYTES)
    ordered = sorted(starts)
    return tuple(
        Split(file=file, profile=profile, index=index, start=at, end=end)
        for index, (at, end) in enumerate(zip(ordered, [*ordered[1:], None], strict=True))
    )


def digest_of(file: InputFile, profile: FileProfile, reading: Reading) -> str:
    """A digest of how a file is read: reading continues only from a part that was read in the same way."""
    own = [getattr(profile, name) for name in profile.__struct_fields__ if name not in _NOT_IN_EVENTS]
    identity = repr((__version__, own, reading.patterns, reading.cluster_of(file.path)))
    return sha256(identity.encode(errors="replace")).hexdigest()[:16]


def settled_cells(file: InputFile, profile: FileProfile, stats: Sequence[SplitStats], reading: Reading) -> Any:  # noqa: ANN401 - a cell
    """The ledger's cell for a log that may grow; None if the log is read as a whole each time."""
    end = max(0, file.size - UNSETTLED_BYTES)
    before = [split for split in stats if split.start < end]
    if not grows(file, profile) or profile.defects or any(split.sentences or split.hosts for split in stats):
        return None
    counts: dict[str, Any] = {name: sum(getattr(split, name) for split in before) for name in _COUNTS}
    first = min((split.first for split in before if split.first is not None), default=None)
    last = max((split.last for split in before if split.last is not None), default=None)
    return {
        "until": end,
        **counts,
        "first": moment(first),
        "last": moment(last),
        "opening": moment(next((split.opening for split in before if split.opening is not None), None)),
        "closing": moment(next((split.closing for split in reversed(before) if split.closing is not None), None)),
        "kafka_version": next((split.kafka_version for split in before if split.kafka_version), None),
        "read_as": digest_of(file, profile, reading),
    }


def only_grew(former: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """True if two rows of the ledger show the same file, read in the same way, with more lines at its end."""
    before, after = former.get("settled"), now.get("settled")
    if not before or not after or former["path"] != now["path"] or former["file_id"] != now["file_id"]:
        return False
    return bool(before["read_as"] == after["read_as"])


def settled_of(path: str, cells: Mapping[str, Any]) -> Settled | None:
    """The settled part from a row of the ledger; None if there is none."""
    settled = cells.get("settled")
    if not settled or not settled["until"] or cells["errors"]:
        return None
    times: dict[str, Any] = {name: settled[name] and millis(settled[name]) for name in _TIMES}
    stats = SplitStats(
        path=path, index=0, start=0, **{name: settled[name] for name in _COUNTS},
        **times, kafka_version=settled["kafka_version"],
    )  # fmt: skip
    if stats.opening is not None and stats.closing is not None:
        span = LogSpan(path=path, host=cells["host"], opening=stats.opening, closing=stats.closing)
        stats = replace(stats, heard=(span,))
    return Settled(until=settled["until"], stats=stats, read_as=settled["read_as"])
