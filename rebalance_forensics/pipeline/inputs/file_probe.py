"""Probes new files by opening them: a few in threads, many in a Spark stage."""

from __future__ import annotations

import pickle
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from hashlib import sha256

import pyarrow as pa
from msgspec.structs import replace

from rebalance_forensics.pipeline.inputs.file_listing import Listed
from rebalance_forensics.pipeline.inputs.sights import Sight, fingerprint_of
from rebalance_forensics.pipeline.inputs.stores import open_location
from rebalance_forensics.pipeline.read_plan import printable, shown_in_report
from rebalance_forensics.pipeline.schemas import message_batch
from rebalance_forensics.sources.files import archives, places, walk
from rebalance_forensics.sources.files.budgets import Limits
from rebalance_forensics.sources.files.contents import Unreadable
from rebalance_forensics.sources.profiles import profile
from rebalance_forensics.sources.profiles.sample import beginning

# A log is identified by its first bytes, which stay the same when it grows, is rolled or compressed.
HEAD_BYTES = 4096
FILES_A_TASK = 32
# Files are opened in parallel, because of the latency of object stores.
WAITING = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """Everything that a probing task needs."""

    tasks: tuple[tuple[Listed, ...], ...]
    prefixes: tuple[int, ...] = ()
    """The lengths of the heads by which shorter files are identified."""
    limits: Limits


@dataclass(slots=True)
class ProbeResult:
    """The logs found in new files, several in an archive, and the files that could not be opened."""

    sights: list[Sight] = field(default_factory=list)
    errors: list[Unreadable] = field(default_factory=list)


def probe_tasks(new: Sequence[Listed]) -> tuple[tuple[Listed, ...], ...]:
    """The files of each task: enough to be worth starting one."""
    return tuple(tuple(new[start : start + FILES_A_TASK]) for start in range(0, len(new), FILES_A_TASK))


def run_probe_task(probe: Probe, task: int) -> Iterator[pa.RecordBatch]:
    """Probe some files and report the results to the driver."""
    found = probe_files(probe.tasks[task], probe)
    yield message_batch([("looked", b64encode(pickle.dumps(found)).decode())])


def probe_result(text: str) -> ProbeResult:
    """The results that a task reported."""
    found = pickle.loads(b64decode(text))  # noqa: S301 - written by a task of this run
    assert isinstance(found, ProbeResult)
    return found


def probe_locally(probe: Probe) -> ProbeResult:
    """Probe all files in threads of this process."""
    with ThreadPoolExecutor(WAITING) as pool:
        return combined(pool.map(lambda task: probe_files(task, probe), probe.tasks))


def combined(parts: Iterable[ProbeResult]) -> ProbeResult:
    """The combined results of several tasks."""
    whole = ProbeResult()
    for part in parts:
        whole.sights += part.sights
        whole.errors += part.errors
    return whole


def probe_files(task: Sequence[Listed], probe: Probe) -> ProbeResult:
    """Probe each of the files."""
    places.open_remote_with(open_location)
    found = ProbeResult()
    with archives.held_open():
        for listed in task:
            _open(listed, probe, found)
    return found


def _open(listed: Listed, probe: Probe, found: ProbeResult) -> None:
    # A log, or the logs in an archive; an object that was deleted meanwhile is reported as unreadable.
    discovered = walk.discover_stored(
        listed.location, listed.path, size=listed.size, mtime_ms=listed.mtime_ms, limits=probe.limits
    )
    found.errors += map(shown_in_report, discovered.errors)
    fingerprint = fingerprint_of(listed)
    for file in (replace(file, path=printable(file.path)) for file in discovered.files):
        shown, data = profile.look(file), b""
        try:
            data = beginning(file, HEAD_BYTES)
        except Exception as error:  # noqa: BLE001 - whatever it was, the other files are read
            shown = profile.unreadable("its beginning could not be read", error, shown.found)
        sizes = {len(data), *(size for size in probe.prefixes if size < len(data))}
        heads = {size: sha256(data[:size]).hexdigest()[:16] for size in sizes}
        found.sights.append(Sight(file=file, look=shown, heads=heads, etag=listed.etag, fingerprint=fingerprint))
