"""Splits: byte ranges of files that are read independently of each other."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.profiles.profile import FileProfile

SPLIT_BYTES = 128 << 20


class Split(Struct, frozen=True, kw_only=True):
    """A byte range of one uncompressed stream; `end` is None for the end of the file."""

    file: InputFile
    profile: FileProfile
    index: int
    start: int = 0
    end: int | None = None

    @property
    def is_part(self) -> bool:
        """True if the file has other splits."""
        return self.start > 0 or self.end is not None


def plan(
    files: Sequence[InputFile], profiles: Sequence[FileProfile], split_bytes: int = SPLIT_BYTES
) -> tuple[Split, ...]:
    """The splits of all files: files that can be read from the middle are cut, others are one split."""
    return tuple(
        split for file, profile in zip(files, profiles, strict=True) for split in _cut(file, profile, split_bytes)
    )


def _cut(file: InputFile, profile: FileProfile, split_bytes: int) -> list[Split]:
    if not profile.readable:
        return []
    if file.codec or not profile.splittable or file.size <= split_bytes:
        return [Split(file=file, profile=profile, index=0)]
    starts = range(0, file.size, split_bytes)
    last = len(starts) - 1
    return [
        Split(file=file, profile=profile, index=index, start=start, end=None if index == last else start + split_bytes)
        for index, start in enumerate(starts)
    ]
