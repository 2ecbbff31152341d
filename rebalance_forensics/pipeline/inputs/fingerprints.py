"""Files that were put in the place of others of the same size and time."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from rebalance_forensics.pipeline.inputs.file_listing import Listed
from rebalance_forensics.records import HOUR_MS

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
