"""Logs packed in every way there is, for tests."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Mapping

from rebalance_forensics.sources.files.walk import Discovery
from rebalance_forensics.sources.profiles.neighbours import profile
from rebalance_forensics.sources.records.record_reader import SplitCounts, read_records
from rebalance_forensics.sources.records.splits import plan

LINE = (
    "[2026-11-20 10:15:30,{n:03d}] INFO [GroupCoordinator 1]: Stabilized group g{n} "
    "(kafka.coordinator.group.GroupCoordinator)\n"
)
LOG = "".join(LINE.format(n=n) for n in range(200)).encode()


def zipped(members: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def tarred(members: Mapping[str, bytes]) -> bytes:
    """A tar of these files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1795169730
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def read_all(found: Discovery) -> tuple[int, list[str]]:
    """How many records all files hold, and what was said while reading."""
    number, said = 0, []
    for file in found.files:
        counts = SplitCounts()
        number += sum(
            len(batch) for split in plan([file], [profile(file)]) for batch in read_records(split, None, counts)
        )
        said += counts.errors
    return number, said
