"""Finds out whether a file is a log, an archive of logs, one of our own reports or something else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from rebalance_forensics import defects
from rebalance_forensics.sources.files.archives import OpenArchive, OpenArchives, archives
from rebalance_forensics.sources.files.budgets import Allowance, Limits, Meter, Spent
from rebalance_forensics.sources.files.codecs import Damage
from rebalance_forensics.sources.files.containers import UNREADABLE, Member, container_of
from rebalance_forensics.sources.files.places import Place, Stamp, stamp_of
from rebalance_forensics.sources.files.wrappings import MAX_DEPTH, pieces, unwrapped
from rebalance_forensics.sources.lines.text import is_binary

_SNIFFED = 64 << 10


class InputFile(Struct, frozen=True, kw_only=True):
    """One stream of log lines: a file, or a member of an archive.

    `path` is its name in the report, `location` the outermost file; `members` is the path through nested archives, as
    they were at `stamp`. `size` is the size on disk in bytes, compressed if it is. To reach a log that is `in_packed`,
    a whole archive has to be unpacked.
    """

    path: str
    location: str
    members: tuple[str, ...] = ()
    codec: str | None = None
    size: int = 0
    mtime_ms: int = 0
    stamp: Stamp | None = None
    allowance: Allowance | None = None
    in_packed: bool = False

    @property
    def place(self) -> Place:
        """The place of its bytes."""
        return Place(self.location, self.members, self.stamp, self.allowance)


class Unreadable(NamedTuple):
    """Something that cannot be read, and why."""

    path: str
    sentence: str
    is_defect: bool = False
    """True if a defect of ours prevents it from being read."""


@dataclass(slots=True)
class Findings:
    """The logs found, what cannot be read, and outputs of earlier runs."""

    files: list[InputFile] = field(default_factory=list)
    errors: list[Unreadable] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)

    def complain(self, path: str, why: object) -> None:
        """Note why a path cannot be read."""
        self.errors.append(Unreadable(path, f"{path}: {why}"))

    def break_off(self, path: str, what: str, error: Exception) -> None:
        """Note what a defect of ours prevents from being read."""
        self.errors.append(Unreadable(path, defects.sentence(what, error), is_defect=True))


def look_into(file: InputFile, limits: Limits, found: Findings) -> None:
    """Add a file, or the members of an archive, to the findings; OSError if it cannot be opened."""
    try:
        _look_into(file, limits, found)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it was, the other files are read
        found.break_off(file.path, f"{file.location} could not be opened", error)


def _look_into(file: InputFile, limits: Limits, found: Findings) -> None:
    with archives() as opened, opened.opened(Place(file.location), Meter(), Meter()) as stream:
        stamp = stamp_of(stream)
        allowance = limits.allowance(stamp.size if stamp else file.size)
        look = _Look(allowance, Meter(allowance), opened, found)
        try:
            look.sort_out(replace(file, stamp=stamp), stream, depth=0)
        except Spent as spent:
            found.complain(file.path, spent)
        found.files.extend(look.shared_out())


@dataclass(slots=True)
class _Look:
    """An inspection of one file: what it contains, the unpacked sizes that it states, and the bytes unpacked so far."""

    allowance: Allowance
    meter: Meter
    archives: OpenArchives
    found: Findings
    logs: list[InputFile] = field(default_factory=list)
    stated: list[int | None] = field(default_factory=list)
    """The unpacked size of each log as stated by its archive; None if nothing is unpacked."""

    def sort_out(self, file: InputFile, stream: BinaryIO, depth: int, unpacked: int | None = None) -> None:
        """Classify a stream as an archive, a log, or neither."""
        codecs, chunks = unwrapped(pieces(stream), self.meter)
        start, problem = _beginning(chunks)
        if not start and problem:
            self.found.complain(file.path, problem)
        elif kind := container_of(start):
            self._descend(file, kind, depth)
        elif is_own_output(file.path, start):
            self.found.reports.append(file.path)
        elif is_binary(start):
            sentence = f"{file.path} is a binary file, not a log; leave it out, or export it as text"
            self.found.errors.append(Unreadable(file.path, sentence))
        else:
            self._add(replace(file, codec="+".join(filter(None, (file.codec, *codecs))) or None), unpacked)

    def _add(self, log: InputFile, unpacked: int | None) -> None:
        if sum(filter(None, (*self.stated, unpacked))) > self.allowance.unpacked:
            raise Spent(self.allowance.too_large())
        self.logs.append(log)
        self.stated.append(unpacked)

    def _descend(self, file: InputFile, kind: str, depth: int) -> None:
        """Add the members of an archive; unreadable ones are noted."""
        if depth >= MAX_DEPTH:
            limit = f"archives are nested more than {MAX_DEPTH} deep here"
            self.found.complain(file.path, f"{limit}; unpack the outer ones and give the directory")
            return
        try:
            with self.archives.archive(file.place, self.meter) as archive:
                if archive.problem:
                    self.found.complain(file.path, archive.problem)
                self._take_members(file, archive, depth)
        except Spent:
            raise
        except Damage as damage:
            self.found.complain(file.path, damage)
        except UNREADABLE as error:
            self.found.complain(
                file.path, f"the {kind} archive is damaged ({error}); the members before that were read"
            )
        except Exception as error:  # noqa: BLE001 - whatever it was, what was found by then is read
            self.found.break_off(file.path, f"{file.path}: not all members could be listed", error)

    def _take_members(self, file: InputFile, archive: OpenArchive, depth: int) -> None:
        named: Counter[str] = Counter()
        for member in archive.inside.members():
            named[member.name] += 1
            # Lines are counted and quoted by path, so members with the same name get different paths.
            again = f" ({named[member.name]})" if named[member.name] > 1 else ""
            inner = InputFile(
                path=f"{file.path}!/{member.name}{again}",
                location=file.location,
                members=(*file.members, member.key),
                codec="zip" if archive.inside.kind == "zip" else None,
                size=member.size,
                mtime_ms=member.mtime_ms,
                stamp=file.stamp,
                in_packed=not archive.lies_there,
            )
            self._take_member(inner, member, depth)

    def _take_member(self, inner: InputFile, member: Member, depth: int) -> None:
        if member.problem:
            self.found.errors.append(Unreadable(inner.path, f"{inner.path} {member.problem}"))
            return
        try:
            with self.archives.opened(inner.place, self.meter, self.meter) as stream:
                self.sort_out(inner, stream, depth + 1, member.unpacked)
        except Spent:
            raise
        except UNREADABLE as error:
            sentence = f"{inner.path} cannot be read ({error}); the other members were"
            self.found.errors.append(Unreadable(inner.path, sentence))
        except Exception as error:  # noqa: BLE001 - whatever it was, the other members are read
            self.found.break_off(inner.path, f"{inner.path} could not be opened", error)

    def shared_out(self) -> Iterator[InputFile]:
        """The logs, each with its allowance."""
        # Logs of one archive may be read on different machines that do not know how far the others unpack: what the
        # archive does not state is divided in advance, by compressed size.
        left = self.allowance.unpacked - sum(filter(None, self.stated))
        packed = sum(log.size for log in self.logs if log.codec not in (None, "zip"))
        for log, stated in zip(self.logs, self.stated, strict=True):
            if not log.members:
                yield replace(log, allowance=self.allowance if log.codec else None, stamp=None)
            elif log.codec in (None, "zip"):
                yield replace(log, allowance=None if stated is None else replace(self.allowance, share=stated))
            else:
                share = left * log.size // max(packed, 1) + (stated or 0)
                yield replace(log, allowance=replace(self.allowance, share=share))


def _beginning(chunks: Iterator[bytes]) -> tuple[bytes, str | None]:
    """The first decompressed bytes, and the error that ended them, if any."""
    start = b""
    try:
        for chunk in chunks:
            start += chunk[: _SNIFFED - len(start)]
            if len(start) >= _SNIFFED:
                break
    except Spent:
        raise
    except Damage as damage:
        return start, str(damage)
    return start, None


_BEGINNINGS = re.compile(
    rb"""
      \{\s*"schema_version":\s*\d+,\s*"tool":\s*\{\s*"name":\s*"rebalance-forensics"      # --json
    | \{\s*"\$schema":[^{]*"runs":\s*\[\s*\{\s*"tool":\s*\{\s*"driver":\s*\{\s*"name":\s*"rebalance-forensics"
    | \{"routing_key":"[^"]*","dedup_key":"[^"]*","event_action":"[a-z]+","client":"rebalance-forensics"
    | \{"message":"[^\n]*"data_type":"kafka:group:rebalance"                              # timesketch
    | \{\s*"displayTimeUnit":\s*"ms",\s*"traceEvents":
    | \{\s*"text":\s*"[^\n]*\n\s*"blocks":\s*\[                                           # slack
    | \{"event":\ "[A-Za-z]+",\ "timestamp":\ [^\n]*"pattern":\ "[^\n]*"byte_offset":\ \d  # events
    | (?:id,)?cluster,group,(?:severity,started_at|generation,started_at|client_id,member_id|partition,client_id),
    | \#\ [^\n]*\n\n\|\ \|\ \|\n\|---\|---\|\n\|\ Incident\ \|\ [0-9a-f]+\ \|              # markdown
    | <!DOCTYPE\ html>\n[^\0]{0,4000}-\ rebalance-forensics</title>
    | (?:CRITICAL|WARNING|INFO)\ \ \S[^\n]*\ \ incident\ [0-9a-f]{12,16}\n                # the terminal's report, kept
    | No\ fault\ found:\ [\d,]+\ group
    """,
    re.VERBOSE,
)
_PARQUET = b"PAR1"
_TABLES = frozenset({"events", "generations", "pauses", "incidents", "incident_groups", "findings", "unread"})


def is_own_output(name: str, head: bytes) -> bool:
    """True if a file that starts like this is a report, an export or a table of our own."""
    if head.startswith(_PARQUET):
        return name.rpartition("/")[2].removesuffix(".parquet") in _TABLES
    return _BEGINNINGS.match(head) is not None
