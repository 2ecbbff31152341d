"""Results of the stages: counts, failures, events, and cases in memory or in a file."""

from __future__ import annotations

import tempfile
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast
from weakref import finalize

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Raw, Struct
from msgspec.structs import replace

from rebalance_forensics.diagnosis.case import CaseOutline, GroupCase
from rebalance_forensics.diagnosis.model import Gap, Headline, Incident
from rebalance_forensics.pipeline.schemas import NO_ROWS, Kind, is_one_of, object_of
from rebalance_forensics.pipeline.stats import Failure, SplitStats
from rebalance_forensics.process import scratch
from rebalance_forensics.process.resources import collecting_rarely
from rebalance_forensics.timeline.clocks.file_clocks import FileClock
from rebalance_forensics.timeline.model import BrokerOutage, GroupHistory, GroupOutline
from rebalance_forensics.timeline.unnamed_groups import SpeakerKey

# Evidence, chains and signs repeat the same lines: this compresses them to a fifth, as fast as they are written.
_CODEC = "lz4"
_LENGTH_BYTES = 4


class CasesInMemory:
    """Cases as objects in this process."""

    def __init__(self, cases: Sequence[GroupCase]) -> None:
        self.outlines = cases

    def history(self, case: int) -> GroupHistory:
        """The history of a case."""
        return self.outlines[case].history

    def incident(self, case: int, number: int) -> Incident:
        """One incident of a case."""
        return self.outlines[case].incidents[number]


class CasesInFile:
    """Cases encoded by other processes; their histories and incidents are kept in a file."""

    def __init__(self) -> None:
        self.outlines: list[CaseOutline] = []
        self._outages: dict[BrokerOutage, BrokerOutage] = {}
        """One object per outage: every group lists the outages of all brokers, with their lines."""
        self._parts = _EncodedParts()
        self._histories = array("q")
        """For each case, the number of its history in `_parts`; its incidents precede it."""
        self._incidents: list[Headline] = []
        """The incidents of the next case."""

    def add_incident(self, payload: bytes) -> None:
        """Add one incident of the next case."""
        self._parts.add(payload)
        self._incidents.append(object_of(Headline, payload))

    def forget_incidents(self) -> None:
        """Drop the incidents added since the last case: their case failed."""
        self._incidents.clear()

    def add(self, payload: bytes) -> None:
        """Add a case, after its incidents."""
        case = object_of(_EncodedCase, payload)
        self._histories.append(self._parts.add(case.history))
        outline = case.outline()
        outages = tuple([self._outages.setdefault(outage, outage) for outage in outline.history.outages])
        history = replace(outline.history, outages=outages)
        self.outlines.append(replace(outline, history=history, incidents=tuple(self._incidents)))
        self._incidents.clear()

    def history(self, case: int) -> GroupHistory:
        """The history of a case."""
        return object_of(GroupHistory, self._parts[self._histories[case]])

    def incident(self, case: int, number: int) -> Incident:
        """One incident of a case."""
        first = self._histories[case] - len(self.outlines[case].incidents)
        return object_of(Incident, self._parts[first + number])


Cases = CasesInMemory | CasesInFile
"""Cases by index."""


class _EncodedCase(Struct, frozen=True, kw_only=True):
    history: Raw
    incidents: tuple[Raw, ...]
    gaps: tuple[Gap, ...]
    clocks: tuple[FileClock, ...]
    speakers: tuple[SpeakerKey, ...] = ()
    from_unnamed: bool = False

    def outline(self) -> CaseOutline:
        """The part that is kept in memory; identities without a host, which are most of them, are left out."""
        group = object_of(GroupOutline, self.history)
        placed = tuple([identity for identity in group.identities if identity.host])
        return CaseOutline(
            history=replace(group, identities=placed),
            incidents=tuple(object_of(Headline, incident) for incident in self.incidents),
            gaps=self.gaps,
            clocks=self.clocks,
            speakers=self.speakers,
            from_unnamed=self.from_unnamed,
        )


def outline_of(payload: bytes) -> CaseOutline:
    """The outline of an encoded case."""
    return object_of(_EncodedCase, payload).outline()


class _EncodedParts:
    """Compressed byte strings in an anonymous temporary file, which is removed with this object."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(dir=scratch.directory())  # noqa: SIM115 - closed with this object
        finalize(self, self._file.close)
        self._offsets = array("q", [0])

    def add(self, part: bytes | Raw) -> int:
        """Append a part and return its number."""
        packed = pa.compress(part, codec=_CODEC, asbytes=True)
        self._file.seek(self._offsets[-1])
        self._file.write(len(part).to_bytes(_LENGTH_BYTES, "little"))
        self._file.write(packed)
        self._offsets.append(self._offsets[-1] + _LENGTH_BYTES + len(packed))
        return len(self._offsets) - 2

    def __getitem__(self, number: int) -> bytes:
        begin, end = self._offsets[number], self._offsets[number + 1]
        self._file.seek(begin)
        size = int.from_bytes(self._file.read(_LENGTH_BYTES), "little")
        packed = self._file.read(end - begin - _LENGTH_BYTES)
        return cast("bytes", pa.decompress(packed, decompressed_size=size, codec=_CODEC, asbytes=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """Counts, cases, failures, and, if wanted, the events; line numbers are counted from the start of the file."""

    stats: tuple[SplitStats, ...]
    cases: Cases
    failures: tuple[Failure, ...]
    """By cluster and group."""
    events: pa.Table
    """Rows of ROWS, each event once."""


def results_of(batches: Iterable[pa.RecordBatch], *, first_shard: int) -> Results:
    """The results in rows of the second stage; events that every shard repeats are taken from the first shard."""
    stats: list[SplitStats] = []
    cases = CasesInFile()
    failures: list[Failure] = []
    events: list[pa.Table] = []
    with collecting_rarely():
        for batch in batches:
            table = pa.Table.from_batches([batch])
            payloads = batch.column("payload")
            for place, kind in enumerate(batch.column("kind").to_pylist()):
                if kind == Kind.INCIDENT:
                    cases.add_incident(payloads[place].as_buffer())
                elif kind == Kind.CASE:
                    cases.add(payloads[place].as_buffer())
                elif kind == Kind.COUNTS:
                    stats.append(object_of(SplitStats, payloads[place].as_py()))
                elif kind == Kind.FAILURE:
                    cases.forget_incidents()
                    failures.append(object_of(Failure, payloads[place].as_py()))
            shared = pc.and_(is_one_of("kind", [Kind.SHARED], table), is_one_of("shard", [first_shard], table))
            events.append(table.filter(pc.or_(is_one_of("kind", [Kind.EVENT], table), shared)))
    return Results(
        stats=tuple(stats),
        cases=cases,
        failures=in_order_of_groups(failures),
        events=pa.concat_tables([NO_ROWS, *(rows for rows in events if rows.num_rows)]),
    )


def in_order_of_groups(failures: Iterable[Failure]) -> tuple[Failure, ...]:
    """Distinct failures by cluster and group: every shard repeats those without a group."""
    return tuple(sorted(set(failures), key=lambda f: (f.cluster, f.group or "", f.error)))
