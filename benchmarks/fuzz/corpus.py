"""The lines to damage: the sample logs, the catalog's samples in every layout, and all of them in envelopes."""

from __future__ import annotations

import json
import random
import re
import tempfile
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import accumulate

from benchmarks.measuring import ROOT
from rebalance_forensics.catalog.loader import load_all, pattern_files, shipped_patterns
from rebalance_forensics.pipeline.catalogs import catalog_of
from rebalance_forensics.sources import envelopes, layouts
from rebalance_forensics.sources.files.walk import InputFile
from rebalance_forensics.sources.layouts.definitions import Sample
from rebalance_forensics.sources.profiles.neighbours import profile
from rebalance_forensics.sources.profiles.profile import FileProfile
from tests.sources.wrapping import WRAPPINGS

SAMPLES = ROOT / "sample_logs"
_SAID = ("[GroupCoordinator 1]: Stabilized group g", "[Consumer clientId=c, groupId=g] (Re-)joining group")
_INNER_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)")
_MAX_SEARCHED = 40
"""Number of lines from which a source is recognized."""


@dataclass(frozen=True, slots=True)
class Source:
    """Lines that one process wrote, without line endings; `telling` are those that the catalog's prefilter matches."""

    path: str
    lines: tuple[bytes, ...]
    telling: tuple[int, ...]

    def some(self, rng: random.Random, most: int) -> list[bytes]:
        """A few consecutive lines, mostly around one that the prefilter matches."""
        wanted = rng.randint(1, most)
        at = rng.choice(self.telling) if self.telling and rng.random() < 0.9 else rng.randrange(len(self.lines))
        start = max(0, at - rng.randrange(wanted))
        return list(self.lines[start : start + wanted])


@cache
def logs() -> tuple[Source, ...]:
    """The logs of the sample incidents."""
    found = (_source(str(path.relative_to(SAMPLES)), path.read_bytes()) for path in sorted(SAMPLES.rglob("*.log")))
    return tuple(source for source in found if source.telling)


@cache
def catalog_logs() -> tuple[Source, ...]:
    """The samples of the catalog in every layout that prints complete messages."""
    said = [message for message in messages() if "\n" not in message]
    found = []
    for name, file in layouts.definitions().items():
        sample = file.samples[0].line
        old = next((text for text in _SAID if text in sample), None)
        if old is not None:
            quoted = (json.dumps(m)[1:-1] if sample.startswith("{") else m for m in said)
            text = "".join(f"{sample.replace(old, message)}\n" for message in quoted)
            found.append(_source(f"layouts/{name.replace('-', '_')}/app.log", text.encode()))
    return tuple(found)


@cache
def messages() -> tuple[str, ...]:
    """The message of every sample of the catalog."""
    patterns = load_all(pattern_files([shipped_patterns()])).patterns
    return tuple(sample.message for pattern in patterns for sample in pattern.samples)


def _source(path: str, data: bytes) -> Source:
    lines = data.splitlines()
    ends = list(accumulate(len(line) + 1 for line in lines))
    hits = {bisect_right(ends, at) for at in catalog_of(()).prefilter().hits(b"\n".join(lines))}
    return Source(path, tuple(lines), tuple(sorted(hit for hit in hits if hit < len(lines))))


@cache
def profile_like(named: str) -> FileProfile:
    """The profile of an undamaged log, named `PATH`, or `PATH in WRITER` for a log in an envelope."""
    path, _, writer = named.partition(" in ")
    source = next(one for one in (*logs(), *catalog_logs()) if one.path == path)
    if not writer:
        return profile_of_bytes(path, b"\n".join(source.lines[:_MAX_SEARCHED]) + b"\n")
    beginning = [line.decode(errors="replace") for line in source.lines[:_MAX_SEARCHED]]
    return profile_of_bytes("export/all.log", wrapped(writer, beginning).encode())


def profile_of_bytes(path: str, data: bytes) -> FileProfile:
    """The profile that the program determines for a log."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        return profile(InputFile(path=path, location=file.name, size=len(data)))


@cache
def writers() -> tuple[str, ...]:
    """The formats that wrap lines: the samples of the envelopes, and complete exports of several hosts."""
    return (*(f"sample of {_words(name)}" for name in envelopes.definitions()), *sorted(WRAPPINGS))


def wrapped(writer: str, lines: list[str], drift: timedelta = timedelta()) -> str:
    """The lines in the format of a collector, whose times differ from those in the lines by `drift`."""
    times = list(_times(lines, drift))
    if writer in WRAPPINGS:
        hosts = ("node-1", "node-1", "node-2")
        entries = [
            (hosts[n % len(hosts)], int(at.timestamp() * 1000), line)
            for n, (line, at) in enumerate(zip(lines, times, strict=True))
        ]
        return WRAPPINGS[writer](entries)
    sample = next(
        file.samples[0] for name, file in envelopes.definitions().items() if writer == f"sample of {_words(name)}"
    )
    return "".join(f"{_in_sample(sample, line, at)}\n" for line, at in zip(lines, times, strict=True))


def _times(lines: list[str], drift: timedelta) -> Iterator[datetime]:
    at = datetime(2026, 11, 20, 10, 15, 30, tzinfo=UTC)
    for line in lines:
        if found := _INNER_TIME.search(line):
            with suppress(ValueError, OverflowError):  # the collector uses its own time if that of the line is damaged
                at = datetime.fromisoformat(f"{found[1]}T{found[2]}+00:00") + drift
        yield at


def _in_sample(sample: Sample, line: str, at: datetime) -> str:
    is_json = sample.line.startswith("{")
    before, after = (json.dumps(text)[1:-1] if is_json else text for text in (sample.fields["text"], line))
    head, _, tail = sample.line.partition(before)
    return f"{_moved(head, at)}{after}{_moved(tail, at)}"


def _moved(text: str, at: datetime) -> str:
    text = text.replace("2026-11-20", f"{at:%Y-%m-%d}").replace("10:15:30", f"{at:%H:%M:%S}")
    return text.replace("Nov 20", f"{at:%b %d}").replace("1795169730", f"{at.timestamp():.0f}")


def _words(name: str) -> str:
    return name.replace("-", " ")
